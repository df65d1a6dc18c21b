import type { RowRun } from '../text/flattener.js';
import type { MarkedFile } from './marked-file.js';

/** Width, number of rows, bytes of the rows: three 32-bit numbers before each run. */
const headBytes = 12;

/**
 * Runs of rows as they wait in a file until all columns are known. A row holds the cells of the
 * columns known when it was written, and these keep their places: all it lacks is commas.
 */
export function spooledRuns(runs: Iterable<RowRun>): Buffer {
  const spooled: Buffer[] = [];
  for (const { width, bytes, ends } of runs) {
    const head = Int32Array.of(width, ends.length, bytes.length);
    spooled.push(Buffer.concat([bytesOf(head), bytesOf(ends), bytes])); // good until the next one
  }
  return Buffer.concat(spooled);
}

/** The rows of a spool from the first on, each filled up to `width` cells. */
export async function* spooledRows(file: MarkedFile, width: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.mark.bytes;) {
    const [cells = 0, count = 0, bytes = 0] = numbers(await read(file, at, headBytes));
    const ends = numbers(await read(file, at + headBytes, 4 * count));
    const rows = await read(file, at + headBytes + 4 * count, bytes);
    at += headBytes + 4 * count + bytes;
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

const numbers = ({ buffer, byteOffset, length }: Buffer): Int32Array =>
  new Int32Array(buffer, byteOffset, length / 4);

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
