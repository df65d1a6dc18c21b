import { isUtf8 } from 'node:buffer';
import { rawOf, type Cut } from './cutter.js';
import { CR, LF } from './line-ends.js';
import type { RowFault } from './row-block.js';

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
  const perRecord = cut.cells && cut.count > 0 ? cut.cells.length / cut.count : 0;
  const of = (numbers: Int32Array, size: number) =>
    Int32Array.from(kept.flatMap((i) => [...numbers.subarray(i * size, (i + 1) * size)]));
  return {
    ...cut,
    count: kept.length,
    bounds: of(cut.bounds, 2),
    lines: Uint32Array.from(kept, (i) => cut.lines[i]!),
    cells: cut.cells && of(cut.cells, perRecord),
  };
}
