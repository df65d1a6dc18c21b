/**
 * Commits what was noted, one commit after the other. Who asks for one while another is under way
 * shares the next, which holds all that is noted until it begins. After one that failed, all fail.
 */
export class CommitQueue {
  readonly #commit: () => Promise<void>;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(commit: () => Promise<void>) {
    this.#commit = commit;
  }

  /** Resolves when all that was noted so far is committed. */
  async commit(): Promise<void> {
    this.#next ??= this.#after(this.#running);
    return this.#next;
  }

  async #after(before: Promise<void>): Promise<void> {
    await before;
    this.#running = this.#next ?? before;
    this.#next = undefined;
    return this.#commit();
  }
}
