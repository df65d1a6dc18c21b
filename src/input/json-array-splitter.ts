import {
  rawExcerpt,
  LF,
  type SplitRecords,
  type RecordSplitter,
  type Skip,
} from './record-splitter.js';
import { instantiateTextProgram } from '../text/wasm-program.js';
import type { RowParseError } from './row-block.js';
import type { WasmMemory, WasmNumber } from '../wasm.js';

/** In one cut. */
const mostRecords = 4096;

/** What the array waits for; `broken`: the rest of the input is not read as anything. */
const states = ['array', 'first', 'value', 'comma', 'nothing', 'broken'] as const;
type State = (typeof states)[number];

const expectations: Readonly<Record<State, string>> = {
  array: 'the start of an array, [, is expected here',
  first: 'a record or ] is expected here',
  value: 'a record is expected here',
  comma: 'a comma or ] is expected here',
  nothing: 'text after the end of the array',
  broken: 'broken array',
};

/** By byte: `[`, `,` and `]`. */
const punctuation: Readonly<Record<State, Readonly<Record<number, State>>>> = {
  array: { 91: 'first' },
  first: { 93: 'nothing' },
  value: {},
  comma: { 44: 'value', 93: 'nothing' },
  nothing: {},
  broken: {},
};

/** First bytes of JSON values, and what closes those that are closed. */
const valueStarts: ReadonlySet<number> = new Set(Buffer.from('{["-0123456789tfn'));
const closing: Readonly<Record<number, number>> = { 91: 93, 123: 125 };

/** A text, and what was found in it. */
interface Found {
  readonly text: Buffer;
  readonly bounds: number[];
  readonly lines: number[];
  readonly faults: RowParseError[];
  readonly lineAt: (position: number) => number;
}

/**
 * Cuts one JSON array into its elements. Where the array itself is broken, that is one fault and
 * the end: nothing tells where the next record would start. Only LF ends a line.
 */
export class JsonArraySplitter implements RecordSplitter {
  readonly header = undefined;
  readonly #elements = new JsonArrayScanner();
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

  cut(text: Buffer, firstLine: number, last: boolean): SplitRecords {
    this.#elements.load(text);
    const found: Found = {
      text,
      bounds: [],
      lines: [],
      faults: [],
      lineAt: lines(text, firstLine),
    };
    let p = afterSpace(text, 0);
    while (p < text.length && found.lines.length < mostRecords) {
      const next = this.#step(found, p, last);
      if (next === BEYOND) break;
      p = afterSpace(text, next);
    }
    if (last && p === text.length && this.#state !== 'nothing' && this.#state !== 'broken') {
      this.#break(found, p, { at: p, error: 'the array is not closed' });
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
    this.#elements.load(text);
    const end = this.#skipping ? this.#elements.rest(0) : this.#elements.end(0);
    this.#skipping = end === BEYOND && !last;
    if (!this.#skipping) this.#state = 'comma';
    const used = end < 0 ? this.#elements.stoppedAt : end;
    this.#leave(text, used);
    return { used, line: lines(text, line)(used), done: !this.#skipping };
  }

  /** Takes a record, a comma or a bracket; returns where it ends, or BEYOND. */
  #step(found: Found, p: number, last: boolean): number {
    if (this.#state === 'broken') return found.text.length;
    const byte = found.text[p]!;
    const awaitsValue = this.#state === 'first' || this.#state === 'value';
    if (awaitsValue && valueStarts.has(byte)) return this.#record(found, p, last);
    const state = punctuation[this.#state][byte];
    if (state === undefined) {
      return this.#break(found, p, { at: p, error: expectations[this.#state] });
    }
    this.#state = state;
    return p + 1;
  }

  #record(found: Found, from: number, last: boolean): number {
    const { text } = found;
    const end = this.#elements.end(from);
    if (end === BEYOND && !last) return BEYOND;
    if (end === BEYOND) {
      return this.#break(found, from, { at: text.length, error: 'the text ends here' });
    }
    if (end === LINE_BREAK) {
      const error = 'line break inside a string (is a quote missing?)';
      return this.#break(found, from, { at: this.#elements.stoppedAt, error });
    }
    const close = closing[text[from]!];
    if (close !== undefined && text[end - 1] !== close) {
      return this.#break(found, from, { at: end - 1, error: 'wrong closing bracket' });
    }
    found.bounds.push(from, end);
    found.lines.push(found.lineAt(from));
    this.#state = 'comma';
    return end;
  }

  /** The record at `from` is not to be read because of what stands at `at`. */
  #break(found: Found, from: number, { at, error }: { at: number; error: string }): number {
    this.#state = 'broken';
    const { text, lineAt } = found;
    const fault = { at: from, line: lineAt(from), raw: rawExcerpt(text.subarray(from)) };
    const line = lineAt(at);
    if (line > fault.line) found.faults.push({ ...fault, error: `${error}, on line ${line}` });
    else found.faults.push({ ...fault, column: this.#column(text, at), error });
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

/** What `wasm/json-array.ts` and `wasm/json-parser.ts` export. */
interface ElementProgram {
  readonly memory: WasmMemory;
  reserveJson(bytes: number, first: number): number;
  beginElement(): void;
  elementEnd(from: number, to: number): number;
  readonly elementStop: WasmNumber;
}

/** In place of a position: the element ends beyond the text, or has a line break within a string. */
export const BEYOND = -1;
const LINE_BREAK = -2;

/** Finds where elements of a JSON array end; whether they are JSON is not looked at. */
class JsonArrayScanner {
  readonly #program = instantiateTextProgram() as ElementProgram;
  #length = 0;

  /** Takes up a text. */
  load(text: Buffer): void {
    const at = this.#program.reserveJson(text.length, 0);
    text.copy(Buffer.from(this.#program.memory.buffer, at));
    this.#length = text.length;
  }

  /** Position behind the element that begins at `start`, BEYOND or LINE_BREAK. */
  end(start: number): number {
    this.#program.beginElement();
    return this.rest(start);
  }

  /** The same of the element that ended beyond the text before. */
  rest(from: number): number {
    return this.#program.elementEnd(from, this.#length);
  }

  /** Where the line break is, or where to go on when there is more text. */
  get stoppedAt(): number {
    return this.#program.elementStop.value;
  }
}
