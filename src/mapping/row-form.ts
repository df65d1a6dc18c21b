import { limits } from '../contract/limits.js';
import { openProfileData } from './flat-row.js';
import { emptyValue } from './cell-types.js';
import { keySeeds } from './key-hash.js';
import type { Column } from './columns.js';
import type { UploadMapping } from './upload-mapping.js';

/** What the records of a CSV are like, as `wasm/csv-records.ts` reads it. */
export interface RowForm {
  /** Numbers of 32 bits, and behind them the texts that they tell place and length of. */
  readonly bytes: Buffer;
  readonly members: number;
}

const numberBytes = Int32Array.BYTES_PER_ELEMENT;
const headNumbers = 7;
const memberNumbers = 6;
const opening = Buffer.from('{"identity":');

/** The form of records from these columns. */
export function formOf(columns: readonly Column[], options: UploadMapping): RowForm {
  const data = [...columns.entries()].filter(([, { role }]) => role === 'data');
  const texts: Buffer[] = [];
  let at = numberBytes * (headNumbers + memberNumbers * data.length);
  const placed = (text: Buffer | undefined): [place: number, length: number] => {
    if (!text) return [at, 0];
    texts.push(text);
    at += text.length;
    return [at - text.length, text.length];
  };
  const numbers = Int32Array.of(
    keyColumn(columns, options),
    limits.identityLength, // a key of so many bytes is surely not too long
    keySeeds.identity,
    ...[opening, openProfileData].flatMap(placed),
    ...data.flatMap(([column, { type, prefix }]) => [
      column,
      kindOf(type),
      ...[prefix, emptyValue(type, options)].flatMap(placed),
    ]),
  );
  return { bytes: Buffer.concat([Buffer.from(numbers.buffer), ...texts]), members: data.length };
}

/** The column of the key, if the head of a record is that and nothing is judged by then; else -1. */
function keyColumn(columns: readonly Column[], { kind, expected }: UploadMapping): number {
  const isKeyedTwice = columns.some(({ role }) => role === 'objectId');
  if (kind === 'event' || isKeyedTwice || expected) return -1;
  return columns.findIndex(({ role }) => role === 'identity');
}

/** 0 for a string, 1 for a boolean, 2 for what is written here. */
function kindOf(type: Column['type']): number {
  if (type === undefined || type === 'string') return 0;
  return type === 'boolean' ? 1 : 2;
}
