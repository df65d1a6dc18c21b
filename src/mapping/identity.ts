import { limits, objectIdPattern } from '../contract/limits.js';
import { identifierKinds, type IdentifierKind } from '../contract/endpoints.js';
import { strayCharacters } from '../text/cell-cleaning.js';
import { quoteValue, TextSlice } from '../text/text-slice.js';
import { missingColumnsError } from './columns.js';
import { valueError, RowValues, type ValueRules } from './row-values.js';
import { validationError, type RecordBuilder, type RejectReason } from './record-block.js';
import type { KeyPart } from '../text/record-hash.js';
import type { RowBlock } from '../input/row-block.js';

/** Adds the text as a key of the record; returns an error if it cannot be one. */
export function setKey(part: KeyPart, text: TextSlice, records: RecordBuilder): string | undefined {
  if (part === 'identity' && setPlainIdentity(text, records)) return undefined;
  const failure = identityError(part, text);
  if (failure === undefined) {
    records.addKey(keyHash(text.bytes, text.start, text.end, keySeeds[part]));
  }
  return failure;
}

/** Sets an identity of visible ASCII, as most are, as the key in one pass; false for any other text. */
function setPlainIdentity(
  { bytes, start, end, broken }: TextSlice,
  records: RecordBuilder,
): boolean {
  if (broken || start === end || end - start > limits.identityLength) return false;
  let hash: number = keySeeds.identity;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte <= 0x20 || byte >= 0x7f) return false;
    hash = Math.imul(hash ^ byte, prime);
  }
  records.addKey(hash & 0x7fff_ffff);
  return true;
}

/** Returns why a text cannot be an identifier of a user, or undefined. Its length counts code points. */
export function identityError(part: string, text: TextSlice): string | undefined {
  if (part === 'objectId') return objectIdFailure(text);
  const failure = addressError(text);
  if (failure !== undefined || !isTooLong(text)) return failure;
  return `the value is longer than ${limits.identityLength} characters`;
}

function objectIdFailure(text: TextSlice): string | undefined {
  if (text.isEmpty) return 'the value is empty';
  const most = limits.objectIdLength;
  if (text.end - text.start <= most && objectIdPattern.test(text.toString())) return undefined;
  return `${quoteValue(text)} is not 1 to ${most} of A-Z a-z 0-9 ( ) ! : @ $ _ -`;
}

/** Returns why a text cannot be an identity or an address: a name without stray characters. */
export function addressError(text: TextSlice): string | undefined {
  const failure = nameError(text);
  if (failure !== undefined) return failure;
  return strayCharacterError(text);
}

/** Fields whose values cannot contain whitespace around them or invisible characters. */
export const addressKeys: ReadonlySet<string> = new Set(['Email', 'Phone']);

/** Returns why a text has whitespace around it or invisible characters, or undefined. */
export function strayCharacterError(text: TextSlice): string | undefined {
  const failure = strayCharacters(text);
  return failure === undefined ? undefined : `${quoteValue(text)} ${failure}`;
}

/** Returns why the value of a CSV row is a placeholder and not an identifier. */
export function placeholderError(
  values: Pick<RowValues<string>, 'placeholderReason'>,
  text: TextSlice,
): string | undefined {
  const failure = values.placeholderReason(text);
  return failure === undefined ? undefined : `${quoteValue(text)} ${failure}`;
}

/** Returns why a text cannot be a name (an identity, an address, an event), or undefined. */
export function nameError(text: TextSlice): string | undefined {
  if (text.isEmpty) return 'the value is empty';
  if (text.broken) return `${quoteValue(text)} has half of a surrogate pair`;
  for (let at = text.start; at < text.end; at++) {
    const byte = text.bytes[at]!;
    if (byte < 0x20 || byte === 0x7f) return `${quoteValue(text)} contains a control character`;
  }
  return undefined;
}

/** Returns why a JSON value that is not a string cannot be an identifier; `text` is its JSON text. */
export function notStringFailure(text: TextSlice): string {
  const json = text.toString();
  const isNumber = /^[-\d]/.test(json);
  return isNumber ? `must be a string ("${json}"), found a number` : 'must be a string';
}

function isTooLong({ bytes, start, end }: TextSlice): boolean {
  if (end - start <= limits.identityLength) return false;
  let characters = 0;
  for (let at = start; at < end; at++) if ((bytes[at]! & 0xc0) !== 0x80) characters++;
  return characters > limits.identityLength;
}

const prime = 16_777_619;

/** Seeds that distinguish equal keys of different namespaces, such as "1" as identity and as objectId. */
export const keySeeds = {
  identity: -2_128_831_035,
  objectId: 0x1000_0001,
  FBID: 0x2000_0003,
  GPID: 0x3000_0005,
  subscription: 0x4000_0007,
} as const;

/** Returns the key of a record: the 31-bit FNV-1a hash of its text, as in `wasm/csv-record-writer.ts`. */
export function keyHash(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, prime);
  return hash & 0x7fff_ffff;
}

/**
 * Returns the key of an address, equal for its spellings: letters in either case, with or without a leading
 * plus, as in `wasm/record-hash.ts`.
 */
export function addressHash({ bytes, start, end }: TextSlice, seed: number): number {
  let hash = seed;
  for (let at = bytes[start] === 0x2b ? start + 1 : start; at < end; at++) {
    const byte = bytes[at]!;
    const isUpperCase = byte >= 0x41 && byte <= 0x5a;
    hash = Math.imul(hash ^ (isUpperCase ? byte | 0x20 : byte), prime);
  }
  return hash & 0x7fff_ffff;
}

export interface Identifier {
  readonly by: IdentifierKind;
  readonly value: string;
}

export interface IdentifierReader {
  /** Throws E-COLUMN-MISSING if a CSV has no column of identifiers. */
  check(header: readonly string[], source: string): void;
  /** Returns the row's identifier, or why it has none. */
  read(rows: RowBlock, row: number): Identifier | RejectReason;
}

/** Reads identifiers from rows: of the kind `by`, otherwise of the first kind that a row or header has. */
export function identifierReader(
  by: IdentifierKind | undefined,
  rules?: ValueRules,
): IdentifierReader {
  const kinds = by === undefined ? identifierKinds : [by];
  const values = new RowValues<IdentifierKind>(kinds, true, rules);
  const text = new TextSlice();

  const check = (header: readonly string[], source: string): void => {
    const columns = kinds.map((kind) => values.columnOf(kind));
    if (columns.some((column) => header.includes(column))) return;
    const fix =
      'add one of these columns, name another one with --identity, --email or --object-id <column>, or give a bare list with --by <kind>';
    throw missingColumnsError(columns, header, source, fix);
  };

  /** Reads the identifier of an object, or a string that is the identifier. */
  const read = (): Identifier | RejectReason => {
    const isWhole = values.readWhole(text);
    const kind = isWhole ? (by ?? 'identity') : kinds.find((kind) => values.has(kind));
    if (kind === undefined) {
      const columns = kinds.map((kind) => values.columnOf(kind));
      return validationError(`"${columns.join('" or "')}" is missing`);
    }
    const failure = isWhole ? undefined : values.read(kind, text);
    if (failure) return failure;
    const textFailure = identityError(kind, text) ?? placeholderError(values, text);
    if (textFailure !== undefined) return valueError(values.columnOf(kind), textFailure);
    return { by: kind, value: text.toString() };
  };

  return {
    check,
    read(rows, row) {
      if (rows.cells) check(rows.cells.header, rows.source);
      return values.moveTo(rows, row) ?? read();
    },
  };
}

export const isIdentifier = (read: Identifier | RejectReason): read is Identifier => 'by' in read;
