import { isUtf8 } from 'node:buffer';
import { rawOf, type Cut } from './cutter.js';
import { CR, LF } from './line-ends.js';
import type { RowFault } from './rows.js';

/**
 * Turns records that are too long or not UTF-8 into faults. The bytes of a whole cut are
 * checked at once; only a cut that fails is looked at record by record.
 */
export function screen(text: Buffer, cut: Cut, maxRecordBytes: number): Cut {
  if (longest(cut) <= maxRecordBytes && isUtf8(text)) return cut;
  const faults: RowFault[] = [...cut.faults];
  const kept: number[] = [];
  for (let i = 0; i < cut.count; i++) {
    const record = text.subarray(cut.bounds[2 * i], cut.bounds[2 * i + 1]);
    const fault = faultOf(record, cut.lines[i]!, maxRecordBytes);
    if (fault) faults.push({ ...fault, at: cut.bounds[2 * i]! });
    else kept.push(i);
  }
  faults.sort((a, b) => a.at - b.at);
  return { ...pick(cut, kept), faults };
}

export const overlong = (maxRecordBytes: number): string =>
  `longer than ${maxRecordBytes} bytes (--max-record-bytes)`;

function longest({ bounds, count }: Cut): number {
  let longest = 0;
  for (let i = 0; i < count; i++) {
    longest = Math.max(longest, bounds[2 * i + 1]! - bounds[2 * i]!);
  }
  return longest;
}

function faultOf(
  record: Buffer,
  line: number,
  maxRecordBytes: number,
): Omit<RowFault, 'at'> | undefined {
  const raw = rawOf(record);
  if (record.length > maxRecordBytes) return { line, error: overlong(maxRecordBytes), raw };
  if (isUtf8(record)) return undefined;
  const error = 'not valid UTF-8; if the file has another encoding, name it with --encoding';
  const at = firstInvalid(record);
  const below = record.subarray(0, at).some((byte) => byte === LF || byte === CR);
  return below ? { line, error, raw } : { line, column: at + 1, error, raw };
}

/** Index of the first byte that is not UTF-8: where decoding and encoding changes the text. */
function firstInvalid(record: Buffer): number {
  const replaced = Buffer.from(record.toString());
  return record.findIndex((byte, i) => byte !== replaced[i]);
}

/** The records at the given indexes. */
function pick(cut: Cut, kept: readonly number[]): Cut {
  const count = kept.length;
  const bounds = gather(cut.bounds, kept, 2);
  const lines = Uint32Array.from(kept, (i) => cut.lines[i]!);
  const perRecord = cut.cells && cut.count > 0 ? cut.cells.length / cut.count : 0;
  const cells = cut.cells && gather(cut.cells, kept, perRecord);
  return { ...cut, count, bounds, lines, cells, loaded: undefined };
}

/** The groups of `size` numbers at the given indexes. */
function gather(numbers: Int32Array, kept: readonly number[], size: number): Int32Array {
  const gathered = new Int32Array(kept.length * size);
  for (const [to, from] of kept.entries()) {
    gathered.set(numbers.subarray(from * size, (from + 1) * size), to * size);
  }
  return gathered;
}
