import { Flattener } from '../text/flattener.js';
import { csvHeader } from './csv-header.js';
import { openSpooledCsv } from './csv-output.js';
import { openDocument, type Encoding } from './document-output.js';
import { formulaWarnings } from './formula-warnings.js';
import type { DocumentOptions, OpenFormat } from './output.js';

/** CSV with the columns that were asked for, else with the union of all. */
export const open: OpenFormat = async (opening) => {
  const { columns } = opening.options;
  if (columns === undefined) return openSpooledCsv(opening);
  return openDocument(opening, fixedColumns(columns, opening.options));
};

/** Rows are written as their records arrive. */
function fixedColumns(columns: readonly string[], options: DocumentOptions): Encoding {
  const { escapeFormulas } = options;
  const header = csvHeader(columns, options);
  const { formulas } = header;
  const flattener = new Flattener({ columns, fixed: true, escapeFormulas, formulas });
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
      return formulaWarnings(flattener.formulas, escapeFormulas);
    },
  };
}
