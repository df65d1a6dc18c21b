import { EngagectlError } from '../../errors.js';
import { readLedger } from './sent-files-ledger.js';
import {
  listRuns,
  listUnreadable,
  removeRun,
  runKey,
  type RunFolder,
  type RunHeader,
  type RunPlace,
  type RunIdentity,
  type UnreadableRun,
} from './run-folder.js';
import { shardCount } from '../shard.js';
import type { JobContext } from '../job-context.js';

/** The run that is asked for. */
export interface RunQuery extends RunIdentity {
  /** Digest of what must not change when it is gone on with. */
  readonly options: string;
  readonly resume?: boolean | undefined;
  readonly fresh?: boolean | undefined;
  /** The run that is meant, and no other. */
  readonly run?: string | undefined;
  /** It is known by the file that it writes, whoever's account that comes from. */
  readonly exports?: boolean;
  /** It ended in a way that the same command need not go on with. */
  readonly mayBeginAnew?: (run: RunFolder) => boolean;
}

/**
 * The unfinished run to go on with; undefined when there is none, or when `fresh` removed it. To be
 * called while holding the run's lock. Throws E-RUN-UNFINISHED, E-RUN-CHANGED, E-RUN-VERSION and
 * E-CONFIG-FILE.
 */
export function findUnfinishedRun(
  root: string,
  wanted: RunQuery,
  { words, said, runtime }: Pick<JobContext, 'words' | 'said' | 'runtime'>,
): RunFolder | undefined {
  const runs = listRuns(root, runtime);
  let found = runs.find(({ header }) => matchesRun(header, wanted));
  if (found && !wanted.resume && !wanted.exports && isOver(root, found, wanted)) {
    removeRun(found, words);
    found = undefined;
  }
  if (wanted.run !== undefined && found?.header.run !== wanted.run) {
    throw otherRun(wanted.run, runs);
  }
  if (found && wanted.fresh) removeRun(found, words);
  if (wanted.fresh) return undefined;
  if (!found) {
    if (!wanted.exports) refuseOtherShards(runs, wanted, words);
    if (wanted.resume && !wanted.exports) refuseOtherAccount(runs, wanted, words);
    for (const run of listUnreadable(root, runtime)) passOver(run, wanted, { words, said });
    return undefined;
  }
  if (!wanted.resume) throw notFinished(found, wanted, words);
  if (wanted.exports) refuseOther(found, wanted, words);
  else if (found.header.options !== wanted.options) throw otherOptions(found, words);
  return found;
}

function isOver(root: string, found: RunFolder, { mayBeginAnew }: RunQuery): boolean {
  if (isFinished(root, found)) return true;
  try {
    return mayBeginAnew?.(found) === true;
  } catch {
    return false; // whoever goes on with it is told what is wrong with its journal
  }
}

/** Its end was noted, and it was killed before its folder was gone. Resumed, it sends nothing. */
const isFinished = (root: string, { header: { run, accountId } }: RunFolder): boolean =>
  readLedger(root, (line) => line.accountId === accountId && line.run === run).lines.length > 0;

export const matchesRun = (header: RunHeader, wanted: RunQuery): boolean =>
  wanted.exports
    ? header.command === wanted.command &&
      header.files[0] === wanted.files[0] &&
      header.shard === wanted.shard
    : header.key === runKey(wanted);

type Words = JobContext['words'];

function notFinished(
  { path: file, header: { run, started } }: RunFolder,
  { exports }: RunQuery,
  { option }: Words,
): EngagectlError {
  const what = exports ? 'export' : 'command';
  return new EngagectlError('E-RUN-UNFINISHED', `run ${run} of this ${what} is not finished`, {
    why: exports
      ? `it was begun at ${started}, and its partial output is kept`
      : `it was begun at ${started}; starting anew would send what was sent already`,
    fix: exports
      ? `go on with it by ${option('resume')}, or set it aside and start again by ${option('fresh')}`
      : `go on with it by ${option('resume')}, or forget it and start anew by ${option('fresh')}`,
    resumes: true,
    file,
  });
}

/** The input was cut in other ways: some records would be sent again, others perhaps never. */
function refuseOtherShards(runs: readonly RunFolder[], wanted: RunQuery, words: Words): void {
  const other = runs.find(
    ({ header }) =>
      header.key === runKey({ ...wanted, shard: header.shard }) &&
      shardCount(header.shard) !== shardCount(wanted.shard),
  );
  if (!other) return;
  const { run, shard } = other.header;
  const [was, is] = [shard, wanted.shard].map((one) => (one ? `shard ${one}` : 'no shard'));
  throw new EngagectlError('E-RUN-CHANGED', `run ${run} of these files is ${was}; this is ${is}`, {
    why: 'it is not finished, and what it sent would be sent again',
    fix: `${words.goOn(run)} goes on with it; or ${words.option('fresh')} starts anew, and leaves it`,
    resumes: true,
    file: other.path,
  });
}

const otherOptions = ({ path: file, header: { run } }: RunFolder, words: Words): EngagectlError =>
  new EngagectlError('E-RUN-CHANGED', `run ${run} was begun with other options`, {
    why: 'some of them change what is sent, so its parts would not fit together',
    fix: `${words.goOn(run)} goes on with its own options; ${words.option('fresh')} starts anew`,
    resumes: true,
    file,
  });

function refuseOther(found: RunFolder, wanted: RunQuery, words: Words): void {
  const { accountId, host } = found.header;
  if (accountId !== wanted.accountId) {
    throw changed(found, { what: 'account', was: accountId, is: wanted.accountId }, words);
  }
  if (host !== wanted.host)
    throw changed(found, { what: 'host', was: host, is: wanted.host }, words);
}

/** The whole input would go to this account, where the rest of it was to go to another. */
function refuseOtherAccount(runs: readonly RunFolder[], wanted: RunQuery, words: Words): void {
  const files = JSON.stringify(wanted.files);
  const other = runs.find(
    ({ header }) =>
      header.command === wanted.command &&
      (header.accountId !== wanted.accountId || header.host !== wanted.host) &&
      JSON.stringify(header.files) === files,
  );
  if (!other) return;
  const { run, accountId, host } = other.header;
  throw new EngagectlError(
    'E-RUN-CHANGED',
    `run ${run} of these files belongs to another account`,
    {
      why: `it is account ${accountId} at ${host}; now it would be ${wanted.accountId} at ${wanted.host}, from the first record on`,
      fix: `go on with the account it was begun for; or ${words.option('fresh')} starts a run for this one, and leaves the other`,
      file: other.path,
    },
  );
}

/** Something that an export was begun with is another one now. */
export function changed(
  { path: file, header: { run } }: RunPlace,
  { what, was, is }: { readonly what: string; readonly was: unknown; readonly is: unknown },
  words: Words,
): EngagectlError {
  const [before, now] = [was, is].map((value) => JSON.stringify(value) ?? 'not given');
  return new EngagectlError('E-RUN-CHANGED', `${what} was ${before} in run ${run}, and is ${now}`, {
    why: 'the parts of the output would not fit together',
    fix: `${words.goOn(run)} goes on as it was begun; ${words.option('fresh')} starts again`,
    resumes: true,
    file,
  });
}

/** One that is meant must not become another because the environment names another account now. */
function otherRun(meant: string, runs: readonly RunFolder[]): EngagectlError {
  const header = runs.find(({ header }) => header.run === meant)?.header;
  const where = header && `account ${header.accountId} at ${header.host}`;
  return new EngagectlError('E-RUN-CHANGED', `run ${meant} belongs to ${where ?? 'nobody'}`, {
    why: 'flags, environment or config profile name another account or region now',
    fix: 'go on with the same ones as when it was begun',
  });
}

/**
 * A run that cannot be read may be the one that is wanted, and what it sent must not be sent again
 * in silence. Of one that cannot be told it is said, where nobody asked to go on.
 */
function passOver(
  { path: file, why, header }: UnreadableRun,
  wanted: RunQuery,
  { words, said }: Pick<JobContext, 'words' | 'said'>,
): void {
  const isOurs = header && mayBeWanted(header, wanted);
  if (isOurs === false) return;
  const message = `the run folder ${file} cannot be read`;
  if (isOurs === undefined && !wanted.resume) {
    said.warn(`${message}: ${why}; it may hold an unfinished run of this command`);
    return;
  }
  throw new EngagectlError('E-RUN-VERSION', message, {
    why: `${why}; starting anew might do again what that run did`,
    fix: `go on with the version that began it; or start anew by ${words.option('fresh')}, which leaves the folder; or move it away`,
    file,
  });
}

/** Members that another version does not have can be anybody's. */
function mayBeWanted(header: Readonly<Record<string, unknown>>, wanted: RunQuery): boolean {
  const names = wanted.exports
    ? (['command', 'files'] as const)
    : (['command', 'accountId', 'host', 'files'] as const);
  return names.every(
    (name) =>
      header[name] === undefined || JSON.stringify(header[name]) === JSON.stringify(wanted[name]),
  );
}
