import type { CellScanner } from './cell-scanner.js';
import { CsvScanner } from './csv-scanner.js';
import { isStandard, type Dialect } from './dialect.js';
import { DialectScanner } from './dialect-scanner.js';

/** The scanner for a dialect; `columns` cells of each of `records` records have room in it. */
export const openScanner = (
  dialect: Dialect,
  room: { readonly columns: number; readonly records: number },
): CellScanner =>
  isStandard(dialect)
    ? new CsvScanner({ ...room, delimiter: dialect.delimiter })
    : new DialectScanner(dialect, room);
