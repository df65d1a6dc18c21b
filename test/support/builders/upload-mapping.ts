import { timeZone } from '../../../src/time-zone.js';
import type { RowBlock } from '../../../src/input/row-block.js';
import { uploadMapper } from '../../../src/mapping/upload-mapper.js';
import type { UploadMapping } from '../../../src/mapping/upload-mapping.js';
import { csvRows, jsonRows, recordTexts } from './row-blocks.js';

export type Options = Partial<UploadMapping>;

/** The mapping of `upload` without flags. */
export const uploadDefaults: UploadMapping = {
  kind: 'profile',
  identity: 'identity',
  identityGiven: false,
  map: new Map(),
  drop: new Set(),
  types: new Map(),
  constants: new Map(),
  lowercase: new Set(),
  empty: 'omit',
  zone: timeZone('UTC'),
  retryUnknown: false,
};

export function mapRows(rows: RowBlock, options: Options = {}) {
  const block = uploadMapper({ ...uploadDefaults, ...options }).map(rows);
  return { ...block, records: recordTexts(block) };
}

/** The record of one CSV row, parsed; or its stage and error. */
export function mapCells(cells: Readonly<Record<string, string>>, options: Options = {}): unknown {
  return outcome(csvRows(Object.keys(cells), [Object.values(cells)]), options);
}

/** The text of one JSON row's record; or its stage and error. */
export const mapJson = (text: string, options: Options = {}): unknown => {
  const { records, rejects } = mapRows(jsonRows([text]), options);
  return records[0] ?? [rejects[0]!.stage, rejects[0]!.error];
};

function outcome(rows: RowBlock, options: Options): unknown {
  const { records, rejects } = mapRows(rows, options);
  return rejects[0] ? [rejects[0].stage, rejects[0].error] : JSON.parse(records[0]!);
}

/** Whether an identity has only visible characters, is no placeholder and cannot be one that a program changed; see identity-rules.test.ts. */
export const isValidIdentity = (text: string): boolean =>
  text === text.trim() &&
  !/^(?:['=#].*|-|\\N|<?n\/?a[nt]?>?|none|null|undefined|\d+\.0|\d(?:[.,]\d+)?E\+\d{2,3})$/is.test(
    text,
  ) &&
  !/[\u034f\ufe0f\p{Cc}\p{Cf}\u00a0\u115f\u1160\u2800\u3164\uffa0\u2028\u2029\u202f\u2065\u{e0000}-\u{e007f}]/u.test(
    text,
  );
