import { Flattener } from '../text/flattener.js';
import { csvHeader } from './csv-header.js';
import type { Encoding } from './encoding.js';

interface FixedCsv {
  readonly columns: readonly string[];
  readonly escapeFormulas: boolean;
  /** Begin with a byte order mark. */
  readonly bom: boolean;
}

/** CSV with the columns that were asked for: rows are written as their records arrive. */
export function csvEncoding(options: FixedCsv): Encoding {
  const header = csvHeader(options.columns, options);
  const flattener = new Flattener({ ...options, fixed: true, formulas: header.formulas });
  return {
    page: (page, isFirst) => {
      const lines = isFirst ? [header.line] : [];
      for (const { bytes } of flattener.rows(page)) lines.push(Buffer.from(bytes));
      return Buffer.concat(lines);
    },
    end: (isEmpty) => (isEmpty ? header.line : Buffer.alloc(0)),
    get formulas() {
      return flattener.formulas;
    },
    set formulas(count) {
      flattener.formulas = count;
    },
    get warnings() {
      return formulaWarnings(flattener.formulas, options.escapeFormulas);
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
