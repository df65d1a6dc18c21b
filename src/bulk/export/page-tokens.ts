import { isBareToken } from './bare-token.js';
import { HeapBytes, type PageBytes } from './page-bytes.js';
import { PageSyntaxError } from './page-envelope.js';

/** Is told of what lies at the top of a page: depth is the number of containers around it. */
export interface PageEvents {
  /** A key of the page itself, with its quotes. */
  key(start: number, end: number): void;
  /** A value begins at `at` with `byte`; depth 0 to 2. */
  open(depth: number, byte: number, at: number): void;
  /** The value ended before `at`: all of depth 1, objects and arrays of depth 0 and 2. */
  close(depth: number, at: number): void;
}

/** Deeper nesting than any record that can be uploaded (200), with room to spare. */
const deepest = 1000;

// What the next byte belongs to, or what must come next.
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
/** In an object or array inside of two others, which the page's `insides` go over. */
const inInside = 10;
const finished = 11;

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

const isSpace = tableOf(' \t\n\r');
/** Bytes that end a number, `true`, `false` or `null`. */
const endsBare = tableOf(' \t\n\r,]}:{["');
const isEscape = tableOf('"\\/bfnrt');
const isHexDigit = tableOf('0123456789abcdefABCDEF');

/**
 * Goes over the bytes of a page once, checks that they are JSON (RFC 8259), and tells its events.
 * What lies too deep for an event is left to `insides`, where the bytes have them.
 */
export class PageTokens {
  readonly #events: PageEvents;
  readonly #page: PageBytes;

  /** Where scanning goes on, and in which state. */
  #at = 0;
  #state = value;
  #depth = 0;
  /** Per open container, outermost at 1: 1 for an object, 0 for an array. */
  readonly #isObject = new Uint8Array(deepest + 1);
  #stringIsKey = false;
  #tokenStart = 0;
  #hexLeft = 0;

  constructor(events: PageEvents, page: PageBytes = new HeapBytes()) {
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
   * Goes on to `end`, as far as the bytes are there. Throws PageSyntaxError. Where there are no
   * `insides` this is the hot loop: one function with its state in local variables, since a call
   * per token makes it half as fast.
   */
  // oxlint-disable-next-line max-lines-per-function -- a call per token makes it half as fast
  scan(end: number): void {
    const { bytes, insides } = this.#page;
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
            if (depth === 3 && insides !== undefined) {
              tokenStart = at + 1;
              state = inInside;
            }
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
        case inInside: {
          const after = insides!.pass(tokenStart, isObject[depth] === 1, end);
          tokenStart = 0;
          at = after === 0 ? end : after;
          if (after === 0) break;
          depth -= 1;
          this.#events.close(depth, at);
          state = commaOrClose;
          break;
        }
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

export const unexpected = (at: number): PageSyntaxError =>
  new PageSyntaxError(`an unexpected byte near byte ${at}`);
export const tooDeep = (): PageSyntaxError => new PageSyntaxError(`nested deeper than ${deepest}`);

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) table[byte] = 1;
  return table;
}
