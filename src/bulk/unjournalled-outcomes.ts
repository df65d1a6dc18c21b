import type { RejectsFile } from '../output/rejects-file.js';
import { CommitQueue } from './journal/commit-queue.js';
import type { OutcomeLog } from './outcome-log.js';

/** Keeps nothing but the rejects: of a run that cannot be resumed. */
export class UnjournalledOutcomes implements OutcomeLog {
  readonly #rejects: RejectsFile;
  readonly #commits: CommitQueue;

  constructor(rejects: RejectsFile) {
    this.#rejects = rejects;
    this.#commits = new CommitQueue(() => rejects.write());
  }

  opened(): void {}
  settled(): void {}
  skipped(): void {}
  async intend(): Promise<void> {}
  async takeBack(): Promise<void> {}

  write(): boolean {
    return this.#rejects.missing === 0;
  }

  async commit(): Promise<void> {
    return this.#commits.commit();
  }
}
