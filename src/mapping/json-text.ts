import { divergingOperators } from '../contract/codes.js';
import type { CellText } from './cell-text.js';
import { scanScalar, skipSpace, token } from './json-tokens.js';
import { isPlain, scanString, stringFault } from './json-string.js';
import { hashNext, hashStart } from './key-hash.js';
import { KeyTable } from './key-table.js';
import { hashOfKey, memberName, sameKey, type MemberName } from './member-name.js';

/** Objects and arrays within each other; deeper texts are refused. */
const deepest = 200;

const operatorHashes = new Set(divergingOperators.map((operator) => memberName(operator).hash));
const dollar = 0x24;

/** Returned in place of a position. */
const failed = -1;

/**
 * Checks one JSON text after the other against the full grammar (RFC 8259), in one pass over its
 * bytes and without building anything, and remembers where the topmost object's members lie.
 * One value is used again for every text.
 */
export class JsonText {
  bytes: Buffer = Buffer.alloc(0);
  /** The topmost value is `bytes[start, end)`, without the whitespace around it. */
  start = 0;
  end = 0;
  /** Number of members of the topmost object; 0 for anything else. */
  count = 0;
  /** Member i: its key between the quotes is `bytes[keyStarts[i], keyEnds[i])`, its value … */
  readonly keyStarts: number[] = [];
  readonly keyEnds: number[] = [];
  readonly valueStarts: number[] = [];
  readonly valueEnds: number[] = [];
  /** Whether any object has a key like $incr, which makes a profile diverge. */
  hasOperator = false;
  /** What is wrong with the text and the byte where; undefined when nothing is. */
  fault: string | undefined;
  faultAt = 0;
  /** Set with `fault` when the text is good JSON and only repeats a key. */
  repeatsKey = false;

  readonly #keyHashes: number[] = [];
  readonly #keys = new KeyTable();
  #limit = 0;
  #objects = 0;
  /** Of the key read last. */
  #keyHash = 0;
  /** Of the first key that its object already has. */
  #repeatStart = failed;
  #repeatEnd = failed;

  /** Reads `bytes[start, end)`; false, with `fault` set, when it is not one JSON value. */
  read(bytes: Buffer, start: number, end: number): boolean {
    this.bytes = bytes;
    this.#limit = end;
    this.count = 0;
    this.hasOperator = false;
    this.fault = undefined;
    this.repeatsKey = false;
    this.#objects = 0;
    this.#repeatStart = failed;
    this.#keys.clear();

    this.start = this.#skip(start);
    this.end = this.#value(this.start, 0);
    if (this.end === failed) return false;
    const rest = this.#skip(this.end);
    if (rest < end) this.#fail(rest, 'goes on after its end');
    else if (this.#repeatStart !== failed) this.#refuseRepeat();
    return this.fault === undefined;
  }

  /** First byte of the topmost value, which tells its kind. */
  get kind(): number {
    return this.bytes[this.start]!;
  }

  /** First byte of member i's value. */
  kindOf(index: number): number {
    return this.bytes[this.valueStarts[index]!]!;
  }

  /** Index of the topmost object's member of this name, or -1. */
  find({ bytes, hash }: MemberName): number {
    for (let index = 0; index < this.count; index++) {
      if (this.#keyHashes[index] !== hash) continue;
      const [start, end] = [this.keyStarts[index]!, this.keyEnds[index]!];
      if (sameKey(this.bytes, start, end, bytes, 0, bytes.length)) return index;
    }
    return -1;
  }

  /** Member i's text, in `into`; undefined when its value is no string. */
  stringAt(index: number, into: CellText): CellText | undefined {
    if (this.kindOf(index) !== token.quote) return undefined;
    return into.ofJson(this.bytes, this.valueStarts[index]! + 1, this.valueEnds[index]! - 1);
  }

  /** Whether member i's value is null or "". */
  isEmptyAt(index: number): boolean {
    const kind = this.kindOf(index);
    const length = this.valueEnds[index]! - this.valueStarts[index]!;
    return kind === token.n || (kind === token.quote && length === 2);
  }

  #value(at: number, depth: number): number {
    switch (this.#peek(at)) {
      case token.quote:
        return this.#string(at + 1);
      case token.openObject:
        return this.#object(at, depth + 1);
      case token.openArray:
        return this.#array(at, depth + 1);
      default:
        return this.#scalar(at);
    }
  }

  #object(open: number, depth: number): number {
    if (depth > deepest) return this.#fail(open, `nests deeper than ${deepest}`);
    const object = this.#objects++;
    let at = this.#skip(open + 1);
    if (this.#peek(at) === token.closeObject) return at + 1;
    for (;;) {
      at = this.#member(at, object, depth);
      if (at === failed) return failed;
      at = this.#skip(at);
      const next = this.#peek(at);
      if (next === token.closeObject) return at + 1;
      if (next !== token.comma) return this.#unexpected(at, 'a comma or a closing brace');
      at = this.#skip(at + 1);
    }
  }

  #member(at: number, object: number, depth: number): number {
    if (this.#peek(at) !== token.quote) return this.#unexpected(at, 'a key in double quotes');
    const keyStart = at + 1;
    at = this.#key(keyStart, object);
    if (at === failed) return failed;
    const index = depth === 1 ? this.#remember(keyStart, at - 1) : failed;
    at = this.#skip(at);
    if (this.#peek(at) !== token.colon) return this.#unexpected(at, 'a colon');
    const valueStart = this.#skip(at + 1);
    at = this.#value(valueStart, depth);
    if (index !== failed) {
      this.valueStarts[index] = valueStart;
      this.valueEnds[index] = at;
    }
    return at;
  }

  /** As `#string`, and hashes the key on the way. */
  #key(start: number, object: number): number {
    const { bytes } = this;
    const limit = this.#limit;
    let hash = hashStart;
    let at = start;
    while (at < limit && isPlain[bytes[at]!] === 1) hash = hashNext(hash, bytes[at++]!);
    let after = at + 1;
    const isEscaped = this.#peek(at) !== token.quote;
    if (isEscaped) {
      after = this.#string(at);
      if (after === failed) return failed;
      hash = hashOfKey(bytes, start, after - 1);
    }
    if ((bytes[start] === dollar || isEscaped) && operatorHashes.has(hash)) this.hasOperator = true;
    if (!this.#keys.add(bytes, object, hash, start, after - 1) && this.#repeatStart === failed) {
      this.#repeatStart = start;
      this.#repeatEnd = after - 1;
    }
    this.#keyHash = hash;
    return after;
  }

  /** Adds the key that was read last to the topmost object's members; returns its index. */
  #remember(keyStart: number, keyEnd: number): number {
    const index = this.count++;
    this.keyStarts[index] = keyStart;
    this.keyEnds[index] = keyEnd;
    this.#keyHashes[index] = this.#keyHash;
    return index;
  }

  #array(open: number, depth: number): number {
    if (depth > deepest) return this.#fail(open, `nests deeper than ${deepest}`);
    let at = this.#skip(open + 1);
    if (this.#peek(at) === token.closeArray) return at + 1;
    for (;;) {
      at = this.#value(at, depth);
      if (at === failed) return failed;
      at = this.#skip(at);
      const next = this.#peek(at);
      if (next === token.closeArray) return at + 1;
      if (next !== token.comma) return this.#unexpected(at, 'a comma or a closing bracket');
      at = this.#skip(at + 1);
    }
  }

  /** From a byte within a string to the one behind its closing quote. */
  #string(at: number): number {
    const after = scanString(this.bytes, at, this.#limit);
    if (after >= 0) return after;
    return this.#fail(~after, stringFault(this.bytes, ~after, this.#limit));
  }

  #scalar(start: number): number {
    const end = scanScalar(this.bytes, start, this.#limit);
    if (end >= 0) return end;
    return this.#unexpected(~end, ~end === start ? 'a value' : 'a digit');
  }

  #skip(at: number): number {
    return this.#peek(at) > 0x20 ? at : skipSpace(this.bytes, at, this.#limit);
  }

  /** The byte there; behind the end 0, which no rule of the grammar wants. */
  #peek(at: number): number {
    return at < this.#limit ? this.bytes[at]! : 0;
  }

  #refuseRepeat(): void {
    const key = this.bytes.toString('utf8', this.#repeatStart, this.#repeatEnd);
    this.repeatsKey = true;
    this.#fail(this.#repeatStart - 1, `repeats the key "${key.slice(0, 100)}"`);
  }

  #unexpected(at: number, expected: string): number {
    if (at >= this.#limit) return this.#fail(at, `ends where ${expected} should be`);
    const found = this.bytes.toString('utf8', at, at + 4).codePointAt(0)!;
    return this.#fail(at, `has ${JSON.stringify(String.fromCodePoint(found))}, not ${expected}`);
  }

  #fail(at: number, fault: string): number {
    this.fault = fault;
    this.faultAt = at;
    return failed;
  }
}
