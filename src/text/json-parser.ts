import { instantiateTextProgram } from './wasm-program.js';
import { EngagectlError, type ErrorId } from '../errors.js';
import { JsonSize } from './json-limits.js';
import type { TextSlice } from './text-slice.js';
import type { WasmMemory, WasmNumber } from '../wasm.js';

/** Indexes of what `read` leaves at the beginning of the memory, in numbers of 32 bits. */
const at = {
  start: 0,
  end: 1,
  count: 2,
  members: 3,
  hasOperator: 4,
  fault: 5,
  faultAt: 6,
  repeatEnd: 7,
};
/** Numbers of a member; its name, which is its key without escapes, lies in the program's memory. */
const member = {
  keyStart: 0,
  keyEnd: 1,
  valueStart: 2,
  valueEnd: 3,
  hasEscape: 4,
  nameStart: 5,
  nameEnd: 6,
};
const memberNumbers = 7;

const nothing = Buffer.alloc(0);

/** What `wasm/json-parser.ts` exports. */
interface JsonProgram {
  readonly memory: WasmMemory;
  /** Objects and arrays within each other; deeper texts are refused. */
  readonly deepest: WasmNumber;
  /** Where to put a text of so many bytes, the first of which is called `first` from then on. */
  reserveJson(bytes: number, first: number): number;
  /** Reads what was put there from `start` to `end`. */
  readJson(start: number, end: number): void;
  /** Writes what stands between these places of a string somewhere else, without escapes; returns where. */
  unescape(start: number, end: number): number;
  readonly unescapedEnd: WasmNumber;
  /** Whether half of a surrogate pair was escaped there. */
  readonly hasHalf: WasmNumber;
}

/**
 * Checks one JSON text after the other against the full grammar (RFC 8259), in one pass over its
 * bytes and without building anything, and remembers where the topmost object's members lie.
 * One value is used again for every text. The work is done by `wasm/json-parser.ts`.
 */
export class JsonParser {
  bytes: Buffer = nothing;
  /** The topmost value is `bytes[start, end)`, without the whitespace around it. */
  start = 0;
  end = 0;
  /** Number of members of the topmost object; 0 for anything else. */
  count = 0;
  /** Whether any object has a key like $incr, which makes a profile diverge. */
  hasOperator = false;
  /** What is wrong with the text and the byte where; undefined when nothing is. */
  fault: string | undefined;
  faultAt = 0;
  /** Set with `fault` when the text is good JSON and only repeats a key. */
  repeatsKey = false;

  #program: JsonProgram | undefined;
  /** Two views of its memory, which are empty once it has grown. */
  #memory: Buffer = nothing;
  #numbers = new Int32Array(0);
  /** Index in `#numbers` of the first member. */
  #members = 0;
  /** What the program has all of. */
  #loaded: Buffer | undefined;

  /** Reads `bytes[start, end)`; false, with `fault` set, when it is not one JSON value. */
  read(bytes: Buffer, start: number, end: number): boolean {
    this.#load(bytes, start, end);
    this.#loaded = undefined;
    return this.#read(start, end);
  }

  /** The same of a block that never changes, and from which more will be read: it is loaded once. */
  readFrom(block: Buffer, start: number, end: number): boolean {
    if (block !== this.#loaded) this.#load(block, 0, block.length);
    this.#loaded = block;
    return this.#read(start, end);
  }

  /** First byte of the topmost value, which tells its kind. */
  get kind(): number {
    return this.bytes[this.start]!;
  }

  /** Member i: its key between the quotes is `bytes[keyStart(i), keyEnd(i))`, its value … */
  keyStart(index: number): number {
    return this.#numberOf(index, member.keyStart);
  }

  keyEnd(index: number): number {
    return this.#numberOf(index, member.keyEnd);
  }

  valueStart(index: number): number {
    return this.#numberOf(index, member.valueStart);
  }

  valueEnd(index: number): number {
    return this.#numberOf(index, member.valueEnd);
  }

  /** First byte of member i's value. */
  kindOf(index: number): number {
    return this.bytes[this.valueStart(index)]!;
  }

  /**
   * Index of the topmost object's member of this name, or -1. `name` has a character for each byte
   * of its UTF-8: any ASCII name as it is.
   */
  find(name: string): number {
    const numbers = this.#numbers;
    for (let index = 0, at = this.#members; index < this.count; index++, at += memberNumbers) {
      const start = numbers[at + member.nameStart]!;
      const end = numbers[at + member.nameEnd]!;
      if (end - start === name.length && this.#isName(name, start)) return index;
    }
    return -1;
  }

  #isName(name: string, start: number): boolean {
    for (let at = 0; at < name.length; at++) {
      if (this.#memory[start + at] !== name.charCodeAt(at)) return false;
    }
    return true;
  }

  /** Member i's text, in `into`; undefined when its value is no string. */
  stringAt(index: number, into: TextSlice): TextSlice | undefined {
    if (this.kindOf(index) !== jsonToken.quote) return undefined;
    const [start, end] = [this.valueStart(index) + 1, this.valueEnd(index) - 1];
    const hasEscape = this.#numberOf(index, member.hasEscape) === 1;
    return hasEscape ? this.unescaped(start, end, into) : into.of(this.bytes, start, end);
  }

  /** What stands between these places of a string, without escapes, until the next text is read. */
  unescaped(start: number, end: number, into: TextSlice): TextSlice {
    const program = this.#program!;
    const from = program.unescape(start, end);
    return into.of(this.#memory, from, program.unescapedEnd.value, program.hasHalf.value === 1);
  }

  /** Whether member i's value is null or "". */
  isEmptyAt(index: number): boolean {
    const kind = this.kindOf(index);
    const length = this.valueEnd(index) - this.valueStart(index);
    return kind === jsonToken.n || (kind === jsonToken.quote && length === 2);
  }

  #numberOf(index: number, number: number): number {
    return this.#numbers[this.#members + memberNumbers * index + number]!;
  }

  #load(bytes: Buffer, start: number, end: number): void {
    this.bytes = bytes;
    this.#program ??= instantiateTextProgram() as JsonProgram;
    const place = this.#program.reserveJson(end - start, start);
    this.#refreshViews(this.#program);
    bytes.copy(this.#memory, place, start, end);
  }

  #read(start: number, end: number): boolean {
    const program = this.#program!;
    program.readJson(start, end);
    this.#refreshViews(program);
    const numbers = this.#numbers;
    this.start = numbers[at.start]!;
    this.end = numbers[at.end]!;
    this.count = numbers[at.count]!;
    this.#members = numbers[at.members]! >> 2;
    this.hasOperator = numbers[at.hasOperator] === 1;
    const fault = numbers[at.fault]!;
    this.repeatsKey = fault === duplicateKeyError;
    this.fault = undefined;
    if (fault === 0) return true;
    const faultAt = numbers[at.faultAt]!;
    this.faultAt = faultAt;
    const [limit, keyEnd, deepest] = [end, numbers[at.repeatEnd]!, program.deepest.value];
    this.fault = jsonErrorText(fault, this.bytes, { faultAt, limit, keyEnd, deepest });
    return false;
  }

  /** Makes the views anew if the memory has grown. */
  #refreshViews({ memory }: JsonProgram): void {
    if (this.#numbers.length > 0) return;
    this.#memory = Buffer.from(memory.buffer);
    this.#numbers = new Int32Array(memory.buffer);
  }
}

/** What `wasm/json-parser.ts` says to be wrong: something is missing, or … */
const missing = [
  '',
  'a value',
  'a digit',
  'a key in double quotes',
  'a colon',
  'a comma or a closing brace',
  'a comma or a closing bracket',
];
const [inString, tooDeep, goesOn] = [7, 8, 9];
/** … the text is good JSON, and only repeats a key. */
export const duplicateKeyError = 10;

interface Place {
  readonly faultAt: number;
  /** Where the text ends. */
  readonly limit: number;
  /** Of a key that is repeated. */
  readonly keyEnd: number;
  readonly deepest: number;
}

/** What is wrong with a JSON text, to be read behind "JSON". */
function jsonErrorText(fault: number, bytes: Buffer, place: Place): string {
  const { faultAt, limit, keyEnd, deepest } = place;
  switch (fault) {
    case inString:
      if (faultAt >= limit) return 'ends within a string';
      if (bytes[faultAt]! < 0x20) return 'has a control character within a string';
      return 'has an escape that JSON does not know';
    case tooDeep:
      return `nests deeper than ${deepest}`;
    case goesOn:
      return `goes on after its end, with ${JSON.stringify(characterAt(bytes, faultAt))}`;
    case duplicateKeyError: {
      const key = bytes.toString('utf8', faultAt + 1, keyEnd);
      return `repeats the key "${key.slice(0, 100)}"`;
    }
    default:
      return unexpected(missing[fault]!, bytes, place);
  }
}

function unexpected(expected: string, bytes: Buffer, { faultAt, limit }: Place): string {
  if (faultAt >= limit) return `ends where ${expected} should be`;
  return `has ${JSON.stringify(characterAt(bytes, faultAt))}, not ${expected}`;
}

const characterAt = (bytes: Buffer, at: number): string =>
  String.fromCodePoint(bytes.toString('utf8', at, at + 4).codePointAt(0)!);

/** Bytes with a meaning in JSON. */
export const jsonToken = {
  quote: 0x22,
  comma: 0x2c,
  openArray: 0x5b,
  openObject: 0x7b,
  closeObject: 0x7d,
  /** First letters of the literals. */
  t: 0x74,
  f: 0x66,
  n: 0x6e,
} as const;

/** What is nested deeper than a text may be is told by its place. */
const mostOfFile = { depth: Number.POSITIVE_INFINITY, values: 250_000 };

/**
 * The value of a file's text. Not by JSON.parse alone: it takes the last of two equal keys in silence,
 * its errors quote the file, and know no lines. Throws an error of this id, with line and column.
 */
export function parseStrictJson(
  text: string,
  file: string,
  { id, why, fix }: { readonly id: ErrorId; readonly why: string; readonly fix: string },
): unknown {
  const bytes = Buffer.from(text.replace(/^\uFEFF/, ''));
  const json = new JsonParser();
  if (!new JsonSize().fits(bytes, mostOfFile)) {
    throw new EngagectlError(id, `${file}: the JSON has too many values`, { why, fix, file });
  }
  if (json.read(bytes, 0, bytes.length)) return JSON.parse(bytes.toString());
  const before = bytes.toString('utf8', 0, json.faultAt).split('\n');
  const [line, column] = [before.length, Buffer.byteLength(before.at(-1)!) + 1];
  const message = `${file}:${line}:${column}: JSON ${json.fault}`;
  throw new EngagectlError(id, message, { why, fix, file, line, column });
}
