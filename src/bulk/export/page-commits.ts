import type { PageTarget } from './export-ahead.js';
import type { PageEntry } from './export-entries.js';
import type { ExportLog } from './export-log.js';

/** Most pages of a slice that are written and not yet on the disk. */
const mostWaiting = 8;

/** A page that stands in its target, and the cursor of the one after it. */
export interface WrittenPage {
  readonly next: string | undefined;
  readonly records: number;
}

/**
 * Commits the pages of a slice behind their writing, so that the disk is not waited for at every
 * page: those written while a commit is under way share the next one.
 */
export class PageCommits {
  readonly #slice: number;
  readonly #target: PageTarget;
  readonly #log: ExportLog;
  #waiting: PageEntry[] = [];
  #running: Promise<void> | undefined;

  constructor(slice: number, target: PageTarget, log: ExportLog) {
    this.#slice = slice;
    this.#target = target;
    this.#log = log;
  }

  /** Resolves when the next page may be written. Throws what an earlier commit failed with. */
  async add({ next, records }: WrittenPage): Promise<void> {
    if (!this.#log.resumable) return;
    this.#waiting.push({
      slice: this.#slice,
      next: next ?? null,
      records,
      at: this.#target.checkpoint(),
    });
    this.#running ??= this.#run();
    this.#running.catch(() => undefined); // it is told by whoever waits next
    if (this.#waiting.length >= mostWaiting) await this.settled();
  }

  /** Everything added is on the disk. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const pages = this.#waiting;
      this.#waiting = [];
      await this.#target.sync();
      await this.#log.pages(pages);
    }
    this.#running = undefined;
  }
}
