import { instantiateTextProgram, type WasmMemory, type WasmNumber } from '../wasm.js';
import { EngagectlError, type ErrorId } from '../errors.js';
import { JsonSize } from './json-limits.js';
import type { TextSlice } from './text-slice.js';

/** Indexes of the results of `read` at the start of the memory, as 32-bit numbers. */
const at = {
  start: 0,
  end: 1,
  count: 2,
  members: 3,
  hasOperator: 4,
  failure: 5,
  failureAt: 6,
  repeatEnd: 7,
};
/** Offsets in a member; its name, the unescaped key, is in the program's memory. */
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

/** Exports of `wasm/json-parser.ts`. */
interface JsonProgram {
  readonly memory: WasmMemory;
  /** Maximum nesting of objects and arrays; deeper texts are rejected. */
  readonly deepest: WasmNumber;
  /** Returns the address for a text of this many bytes, whose first byte has position `first`. */
  reserveJson(bytes: number, first: number): number;
  /** Parses the loaded text from `start` to `end`. */
  readJson(start: number, end: number): void;
  /** Writes the unescaped content of a string to another address, and returns that. */
  unescape(start: number, end: number): number;
  readonly unescapedEnd: WasmNumber;
  /** Whether the string contained an escaped half of a surrogate pair. */
  readonly hasHalf: WasmNumber;
}

/**
 * Validates JSON texts one after the other against the full grammar (RFC 8259), in one pass over the
 * bytes without building anything, and records the positions of the top-level object's members. The
 * instance is reused for each text. Implemented in `wasm/json-parser.ts`.
 */
export class JsonParser {
  bytes: Buffer = nothing;
  /** The top-level value is `bytes[start, end)`, without surrounding whitespace. */
  start = 0;
  end = 0;
  /** Number of members of the top-level object; 0 for other values. */
  count = 0;
  /** Whether any object has a key like $incr, which makes a profile not idempotent. */
  hasOperator = false;
  /** Error and its byte position; undefined for a valid text. */
  failure: string | undefined;
  failureAt = 0;
  /** Set with `failure` if the text is valid JSON except for a repeated key. */
  repeatsKey = false;

  #program: JsonProgram | undefined;
  /** Two views of its memory, which are detached when it grows. */
  #memory: Buffer = nothing;
  #numbers = new Int32Array(0);
  /** Index in `#numbers` of the first member. */
  #members = 0;
  /** The block of the last `readFrom`. */
  #block: Buffer | undefined;
  /** Whether it is loaded completely: `read` replaces it. */
  #isLoaded = false;

  /** Parses `bytes[start, end)`; false, with `failure` set, if it is not one JSON value. */
  read(bytes: Buffer, start: number, end: number): boolean {
    this.#load(bytes, start, end);
    this.#isLoaded = false;
    return this.#read(start, end);
  }

  /**
   * The same for a part of a block that never changes and is loaded only once. If `read` is called between two parts,
   * each part is loaded by itself.
   */
  readFrom(block: Buffer, start: number, end: number): boolean {
    if (block !== this.#block) {
      this.#load(block, 0, block.length);
      this.#block = block;
      this.#isLoaded = true;
    } else if (!this.#isLoaded) this.#load(block, start, end);
    return this.#read(start, end);
  }

  /** First byte of the top-level value, which determines its kind. */
  get kind(): number {
    return this.bytes[this.start]!;
  }

  /** Bounds of the key of member `index`, without quotes. */
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

  /** Returns the name of member `index`, unescaped. */
  nameAt(index: number): string {
    const spelling = this.bytes.toString('utf8', this.keyStart(index), this.keyEnd(index));
    return spelling.includes('\\') ? (JSON.parse(`"${spelling}"`) as string) : spelling;
  }

  /** Returns the JSON text of the value of member `index`. */
  valueText(index: number): string {
    return this.bytes.toString('utf8', this.valueStart(index), this.valueEnd(index));
  }

  /** First byte of the value of member `index`. */
  kindOf(index: number): number {
    return this.bytes[this.valueStart(index)]!;
  }

  /**
   * Returns the index of the top-level member with this name, or -1. `name` has one character per UTF-8
   * byte; ASCII names need no conversion.
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

  /** Returns the string value of member `index` in `into`; undefined if it is not a string. */
  stringAt(index: number, into: TextSlice): TextSlice | undefined {
    if (this.kindOf(index) !== jsonToken.quote) return undefined;
    const [start, end] = [this.valueStart(index) + 1, this.valueEnd(index) - 1];
    const hasEscape = this.#numberOf(index, member.hasEscape) === 1;
    return hasEscape ? this.unescaped(start, end, into) : into.of(this.bytes, start, end);
  }

  /** Returns the unescaped part of a string; valid, like that of others, until the next text is parsed. */
  unescaped(start: number, end: number, into: TextSlice): TextSlice {
    const program = this.#program!;
    const from = program.unescape(start, end);
    return into.of(this.#memory, from, program.unescapedEnd.value, program.hasHalf.value === 1);
  }

  /** Whether the value of member `index` is null or "". */
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
    const failure = numbers[at.failure]!;
    this.repeatsKey = failure === duplicateKeyError;
    this.failure = undefined;
    if (failure === 0) return true;
    const failureAt = numbers[at.failureAt]!;
    this.failureAt = failureAt;
    const [limit, keyEnd, deepest] = [end, numbers[at.repeatEnd]!, program.deepest.value];
    this.failure = jsonErrorText(failure, this.bytes, { failureAt, limit, keyEnd, deepest });
    return false;
  }

  /** Renews the views if the memory has grown. */
  #refreshViews({ memory }: JsonProgram): void {
    if (this.#numbers.length > 0) return;
    this.#memory = Buffer.from(memory.buffer);
    this.#numbers = new Int32Array(memory.buffer);
  }
}

/** Texts of the error codes of `wasm/json-parser.ts`: something is missing, or … */
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
/** … the text is valid JSON except for a repeated key. */
export const duplicateKeyError = 10;

interface Place {
  readonly failureAt: number;
  /** End of the text. */
  readonly limit: number;
  /** End of a repeated key. */
  readonly keyEnd: number;
  readonly deepest: number;
}

/** Describes the error of a JSON text, to follow the word "JSON". */
function jsonErrorText(failure: number, bytes: Buffer, place: Place): string {
  const { failureAt, limit, keyEnd, deepest } = place;
  switch (failure) {
    case inString:
      if (failureAt >= limit) return 'ends within a string';
      if (bytes[failureAt]! < 0x20) return 'has a control character within a string';
      return 'has an escape that JSON does not know';
    case tooDeep:
      return `nests deeper than ${deepest}`;
    case goesOn:
      return `continues after its end, with ${JSON.stringify(characterAt(bytes, failureAt))}`;
    case duplicateKeyError: {
      const key = bytes.toString('utf8', failureAt + 1, keyEnd);
      return `repeats the key "${key.slice(0, 100)}"`;
    }
    default:
      return unexpected(missing[failure]!, bytes, place);
  }
}

function unexpected(expected: string, bytes: Buffer, { failureAt, limit }: Place): string {
  if (failureAt >= limit) return `ends where ${expected} should be`;
  return `has ${JSON.stringify(characterAt(bytes, failureAt))}, not ${expected}`;
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

/** Depth has no limit here, since the parser reports it with its position. */
const mostOfFile = { depth: Number.POSITIVE_INFINITY, values: 250_000 };

/**
 * Parses the text of a file. Not with JSON.parse alone: it silently keeps the last of two equal keys,
 * its errors quote the file, and it does not report lines. Throws an error of this id, with line and
 * column.
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
  const before = bytes.toString('utf8', 0, json.failureAt).split('\n');
  const [line, column] = [before.length, Buffer.byteLength(before.at(-1)!) + 1];
  const message = `${file}:${line}:${column}: JSON ${json.failure}`;
  throw new EngagectlError(id, message, { why, fix, file, line, column });
}
