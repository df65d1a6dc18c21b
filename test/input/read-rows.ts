import { Readable } from 'node:stream';
import type { RowBlock } from '../../src/input/row-block.js';
import { openInputs } from '../../src/input/inputs.js';
import type { InputOptions } from '../../src/input/input-format.js';

/** Nobody presses Ctrl-C here. */
const { signal } = new AbortController();

export interface Row {
  readonly line: number;
  /** Text of the whole record. */
  readonly text: string;
  /** Undefined for JSON texts. */
  readonly cells: readonly string[] | undefined;
}

export interface Failure {
  readonly line: number;
  readonly column: number | undefined;
  readonly error: string;
  readonly raw: string;
}

export interface Read {
  readonly headers: readonly (readonly string[])[];
  readonly rows: readonly Row[];
  readonly parseErrors: readonly Failure[];
  /** What ended the input early. */
  readonly error: unknown;
}

/** Reads standard input to its end, given as the chunks in which it arrives. */
export async function readText(
  chunks: Buffer | string | readonly Buffer[],
  options: Partial<InputOptions> = {},
): Promise<Read> {
  const list = Array.isArray(chunks) ? chunks : [Buffer.from(chunks as Buffer)];
  return readFiles({ files: [], ...options }, { stdin: Readable.from(list) });
}

/** Reads inputs to their end, or to what ends them early. Errors of opening are thrown. */
export async function readFiles(
  options: Partial<InputOptions>,
  { stdin = Readable.from([]), cwd = '/' }: { stdin?: Readable; cwd?: string } = {},
): Promise<Read> {
  const defaults = { files: [], maxRecordBytes: 1024 * 1024 };
  const inputs = await openInputs({ ...defaults, ...options }, { stdin, cwd, signal });
  const rows: Row[] = [];
  const parseErrors: Failure[] = [];
  const headers = inputs.headers.map(({ header }) => header);
  try {
    for await (const block of inputs.blocks()) {
      rows.push(...rowsOf(block));
      for (const { line, column, error, raw } of block.parseErrors) {
        parseErrors.push({ line, column, error, raw: raw.toString('latin1') });
      }
    }
    return { headers, rows, parseErrors, error: undefined };
  } catch (error) {
    return { headers, rows, parseErrors, error };
  }
}

/** The rows of a block as strings, by the rules that RowBlock states. */
export function rowsOf({ bytes, count, bounds, lines, cells }: RowBlock): Row[] {
  return Array.from({ length: count }, (_, i) => ({
    line: lines[i]!,
    text: bytes.toString('utf8', bounds[2 * i], bounds[2 * i + 1]),
    cells: cells?.header.map((_, c) => {
      const at = 2 * (i * cells.header.length + c);
      const end = cells.bounds[at + 1]!;
      const content = bytes.toString('utf8', cells.bounds[at], end < 0 ? ~end : end);
      return end < 0 ? content.replaceAll('""', '"') : content;
    }),
  }));
}

/** `text` in chunks of the given sizes, repeated. */
export function chunked(text: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < text.length;) {
    const size = sizes[chunks.length % sizes.length]!;
    chunks.push(text.subarray(at, at + size));
    at += size;
  }
  return chunks;
}
