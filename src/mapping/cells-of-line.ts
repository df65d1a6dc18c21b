import { CsvProgram, CsvScanner } from '../text/csv-scanner.js';
import { CellText } from '../text/text-slice.js';

const nothing = Buffer.alloc(0);
/** What stands between and around the cells, where it is not what RFC 4180 says. */
export interface Dialect {
  readonly delimiter?: string;
  readonly quote?: string;
  readonly escape?: string;
}

let program: CsvProgram | undefined;

/** The cells of one CSV record, or why it has not as many as there are columns. */
export function cellsOfLine(
  line: string,
  { delimiter = ',', quote = '"', escape = quote }: Dialect,
  columns: number,
): readonly string[] | string {
  const bytes = Buffer.from(line);
  const markers = {
    delimiter: Buffer.from(delimiter),
    quote: Buffer.from(quote),
    escape: Buffer.from(escape),
    comment: nothing,
  };
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
