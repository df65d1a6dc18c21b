import {
  closeSync,
  createReadStream,
  existsSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { EngagectlError } from '../errors.js';
import { refusePlace } from '../files/path-checks.js';
import { rejectColumns, rejectHeader, rejectRow, type Reject } from '../output/rejects-file.js';

/** Where a line of a rejects file lies, and whose record it is of. */
interface Place {
  readonly file: number;
  readonly start: number;
  readonly end: number;
  readonly source: number;
  readonly line: number;
}

/**
 * Puts the lines of several rejects files into one, in the order of the input: of `sources`, the
 * names of the inputs as the lines have them, then of lines; as CSV where it is called so. An older
 * file is renamed. Returns how many lines there are; for none no file is made. Throws E-FILE-WRITE,
 * and E-USAGE for a CSV of rows with other columns each.
 */
export async function collectRejects(
  files: readonly string[],
  sources: readonly string[],
  target: string,
): Promise<number> {
  refusePlace(target, { name: target, what: 'the rejects file', option: '--output <file>' });
  const places: Place[] = [];
  for (const [index, file] of files.entries()) {
    for await (const place of placesIn(file, index, sources)) places.push(place);
  }
  if (places.length === 0) return 0;
  places.sort(
    (a, b) => a.source - b.source || a.line - b.line || a.file - b.file || a.start - b.start,
  );
  const inputs = files.map((file) => openSync(file, 'r'));
  const draft = `${target}.new`;
  const output = openSync(draft, 'w', 0o600);
  const textOf = /\.csv$/i.test(target) ? csvOf(target) : (line: Buffer) => line;
  try {
    for (const { file, start, end } of places) {
      const line = Buffer.alloc(end - start);
      readSync(inputs[file]!, line, 0, line.length, start);
      writeSync(output, textOf(line));
    }
  } catch (error) {
    rmSync(draft);
    throw error;
  } finally {
    for (const one of [...inputs, output]) closeSync(one);
  }
  if (existsSync(target)) renameSync(target, `${target}.1`);
  renameSync(draft, target);
  return places.length;
}

/** What makes a row of CSV of a line; of the first one, the header and a row. */
function csvOf(target: string): (line: Buffer) => Buffer {
  let columns: readonly string[] | undefined;
  return (line) => {
    const { record, ...reject } = JSON.parse(line.toString()) as RejectLine;
    const isRow = typeof record === 'object' && record !== null;
    const named = reject.columns ?? (isRow ? Object.keys(record) : []);
    const own = named.filter((name) => !rejectColumns.includes(name));
    const header = columns === undefined ? rejectHeader(own) : '';
    columns ??= own;
    if (own.length === 0 || own.join('\n') !== columns.join('\n')) throw noCsv(target);
    return Buffer.from(header + rejectRow({ ...reject, record: JSON.stringify(record) }, columns));
  };
}

type RejectLine = Omit<Reject, 'record'> & { readonly record: unknown };

const noCsv = (target: string): EngagectlError =>
  new EngagectlError('E-USAGE', `${target} needs rejects with the columns of one CSV`, {
    why: 'the inputs have different columns, or are no CSV',
    fix: 'name a file of NDJSON: --output <file.ndjson>',
  });

async function* placesIn(
  name: string,
  file: number,
  sources: readonly string[],
): AsyncGenerator<Place> {
  let rest = Buffer.alloc(0);
  let start = 0;
  for await (const chunk of createReadStream(name)) {
    const text = Buffer.concat([rest, chunk as Buffer]);
    let from = 0;
    for (let to = 0; (to = text.indexOf(0x0a, from) + 1) > 0; from = to) {
      const { source, line } = JSON.parse(text.toString('utf8', from, to)) as {
        readonly source: string;
        readonly line: number;
      };
      const end = start + to - from;
      yield { file, start, end, source: sources.indexOf(source), line };
      start = end;
    }
    rest = text.subarray(from);
  }
}
