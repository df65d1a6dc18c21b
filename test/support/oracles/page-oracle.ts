import { isUtf8 } from 'node:buffer';
import {
  PageSyntaxError,
  type PageMembers,
  type ScannedPage,
} from '../../../src/text/page-scanner.js';

// Pages looked at byte by byte in JavaScript: slow, and easy to see through. The program's own scanner, in WebAssembly, is
// held against it.

/** The same as PageScanner, but for the hash of what it found. */
export class PageOracle {
  readonly #envelope = new PageEnvelope();
  readonly #page = new HeapBytes();
  readonly #tokens: PageTokens;
  #length = 0;

  constructor() {
    const page = this.#page;
    const events = {
      key: (start: number, end: number) => this.#envelope.key(start, end, page.bytes),
      open: (depth: number, byte: number, at: number) => this.#envelope.open(depth, byte, at),
      close: (depth: number, at: number) => this.#envelope.close(depth, at, page.bytes),
    };
    this.#tokens = new PageTokens(events, page);
  }

  reset(): void {
    this.#envelope.reset();
    this.#tokens.restart();
    this.#length = 0;
  }

  push(chunk: Buffer): void {
    this.#tokens.reserve(this.#length + chunk.length);
    this.#length += chunk.copy(this.#tokens.bytes, this.#length);
    this.#tokens.scan(this.#length);
  }

  get nextCursor(): unknown {
    return this.#envelope.members.next_cursor;
  }

  end(): Omit<ScannedPage, 'hash'> {
    if (!this.#tokens.finished) throw new PageSyntaxError('the body ends too early');
    const bytes = this.#tokens.bytes.subarray(0, this.#length);
    if (!isUtf8(bytes)) throw new PageSyntaxError('the body is not UTF-8');
    const { bounds, count, members } = this.#envelope;
    return { bytes, bounds, count, members };
  }
}

const read = ['status', 'code', 'error', 'next_cursor'] as const;
const openBrace = 0x7b;
const openBracket = 0x5b;

/**
 * What a scanner finds of a page itself: its own members, and where the records lie. It is
 * told of every key and value of the page (depth 1) and of every element of these (depth 2).
 */
class PageEnvelope {
  /** Start and end of each record, in pairs. */
  bounds = new Int32Array(2048);
  count = 0;
  members: PageMembers = {};
  #member = '';
  #memberStart = 0;
  #inRecords = false;

  reset(): void {
    this.count = 0;
    this.members = {};
    this.#inRecords = false;
  }

  /** A key of the page stands at `[start, end)`, with its quotes. */
  key(start: number, end: number, bytes: Buffer): void {
    this.#member = JSON.parse(bytes.toString('utf8', start, end)) as string;
  }

  /** A value begins at `at` with `byte`, inside of `depth` containers. */
  open(depth: number, byte: number, at: number): void {
    if (depth === 0) {
      if (byte !== openBrace) throw new PageSyntaxError('the body is no JSON object');
    } else if (depth === 1) {
      this.#memberStart = at;
      if (this.#member === 'records') this.#openRecords(byte);
    } else if (this.#inRecords) {
      if (byte !== openBrace)
        throw new PageSyntaxError(`a record is not an object (byte ${at + 1})`);
      this.#reserve();
      this.bounds[2 * this.count] = at;
    }
  }

  /** The value that began inside of `depth` containers ended before `at`. */
  close(depth: number, at: number, bytes: Buffer): void {
    if (depth === 1) {
      this.#inRecords = false;
      this.#read(bytes, at);
    } else if (depth === 2 && this.#inRecords) {
      this.bounds[2 * this.count + 1] = at;
      this.count += 1;
    }
  }

  #openRecords(byte: number): void {
    this.#refuseRepeated(this.members.records);
    this.#inRecords = byte === openBracket;
    this.members.records = this.#inRecords ? 'array' : 'other';
  }

  #read(bytes: Buffer, end: number): void {
    const name = read.find((known) => known === this.#member);
    if (name === undefined) return;
    this.#refuseRepeated(this.members[name]);
    this.members[name] = JSON.parse(bytes.toString('utf8', this.#memberStart, end)) as unknown;
  }

  /** Which of two would count is anybody's guess, and a wrong guess loses records. */
  #refuseRepeated(earlier: unknown): void {
    if (earlier !== undefined) throw new PageSyntaxError(`"${this.#member}" appears twice`);
  }

  #reserve(): void {
    if (2 * this.count < this.bounds.length) return;
    const grown = new Int32Array(this.bounds.length * 2);
    grown.set(this.bounds);
    this.bounds = grown;
  }
}

/** Receives the members at the top of a page; depth is the number of enclosing containers. */
interface PageEvents {
  /** A key of the page itself, with its quotes. */
  key(start: number, end: number): void;
  /** A value begins at `at` with `byte`; depth 0 to 2. */
  open(depth: number, byte: number, at: number): void;
  /** The value ended before `at`: all of depth 1, objects and arrays of depth 0 and 2. */
  close(depth: number, at: number): void;
}

/** Deeper nesting than any record that can be uploaded (200), with room to spare. */
const deepest = 65_536;

// State of the scan: the token of the next byte, or what is expected.
const value = 0;
const valueOrClose = 1;
const keyOrClose = 2;
const key = 3;
const colon = 4;
const commaOrClose = 5;
const inString = 6;
const afterBackslash = 7;
const inHex = 8;
const inBare = 9;
const finished = 11;

const quote = 0x22;
const backslash = 0x5c;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

const isSpace = tableOf(' \t\n\r');
/** Bytes that end a number, `true`, `false` or `null`. */
const endsBare = tableOf(' \t\n\r,]}:{["');
const isEscape = tableOf('"\\/bfnrt');
const isHexDigit = tableOf('0123456789abcdefABCDEF');

/**
 * Scans the bytes of a page once, checks that they are JSON (RFC 8259), and emits events.
 */
class PageTokens {
  readonly #events: PageEvents;
  readonly #page: HeapBytes;

  /** Position and state in which scanning continues. */
  #at = 0;
  #state = value;
  #depth = 0;
  /** Per open container, outermost at 1: 1 for an object, 0 for an array. */
  readonly #isObject = new Uint8Array(deepest + 1);
  #stringIsKey = false;
  #tokenStart = 0;
  #hexLeft = 0;

  constructor(events: PageEvents, page: HeapBytes) {
    this.#events = events;
    this.#page = page;
  }

  get bytes(): Buffer {
    return this.#page.bytes;
  }
  /** Whether the page has ended. */
  get finished(): boolean {
    return this.#state === finished;
  }

  reserve(length: number): void {
    this.#page.reserve(length);
  }

  /** Begins another page. */
  restart(): void {
    this.#at = 0;
    this.#state = value;
    this.#depth = 0;
  }

  /**
   * Goes on to `end`, as far as the bytes are there. Throws PageSyntaxError.
   */
  scan(end: number): void {
    const { bytes } = this.#page;
    const isObject = this.#isObject;
    let at = this.#at;
    let state = this.#state;
    let depth = this.#depth;
    let stringIsKey = this.#stringIsKey;
    let tokenStart = this.#tokenStart;
    while (at < end) {
      let byte = bytes[at]!;
      switch (state) {
        case inString:
          while (byte !== quote && byte !== backslash && byte >= 0x20 && ++at < end) {
            byte = bytes[at]!;
          }
          if (at === end) break;
          if (byte < 0x20) throw unexpected(at);
          at += 1;
          if (byte === backslash) {
            state = afterBackslash;
          } else {
            state = stringIsKey ? colon : commaOrClose;
            if (depth === 1) this.#endString(stringIsKey, tokenStart, at);
            // Mostly the colon follows at once: a turn of the loop less for every key.
            if (stringIsKey && at < end && bytes[at] === 0x3a) {
              state = value;
              at += 1;
            }
          }
          break;
        case commaOrClose:
          at += 1;
          if (byte === 0x2c) {
            state = isObject[depth] === 1 ? key : value;
          } else if (isSpace[byte] === 0) {
            if (byte !== (isObject[depth] === 1 ? closeBrace : closeBracket)) throw unexpected(at);
            depth -= 1;
            if (depth < 3) this.#events.close(depth, at);
            if (depth === 0) state = finished;
          }
          break;
        case colon:
          at += 1;
          if (byte === 0x3a) state = value;
          else if (isSpace[byte] === 0) throw unexpected(at);
          break;
        case keyOrClose:
        case key:
          if (byte === quote) {
            tokenStart = at;
            stringIsKey = true;
            state = inString;
          } else if (byte === closeBrace && state === keyOrClose) {
            state = commaOrClose;
            break;
          } else if (isSpace[byte] === 0) {
            throw unexpected(at);
          }
          at += 1;
          break;
        case valueOrClose:
        case value:
          if (isSpace[byte] === 1) {
            at += 1;
            break;
          }
          if (byte === closeBracket && state === valueOrClose) {
            state = commaOrClose;
            break;
          }
          if (depth < 3) this.#events.open(depth, byte, at);
          tokenStart = at;
          if (byte === quote) {
            stringIsKey = false;
            state = inString;
          } else if (byte === openBrace || byte === openBracket) {
            depth += 1;
            if (depth > deepest) throw tooDeep();
            isObject[depth] = byte === openBrace ? 1 : 0;
            state = byte === openBrace ? keyOrClose : valueOrClose;
          } else {
            if (endsBare[byte] === 1) throw unexpected(at);
            state = inBare;
          }
          at += 1;
          break;
        case inBare:
          while (endsBare[byte] === 0 && ++at < end) byte = bytes[at]!;
          if (at === end) break;
          if (!isBareToken(bytes, tokenStart, at)) throw unexpected(tokenStart);
          if (depth === 1) this.#events.close(depth, at);
          state = commaOrClose;
          break;
        case afterBackslash:
          if (byte === 0x75) this.#hexLeft = 4;
          else if (isEscape[byte] === 0) throw unexpected(at);
          state = byte === 0x75 ? inHex : inString;
          at += 1;
          break;
        case inHex:
          if (isHexDigit[byte] === 0) throw unexpected(at);
          this.#hexLeft -= 1;
          if (this.#hexLeft === 0) state = inString;
          at += 1;
          break;
        default:
          if (isSpace[byte] === 0) throw unexpected(at);
          at += 1;
      }
    }
    this.#at = at;
    this.#state = state;
    this.#depth = depth;
    this.#stringIsKey = stringIsKey;
    this.#tokenStart = tokenStart;
  }

  #endString(isKey: boolean, start: number, end: number): void {
    if (isKey) this.#events.key(start, end);
    else this.#events.close(1, end);
  }
}

const unexpected = (at: number): PageSyntaxError =>
  new PageSyntaxError(`an unexpected byte near byte ${at}`);
const tooDeep = (): PageSyntaxError => new PageSyntaxError('nested deeper than 65,536');

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) table[byte] = 1;
  return table;
}

const words = new Set(['true', 'false', 'null']);

/** Whether `bytes[start, end)` is a JSON number, `true`, `false` or `null` (RFC 8259, 3 and 6). */
function isBareToken(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start]! >= 0x61) return words.has(bytes.toString('latin1', start, end));
  let at = bytes[start] === 0x2d ? start + 1 : start;
  const integerEnd = afterDigits(bytes, at, end);
  if (integerEnd === at || (bytes[at] === 0x30 && integerEnd > at + 1)) return false;
  at = integerEnd;
  if (at < end && bytes[at] === 0x2e) {
    const fractionEnd = afterDigits(bytes, at + 1, end);
    if (fractionEnd === at + 1) return false;
    at = fractionEnd;
  }
  if (at < end && (bytes[at]! | 0x20) === 0x65) {
    at += 1;
    if (at < end && (bytes[at] === 0x2b || bytes[at] === 0x2d)) at += 1;
    const exponentEnd = afterDigits(bytes, at, end);
    if (exponentEnd === at) return false;
    at = exponentEnd;
  }
  return at === end;
}

function afterDigits(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at += 1;
  return at;
}

class HeapBytes {
  #bytes = Buffer.alloc(0);

  get bytes(): Buffer {
    return this.#bytes;
  }

  reserve(length: number): void {
    if (length <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(roomFor(length, this.#bytes.length));
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }
}

/** Bytes; beyond this a body is no page of at most 5000 records. */
const largestPage = 2 ** 30;

/** Bytes to reserve for a page of at least `length`: growing by doubling copies little. */
function roomFor(length: number, room: number): number {
  if (length > largestPage) throw new PageSyntaxError(`the body exceeds ${largestPage} bytes`);
  return Math.max(length, Math.min(room * 2, largestPage), 65_536);
}
