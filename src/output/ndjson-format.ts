import type { RecordEncoder, RecordPage } from './output.js';

const newline = 0x0a;
const carriageReturn = 0x0d;

/** Encodes NDJSON: one record per line, unchanged. */
export const encoder = (): RecordEncoder => ({ page: ndjsonLines });

/**
 * Returns the page's records as lines, byte for byte, in the page's own buffer: the comma between
 * two records becomes the newline, so a compact page is not copied at all. Line breaks inside a
 * record, which can only occur between tokens, are dropped.
 */
export function ndjsonLines({ bytes, bounds, count }: RecordPage): Buffer {
  if (count === 0) return bytes.subarray(0, 0);
  const first = bounds[0]!;
  const last = bounds[2 * count - 1]!;
  const broken =
    hasByte(bytes, newline, first, last) || hasByte(bytes, carriageReturn, first, last);
  const move = broken ? moveUnbroken : moveBytes;
  let to = first;
  for (let i = 0; i < count; i += 1) {
    to = move(bytes, to, bounds[2 * i]!, bounds[2 * i + 1]!);
    bytes[to] = newline;
    to += 1;
  }
  return bytes.subarray(first, to);
}

function hasByte(bytes: Buffer, byte: number, start: number, end: number): boolean {
  return bytes.subarray(start, end).includes(byte);
}

function moveBytes(bytes: Buffer, to: number, start: number, end: number): number {
  if (to !== start) bytes.copyWithin(to, start, end);
  return to + end - start;
}

function moveUnbroken(bytes: Buffer, start: number, from: number, end: number): number {
  let to = start;
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at]!;
    if (byte === newline || byte === carriageReturn) continue;
    bytes[to] = byte;
    to += 1;
  }
  return to;
}

const opening = Buffer.from('[\n');
const separator = Buffer.from(',\n');

/** Encodes one array with a line per record, as in NDJSON: `[\n{…},\n{…}\n]\n`. */
export const arrayEncoder = (): RecordEncoder => ({
  page: (page, isFirst) => {
    const lines = ndjsonLines(page);
    const parts: Buffer[] = [];
    for (let start = 0; start < lines.length;) {
      const end = lines.indexOf(newline, start);
      parts.push(isFirst && start === 0 ? opening : separator, lines.subarray(start, end));
      start = end + 1;
    }
    return Buffer.concat(parts);
  },
  end: (isEmpty) => Buffer.from(isEmpty ? '[]\n' : '\n]\n'),
});
