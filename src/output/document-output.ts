import type { FileMark } from './marked-file.js';
import type { Checkpoint, Opening, Output, RecordPage } from './output.js';
import type { Sink } from './sink.js';

/** How the records of a document are written: ndjson, json, or CSV whose columns are known. */
export interface Encoding {
  /** The page's records. `isFirst`: nothing of the document has been written yet. */
  page(page: RecordPage, isFirst: boolean): Buffer;
  /** What completes the document; `isEmpty` when it has no records. */
  end(isEmpty: boolean): Buffer;
  /** Cells so far that a spreadsheet would run; set when pages are taken back. */
  formulas: number;
  readonly warnings: readonly string[];
}

/** An output whose pages are written as they come. */
export const openDocument = async (
  { openSink, resume }: Opening,
  encoding: Encoding,
): Promise<Output> => new DocumentOutput(await openSink(resume), encoding, resume);

class DocumentOutput implements Output {
  readonly #sink: Sink;
  readonly #encoding: Encoding;
  #records = 0;

  constructor(sink: Sink, encoding: Encoding, resume?: Checkpoint) {
    this.#sink = sink;
    this.#encoding = encoding;
    if (resume) this.#restore(resume);
  }

  get name(): string {
    return this.#sink.name;
  }
  get rewindable(): boolean {
    return this.#sink.rewindable;
  }
  get bytes(): number {
    return this.#sink.mark.bytes;
  }
  get warnings(): readonly string[] {
    return this.#encoding.warnings;
  }

  async writePage(page: RecordPage): Promise<void> {
    if (page.count === 0) return;
    await this.#sink.write(this.#encoding.page(page, this.#records === 0));
    this.#records += page.count;
  }

  checkpoint(): Checkpoint {
    const { formulas } = this.#encoding;
    return { ...this.#sink.mark, records: this.#records, ...(formulas > 0 && { formulas }) };
  }

  async rewind(checkpoint: Checkpoint): Promise<void> {
    await this.#sink.truncate(checkpoint);
    this.#restore(checkpoint);
  }

  sync(): Promise<void> {
    return this.#sink.sync();
  }

  async seal(): Promise<FileMark> {
    const rest = this.#encoding.end(this.#records === 0);
    // A .gz without any member would be no gzip file.
    if (rest.length > 0 || this.bytes === 0) await this.#sink.write(rest);
    await this.#sink.sync();
    return this.#sink.mark;
  }

  publish(): Promise<void> {
    return this.#sink.publish();
  }

  abort(): Promise<void> {
    return this.#sink.close();
  }

  #restore({ records, formulas = 0 }: Checkpoint): void {
    this.#records = records;
    this.#encoding.formulas = formulas;
  }
}
