import path from 'node:path';
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

/** Identity and options of the run to open. */
export interface RunQuery extends RunIdentity {
  /** Fingerprint of the options that must not change on resume. */
  readonly options: string;
  /** Time zone of an upload, if it is not UTC. */
  readonly timezone?: string | undefined;
  readonly retryUnknown?: boolean | undefined;
  readonly resume?: boolean | undefined;
  readonly fresh?: boolean | undefined;
  /** Id of the only run to resume. */
  readonly run?: string | undefined;
  /** Maximum time to wait for another process that works on the run, in milliseconds. */
  readonly waitLock?: number | undefined;
  /** An export: identified by its output file, whatever the account. */
  readonly exports?: boolean;
  /** Returns true if the run ended so that the same command may start a new one. */
  readonly mayRestart?: (run: RunFolder) => boolean;
  /** Called before an unfinished run is removed, which a new one replaces. */
  readonly discarded?: (run: RunFolder) => void;
}

/**
 * Finds the unfinished run to resume; undefined if there is none, or if `fresh` removed it. Call
 * while holding the run's lock. Throws E-RUN-UNFINISHED, E-RUN-CHANGED, E-RUN-VERSION and
 * E-CONFIG-FILE.
 */
export function findUnfinishedRun(
  root: string,
  query: RunQuery,
  { words, messages, runtime, ports }: Pick<JobContext, 'words' | 'messages' | 'runtime' | 'ports'>,
): RunFolder | undefined {
  const runs = listRuns(root, runtime);
  const leased = ports?.leasedRun; // its files are in another folder with each owner
  let found = runs.find(({ header }) =>
    leased === undefined ? matchesRun(header, query) : header.run === leased,
  );
  if (found && !query.resume && !query.exports && isOver(root, found, query)) {
    query.discarded?.(found);
    removeRun(found, words);
    found = undefined;
  }
  if (query.run !== undefined && found?.header.run !== query.run) {
    throw otherRun(query.run, runs);
  }
  if (found && query.fresh) {
    query.discarded?.(found);
    removeRun(found, words);
  }
  if (query.fresh) return undefined;
  if (!found) {
    if (!query.exports) refuseOtherShards(runs, query, words);
    if (query.resume && !query.exports) refuseOtherAccount(runs, query, words);
    for (const run of listUnreadable(root, runtime)) passOver(run, query, { words, messages });
    return undefined;
  }
  if (!query.resume) throw notFinished(found, query, words);
  if (query.exports) refuseOther(found, query, words);
  else if (found.header.options !== query.options) throw otherOptions(found, query, words);
  return found;
}

function isOver(root: string, found: RunFolder, { mayRestart }: RunQuery): boolean {
  if (isFinished(root, found.header.run)) return true;
  try {
    return mayRestart?.(found) === true;
  } catch {
    return false; // resuming reports the damaged journal
  }
}

/**
 * Whether the run is in the ledger: the process was killed before it removed the run folder. A run that was continued
 * after that, because its input had grown, may have sent more since.
 */
export function isFinished(root: string, run: string): boolean {
  const { lines, open } = readLedger(root, { matches: (line) => line.run === run });
  const isContinued = open.unfinished.some((start) => start.run === run && !start.isFinished);
  return lines.length > 0 && !isContinued;
}

export const matchesRun = (header: RunHeader, query: RunQuery): boolean =>
  query.exports
    ? header.command === query.command &&
      header.files[0] === query.files[0] &&
      header.shard === query.shard
    : header.key === runKey(query);

type Words = JobContext['words'];

function notFinished(
  { path: file, header: { run, started } }: RunFolder,
  { exports }: RunQuery,
  { option }: Words,
): EngagectlError {
  const what = exports ? 'export' : 'command';
  return new EngagectlError('E-RUN-UNFINISHED', `run ${run} of this ${what} is not finished`, {
    why: exports
      ? `it started at ${started}, and its partial output is kept`
      : `it started at ${started}; a new run would resend what it sent`,
    fix: exports
      ? `resume it with ${option('resume')}, or set it aside and restart with ${option('fresh')}`
      : `resume it with ${option('resume')}, or discard it and restart with ${option('fresh')}`,
    resumes: true,
    file,
  });
}

/** Refuses another division into shards: some records would be resent, others never sent. */
function refuseOtherShards(runs: readonly RunFolder[], query: RunQuery, words: Words): void {
  const other = runs.find(
    ({ header }) =>
      header.key === runKey({ ...query, shard: header.shard }) &&
      shardCount(header.shard) !== shardCount(query.shard),
  );
  if (!other) return;
  const { run, shard } = other.header;
  const [was, is] = [shard, query.shard].map((one) => (one ? `shard ${one}` : 'not sharded'));
  throw new EngagectlError('E-RUN-CHANGED', `run ${run} of these files is ${was}; this is ${is}`, {
    why: 'that run is not finished, and its records would be resent',
    fix: `resume it with ${words.resumeRun(run)}, or start a new run beside it with ${words.option('fresh')}`,
    resumes: true,
    file: other.path,
  });
}

function otherOptions(
  { path: file, header: { run, timezone: was = 'UTC' } }: RunFolder,
  { timezone: is = 'UTC' }: RunQuery,
  words: Words,
): EngagectlError {
  // The command line of the run does not contain a time zone of the environment or of a config profile.
  const own = words.resumeRun(run, was === is ? undefined : was);
  const how = was === is ? 'different options' : `the time zone ${was}, and it is ${is} now`;
  return new EngagectlError('E-RUN-CHANGED', `run ${run} was started with ${how}`, {
    why: 'options, the mapping file or the time zone change what is sent, so the parts would not match',
    fix: `resume it with its own options and mapping file: ${own}; ${words.option('fresh')} starts over, and may resend what it sent`,
    resumes: true,
    file,
  });
}

function refuseOther(found: RunFolder, query: RunQuery, words: Words): void {
  const { accountId, host } = found.header;
  if (accountId !== query.accountId) {
    throw changed(found, { what: 'account', was: accountId, is: query.accountId }, words);
  }
  if (host !== query.host) throw changed(found, { what: 'host', was: host, is: query.host }, words);
}

/** Refuses to resume with another account, which would receive the whole input. */
function refuseOtherAccount(runs: readonly RunFolder[], query: RunQuery, words: Words): void {
  const files = JSON.stringify(query.files);
  const other = runs.find(
    ({ header }) =>
      header.command === query.command &&
      (header.accountId !== query.accountId || header.host !== query.host) &&
      JSON.stringify(header.files) === files,
  );
  if (!other) return;
  const { run, accountId, host } = other.header;
  throw new EngagectlError(
    'E-RUN-CHANGED',
    `run ${run} of these files belongs to another account`,
    {
      why: `it belongs to account ${accountId} at ${host}; this command uses ${query.accountId} at ${query.host} and would send everything`,
      fix: `resume with the original account, or start a new run for this one with ${words.option('fresh')}`,
      file: other.path,
    },
  );
}

/** Builds the error for an export that is resumed with a changed option, account or host. */
export function changed(
  { path: file, header: { run } }: RunPlace,
  { what, was, is }: { readonly what: string; readonly was: unknown; readonly is: unknown },
  words: Words,
): EngagectlError {
  const [before, now] = [was, is].map((value) => JSON.stringify(value) ?? 'not set');
  const own = words.resumeRun(run, what === '--timezone' ? String(was) : undefined);
  return new EngagectlError(
    'E-RUN-CHANGED',
    `${what} was ${before} in run ${run}, and is ${now} now`,
    {
      why: 'the parts of the output would not match',
      fix: `resume it unchanged: ${own}; or restart with ${words.option('fresh')}`,
      resumes: true,
      file,
    },
  );
}

/** Builds the error for a named run that belongs to another account than the current one. */
function otherRun(meant: string, runs: readonly RunFolder[]): EngagectlError {
  const header = runs.find(({ header }) => header.run === meant)?.header;
  const where = header && `account ${header.accountId} at ${header.host}`;
  return new EngagectlError('E-RUN-CHANGED', `run ${meant} belongs to ${where ?? 'no account'}`, {
    why: 'flags, environment or config profile now select another account or region',
    fix: 'use the account settings that the run was started with',
  });
}

/**
 * Skips an unreadable run that is certainly another one. A run that may match is an
 * error, because its records must not be resent silently. Without `resume`, a run whose header
 * is lost is only a warning.
 */
function passOver(
  { path: file, why, header }: UnreadableRun,
  query: RunQuery,
  { words, messages }: Pick<JobContext, 'words' | 'messages'>,
): void {
  const isOurs = header && mayMatch(header, query);
  if (isOurs === false) return;
  const message = `the run folder ${file} cannot be read`;
  if (isOurs === undefined && !query.resume) {
    messages.warn(`${message}: ${why}; it may contain an unfinished run of this command`);
    return;
  }
  const run = header?.['run'];
  const isRenamed = typeof run === 'string' && run !== path.basename(file);
  throw new EngagectlError('E-RUN-VERSION', message, {
    why: `${why}; a new run might repeat what that run did`,
    fix: isRenamed
      ? `if it was renamed, give it the name ${run} again; if it is a copy, move it away`
      : `resume with the version that started it, start a new run with ${words.option('fresh')} (keeps the folder), or move the folder away`,
    file,
  });
}

/** Compares the members that the header has; other versions may lack some. */
function mayMatch(header: Readonly<Record<string, unknown>>, query: RunQuery): boolean {
  const names = query.exports
    ? (['command', 'files'] as const)
    : (['command', 'accountId', 'host', 'files'] as const);
  return names.every(
    (name) =>
      header[name] === undefined || JSON.stringify(header[name]) === JSON.stringify(query[name]),
  );
}
