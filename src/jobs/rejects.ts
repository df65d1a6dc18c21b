import { parseFileName, rejectColumns, rejectsFileOf } from '../contract/file-formats.js';
import path from 'node:path';
import { statSync, closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { AtomicFile, setAside } from '../files/atomic-write.js';
import { unwritablePathError } from '../files/file-errors.js';
import { wholeLines } from '../files/read-file.js';
import { refuseInputAsOutput, checkWritablePath, refuseForeignLink } from '../files/path-checks.js';
import { unsupportedExtension } from '../output/formats.js';
import { RejectsFile, rejectHeader, rejectRow, type Reject } from '../output/rejects-file.js';
import { EngagectlError, countOf, groupDigits } from '../errors.js';
import { Breaks } from '../event-loop.js';
import { isMap, parseLossless, stringifyLossless } from '../text/lossless-json.js';
import { shardPath, shardName } from './shard.js';
import type { Shard } from '../mapping/sharding.js';
import type { JobContext } from './job-context.js';
import type { RejectSamples } from '../bulk/outcomes/reject-samples.js';

interface RejectsPlace {
  readonly job: string;
  /** Path from the options; default: next to the input. */
  readonly named: string | undefined;
  /** Files that the run reads. */
  readonly files: readonly string[];
  /** Called for each reject. With this, a file is written only if one was named. */
  readonly onReject?: ((record: Reject) => void) | undefined;
  /** Name of the first input, or `stdin`. */
  readonly first: string;
  /** Names of all inputs, for a run that can be resumed. */
  readonly sources?: readonly string[];
  /** Headers of the inputs that have one. */
  readonly headers?: readonly { readonly header: readonly string[] }[];
  readonly shard?: Shard | undefined;
}

/**
 * Prepares the rejects file of a run without creating it. Throws E-USAGE if it is an input of the
 * run, not a regular file or of an unsupported format, and E-FILE-WRITE if it cannot be written.
 */
export function openRejects(
  { job, named, files, first, sources, headers, onReject, shard }: RejectsPlace,
  { runtime: { cwd, uid }, words, messages }: Pick<JobContext, 'runtime' | 'words' | 'messages'>,
): RejectsFile {
  if (onReject && named === undefined) {
    return new RejectsFile('rejects()', undefined, { option: words.option, onReject });
  }
  const option = words.option('rejects', '<file>');
  const beside = first === 'stdin' ? `engagectl-${job}` : first;
  const ours = shard ? `${beside}.${shardName(shard)}` : beside;
  const name = named === undefined ? rejectsFileOf(ours) : shardPath(named, shard);
  if (named !== undefined) refuseForeign(named, option);
  const file = path.resolve(cwd, name);
  const place = { name, what: 'the rejects file', option };
  for (const each of [file, `${file}.1`]) refuseInputAsOutput(each, files, { ...place, cwd });
  if (named !== undefined) checkWritablePath(file, place, { uid });
  // Otherwise a read-only folder does not matter if nothing is rejected.
  else refuseForeignLink(path.dirname(file), place, { uid });
  if (isNoFile(file)) {
    throw new EngagectlError('E-USAGE', `${name} is not a regular file`, {
      why: 'an older rejects file is renamed, and a resumed run appends to it',
      fix: `name another file with ${option}`,
    });
  }
  const columns = name.toLowerCase().endsWith('.csv')
    ? columnsOf(headers, name, option)
    : undefined;
  const warn = (text: string) => messages.warn(text);
  return new RejectsFile(name, file, { option: words.option, columns, onReject, sources, warn });
}

/** Refuses extensions of spreadsheets and archives, since the content would be NDJSON. */
function refuseForeign(named: string, option: string): void {
  const { compression, compressedBy } = parseFileName(named);
  const other = unsupportedExtension(named) ?? (compression && compressedBy);
  if (other === undefined || other.toLowerCase() === '.txt') return;
  throw new EngagectlError('E-USAGE', `${named}: rejects cannot be written as ${other}`, {
    why: 'rejects are written as NDJSON, or as CSV if the file name ends in .csv',
    fix: `name another file with ${option}`,
  });
}

function isNoFile(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false })?.isFile() === false;
  } catch {
    return false; // the default name is too long
  }
}

/** Returns the input columns of a CSV rejects file, without those an earlier run added. */
function columnsOf(
  headers: RejectsPlace['headers'] = [],
  name: string,
  option: string,
): readonly string[] {
  const [first] = headers;
  const isOne = headers.every(({ header }) => header.join('\n') === first?.header.join('\n'));
  if (first && isOne) return first.header.filter((column) => !rejectColumns.includes(column));
  throw new EngagectlError('E-USAGE', `${name} needs an input with the columns of one CSV`, {
    why: first ? 'the inputs have different columns' : 'the input is not CSV',
    fix: `name an NDJSON file: ${option}`,
  });
}

/** Summarizes rejects by stage: `1 parse error, 2 validation errors, 2 rejected by the service`. */
export function describeRejects(
  { kinds }: RejectSamples,
  byService = 'rejected by the service',
): string | undefined {
  const countsOf = {
    parse: (count: number) => countOf(count, 'parse error'),
    validate: (count: number) => countOf(count, 'validation error'),
    service: (count: number) => `${groupDigits(count)} ${byService}`,
  };
  const parts = Object.entries(countsOf).flatMap(([stage, format]) => {
    const sameStage = [...kinds].filter(([kind]) => kind.split(' ')[0] === stage);
    const sum = sameStage.reduce((before, [, { count }]) => before + count, 0);
    return sum > 0 ? [format(sum)] : [];
  });
  return parts.join(', ') || undefined;
}

/** Places of all lines, in the order of the files, in 18 bytes each: an object would take 100. */
interface Places {
  /** File of each line. */
  readonly files: Uint16Array;
  /** Offset of each line in its file. */
  readonly starts: Float64Array;
  /** Input and line of the record, as one number. */
  readonly keys: Float64Array;
  /** Length of each file in bytes. */
  readonly sizes: number[];
}

/** Lines of an input; beyond, records keep the order of the files. */
const linesPerInput = 2 ** 32;

/** The rejects file of a shard, and how many lines the shard wrote. */
interface ShardRejects {
  readonly file: string;
  readonly lines: number;
}

/**
 * Merges rejects files into one, in input order: by source in the order of `sources`, then by line. Writes CSV if
 * `target` ends in `.csv`, and renames an existing file to a name that is free. Returns the number of lines; for 0, no
 * file is created. Throws E-FILE-READ, also for a file with another number of lines; E-FILE-WRITE, also for a link of
 * another user than `uid`; and E-USAGE for a CSV whose rows have different columns, and for one of the `sources`, relative to `cwd`.
 */
export async function mergeRejects(
  files: readonly ShardRejects[],
  sources: readonly string[],
  target: string,
  { uid, cwd }: Pick<JobContext['runtime'], 'uid' | 'cwd'>,
): Promise<number> {
  const place = { name: target, what: 'the rejects file', option: '--output <file>' };
  refuseForeign(target, place.option);
  refuseInputAsOutput(target, sources, { ...place, cwd });
  checkWritablePath(target, place, { uid });
  const places = await placesIn(files, sources);
  const count = places.files.length;
  if (count === 0) return 0;
  const breaks = new Breaks();
  const order = await sortedPlaces(places, breaks);
  const textOf = /\.csv$/i.test(target) ? csvOf(target) : (line: Buffer) => line;
  const inputs: number[] = [];
  let buffer = Buffer.alloc(lineUnits);
  const temporary = new AtomicFile(target);
  try {
    for (const { file } of files) inputs.push(openSync(file, 'r'));
    for (const index of order) {
      const file = places.files[index]!;
      const start = places.starts[index]!;
      const isLast = places.files[index + 1] !== file;
      const length = (isLast ? places.sizes[file]! : places.starts[index + 1]!) - start;
      if (length > buffer.length) buffer = Buffer.alloc(2 * length);
      const line = buffer.subarray(0, length);
      readAll(inputs[file]!, line, start);
      temporary.write(textOf(line));
      if (breaks.areDue(lineUnits + length)) await breaks.take();
    }
    temporary.sync();
    takeName(target, temporary);
  } catch (error) {
    temporary.discard();
    throw error instanceof EngagectlError ? error : unwritablePathError(target, place, error);
  } finally {
    for (const one of inputs) closeSync(one);
  }
  return count;
}

/** Puts a file in its place. What is there is renamed, also if another run was faster to use the name. */
function takeName(target: string, temporary: AtomicFile): void {
  for (;;) {
    setAside(target);
    try {
      temporary.commit({ overwrite: false, keepOpen: true, keepIfTaken: true });
      return temporary.discard(); // closes it
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Sorts by source, then by line, and keeps the order of the files: a merge sort that lets the event loop take its turns. */
async function sortedPlaces({ keys }: Places, breaks: Breaks): Promise<Uint32Array> {
  const count = keys.length;
  let from = new Uint32Array(count).map((_, index) => index);
  let to = new Uint32Array(count);
  for (let width = 1; width < count; width *= 2) {
    for (let start = 0; start < count; start += 2 * width) {
      const middle = Math.min(start + width, count);
      const end = Math.min(middle + width, count);
      let [left, right] = [start, middle];
      for (let at = start; at < end; at += 1) {
        const isLeft =
          left < middle && (right === end || keys[from[left]!]! <= keys[from[right]!]!);
        to[at] = from[isLeft ? left++ : right++]!;
        if (breaks.areDue(sortedUnits)) await breaks.take();
      }
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Fills the buffer. A single read may stop short; at the end of the file, the file was truncated. */
function readAll(descriptor: number, bytes: Buffer, position: number): void {
  for (let at = 0; at < bytes.length;) {
    const read = readSync(descriptor, bytes, at, bytes.length - at, position + at);
    if (read === 0) throw new Error('a rejects file was truncated while it was read');
    at += read;
  }
}

/** Creates a converter from NDJSON lines to CSV rows. The first row follows the header. */
function csvOf(target: string): (line: Buffer) => Buffer {
  let columns: readonly string[] | undefined;
  return (line) => {
    const text = line.toString();
    const reject = JSON.parse(text) as Omit<Reject, 'record'>;
    const whole = parseLossless(text);
    const record = (isMap(whole) && whole.get('record')) || null;
    const named = reject.columns ?? (isMap(record) ? [...record.keys()] : []);
    const own = named.filter((name) => !rejectColumns.includes(name));
    const header = columns === undefined ? rejectHeader(own) : '';
    columns ??= own;
    const isOfCells =
      isMap(record) && [...record.values()].every((cell) => typeof cell === 'string');
    if (reject.columns === undefined && !isOfCells) throw noCsv(target);
    if (own.length === 0 || own.join('\n') !== columns.join('\n')) throw noCsv(target);
    return Buffer.from(
      header + rejectRow({ ...reject, record: stringifyLossless(record) }, columns),
    );
  };
}

const noCsv = (target: string): EngagectlError =>
  new EngagectlError('E-USAGE', `${target} needs rejects with the columns of one CSV`, {
    why: 'the inputs have different columns, or are not CSV',
    fix: 'name an NDJSON file: --output <file.ndjson>',
  });

/** Reads the places of all lines. Throws E-FILE-READ, also for a file with another number of lines. */
async function placesIn(
  files: readonly ShardRejects[],
  sources: readonly string[],
): Promise<Places> {
  const total = files.reduce((sum, { lines }) => sum + lines, 0);
  const places: Places = {
    files: new Uint16Array(total),
    starts: new Float64Array(total),
    keys: new Float64Array(total),
    sizes: [],
  };
  let first = 0;
  for (const [index, { file: name, lines }] of files.entries()) {
    let start = 0;
    let count = 0;
    try {
      const limit = { maxBytes: maxLineBytes, record: 'a rejected record' };
      for await (const text of wholeLines(createReadStream(name), limit)) {
        let from = 0;
        for (let to = 0; (to = text.indexOf(0x0a, from) + 1) > 0; from = to) {
          const { source, line } = placeIn(text.toString('utf8', from, to));
          const place = first + count;
          places.files[place] = index;
          places.starts[place] = start + from;
          places.keys[place] =
            linesPerInput * sources.indexOf(source) + Math.min(line, linesPerInput - 1);
          count += 1;
        }
        start += from;
      }
      if (count !== lines) {
        throw new Error(
          `it has ${countOf(count, 'line')}, and its shard wrote ${groupDigits(lines)}`,
        );
      }
    } catch (cause) {
      throw new EngagectlError('E-FILE-READ', `cannot read the rejects file ${name}`, {
        why: (cause as Error).message,
        fix: 'restore it; it names the records that were not accepted',
        file: name,
        cause,
      });
    }
    places.sizes.push(start);
    first += count;
  }
  return places;
}

/** Cost of a line besides its bytes; see Breaks. */
const lineUnits = 4096;
/** Cost of a step of the sort. */
const sortedUnits = 8;
/** Maximum bytes of a line, far above those of a record with each character escaped. */
const maxLineBytes = 256 * 1024 * 1024;

function placeIn(text: string): Pick<Reject, 'source' | 'line'> {
  const { source, line } = Object(JSON.parse(text)) as Partial<Reject>;
  if (typeof source === 'string' && Number.isInteger(line)) return { source, line: line! };
  throw new Error('a line is not a rejected record');
}
