import { CsvScanner, type CsvProgram, type CsvFault, type Markers } from '../text/csv-scanner.js';
import { rawOf, type Cut, type Cutter } from './cutter.js';
import { endOfLine, skipLine } from './line-ends.js';
import { standardCells } from './standard-cells.js';
import type { RowFault } from './row-block.js';

/** A window seldom holds more. */
const usualBytes = 512 * 1024;

/** One for all, for a block keeps it. */
const none: readonly RowFault[] = [];

/**
 * Cuts CSV, TSV and bare lists (CSV of one column without a delimiter). LF, CRLF and CR end a
 * line, inside quotes too; blank lines and comments are no records. After a quoting fault it goes on at the
 * next physical line, so that a lost quote costs few records and not the rest of the file.
 */
export class CsvCutter implements Cutter {
  readonly header: readonly string[];
  readonly program: CsvProgram;
  readonly markers: Markers;
  readonly state = undefined;
  readonly skip = skipLine;
  readonly #scanner: CsvScanner;

  constructor(header: readonly string[], program: CsvProgram, markers: Markers) {
    this.header = header;
    this.program = program;
    this.markers = markers;
    this.#scanner = new CsvScanner(program, markers);
  }

  /** Most windows whole; the scanner copies its text, and a long one is cut many times. */
  cut(text: Buffer, line: number, last: boolean): Cut {
    for (let size = usualBytes; ; size *= 2) {
      const isWhole = text.length <= size;
      const cut = this.#cut(text.subarray(0, size), line, last && isWhole);
      if (cut.used > 0 || isWhole) return cut;
    }
  }

  #cut(text: Buffer, line: number, last: boolean): Cut {
    this.#scanner.begin(text, this.header.length, last);
    const records = this.#scanner.cut(line);
    const faults =
      records.faults.length === 0
        ? none
        : records.faults.map((fault) => this.#faultOf(fault, text, last));
    const cut = { ...records, faults };
    return standardCells(text, cut, this.markers);
  }

  #faultOf({ at, line, what, where, lineEnds }: CsvFault, text: Buffer, last: boolean): RowFault {
    if (typeof what === 'number') {
      const cells = what === 1 ? '1 cell' : `${what} cells`;
      const isCut = last && where === text.length && what < this.header.length;
      const hint = isCut ? '; the last line does not end in a newline: was the file cut?' : '';
      const error = `${cells}, but the header has ${this.header.length}${hint}`;
      return { at, line, error, raw: rawOf(text.subarray(at, where)) };
    }
    const raw = rawOf(text.subarray(at, endOfLine(text, at)));
    if (lineEnds > 0) return { at, line, error: `${what}, on line ${line + lineEnds}`, raw };
    return { at, line, column: where - at + 1, error: what, raw };
  }
}
