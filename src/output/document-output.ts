import type { Encoding } from './encoding.js';
import type { Checkpoint, Output, RecordPage } from './output.js';
import type { Sink } from './sink.js';

/** An output whose pages are written as they come. */
export class DocumentOutput implements Output {
  readonly #sink: Sink;
  readonly #encoding: Encoding;
  #records = 0;

  constructor(sink: Sink, encoding: Encoding) {
    this.#sink = sink;
    this.#encoding = encoding;
  }

  get name(): string {
    return this.#sink.name;
  }
  get rewindable(): boolean {
    return this.#sink.rewindable;
  }
  get bytes(): number {
    return this.#sink.position;
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
    return { bytes: this.#sink.position, records: this.#records };
  }

  async rewind({ bytes, records }: Checkpoint): Promise<void> {
    await this.#sink.truncate(bytes);
    this.#records = records;
  }

  async finish(): Promise<void> {
    const rest = this.#encoding.end(this.#records === 0);
    if (rest.length > 0) await this.#sink.write(rest);
    await this.#sink.finish();
  }

  abort(): Promise<void> {
    return this.#sink.abort();
  }
}
