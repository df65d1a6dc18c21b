import type { RejectsFile } from '../output/rejects-file.js';
import { CommitQueue } from './journal/commit-queue.js';
import type { OnceKind, OutcomeLog } from './outcome-log.js';

/** Keeps nothing but the rejects: of a run that cannot be resumed. */
export class UnjournalledOutcomes implements OutcomeLog {
  readonly once = new Set<OnceKind>();
  readonly #rejects: RejectsFile;
  readonly #commits: CommitQueue;

  constructor(rejects: RejectsFile) {
    this.#rejects = rejects;
    this.#commits = new CommitQueue(() => rejects.write());
  }

  opened(): void {}
  settled(): void {}
  skipped(): void {}
  async intend(_ordinals: readonly number[], kind: OnceKind): Promise<void> {
    this.once.add(kind);
  }

  async takeBack(): Promise<void> {}

  write(): boolean {
    return this.#rejects.missing === 0;
  }

  async commit(): Promise<void> {
    return this.#commits.commit();
  }
}
