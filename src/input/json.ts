import { rawOf, type Cut, type Cutter, type Skip } from './cutter.js';
import { FAULT, JsonValueScanner } from './json-value.js';
import { BEYOND } from '../text/csv-scanner.js';
import { LF } from './line-ends.js';
import type { RowFault } from './rows.js';

const mostRecords = 4096;

const CLOSING: ReadonlyMap<number | undefined, number> = new Map([
  [91, 93],
  [123, 125],
]);
/** First bytes of JSON values. */
const valueStarts: ReadonlySet<number> = new Set(Buffer.from('{["-0123456789tfn'));

/** What the array waits for; `broken`: the rest of the input is not read as anything. */
const states = ['array', 'first', 'value', 'comma', 'nothing', 'broken'] as const;
type State = (typeof states)[number];

/** By byte: `[`, `,` and `]`. */
const punctuation: Readonly<Record<State, Readonly<Record<number, State>>>> = {
  array: { 91: 'first' },
  first: { 93: 'nothing' },
  value: {},
  comma: { 44: 'value', 93: 'nothing' },
  nothing: {},
  broken: {},
};
const expectations: Readonly<Record<State, string>> = {
  array: 'the start of an array, [, is expected here',
  first: 'a record or ] is expected here',
  value: 'a record is expected here',
  comma: 'a comma or ] is expected here',
  nothing: 'text after the end of the array',
  broken: 'broken array',
};

/** The records and faults of one cut as they are found. */
interface Found {
  readonly bounds: number[];
  readonly lines: number[];
  readonly faults: RowFault[];
  readonly lineAt: (position: number) => number;
}

/**
 * Cuts one JSON array into its elements. Where the array itself is broken, that is one fault and
 * the end: nothing tells where the next record would start. Only LF ends a line.
 */
export class JsonCutter implements Cutter {
  readonly header = undefined;
  readonly #value = new JsonValueScanner();
  #state: State;
  #skipping = false;
  /** Bytes of the current line that came before the text at hand. */
  #columnsBefore = 0;

  /** `state` is that of the cutter that stopped where this one goes on. */
  constructor(state = 'array') {
    this.#state = states.find((known) => known === state) ?? 'array';
  }

  get state(): State {
    return this.#state;
  }

  cut(text: Buffer, firstLine: number, last: boolean): Cut {
    const found: Found = { bounds: [], lines: [], faults: [], lineAt: lines(text, firstLine) };
    let p = afterSpace(text, 0);
    while (p < text.length && found.lines.length < mostRecords) {
      const next = this.#step(text, p, last, found);
      if (next === BEYOND) break;
      p = afterSpace(text, next);
    }
    if (last && p === text.length && this.#state !== 'nothing' && this.#state !== 'broken') {
      this.#break(text, { from: p, at: p, error: 'the array is not closed' }, found);
    }
    this.#leave(text, p);
    return {
      used: p,
      line: found.lineAt(p),
      count: found.lines.length,
      bounds: Int32Array.from(found.bounds),
      lines: Uint32Array.from(found.lines),
      cells: undefined,
      faults: found.faults,
    };
  }

  skip(text: Buffer, line: number, last: boolean): Skip {
    if (!this.#skipping) this.#value.reset();
    const end = this.#value.scan(text, 0);
    this.#skipping = end === BEYOND && !last;
    if (!this.#skipping) this.#state = 'comma';
    const used = end < 0 ? this.#value.stoppedAt : end;
    this.#leave(text, used);
    return { used, line: lines(text, line)(used), done: !this.#skipping };
  }

  /** Takes a record, a comma or a bracket; returns where it ends, or BEYOND. */
  #step(text: Buffer, p: number, last: boolean, found: Found): number {
    if (this.#state === 'broken') return text.length;
    const byte = text[p]!;
    const awaitsValue = this.#state === 'first' || this.#state === 'value';
    if (awaitsValue && valueStarts.has(byte)) return this.#record(text, p, last, found);
    const state = punctuation[this.#state][byte];
    if (state === undefined) {
      return this.#break(text, { from: p, at: p, error: expectations[this.#state] }, found);
    }
    this.#state = state;
    return p + 1;
  }

  #record(text: Buffer, from: number, last: boolean, found: Found): number {
    this.#value.reset();
    const end = this.#value.scan(text, from);
    if (end === BEYOND && !last) return BEYOND;
    if (end === BEYOND) {
      return this.#break(text, { from, at: text.length, error: 'the text ends here' }, found);
    }
    if (end === FAULT) {
      const error = 'line break inside a string (is a quote missing?)';
      return this.#break(text, { from, at: this.#value.stoppedAt, error }, found);
    }
    const closing = CLOSING.get(text[from]);
    if (closing !== undefined && text[end - 1] !== closing) {
      return this.#break(text, { from, at: end - 1, error: 'wrong closing bracket' }, found);
    }
    found.bounds.push(from, end);
    found.lines.push(found.lineAt(from));
    this.#state = 'comma';
    return end;
  }

  /** The record at `from` is not to be read because of what stands at `at`. */
  #break(text: Buffer, { from, at, error }: Break, { faults, lineAt }: Found): number {
    this.#state = 'broken';
    const raw = rawOf(text.subarray(from));
    const line = lineAt(from);
    const lineBelow = lineAt(at);
    const found = { at: from, line, raw };
    if (lineBelow > line) faults.push({ ...found, error: `${error}, on line ${lineBelow}` });
    else faults.push({ ...found, column: this.#column(text, at), error });
    return text.length;
  }

  #column(text: Buffer, at: number): number {
    const lineFeed = text.subarray(0, at).lastIndexOf(LF);
    return lineFeed === -1 ? this.#columnsBefore + at + 1 : at - lineFeed;
  }

  /** Notes how far into a line the text is that follows after `used`. */
  #leave(text: Buffer, used: number): void {
    this.#columnsBefore = this.#column(text, used) - 1;
  }
}

interface Break {
  readonly from: number;
  readonly at: number;
  readonly error: string;
}

/** The physical line of ever later positions. */
function lines(text: Buffer, firstLine: number): (position: number) => number {
  let line = firstLine;
  let lineFeed = text.indexOf(LF);
  return (position) => {
    while (lineFeed !== -1 && lineFeed < position) {
      line++;
      lineFeed = text.indexOf(LF, lineFeed + 1);
    }
    return line;
  };
}

function afterSpace(text: Buffer, from: number): number {
  let p = from;
  while (p < text.length && isSpace(text[p]!)) p++;
  return p;
}

const isSpace = (byte: number): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9;
