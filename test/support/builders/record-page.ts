import type { RecordPage } from '../../../src/output/output.js';

/** A page of records as a scanner hands it out. */
export function pageOf(records: readonly string[]): RecordPage {
  const bytes = Buffer.from(`{"records":[${records.join(',')}]}`);
  const bounds = new Int32Array(2 * records.length);
  let at = '{"records":['.length;
  for (const [index, record] of records.entries()) {
    bounds[2 * index] = at;
    at += Buffer.byteLength(record);
    bounds[2 * index + 1] = at;
    at += 1;
  }
  return { bytes, bounds, count: records.length };
}
