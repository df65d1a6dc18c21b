import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Checkpoint, Encoding, FileMark, Output, RecordPage } from './output.js';
import type { PageSpill } from './spill-file.js';
import type { Sink } from './sink.js';

const compress = promisify(gzip);

interface DocumentParts {
  readonly sink: Sink;
  readonly encoding: Encoding;
  readonly gzip: boolean;
  /** Of an encoding that has to see all records before the first is written. */
  readonly spool: PageSpill | undefined;
}

/** One document, written page by page: to its sink or, where it has to wait, to a spool. */
export class DocumentOutput implements Output {
  readonly #sink: Sink;
  readonly #encoding: Encoding;
  readonly #gzip: boolean;
  readonly #spool: PageSpill | undefined;
  #records = 0;
  #isSealed = false;
  /** What to say about a file that could not be removed. */
  readonly #left: string[] = [];

  constructor({ sink, encoding, gzip, spool }: DocumentParts) {
    this.#sink = sink;
    this.#encoding = encoding;
    this.#gzip = gzip;
    this.#spool = spool;
  }

  get name(): string {
    return this.#sink.name;
  }
  get rewindable(): boolean {
    return this.#spool !== undefined || this.#sink.rewindable;
  }
  get bytes(): number {
    return this.#mark.bytes;
  }
  get warnings(): readonly string[] {
    return [...(this.#encoding.warnings?.() ?? []), ...this.#left];
  }

  async writePage(page: RecordPage): Promise<void> {
    if (page.count === 0) return;
    const isFirst = this.#records === 0;
    if (this.#spool) {
      this.#encoding.look?.(page, isFirst);
      await this.#spool.writePage(page);
    } else await this.#write(this.#encoding.page(page, isFirst));
    this.#records += page.count;
  }

  checkpoint(): Checkpoint {
    return { ...this.#mark, records: this.#records, ...this.#encoding.known?.() };
  }

  async rewind(checkpoint: Checkpoint): Promise<void> {
    if (this.#spool) await this.#spool.rewind(checkpoint);
    else await this.#sink.file.truncate(checkpoint);
    await this.restore(checkpoint);
  }

  /** Goes on with what stands there since an earlier process, or before what was taken back. */
  async restore(checkpoint: Checkpoint): Promise<void> {
    this.#records = checkpoint.records;
    this.#encoding.restore?.(checkpoint);
    for await (const [page, isFirst] of this.#spooled()) this.#encoding.look?.(page, isFirst);
  }

  sync(): Promise<void> {
    return (this.#spool ?? this.#sink.file).sync();
  }

  async seal(): Promise<FileMark> {
    this.#isSealed = true;
    const encoding = this.#encoding;
    for await (const [page, isFirst] of this.#spooled())
      await this.#write(encoding.page(page, isFirst));
    const last = encoding.end?.(this.#records === 0);
    if (last?.length) await this.#write(last);
    // A .gz without any member would be no gzip file.
    if (this.bytes === 0) await this.#write(Buffer.alloc(0));
    await this.#sink.file.sync();
    return this.#sink.file.mark;
  }

  async publish(): Promise<void> {
    await this.#sink.publish();
    const left = await this.#spool?.discard();
    if (left !== undefined) this.#left.push(left);
  }

  async abort(): Promise<void> {
    this.#isSealed = true;
    await this.#sink.close();
    await this.#spool?.close();
  }

  /** Where the document stands: in the spool until it is sealed. */
  get #mark(): FileMark {
    return this.#spool && !this.#isSealed ? this.#spool.mark : this.#sink.file.mark;
  }

  async *#spooled(): AsyncGenerator<[page: RecordPage, isFirst: boolean]> {
    let isFirst = true;
    for await (const page of this.#spool?.pages() ?? []) {
      yield [page, isFirst];
      isFirst = false;
    }
  }

  /** Each write is a gzip member of its own: cut back to a commit, the file is still valid. */
  async #write(bytes: Buffer): Promise<void> {
    await this.#sink.file.write(this.#gzip ? await compress(bytes) : bytes);
  }
}
