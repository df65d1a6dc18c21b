import { Flattener } from '../text/flattener.js';
import { csvHeader } from './csv-header.js';
import { CsvSpool } from './csv-spool.js';
import { formulaWarnings } from './formula-warnings.js';
import { emptyMark, type FileMark } from './marked-file.js';
import type { Checkpoint, DocumentOptions, Opening, Output, RecordPage } from './output.js';
import type { Sink } from './sink.js';

/** Bytes gathered for one write of the finished document. */
const blockBytes = 1 << 20;

/** CSV with the union of all columns: rows wait in a spool until the last record has been seen. */
export async function openSpooledCsv(opening: Opening): Promise<Output> {
  const { resume, spool: place } = opening;
  // The document itself is written at the end, from its beginning.
  const sink = await opening.openSink(resume && emptyMark);
  try {
    return new CsvOutput(opening, sink, await CsvSpool.open(place.path, resume));
  } catch (error) {
    await sink.close();
    throw error;
  }
}

class CsvOutput implements Output {
  readonly rewindable = true;
  readonly #sink: Sink;
  readonly #options: DocumentOptions;
  readonly #keepSpool: boolean;
  readonly #spool: CsvSpool;
  #flattener: Flattener;
  #records: number;
  #state: 'spooling' | 'written' | 'closed' = 'spooling';

  constructor({ options, resume, spool: { isKept } }: Opening, sink: Sink, spool: CsvSpool) {
    this.#sink = sink;
    this.#options = options;
    this.#keepSpool = isKept;
    this.#spool = spool;
    const start = resume ?? { ...emptyMark, records: 0 };
    this.#records = start.records;
    this.#flattener = newFlattener(start, options);
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
    this.#records = checkpoint.records;
    this.#flattener = newFlattener(checkpoint, this.#options);
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
    await this.#spool.close({ keep: this.#keepSpool && this.#spool.mark.bytes > 0 });
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
  { escapeFormulas }: DocumentOptions,
): Flattener => new Flattener({ columns, fixed: false, escapeFormulas, formulas });
