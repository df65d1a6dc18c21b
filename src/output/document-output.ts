import type { Encoding } from './encoding.js';
import type { FileMark } from './marked-file.js';
import type { Checkpoint, Output, RecordPage } from './output.js';
import type { Sink } from './sink.js';

/** An output whose pages are written as they come. */
export class DocumentOutput implements Output {
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
