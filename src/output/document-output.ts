import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { MarkedFile } from './marked-file.js';
import type { Checkpoint, Encoding, FileMark, Output, RecordPage } from './output.js';
import { removeSpent } from './remove-spent.js';
import type { Sink, Written } from './sink.js';

const compress = promisify(gzip);

/** A file for what has to wait for the end, and whether it outlives an export that did not finish. */
export interface Spool {
  readonly file: MarkedFile;
  readonly isKept: boolean;
}

interface DocumentParts {
  readonly sink: Sink;
  readonly encoding: Encoding;
  readonly gzip: boolean;
  /** Of an encoding that assembles the document at its end. */
  readonly spool: Spool | undefined;
  readonly resume: Checkpoint | undefined;
}

/** One document, written page by page: to its sink or, where it has to wait, to a spool. */
export class DocumentOutput implements Output {
  readonly #sink: Sink;
  readonly #encoding: Encoding;
  readonly #gzip: boolean;
  #spool: Spool | undefined;
  /** What is written to now: the spool until the document is sealed. */
  #file: Written;
  #records = 0;
  /** What to say about a file that could not be removed. */
  readonly #left: string[] = [];

  constructor({ sink, encoding, gzip, spool, resume }: DocumentParts) {
    this.#sink = sink;
    this.#encoding = encoding;
    this.#gzip = gzip;
    this.#spool = spool;
    this.#file = spool?.file ?? sink.file;
    if (resume) this.#restore(resume);
  }

  get name(): string {
    return this.#sink.name;
  }
  get rewindable(): boolean {
    return this.#spool !== undefined || this.#sink.rewindable;
  }
  get bytes(): number {
    return this.#file.mark.bytes;
  }
  get warnings(): readonly string[] {
    return [...(this.#encoding.warnings?.() ?? []), ...this.#left];
  }

  async writePage(page: RecordPage): Promise<void> {
    if (page.count === 0) return;
    await this.#write(this.#encoding.page(page, this.#records === 0));
    this.#records += page.count;
  }

  checkpoint(): Checkpoint {
    return { ...this.#file.mark, records: this.#records, ...this.#encoding.known?.() };
  }

  async rewind(checkpoint: Checkpoint): Promise<void> {
    await this.#file.truncate(checkpoint);
    this.#restore(checkpoint);
  }

  sync(): Promise<void> {
    return this.#file.sync();
  }

  async seal(): Promise<FileMark> {
    this.#file = this.#sink.file;
    for await (const bytes of this.#rest()) await this.#write(bytes);
    // A .gz without any member would be no gzip file.
    if (this.bytes === 0) await this.#write(Buffer.alloc(0));
    await this.sync();
    return this.#file.mark;
  }

  async publish(): Promise<void> {
    await this.#sink.publish();
    await this.#closeSpool({ keep: false });
  }

  async abort(): Promise<void> {
    this.#file = this.#sink.file;
    await this.#sink.close();
    if (this.#spool) await this.#closeSpool({ keep: this.#spool.isKept });
  }

  async *#rest(): AsyncGenerator<Buffer> {
    const encoding = this.#encoding;
    if (this.#spool && encoding.assemble) yield* encoding.assemble(this.#spool.file);
    const last = encoding.end?.(this.#records === 0);
    if (last?.length) yield last;
  }

  /** Each write is a gzip member of its own: cut back to a commit, the file is still valid. */
  async #write(bytes: Buffer): Promise<void> {
    const isCompressed = this.#gzip && this.#file === this.#sink.file;
    await this.#file.write(isCompressed ? await compress(bytes) : bytes);
  }

  async #closeSpool({ keep }: { readonly keep: boolean }): Promise<void> {
    const file = this.#spool?.file;
    this.#spool = undefined;
    await file?.close();
    if (!file || (keep && file.mark.bytes > 0)) return;
    const left = await removeSpent(file.path);
    if (left !== undefined) this.#left.push(left);
  }

  #restore(checkpoint: Checkpoint): void {
    this.#records = checkpoint.records;
    this.#encoding.restore?.(checkpoint);
  }
}
