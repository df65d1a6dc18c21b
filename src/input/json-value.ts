import { BEYOND } from '../text/csv-scanner.js';
import { LF } from './line-ends.js';

const QUOTE = 34;
const BACKSLASH = 92;

/** Returned in place of a position: a line break inside a string. */
export const FAULT = -2;

/**
 * Finds where a JSON value ends by strings and nesting alone; whether the text in between is
 * JSON is not its business. It can go on where the text at hand ended.
 */
export class JsonValueScanner {
  /** After BEYOND: where to go on when there is more text. After FAULT: the culprit. */
  stoppedAt = 0;
  #depth = 0;
  #inString = false;

  reset(): void {
    this.#depth = 0;
    this.#inString = false;
  }

  /** Position after the value whose text (or the rest of it) starts at `from`, BEYOND or FAULT. */
  scan(text: Buffer, from: number): number {
    const length = text.length;
    for (let p = from; p < length; p++) {
      if (this.#inString) {
        p = this.#closingQuote(text, p);
        if (p < 0) return p;
        this.#inString = false;
        if (this.#depth === 0) return p + 1;
        continue;
      }
      const byte = text[p]!;
      if (byte === QUOTE) this.#inString = true;
      else if (opens(byte)) this.#depth++;
      else if (this.#depth === 0) {
        if (endsScalar(byte)) return p;
      } else if (closes(byte) && --this.#depth === 0) return p + 1;
    }
    this.stoppedAt = length;
    return BEYOND;
  }

  /**
   * A line break in a string is no JSON and mostly says that a quote is missing: stopping here
   * names the place and keeps the rest of the input from being taken for one string.
   */
  #closingQuote(text: Buffer, from: number): number {
    const length = text.length;
    let p = from;
    for (; p < length; p++) {
      const byte = text[p]!;
      if (byte === QUOTE) return p;
      if (byte === BACKSLASH) {
        if (p + 1 === length) break;
        p++;
      } else if (byte === LF) {
        this.stoppedAt = p;
        return FAULT;
      }
    }
    this.stoppedAt = p;
    return BEYOND;
  }
}

const opens = (byte: number): boolean => byte === 123 || byte === 91;
const closes = (byte: number): boolean => byte === 125 || byte === 93;
const endsScalar = (byte: number): boolean => byte <= 32 || byte === 44 || closes(byte);
