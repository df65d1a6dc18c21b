import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { RowRun } from '../text/flattener.js';
import type { MarkedFile } from './marked-file.js';

/** Length in the file, and whether it is deflated: two 32-bit numbers before each stretch of runs. */
const stretchHead = 8;
/** A stretch is read at once. */
const stretchBytes = 1 << 20;

/** Width, number of rows, bytes of the rows: three 32-bit numbers before each run. */
const runHead = 12;

/** A stretch of more bytes than so many times its records is mostly commas; a short one does no harm. */
const sparse = 4;
const sparseBytes = 1 << 15;

/**
 * Runs of rows as they wait in a file until all columns are known. A row holds the cells of the
 * columns known when it was written, and these keep their places: all it lacks is commas. Where
 * most cells are empty they are deflated: a spool could else be many times the size of the pages.
 */
export function spooledRuns(runs: Iterable<RowRun>): Buffer {
  const spooled: Buffer[] = [];
  let stretch: Buffer[] = [];
  let bytes = 0;
  let recordBytes = 0;
  const end = () => {
    const isSparse = bytes > Math.max(sparseBytes, sparse * recordBytes);
    const stored = isSparse ? [deflateRawSync(Buffer.concat(stretch), { level: 1 })] : stretch;
    const length = isSparse ? stored[0]!.length : bytes;
    spooled.push(bytesOf(Int32Array.of(length, isSparse ? 1 : 0)), ...stored);
    stretch = [];
    bytes = recordBytes = 0;
  };
  for (const run of runs) {
    const head = Int32Array.of(run.width, run.ends.length, run.bytes.length);
    // A run is only good until the next one.
    const copy = Buffer.concat([bytesOf(head), bytesOf(run.ends), run.bytes]);
    stretch.push(copy);
    bytes += copy.length;
    recordBytes += run.recordBytes;
    if (bytes >= stretchBytes) end();
  }
  if (bytes > 0) end();
  return Buffer.concat(spooled);
}

/** The rows of a spool from the first on, each filled up to `width` cells. */
export async function* spooledRows(file: MarkedFile, width: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.mark.bytes;) {
    const [length = 0, isSparse] = numbers(await read(file, at, stretchHead));
    const stored = await read(file, at + stretchHead, length);
    at += stretchHead + length;
    yield* filledRuns(isSparse ? inflateRawSync(stored) : stored, width);
  }
}

function* filledRuns(stretch: Buffer, width: number): Generator<Buffer> {
  for (let at = 0; at < stretch.length;) {
    const [cells = 0, count = 0, bytes = 0] = numbers(stretch.subarray(at, at + runHead));
    const rowsAt = at + runHead + 4 * count;
    const ends = numbers(stretch.subarray(at + runHead, rowsAt));
    at = rowsAt + bytes;
    const rows = stretch.subarray(rowsAt, at);
    yield cells === width ? rows : filledUp(rows, ends, width - cells);
  }
}

async function read(file: MarkedFile, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  await file.read(bytes, position);
  return bytes;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** A copy: the bytes may lie at any offset. */
function numbers(bytes: Buffer): Int32Array {
  const copy = new Int32Array(bytes.length / 4);
  bytes.copy(Buffer.from(copy.buffer));
  return copy;
}

function filledUp(rows: Buffer, ends: Int32Array, missing: number): Buffer {
  const filled = Buffer.allocUnsafe(rows.length + ends.length * missing);
  let to = 0;
  let start = 0;
  for (const end of ends) {
    to += rows.copy(filled, to, start, end - 1);
    filled.fill(',', to, to + missing);
    to += missing;
    filled[to++] = 0x0a;
    start = end;
  }
  return filled;
}
