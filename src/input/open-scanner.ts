import type { CellScanner } from './cell-scanner.js';
import { CsvScanner } from './csv-scanner.js';
import { isStandard, type Dialect } from './dialect.js';
import { DialectScanner } from './dialect-scanner.js';

/** The scanner for a dialect. */
export const openScanner = (dialect: Dialect): CellScanner =>
  isStandard(dialect) ? new CsvScanner(dialect.delimiter) : new DialectScanner(dialect);
