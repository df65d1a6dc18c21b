import { CsvProgram } from '../text/csv-program.js';
import { CsvScanner } from '../text/csv-scanner.js';
import { CellText } from './cell-text.js';

const quote = Buffer.from('"');
const nothing = Buffer.alloc(0);
let program: CsvProgram | undefined;

/** The cells of one CSV record, or why it has not as many as there are columns. */
export function cellsOfLine(
  line: string,
  delimiter: string,
  columns: number,
): readonly string[] | string {
  const bytes = Buffer.from(line);
  const markers = { delimiter: Buffer.from(delimiter), quote, escape: quote, comment: nothing };
  const scanner = new CsvScanner((program ??= new CsvProgram()), markers);
  scanner.begin(bytes, columns, true);
  const { width, cells, fault } = scanner.scan(0);
  if (fault) return String(fault.what);
  if (width !== columns) {
    return `${width === 1 ? '1 cell' : `${width} cells`}, but the header has ${columns}`;
  }
  const text = new CellText();
  return Array.from({ length: columns }, (_, at) =>
    text.ofCell(bytes, cells[2 * at]!, cells[2 * at + 1]!).toString(),
  );
}
