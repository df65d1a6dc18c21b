import path from 'node:path';
import { realpathSync, statSync } from 'node:fs';
import { refusePlace } from '../files/path-checks.js';
import { foreignExtension } from '../output/formats.js';
import { rejectColumns, RejectsFile, type Reject } from '../output/rejects-file.js';
import { EngagectlError } from '../errors.js';
import { shardFile, shardName } from './shard.js';
import type { Shard } from '../mapping/sharding.js';
import type { World } from './job-context.js';

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
  { runtime: { cwd }, words }: Pick<World, 'runtime' | 'words'>,
): RejectsFile {
  if (heard && named === undefined) {
    return new RejectsFile('rejects()', undefined, { option: words.option, heard });
  }
  const option = words.option('rejects', '<file>');
  const beside = first === 'stdin' ? `engagectl-${job}` : first;
  const ours = shard ? `${beside}.${shardName(shard)}` : beside;
  const name = named === undefined ? `${ours}.rejects.ndjson` : shardFile(named, shard);
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
  if (named !== undefined) refusePlace(file, { name, what: 'the rejects file', option });
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
  const other = foreignExtension(named) ?? /\.gz$/i.exec(named)?.[0];
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
