import { parseFileName } from '../contract/file-formats.js';
import path from 'node:path';
import {
  realpathSync,
  statSync,
  closeSync,
  createReadStream,
  existsSync,
  openSync,
  readSync,
  renameSync,
} from 'node:fs';
import { FileDraft } from '../files/atomic-write.js';
import { checkWritablePath } from '../files/path-checks.js';
import { unsupportedExtension } from '../output/formats.js';
import {
  rejectColumns,
  RejectsFile,
  rejectHeader,
  rejectRow,
  type Reject,
} from '../output/rejects-file.js';
import { EngagectlError, groupDigits } from '../errors.js';
import { shardPath, shardName } from './shard.js';
import type { Shard } from '../mapping/sharding.js';
import type { JobContext } from './job-context.js';
import type { RejectSamples } from '../bulk/outcomes/reject-samples.js';

interface RejectsPlace {
  readonly job: string;
  /** The file that was asked for. */
  readonly named: string | undefined;
  readonly files: readonly string[];
  /** Is told of each; then there is a file only where one was named. */
  readonly heard?: ((record: Reject) => void) | undefined;
  /** The first input; `stdin` for standard input. */
  readonly first: string;
  /** Of inputs that have some. */
  readonly headers?: readonly { readonly header: readonly string[] }[];
  readonly shard?: Shard | undefined;
}

/**
 * The rejects file of a run, not created yet. Throws E-USAGE where it is an input of the run, no
 * regular file or of a format that is none of ours, E-FILE-WRITE where its place cannot hold it.
 */
export function openRejects(
  { job, named, files, first, headers, heard, shard }: RejectsPlace,
  { runtime: { cwd }, words }: Pick<JobContext, 'runtime' | 'words'>,
): RejectsFile {
  if (heard && named === undefined) {
    return new RejectsFile('rejects()', undefined, { option: words.option, heard });
  }
  const option = words.option('rejects', '<file>');
  const beside = first === 'stdin' ? `engagectl-${job}` : first;
  const ours = shard ? `${beside}.${shardName(shard)}` : beside;
  const name = named === undefined ? `${ours}.rejects.ndjson` : shardPath(named, shard);
  if (named !== undefined) refuseForeign(named, option);
  const file = path.resolve(cwd, name);
  const places = new Set([file, `${file}.1`].map(placeOf));
  if (files.some((input) => places.has(placeOf(path.resolve(cwd, input))))) {
    throw new EngagectlError('E-USAGE', `${name} is an input of this run`, {
      why: 'the rejects file would take its place',
      fix: `name another one with ${option}`,
    });
  }
  // Beside an input that can only be read, there may be nothing to reject.
  if (named !== undefined) checkWritablePath(file, { name, what: 'the rejects file', option });
  if (isNoFile(file)) {
    throw new EngagectlError('E-USAGE', `${name} is no regular file`, {
      why: 'an older rejects file is renamed, and a resumed run goes on with it',
      fix: `name another one with ${option}`,
    });
  }
  const columns = name.toLowerCase().endsWith('.csv')
    ? columnsOf(headers, name, option)
    : undefined;
  return new RejectsFile(name, file, { option: words.option, columns, heard });
}

/** NDJSON in a file that is called a sheet or packed is of no use to who opens it. */
function refuseForeign(named: string, option: string): void {
  const { compression, compressedBy } = parseFileName(named);
  const other = unsupportedExtension(named) ?? (compression && compressedBy);
  if (other === undefined || other.toLowerCase() === '.txt') return;
  throw new EngagectlError('E-USAGE', `${named}: rejects cannot be written as ${other}`, {
    why: 'they are written as NDJSON, or as CSV into a file that is called .csv',
    fix: `name another one with ${option}`,
  });
}

function isNoFile(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false })?.isFile() === false;
  } catch {
    return false; // the name that we gave it is too long
  }
}

/** Of a rejects file of CSV: those of its input, without what an earlier one added to them. */
function columnsOf(
  headers: RejectsPlace['headers'] = [],
  name: string,
  option: string,
): readonly string[] {
  const [first] = headers;
  const isOne = headers.every(({ header }) => header.join('\n') === first?.header.join('\n'));
  if (first && isOne) return first.header.filter((column) => !rejectColumns.includes(column));
  throw new EngagectlError('E-USAGE', `${name} needs an input with the columns of one CSV`, {
    why: first ? 'the inputs have different columns' : 'the input is no CSV',
    fix: `name a file of NDJSON: ${option}`,
  });
}

/** Where a path leads, links followed. */
function placeOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** `1 could not be read, 2 broke a local rule`: by the first words of their kinds. */
export function describeRejects(
  { kinds }: RejectSamples,
  byService = 'refused by the service',
): string | undefined {
  const reasons = {
    parse: 'could not be read',
    validate: 'broke a local rule',
    service: byService,
  };
  const told = Object.entries(reasons).flatMap(([stage, reason]) => {
    const ofStage = [...kinds].filter(([kind]) => kind.split(' ')[0] === stage);
    const sum = ofStage.reduce((before, [, { count }]) => before + count, 0);
    return sum > 0 ? [`${groupDigits(sum)} ${reason}`] : [];
  });
  return told.join(', ') || undefined;
}

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
export async function mergeRejects(
  files: readonly string[],
  sources: readonly string[],
  target: string,
): Promise<number> {
  checkWritablePath(target, { name: target, what: 'the rejects file', option: '--output <file>' });
  const places: Place[] = [];
  for (const [index, file] of files.entries()) {
    for await (const place of placesIn(file, index, sources)) places.push(place);
  }
  if (places.length === 0) return 0;
  places.sort(
    (a, b) => a.source - b.source || a.line - b.line || a.file - b.file || a.start - b.start,
  );
  const textOf = /\.csv$/i.test(target) ? csvOf(target) : (line: Buffer) => line;
  const inputs: number[] = [];
  const draft = new FileDraft(target);
  try {
    for (const file of files) inputs.push(openSync(file, 'r'));
    for (const { file, start, end } of places) {
      const line = Buffer.alloc(end - start);
      readSync(inputs[file]!, line, 0, line.length, start);
      draft.write(textOf(line));
    }
    if (existsSync(target)) renameSync(target, `${target}.1`);
    draft.commit();
  } catch (error) {
    draft.discard();
    throw error;
  } finally {
    for (const one of inputs) closeSync(one);
  }
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
