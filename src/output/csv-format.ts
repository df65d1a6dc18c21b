import { EngagectlError, grouped } from '../errors.js';
import { Flattener } from '../text/flattener.js';
import { spooledRows, spooledRuns } from './csv-spool.js';
import { UnseenColumns } from './unseen-columns.js';
import type { DocumentOptions, Encoding } from './output.js';

/** Bytes gathered for one write of the finished document. */
const blockBytes = 1 << 20;

/** More are no table: a value stands where a name should, such as a date or an identity. */
const mostColumns = 10_000;

/** CSV with the columns that were asked for, else with the union of all. */
export const encoding = (options: DocumentOptions): Encoding =>
  options.columns ? fixedColumns(options.columns, options) : allColumns(options);

/** Rows are written as their records arrive. */
function fixedColumns(columns: readonly string[], options: DocumentOptions): Encoding {
  const { escapeFormulas } = options;
  const header = headerOf(columns, options);
  const { formulas } = header;
  const flattener = new Flattener({ columns, fixed: true, escapeFormulas, formulas });
  const unseen = new UnseenColumns(columns);
  return {
    page: (page, isFirst) => {
      unseen.look(page);
      const lines = isFirst ? [header.line] : [];
      for (const { bytes } of flattener.rows(page)) lines.push(Buffer.from(bytes));
      return Buffer.concat(lines);
    },
    end: (isEmpty) => (isEmpty ? header.line : Buffer.alloc(0)),
    known: () => (flattener.formulas > 0 ? { formulas: flattener.formulas } : {}),
    restore: ({ formulas = 0 }) => {
      flattener.formulas = formulas;
    },
    warnings: () => [...unseen.warnings(), ...formulaWarnings(flattener, options)],
  };
}

/** Rows wait in a spool until the last record has been seen: only then are all columns known. */
function allColumns(options: DocumentOptions): Encoding {
  const { escapeFormulas } = options;
  let flattener = new Flattener({ columns: [], fixed: false, escapeFormulas });
  return {
    page: (page) => {
      const spooled = spooledRuns(flattener.rows(page));
      if (flattener.columnCount > mostColumns) throw tooManyColumns(flattener, options);
      return spooled;
    },
    known: () => ({ columns: [...flattener.columns], formulas: flattener.formulas }),
    restore: ({ columns = [], formulas = 0 }) => {
      flattener = new Flattener({ columns, fixed: false, escapeFormulas, formulas });
    },
    warnings: () => formulaWarnings(flattener, options),
    async *assemble(spool) {
      const { columns } = flattener;
      if (columns.length === 0) return;
      const header = headerOf(columns, options);
      flattener.formulas += header.formulas;
      let block: Buffer[] = [header.line];
      let length = 0;
      for await (const rows of spooledRows(spool, columns.length)) {
        block.push(rows);
        length += rows.length;
        if (length < blockBytes) continue;
        yield Buffer.concat(block);
        block = [];
        length = 0;
      }
      if (block.length > 0) yield Buffer.concat(block);
    },
  };
}

/** The first line: a row whose cells are the names, and how many of them are formulas. */
function headerOf(names: readonly string[], { bom, escapeFormulas }: DocumentOptions) {
  const members = names.map((name, index) => `"${index}":${JSON.stringify(name)}`);
  const bytes = Buffer.from(`{${members.join(',')}}`);
  const flattener = new Flattener({ columns: [], fixed: false, escapeFormulas });
  const lines = [Buffer.from(bom ? '\ufeff' : '')];
  for (const run of flattener.rows({ bytes, bounds: Int32Array.of(0, bytes.length), count: 1 })) {
    lines.push(Buffer.from(run.bytes));
  }
  return { line: Buffer.concat(lines), formulas: flattener.formulas };
}

function tooManyColumns({ columns }: Flattener, { option }: DocumentOptions): EngagectlError {
  const message = `the records have more than ${grouped(mostColumns)} different columns`;
  return new EngagectlError('E-COLUMNS', message, {
    why: `a CSV has a column for each; the last one is ${columns.at(-1)?.slice(0, 80)}`,
    fix: `name the columns with ${option('columns', 'a,b.c')}, or write NDJSON: ${option('format', 'ndjson')}; ${option('fresh')} begins the export again`,
  });
}

/** What to say about cells that a spreadsheet would run. */
function formulaWarnings(
  { formulas }: Flattener,
  { escapeFormulas, option }: DocumentOptions,
): string[] {
  if (formulas === 0) return [];
  const cells = formulas === 1 ? '1 cell' : `${formulas} cells`;
  if (escapeFormulas) return [`${cells} that a spreadsheet would run as a formula got a leading '`];
  const escape = option('csvFormulas', 'escape');
  return [`${cells} would be run as a formula by a spreadsheet; ${escape} prevents it`];
}
