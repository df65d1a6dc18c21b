import { Flattener } from '../text/flattener.js';
import { formulaWarnings } from './csv-encoding.js';
import { csvHeader } from './csv-header.js';
import { CsvSpool } from './csv-spool.js';
import { emptyMark, type FileMark } from './marked-file.js';
import type { Checkpoint, Output, RecordPage } from './output.js';
import type { Sink } from './sink.js';

/** Bytes gathered for one write of the finished document. */
const blockBytes = 1 << 20;

interface CsvOutputOptions {
  readonly escapeFormulas: boolean;
  /** Begin with a byte order mark. */
  readonly bom: boolean;
  readonly spoolPath: string;
  /** Go on from here in a spool that an earlier process left. */
  readonly resume: Checkpoint | undefined;
  /** Whether the spool outlives an export that did not finish. */
  readonly keepSpool: boolean;
}

/** CSV with the union of all columns: rows wait in a spool until the last record has been seen. */
export class CsvOutput implements Output {
  readonly rewindable = true;
  readonly #sink: Sink;
  readonly #options: CsvOutputOptions;
  readonly #spool: CsvSpool;
  #flattener: Flattener;
  #records = 0;
  #state: 'spooling' | 'written' | 'closed' = 'spooling';

  static async open(sink: Sink, options: CsvOutputOptions): Promise<CsvOutput> {
    try {
      return new CsvOutput(sink, options, await CsvSpool.open(options.spoolPath, options.resume));
    } catch (error) {
      await sink.close();
      throw error;
    }
  }

  private constructor(sink: Sink, options: CsvOutputOptions, spool: CsvSpool) {
    this.#sink = sink;
    this.#options = options;
    this.#spool = spool;
    this.#flattener = newFlattener({ records: 0, ...emptyMark }, options);
    if (options.resume) this.#restore(options.resume);
  }

  get name(): string {
    return this.#sink.name;
  }
  get bytes(): number {
    return (this.#state === 'spooling' ? this.#spool : this.#sink).mark.bytes;
  }
  get warnings(): readonly string[] {
    return formulaWarnings(this.#flattener.formulas, this.#options.escapeFormulas);
  }

  async writePage(page: RecordPage): Promise<void> {
    await this.#spool.write(this.#flattener.rows(page));
    this.#records += page.count;
  }

  checkpoint(): Checkpoint {
    const { columns, formulas } = this.#flattener;
    return { ...this.#spool.mark, records: this.#records, columns: [...columns], formulas };
  }

  async rewind(checkpoint: Checkpoint): Promise<void> {
    await this.#spool.truncate(checkpoint);
    this.#restore(checkpoint);
  }

  sync(): Promise<void> {
    return this.#spool.sync();
  }

  async seal(): Promise<FileMark> {
    this.#state = 'written';
    await this.#writeDocument();
    await this.#sink.sync();
    return this.#sink.mark;
  }

  async publish(): Promise<void> {
    await this.#sink.publish();
    this.#state = 'closed';
    await this.#spool.close({ keep: false });
  }

  async abort(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    await this.#sink.close();
    await this.#spool.close({ keep: this.#options.keepSpool && this.#spool.mark.bytes > 0 });
  }

  #restore(checkpoint: Checkpoint): void {
    this.#records = checkpoint.records;
    this.#flattener = newFlattener(checkpoint, this.#options);
  }

  async #writeDocument(): Promise<void> {
    const { columns } = this.#flattener;
    if (columns.length === 0) return this.#sink.write(Buffer.alloc(0));
    const header = csvHeader(columns, this.#options);
    this.#flattener.formulas += header.formulas;
    let block = [header.line];
    let length = 0;
    for await (const rows of this.#spool.rows(columns.length)) {
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

const newFlattener = (
  { columns = [], formulas = 0 }: Checkpoint,
  { escapeFormulas }: CsvOutputOptions,
): Flattener => new Flattener({ columns, fixed: false, escapeFormulas, formulas });
