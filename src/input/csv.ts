import { FAULT, type CellScanner } from './cell-scanner.js';
import { rawOf, type Cut, type Cutter } from './cutter.js';
import { isStandard, type Dialect } from './dialect.js';
import { afterLineEnd, BEYOND, countLineEnds, endOfLine, nextLine, skipLine } from './line-ends.js';
import { openScanner } from './open-scanner.js';
import type { RowFault } from './rows.js';
import { standardCells } from './standard-cells.js';

/** A window seldom holds more. */
const usualBytes = 256 * 1024;

/**
 * Cuts CSV, TSV and bare lists (CSV of one column without a delimiter). LF, CRLF and CR end a
 * line, inside quotes too; blank lines and comments are no records. After a quoting fault it goes on at the
 * next physical line, so that a lost quote costs few records and not the rest of the file.
 */
export class CsvCutter implements Cutter {
  readonly header: readonly string[];
  readonly state = undefined;
  readonly skip = skipLine;
  /** The dialect, where it is not RFC 4180. */
  readonly #dialect: Dialect | undefined;
  readonly #scanner: CellScanner;

  constructor(header: readonly string[], dialect: Dialect) {
    this.header = header;
    this.#dialect = isStandard(dialect) ? undefined : dialect;
    this.#scanner = openScanner(dialect);
  }

  /** Most windows whole; a scanner may copy its text, and a long one is cut many times. */
  cut(text: Buffer, line: number, last: boolean): Cut {
    for (let size = usualBytes; ; size *= 2) {
      const isWhole = text.length <= size;
      const cut = this.#cut(text.subarray(0, size), line, last && isWhole);
      if (cut.used > 0 || isWhole) return cut;
    }
  }

  #cut(text: Buffer, firstLine: number, last: boolean): Cut {
    const scanner = this.#scanner;
    const faults: RowFault[] = [];
    let start = 0;
    let line = firstLine;
    scanner.begin(text, this.header.length, last);
    for (;;) {
      const end = scanner.cut(start, line);
      ({ at: start, line } = scanner);
      if (end === BEYOND) break;
      const next = end === FAULT ? nextLine(text, start, last) : afterLineEnd(text, end, last);
      if (next === BEYOND) break;
      if (end === FAULT) {
        faults.push(this.#quotingFault(text, start, line));
      } else {
        faults.push({ at: start, ...this.#raggedFault(text.subarray(start, end), line) });
        line += countLineEnds(text, start, end);
      }
      line++;
      start = next;
    }
    const { count } = scanner;
    const cut = {
      used: start,
      line,
      count,
      bounds: scanner.bounds.slice(0, 2 * count),
      lines: scanner.lines.slice(0, count),
      cells: scanner.cells.subarray(0, 2 * this.header.length * count),
      faults,
    };
    return this.#dialect ? standardCells(text, cut, this.#dialect) : cut;
  }

  #quotingFault(text: Buffer, start: number, line: number): RowFault {
    const { fault, faultAt } = this.#scanner;
    const raw = rawOf(text.subarray(start, endOfLine(text, start)));
    const below = countLineEnds(text, start, faultAt);
    if (below > 0) return { at: start, line, error: `${fault}, on line ${line + below}`, raw };
    return { at: start, line, column: faultAt - start + 1, error: fault, raw };
  }

  #raggedFault(record: Buffer, line: number): Omit<RowFault, 'at'> {
    const cells = this.#scanner.width === 1 ? '1 cell' : `${this.#scanner.width} cells`;
    return {
      line,
      error: `${cells}, but the header has ${this.header.length}`,
      raw: rawOf(record),
    };
  }
}
