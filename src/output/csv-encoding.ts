import { CsvColumns } from './csv-columns.js';
import { csvHeader } from './csv-header.js';
import { CsvRows } from './csv-rows.js';
import type { Encoding } from './encoding.js';

interface FixedCsv {
  readonly columns: readonly string[];
  readonly escapeFormulas: boolean;
  /** Begin with a byte order mark. */
  readonly bom: boolean;
}

/** CSV with the columns that were asked for: rows are written as their records arrive. */
export function csvEncoding({ columns, escapeFormulas, bom }: FixedCsv): Encoding {
  const rows = new CsvRows(new CsvColumns(columns, { fixed: true }), { escapeFormulas });
  const header = csvHeader(
    columns.map((name) => rows.cells.checked(name)),
    { bom },
  );
  return {
    page: (page, isFirst) => {
      const lines = rows.page(page).map(({ bytes }) => bytes);
      return isFirst ? Buffer.concat([header, ...lines]) : Buffer.concat(lines);
    },
    end: (isEmpty) => (isEmpty ? header : Buffer.alloc(0)),
    get formulas() {
      return rows.cells.formulas;
    },
    set formulas(count) {
      rows.cells.formulas = count;
    },
    get warnings() {
      return formulaWarnings(rows.cells.formulas, escapeFormulas);
    },
  };
}

/** What to say about cells that a spreadsheet would run. */
export function formulaWarnings(formulas: number, escaped: boolean): readonly string[] {
  if (formulas === 0) return [];
  const cells = formulas === 1 ? '1 cell' : `${formulas} cells`;
  return escaped
    ? [`${cells} that a spreadsheet would run as a formula got a leading '`]
    : [`${cells} would be run as a formula by a spreadsheet; --csv-formulas escape prevents it`];
}
