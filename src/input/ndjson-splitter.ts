import {
  LF,
  type HoldBack,
  type RecordSplitter,
  type Skip,
  type SplitRecords,
} from './record-splitter.js';

const mostRecords = 4096;

/** Blank start of a line that is dropped, so that endless blanks do not become an overlong record. */
const maxBlankBytes = 64 * 1024;

/**
 * Splits NDJSON: one JSON text per line, blank lines skipped. Only LF ends a line; a CR, like any
 * white space around the text, is not part of the record.
 */
export class NdjsonSplitter implements RecordSplitter {
  readonly header = undefined;
  readonly state = undefined;
  readonly #bounds = new Int32Array(2 * mostRecords);
  readonly #lines = new Uint32Array(mostRecords);

  cut(text: Buffer, firstLine: number, last: boolean, holdBack?: HoldBack): SplitRecords {
    let incomplete: string | undefined;
    let spread: number | undefined;
    let count = 0;
    let line = firstLine;
    let start = 0;
    while (start < text.length && count < mostRecords) {
      let end = text.indexOf(LF, start);
      if (end === -1) {
        if (!last && text.length - start > maxBlankBytes && isBlank(text, start))
          start = text.length;
        if (!last) break;
        if (holdBack && start < text.length && !isJson(text.subarray(start))) {
          incomplete = 'the last line has no line end and is not valid JSON';
          break;
        }
        end = text.length;
      }
      const next = Math.min(end + 1, text.length);
      while (start < end && isSpace(text[start])) start++;
      while (end > start && isSpace(text[end - 1])) end--;
      if (end < next && isOpening(text, start, end)) {
        spread = line;
        break;
      }
      if (start < end) {
        this.#bounds[2 * count] = start;
        this.#bounds[2 * count + 1] = end;
        this.#lines[count++] = line;
      }
      line++;
      start = next;
    }
    return {
      used: start,
      line,
      count,
      bounds: this.#bounds.subarray(0, 2 * count),
      lines: this.#lines.subarray(0, count),
      cells: undefined,
      parseErrors: [],
      incomplete,
      spread,
    };
  }

  skip(text: Buffer, line: number, last: boolean): Skip {
    const end = text.indexOf(LF);
    if (end !== -1) return { used: end + 1, line: line + 1, done: true };
    return { used: text.length, line, done: last };
  }
}

/** Whether a line is JSON text, or blank. */
function isJson(line: Buffer): boolean {
  if (isBlank(line, 0)) return true;
  try {
    JSON.parse(line.toString());
    return true;
  } catch {
    return false;
  }
}

/** Whether a line with a line end only opens a value, as the first one of pretty-printed JSON does. */
const isOpening = (text: Buffer, start: number, end: number): boolean =>
  end - start > 0 &&
  end - start <= 3 &&
  /^[[{][ \t\r]?[[{]?$/.test(text.toString('latin1', start, end));

function isBlank(text: Buffer, from: number): boolean {
  let at = from;
  while (at < text.length && isSpace(text[at])) at += 1;
  return at === text.length;
}

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 9 || byte === 13;
