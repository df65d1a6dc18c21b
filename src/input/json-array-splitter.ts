import {
  rawExcerpt,
  LF,
  type HoldBack,
  type SplitRecords,
  type RecordSplitter,
  type Skip,
} from './record-splitter.js';
import { instantiateTextProgram, type WasmMemory, type WasmNumber } from '../wasm.js';
import type { RowParseError } from './row-block.js';

/** Records per cut. */
const mostRecords = 4096;

/**
 * Expected next token; `nothing`: after the array, `ended`: after the object around it. After `broken` the rest of the
 * input is ignored.
 */
const states = ['array', 'first', 'value', 'comma', 'nothing', 'ended', 'broken'] as const;
type State = (typeof states)[number];

const expectations: Readonly<Record<State, string>> = {
  array: 'expected the start of an array, [',
  first: 'expected a record or ]',
  value: 'expected a record',
  comma: 'expected a comma or ]',
  nothing: 'text after the end of the array',
  ended: 'text after the end of the object',
  broken: 'broken array',
};

/** Next state by byte: `[`, `,` and `]`. */
const punctuation: Readonly<Record<State, Readonly<Record<number, State>>>> = {
  array: { 91: 'first' },
  first: { 93: 'nothing' },
  value: {},
  comma: { 44: 'value', 93: 'nothing' },
  nothing: {},
  ended: {},
  broken: {},
};

/** Whether the array is not closed yet. */
const isOpen: Readonly<Record<State, boolean>> = {
  array: true,
  first: true,
  value: true,
  comma: true,
  nothing: false,
  ended: false,
  broken: false,
};

const lineBreakInString = 'line break inside a string (is a quote missing?)';

/** First bytes of JSON values, and the closing brackets of arrays and objects. */
const valueStarts: ReadonlySet<number> = new Set(Buffer.from('{["-0123456789tfn'));
const closing: Readonly<Record<number, number>> = { 91: 93, 123: 125 };

/** A text with the records and errors found in it. */
interface Found {
  readonly text: Buffer;
  readonly bounds: number[];
  readonly lines: number[];
  readonly parseErrors: RowParseError[];
  readonly lineAt: (position: number) => number;
}

/**
 * Splits one JSON array into its elements. If the array itself is malformed, that is one error and
 * ends the input, because the start of the next record cannot be determined. Only LF ends a line.
 */
export class JsonArraySplitter implements RecordSplitter {
  readonly header = undefined;
  readonly #elements = new JsonArrayScanner();
  #state: State;
  #skipping = false;
  /** Bytes of the current line before the current text. */
  #columnsBefore = 0;

  /** Names of the members that lead to the array, if it is inside an object. */
  readonly #path: readonly string[];

  /** `state` is that of the splitter at the position from which this one continues. */
  constructor(state = 'array', path: readonly string[] = []) {
    this.#path = path;
    this.#state = states.find((known) => known === state) ?? 'array';
  }

  get state(): State {
    return this.#state;
  }

  /** Returns a splitter of the same array that continues in a state. */
  resumedAt(state: string): JsonArraySplitter {
    return new JsonArraySplitter(state, this.#path);
  }

  cut(text: Buffer, firstLine: number, isLast: boolean, holdBack?: HoldBack): SplitRecords {
    const last = isLast && holdBack === undefined;
    this.#elements.load(text);
    const found: Found = {
      text,
      bounds: [],
      lines: [],
      parseErrors: [],
      lineAt: lines(text, firstLine),
    };
    let p = afterSpace(text, 0);
    while (p < text.length && found.lines.length < mostRecords) {
      const next = this.#step(found, p, last);
      if (next === BEYOND) break;
      p = afterSpace(text, next);
    }
    const rest = this.#isInRest && isLast ? restOfObject(this.#path, text.subarray(p)) : undefined;
    let open = isOpen[this.#state] ? 'the array' : undefined;
    if (rest?.isIncomplete) open = 'the object';
    if (open !== undefined && last && (p === text.length || rest)) {
      this.#break(found, p, { at: p, error: `${open} is not closed` });
    } else if (rest?.error !== undefined) {
      p = this.#break(found, p, { at: p, error: rest.error });
    } else if (rest && !rest.isIncomplete) {
      this.#state = 'ended';
      p = text.length;
    }
    this.#noteColumn(text, p);
    return {
      incomplete: holdBack && open !== undefined ? `${open} is not closed` : undefined,
      used: p,
      line: found.lineAt(p),
      count: found.lines.length,
      bounds: Int32Array.from(found.bounds),
      lines: Uint32Array.from(found.lines),
      cells: undefined,
      parseErrors: found.parseErrors,
    };
  }

  skip(text: Buffer, line: number, last: boolean): Skip {
    if (this.#isInRest)
      return this.#breakSkipped(
        text,
        line,
        'text after the array, too long to check (--max-record-bytes)',
      );
    this.#elements.load(text);
    const end = this.#skipping ? this.#elements.rest(0) : this.#elements.end(0);
    this.#skipping = end === BEYOND && !last;
    if (end === LINE_BREAK) {
      const breakLine = lines(text, line)(this.#elements.stoppedAt);
      return this.#breakSkipped(text, line, `${lineBreakInString}, on line ${breakLine}`);
    }
    if (!this.#skipping) this.#state = 'comma';
    const used = end < 0 ? this.#elements.stoppedAt : end;
    this.#noteColumn(text, used);
    return { used, line: lines(text, line)(used), done: !this.#skipping };
  }

  /** Ends the input in a text that is skipped: what follows must not become records. */
  #breakSkipped(text: Buffer, line: number, error: string): Skip {
    this.#state = 'broken';
    return { used: text.length, line: lines(text, line)(text.length), done: true, error };
  }

  /** Consumes a record, a comma or a bracket; returns the position after it, or BEYOND. */
  #step(found: Found, p: number, last: boolean): number {
    if (this.#isInRest) return BEYOND; // it is read as a whole
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

  /** Whether the array is over, and the objects around it follow. */
  get #isInRest(): boolean {
    return this.#state === 'nothing' && this.#path.length > 0;
  }

  #record(found: Found, from: number, last: boolean): number {
    const { text } = found;
    const end = this.#elements.end(from);
    if (end === BEYOND && !last) return BEYOND;
    if (end === BEYOND) {
      return this.#break(found, from, { at: text.length, error: 'the text ends here' });
    }
    if (end === LINE_BREAK) {
      return this.#break(found, from, { at: this.#elements.stoppedAt, error: lineBreakInString });
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

  /** Adds an error at `at` for the record that starts at `from`, and ends the input. */
  #break(found: Found, from: number, { at, error }: { at: number; error: string }): number {
    this.#state = 'broken';
    const { text, lineAt } = found;
    const parseError = { at: from, line: lineAt(from), raw: rawExcerpt(text.subarray(from)) };
    const line = lineAt(at);
    if (line > parseError.line)
      found.parseErrors.push({ ...parseError, error: `${error}, on line ${line}` });
    else found.parseErrors.push({ ...parseError, column: this.#column(text, at), error });
    return text.length;
  }

  #column(text: Buffer, at: number): number {
    const lineFeed = text.subarray(0, at).lastIndexOf(LF);
    return lineFeed === -1 ? this.#columnsBefore + at + 1 : at - lineFeed;
  }

  /** Stores the column at which the next text starts. */
  #noteColumn(text: Buffer, used: number): void {
    this.#columnsBefore = this.#column(text, used) - 1;
  }
}

/** Checks the text that follows an array inside an object, up to the end of the outermost object. */
function restOfObject(
  path: readonly string[],
  rest: Buffer,
): { readonly isIncomplete?: boolean; readonly error?: string } {
  const text = `${path.map((name) => `{${JSON.stringify(name)}:`).join('')}[]${rest.toString()}`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    const position = /at position (\d+)/.exec(message)?.[1];
    const isAtEnd = Number(position) === text.trimEnd().length;
    if (isAtEnd || /end of JSON|Unterminated/.test(message)) return { isIncomplete: true };
    const isAfter = message.includes('after JSON');
    return {
      error: isAfter ? 'text after the end of the object' : 'broken text after the records',
    };
  }
  for (const name of path) value = (value as Record<string, unknown> | undefined)?.[name];
  const isSame = Array.isArray(value) && value.length === 0;
  return isSame ? {} : { error: `"${path.join('.')}" occurs a second time` };
}

/** Returns a function from positions, which must not decrease, to physical lines. */
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

/** Exports of `wasm/json-array.ts` and `wasm/json-parser.ts`. */
interface ElementProgram {
  readonly memory: WasmMemory;
  reserveJson(bytes: number, first: number): number;
  beginElement(): void;
  elementEnd(from: number, to: number): number;
  readonly elementStop: WasmNumber;
}

/** Returned instead of a position if the element ends beyond the text, or has a line break inside a string. */
export const BEYOND = -1;
const LINE_BREAK = -2;

/** Finds the ends of elements of a JSON array without validating them. */
class JsonArrayScanner {
  readonly #program = instantiateTextProgram() as ElementProgram;
  #length = 0;

  /** Copies a text into the memory of the scanner. */
  load(text: Buffer): void {
    const at = this.#program.reserveJson(text.length, 0);
    text.copy(Buffer.from(this.#program.memory.buffer, at));
    this.#length = text.length;
  }

  /** Returns the position after the element that starts at `start`, BEYOND or LINE_BREAK. */
  end(start: number): number {
    this.#program.beginElement();
    return this.rest(start);
  }

  /** Returns the same for an element that started in an earlier text. */
  rest(from: number): number {
    return this.#program.elementEnd(from, this.#length);
  }

  /** Position of the line break, or the position from which to continue with more text. */
  get stoppedAt(): number {
    return this.#program.elementStop.value;
  }
}
