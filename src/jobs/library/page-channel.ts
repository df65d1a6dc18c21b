import type { Checkpoint, FileMark, Output, RecordPage } from '../../output/output.js';
import type { Handover } from './handover.js';

/** An output whose pages a program reads, each before the next one is asked for. */
export class PageChannel implements Output {
  readonly name = 'the reader';
  readonly rewindable = false;
  readonly warnings: readonly string[] = [];
  readonly #pages: Handover<RecordPage>;
  #bytes = 0;
  #records = 0;

  constructor(pages: Handover<RecordPage>) {
    this.#pages = pages;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async writePage(page: RecordPage): Promise<void> {
    await this.#pages.put(page);
    this.#records += page.count;
    for (let record = 0; record < page.count; record += 1) {
      this.#bytes += page.bounds[2 * record + 1]! - page.bounds[2 * record]!;
    }
  }

  checkpoint(): Checkpoint {
    return { bytes: this.#bytes, crc: 0, records: this.#records };
  }

  rewind(): Promise<void> {
    throw new Error('what was read cannot be taken back');
  }

  seal(): Promise<FileMark> {
    return Promise.resolve(this.checkpoint());
  }

  async sync(): Promise<void> {}
  async publish(): Promise<void> {}
  async abort(): Promise<void> {}
}

/** The texts of the records of pages. */
export async function* textsOf(pages: AsyncIterable<RecordPage>): AsyncGenerator<string> {
  for await (const { bytes, bounds, count } of pages) {
    for (let record = 0; record < count; record += 1) {
      yield bytes.toString('utf8', bounds[2 * record], bounds[2 * record + 1]);
    }
  }
}
