import { limits, objectIdPattern } from '../contract/limits.js';
import { identifierKinds, type IdentifierKind } from '../contract/endpoints.js';
import { TextSlice } from '../text/text-slice.js';
import { missingColumnsError } from './columns.js';
import { valueError, RowValues } from './row-values.js';
import { validationError, type RecordBuilder, type RejectReason } from './record-block.js';
import type { KeyPart } from '../text/record-hash.js';
import type { RowBlock } from '../input/row-block.js';

/** Takes the text as the record's key; says why it cannot be one. */
export function setKey(part: KeyPart, text: TextSlice, records: RecordBuilder): string | undefined {
  const fault = identityError(part, text);
  if (fault === undefined) {
    records.key = keyHash(text.bytes, text.start, text.end, keySeeds[part]);
  }
  return fault;
}

/** Why a text cannot say who a user is, or undefined. Length is in code points. */
export function identityError(part: string, text: TextSlice): string | undefined {
  if (part === 'objectId') return objectIdFault(text);
  const fault = nameError(text);
  if (fault !== undefined || !isTooLong(text)) return fault;
  return `the value has more than ${limits.identityLength} characters`;
}

function objectIdFault(text: TextSlice): string | undefined {
  if (text.isEmpty) return 'the value is empty';
  const most = limits.objectIdLength;
  if (text.end - text.start <= most && objectIdPattern.test(text.toString())) return undefined;
  return `${quoteValue(text)} is not 1 to ${most} of A-Z a-z 0-9 ( ) ! : @ $ _ -`;
}

/** Why a text cannot name something (an identity, an address, an event), or undefined. */
export function nameError(text: TextSlice): string | undefined {
  if (text.isEmpty) return 'the value is empty';
  if (text.broken) return `${quoteValue(text)} has half of a surrogate pair`;
  for (let at = text.start; at < text.end; at++) {
    const byte = text.bytes[at]!;
    if (byte < 0x20 || byte === 0x7f) return `${quoteValue(text)} has a control character`;
  }
  return undefined;
}

/** A value for an error text, in quotes and cut short. */
export function quoteValue(text: TextSlice): string {
  const value = text.toString();
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}

function isTooLong({ bytes, start, end }: TextSlice): boolean {
  if (end - start <= limits.identityLength) return false;
  let characters = 0;
  for (let at = start; at < end; at++) if ((bytes[at]! & 0xc0) !== 0x80) characters++;
  return characters > limits.identityLength;
}

const prime = 16_777_619;

/** Seeds that keep the keys of different namespaces apart: "1" as identity and as objectId. */
export const keySeeds = {
  identity: -2_128_831_035,
  objectId: 0x1000_0001,
  FBID: 0x2000_0003,
  GPID: 0x3000_0005,
  subscription: 0x4000_0007,
} as const;

/** A text as the key of a record: its FNV-1a hash, 31 bit, as in `wasm/csv-record-writer.ts`. */
export function keyHash(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, prime);
  return hash & 0x7fff_ffff;
}

export interface Identifier {
  readonly by: IdentifierKind;
  readonly value: string;
}

export interface IdentifierReader {
  /** Throws E-COLUMN-MISSING when a CSV has no column to read from. */
  check(header: readonly string[], source: string): void;
  /** The row's identifier, or why it has none. */
  read(rows: RowBlock, row: number): Identifier | RejectReason;
}

/** Rows to identifiers: of the kind `by`, else of the first kind that a row or header has. */
export function identifierReader(by: IdentifierKind | undefined): IdentifierReader {
  const kinds = by === undefined ? identifierKinds : [by];
  const values = new RowValues(kinds, true);
  const text = new TextSlice();

  const check = (header: readonly string[], source: string): void => {
    if (kinds.some((kind) => header.includes(kind))) return;
    const fix = 'give one of these columns, or a bare list with --by <kind>';
    throw missingColumnsError(kinds, header, source, fix);
  };

  /** Of an object, or of a string that is the identifier. */
  const read = (): Identifier | RejectReason => {
    const isWhole = values.readWhole(text);
    const kind = isWhole ? (by ?? 'identity') : kinds.find((kind) => values.has(kind));
    if (kind === undefined) return validationError(`"${kinds.join('" or "')}" is missing`);
    const fault = isWhole ? undefined : values.read(kind, text);
    if (fault) return fault;
    const textFault = identityError(kind, text);
    if (textFault !== undefined) return valueError(kind, textFault);
    return { by: kind, value: text.toString() };
  };

  return {
    check,
    read(rows, row) {
      if (rows.cells) check(rows.cells.header, rows.source);
      return values.to(rows, row) ?? read();
    },
  };
}

export const isIdentifier = (read: Identifier | RejectReason): read is Identifier => 'by' in read;
