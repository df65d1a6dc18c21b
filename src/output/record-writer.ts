import type { Output } from './output.js';

/** Collects single records into pages of about `pageBytes`, since an output commits page by page. */
export class RecordWriter {
  readonly #output: Output;
  readonly #pageBytes: number;
  #records: Buffer[] = [];
  #bytes = 0;

  constructor(output: Output, pageBytes: number) {
    this.#output = output;
    this.#pageBytes = pageBytes;
  }

  /** Takes the text of one JSON object. */
  async write(record: Buffer): Promise<void> {
    this.#records.push(record);
    this.#bytes += record.length + 1;
    if (this.#bytes >= this.#pageBytes) await this.flush();
  }

  /** Writes the page that was begun. */
  async flush(): Promise<void> {
    const records = this.#records;
    const bytes = Buffer.alloc(this.#bytes, ',');
    const bounds = new Int32Array(2 * records.length);
    let end = 0;
    for (const [index, record] of records.entries()) {
      bounds[2 * index] = end;
      end += record.copy(bytes, end);
      bounds[2 * index + 1] = end;
      end += 1; // a byte between two records, as in a page of the service
    }
    this.#records = [];
    this.#bytes = 0;
    await this.#output.writePage({ bytes, bounds, count: records.length });
  }
}
