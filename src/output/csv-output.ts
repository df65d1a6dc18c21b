import { CsvColumns } from './csv-columns.js';
import { formulaWarnings } from './csv-encoding.js';
import { csvHeader } from './csv-header.js';
import { CsvRows } from './csv-rows.js';
import { CsvSpool } from './csv-spool.js';
import type { Checkpoint, Output, RecordPage } from './output.js';
import type { Sink } from './sink.js';

/** Bytes gathered for one write of the finished document. */
const blockBytes = 1 << 20;

interface CsvOutputOptions {
  readonly escapeFormulas: boolean;
  readonly spoolPath: string;
  /** Whether the spool outlives an export that did not finish. */
  readonly keepSpool: boolean;
}

/** CSV with the union of all columns: rows wait in a spool until the last record has been seen. */
export class CsvOutput implements Output {
  readonly rewindable = true;
  readonly #sink: Sink;
  readonly #options: CsvOutputOptions;
  readonly #spool: CsvSpool;
  #rows: CsvRows;
  #records = 0;
  #state: 'spooling' | 'written' | 'closed' = 'spooling';

  static async open(sink: Sink, options: CsvOutputOptions): Promise<CsvOutput> {
    try {
      return new CsvOutput(sink, options, await CsvSpool.open(options.spoolPath));
    } catch (error) {
      await sink.abort();
      throw error;
    }
  }

  private constructor(sink: Sink, options: CsvOutputOptions, spool: CsvSpool) {
    this.#sink = sink;
    this.#options = options;
    this.#spool = spool;
    this.#rows = newRows([], options);
  }

  get name(): string {
    return this.#sink.name;
  }
  get bytes(): number {
    return this.#state === 'spooling' ? this.#spool.position : this.#sink.position;
  }
  get warnings(): readonly string[] {
    return formulaWarnings(this.#rows.cells.formulas, this.#options.escapeFormulas);
  }

  async writePage(page: RecordPage): Promise<void> {
    await this.#spool.write(this.#rows.page(page));
    this.#records += page.count;
  }

  checkpoint(): Checkpoint {
    const { names } = this.#rows.columns;
    const { formulas } = this.#rows.cells;
    return { bytes: this.#spool.position, records: this.#records, columns: [...names], formulas };
  }

  rewind({ bytes, records, columns = [], formulas = 0 }: Checkpoint): Promise<void> {
    this.#spool.truncate(bytes);
    this.#records = records;
    this.#rows = newRows(columns, this.#options);
    this.#rows.cells.formulas = formulas;
    return Promise.resolve();
  }

  async finish(): Promise<void> {
    this.#state = 'written';
    await this.#writeDocument();
    await this.#sink.finish();
    this.#state = 'closed';
    await this.#spool.close({ keep: false });
  }

  async abort(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    await this.#sink.abort();
    await this.#spool.close({ keep: this.#options.keepSpool });
  }

  async #writeDocument(): Promise<void> {
    const { columns, cells } = this.#rows;
    if (columns.names.length === 0) return;
    let block = [csvHeader(columns.names.map((name) => cells.checked(name)))];
    let length = 0;
    for await (const rows of this.#spool.rows(columns.names.length)) {
      block.push(rows);
      length += rows.length;
      if (length < blockBytes) continue;
      await this.#sink.write(Buffer.concat(block));
      block = [];
      length = 0;
    }
    if (block.length > 0) await this.#sink.write(Buffer.concat(block));
  }
}

const newRows = (names: readonly string[], { escapeFormulas }: CsvOutputOptions): CsvRows =>
  new CsvRows(new CsvColumns(names, { fixed: false }), { escapeFormulas });
