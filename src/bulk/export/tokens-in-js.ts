import { isBareToken } from './bare-token.js';
import {
  deepest,
  roomFor,
  tooDeep,
  unexpected,
  type PageEvents,
  type PageTokens,
} from './page-tokens.js';

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
const finished = 10;

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

/** The tokens of a page without WebAssembly; what `TokensInWasm` is tested against. */
export class TokensInJs implements PageTokens {
  readonly #events: PageEvents;
  #bytes = Buffer.alloc(0);

  /** Where scanning goes on, and in which state. */
  #at = 0;
  #state = value;
  #depth = 0;
  /** Per open container, outermost at 1: 1 for an object, 0 for an array. */
  readonly #isObject = new Uint8Array(deepest + 1);
  #stringIsKey = false;
  #tokenStart = 0;
  #hexLeft = 0;

  constructor(events: PageEvents) {
    this.#events = events;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }
  get finished(): boolean {
    return this.#state === finished;
  }

  restart(): void {
    this.#at = 0;
    this.#state = value;
    this.#depth = 0;
  }

  reserve(length: number): void {
    if (length <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(roomFor(length, this.#bytes.length));
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }

  /**
   * The hot loop: one function with its state in local variables, since a call per token makes
   * it half as fast. What concerns the page itself (depth 0 to 2) goes to its events.
   */
  // oxlint-disable-next-line max-lines-per-function -- see above
  scan(end: number): void {
    const { bytes } = this;
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

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) table[byte] = 1;
  return table;
}
