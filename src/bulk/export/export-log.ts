import type { Checkpoint, FileMark } from '../../output/output.js';
import type { ExportEntry, PageEntry } from './export-entries.js';
import { ExportProgress } from './export-progress.js';
import type { Journal } from '../run/journal.js';

interface Syncable {
  checkpoint(): Checkpoint;
  sync(): Promise<void>;
}

/**
 * Writes down how far an export came, always after what it says has become true: the data is on
 * the disk before the entry that names it. Without a file nothing is kept, and nothing synced.
 */
export class ExportLog {
  /** Of earlier processes; what this one adds is not in it. */
  readonly earlier: ExportProgress;
  readonly #file: Journal<ExportEntry> | undefined;
  readonly #documentOf: (slice: number) => number;
  /** Number of columns last written down, by document. */
  readonly #columns = new Map<number, number>();
  #last: Promise<void> = Promise.resolve();
  #isEmpty = true;

  constructor(
    file: Journal<ExportEntry> | undefined,
    entries: readonly ExportEntry[],
    documentOf: (slice: number) => number,
  ) {
    this.#file = file;
    this.#documentOf = documentOf;
    this.earlier = new ExportProgress(documentOf);
    for (const entry of entries) {
      this.earlier.add(entry);
      if (!('plan' in entry)) this.#isEmpty = false;
    }
  }

  /** Whether another process could go on where this one ends. */
  get resumable(): boolean {
    return this.#file !== undefined;
  }

  /** Whether there is something to go on with. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  opened(slice: number, cursor: string, { spilled }: { readonly spilled: boolean }): Promise<void> {
    return this.#append({ slice, opened: cursor, spilled });
  }

  /** Their targets are synced. */
  pages(pages: readonly PageEntry[]): Promise<void> {
    return this.#append(...pages.map((page) => this.#withoutKnownColumns(page)));
  }

  /** Before the pages are taken back: a file shorter than its entry would look damaged. */
  async refused(slice: number): Promise<void> {
    this.#columns.delete(this.#documentOf(slice));
    await this.#append({ slice, refused: true });
  }

  async merged(slice: number, target: Syncable): Promise<void> {
    if (!this.#file) return;
    const { at: merged } = this.#withoutKnownColumns({ slice, at: target.checkpoint() });
    await target.sync();
    await this.#append({ slice, merged });
  }

  sealed(document: number, mark: FileMark): Promise<void> {
    return this.#append({ document, sealed: mark });
  }

  published(document: number): Promise<void> {
    return this.#append({ document, published: true });
  }

  /** One at a time; after one that failed, none is written any more. */
  async #append(...entries: ExportEntry[]): Promise<void> {
    const file = this.#file;
    if (!file) return;
    this.#isEmpty = false;
    this.#last = this.#last.then(() => file.append(...entries));
    await this.#last;
  }

  /** Column lists are long and rarely change. */
  #withoutKnownColumns<T extends { slice: number; at: Checkpoint }>(entry: T): T {
    const document = this.#documentOf(entry.slice);
    const { columns, ...at } = entry.at;
    if (columns === undefined) return entry;
    if (columns.length === this.#columns.get(document)) return { ...entry, at };
    this.#columns.set(document, columns.length);
    return entry;
  }
}
