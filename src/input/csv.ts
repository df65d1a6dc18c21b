import type { CellScanner } from './cell-scanner.js';
import { FAULT } from './csv-scanner.js';
import { rawOf, type Cut, type Cutter } from './cutter.js';
import { isStandard, type Dialect } from './dialect.js';
import { afterLineEnd, BEYOND, countLineEnds, endOfLine, nextLine, skipLine } from './line-ends.js';
import { openScanner } from './open-scanner.js';
import type { RowFault } from './rows.js';
import { standardCells } from './standard-cells.js';

/** Per block; they bound its arrays for very short and for very wide records. */
const mostRecords = 4096;
const mostCells = 65_536;

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
  readonly #bounds: Int32Array;
  readonly #lines: Uint32Array;

  constructor(header: readonly string[], dialect: Dialect) {
    const columns = header.length;
    const records = Math.min(mostRecords, Math.max(1, Math.floor(mostCells / columns)));
    this.header = header;
    this.#dialect = isStandard(dialect) ? undefined : dialect;
    this.#scanner = openScanner(dialect, { columns, records });
    this.#bounds = new Int32Array(2 * records);
    this.#lines = new Uint32Array(records);
  }

  cut(text: Buffer, firstLine: number, last: boolean): Cut {
    const scanner = this.#scanner;
    const columns = this.header.length;
    const room = this.#lines.length;
    const faults: RowFault[] = [];
    let count = 0;
    let line = firstLine;
    let start = 0;
    while (start < text.length && count + faults.length < room) {
      const end = scanner.scan(text, start, 2 * columns * count, last);
      if (end === BEYOND) break;
      const next = end === FAULT ? nextLine(text, start, last) : afterLineEnd(text, end, last);
      if (next === BEYOND) break;
      const fault = this.#faultOf(text, { start, end, line });
      if (fault) {
        faults.push(fault);
      } else if (end > start && scanner.count > 0) {
        this.#bounds[2 * count] = start;
        this.#bounds[2 * count + 1] = end;
        this.#lines[count++] = line;
      }
      if (end > start && scanner.holdsLines) line += countLineEnds(text, start, end);
      line++;
      start = next;
    }
    const cut = {
      used: start,
      line,
      count,
      bounds: this.#bounds.slice(0, 2 * count),
      lines: this.#lines.slice(0, count),
      cells: scanner.cells.subarray(0, 2 * columns * count),
      faults,
    };
    return this.#dialect ? standardCells(text, cut, this.#dialect) : cut;
  }

  /** What is wrong with the record just scanned; a blank line and a comment are none. */
  #faultOf(
    text: Buffer,
    { start, end, line }: { start: number; end: number; line: number },
  ): RowFault | undefined {
    if (end === FAULT) return this.#quotingFault(text, start, line);
    const { count } = this.#scanner;
    if (end === start || count === 0 || count === this.header.length) return undefined;
    return { at: start, ...this.#raggedFault(text.subarray(start, end), line) };
  }

  #quotingFault(text: Buffer, start: number, line: number): RowFault {
    const { fault, faultAt } = this.#scanner;
    const raw = rawOf(text.subarray(start, endOfLine(text, start)));
    const below = countLineEnds(text, start, faultAt);
    if (below > 0) return { at: start, line, error: `${fault}, on line ${line + below}`, raw };
    return { at: start, line, column: faultAt - start + 1, error: fault, raw };
  }

  #raggedFault(record: Buffer, line: number): Omit<RowFault, 'at'> {
    const cells = this.#scanner.count === 1 ? '1 cell' : `${this.#scanner.count} cells`;
    return {
      line,
      error: `${cells}, but the header has ${this.header.length}`,
      raw: rawOf(record),
    };
  }
}
