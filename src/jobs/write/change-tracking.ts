import path from 'node:path';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { Baseline, ChangeTracker, TouchedKeys } from '../../bulk/change-tracking/change-tracker.js';
import { TouchedLog } from '../../bulk/change-tracking/baseline-store.js';
import { countOf, EngagectlError, groupDigits } from '../../errors.js';
import { refuseUntrusted } from '../../files/ownership.js';
import { AtomicFile } from '../../files/atomic-write.js';
import { unwritablePathError } from '../../files/file-errors.js';
import { checkWritablePath, refuseInputAsOutput } from '../../files/path-checks.js';
import { isLocked, type FileLock } from '../../files/file-lock.js';
import { makeStateFolder } from '../run/run-folder.js';
import { lockOrWait, runsFolder } from '../run/open-run.js';
import { formatShard, shardName } from '../shard.js';
import { escapeCsvCell, quoteCsvCell } from '../../output/formats.js';
import { isUserKey, newSecret, type RecordKey } from '../../text/record-hash.js';
import { inputFormatOfName, isTableName, parseFileName } from '../../contract/file-formats.js';
import { separatorLine } from '../../input/input-format.js';
import type { Shard } from '../job-options.js';
import type { JobContext, Wording } from '../job-context.js';
import {
  readFilesOf,
  type WriteContext,
  type WriteKind,
  type WriteRequest,
} from './write-request.js';

/** An input whose records are compared with the baseline. */
export interface ComparedInput {
  /** Whether the input has lines of a rejects file, which is only a part of another input. */
  hasRejectLines: boolean;
  /** Whether records could not be read or validated. */
  hasInvalid: boolean;
  /** Whether users of the input have identities that are not sent. */
  readonly hasFurtherIdentities: boolean;
  /** Whether an earlier process read its beginning, which this one cannot read again. */
  readonly isRest: boolean;
  /** Whether it is a pipe with fewer records than the mapping file requires. */
  readonly isShort: boolean;
}

/** The open baseline of a write with `changed`. */
export interface ChangeTracking {
  readonly stream: string;
  readonly memory: ChangeTracker;
  /**
   * Writes the keys missing from the input, if a file was requested. Warns instead if some records were not
   * compared, since their users would count as missing.
   */
  writeGone(input: ComparedInput): Promise<void>;
  /** Merges accepted records into the baseline. A failure is a warning; the next run merges them. */
  close(): void;
}

/**
 * Opens the baseline of an account, host, command and stream; undefined without `changed`. Throws
 * E-USAGE, E-RUN-LOCKED, E-FILE-WRITE, E-CONFIG.
 */
export async function openChangeTracking(
  writing: WriteContext,
): Promise<ChangeTracking | undefined> {
  const { kind, request, context, connection, rehearsal } = writing;
  refuseOthers(request, context);
  if (!request.changed || !connection) return undefined;
  const { stream = 'default', shard } = request;
  const owner = ownerOf([connection.accountId, connection.host, kind.name, stream], shard);
  const root = path.join(path.dirname(context.runsFolder()), 'memory');
  const folder = path.join(root, owner.name);
  const gone = openGone(request, context);
  const { lock, touched } = await inPlace(folder, context, async () => {
    makeStateFolder(folder);
    for (const each of [root, folder]) refuseUntrusted(each, context.runtime);
    const lock = await lockStream(path.join(root, `.${owner.name}.lock`), stream, writing);
    return { lock, touched: await findTouched(folder, kind, lock) };
  });
  const { messages, runtime } = context;
  const open = () => {
    const what = kindOf(kind.name);
    const memory = new Baseline({
      folder,
      kind: what,
      owner: owner.words,
      secret: newSecret(runtime.token()),
      full: request.full === true,
      touched: touched.logs,
      onDamage: (why) => messages.note(`the baseline of stream "${stream}" cannot be used: ${why}`),
    });
    const all = 'all records of the input count as new';
    if (!memory.exists) messages.note(`stream "${stream}" has no baseline of ${what}s: ${all}`);
    return memory;
  };
  const memory = new ChangeTracker(open, { isRehearsal: rehearsal !== undefined });
  return {
    stream,
    memory,
    writeGone: async (input) => {
      const why = gone && uncomparedReason(input, memory);
      if (why) messages.warn(`${gone.name} was not written: ${why}`);
      else if (gone)
        warnOfUnlisted(await gone.write(memory), { gone: gone.name, memory, messages });
    },
    close: () => {
      try {
        gone?.close();
        memory.close();
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        messages.warn(
          `accepted records are not in the baseline of stream "${stream}" yet: ${why}; the next run adds them`,
        );
      } finally {
        touched.release();
        lock.release();
      }
    },
  };
}

interface Listed {
  readonly listed: number;
  /** Users without an identity. */
  readonly others: number;
}

/** Warns of users of the baseline that the list lacks: those that only an identity could name, and lost ones. */
function warnOfUnlisted(
  { listed, others }: Listed,
  {
    gone,
    memory: { plan },
    messages,
  }: { gone: string; memory: ChangeTracker; messages: JobContext['messages'] },
): void {
  if (others > 0) {
    messages.warn(
      `${gone} lacks ${countOf(others, 'user')} known by objectId, FBID or GPID: a demerge would take these for identities`,
    );
  }
  const unlisted = plan.gone - listed - others;
  if (unlisted <= 0) return;
  messages.warn(
    `${gone} lacks ${groupDigits(unlisted)} of ${groupDigits(plan.gone)}: a crash or damage to the state directory took their identities; compare an export of the account with the input`,
  );
}

function refuseOthers(request: WriteRequest, { words }: JobContext): void {
  const { changed, order } = request;
  const { option } = words;
  const alone = (['stream', 'full', 'gone'] as const).find((name) => request[name] !== undefined);
  if (!changed && alone) {
    throw new EngagectlError('E-USAGE', `${option(alone)} requires ${option('changed')}`, {
      why: 'it refers to the baseline, which only that option uses',
      fix: `add ${option('changed')}, or omit ${option(alone)}`,
    });
  }
  const part = (['limit', 'shard'] as const).find((name) => request[name] !== undefined);
  if (request.gone !== undefined && part) {
    throw new EngagectlError('E-USAGE', `${option('gone')} requires the whole input`, {
      why:
        part === 'limit'
          ? `all users after the first ${request.limit} records would count as missing`
          : 'a user would count as missing whose record is in another shard, because it cannot be read or has another key',
      fix: `omit ${option(part)}, or omit ${option('gone')}`,
    });
  }
  if (changed && order === 'none') {
    throw new EngagectlError('E-USAGE', `${option('changed')} requires ordered records`, {
      why: 'the baseline keeps the last record of a user, which must be the last one sent',
      fix: `omit ${option('order', 'none')}`,
    });
  }
}

/**
 * Opens the marks that a write leaves in the baselines it does not update; undefined in a dry run. A
 * demerge marks the users of uploads, whose profiles it takes apart. Throws nothing of the disk.
 */
export function openTouchedKeys(
  { kind, request, context, connection, rehearsal }: WriteContext,
  run: string,
): TouchedKeys | undefined {
  const root = memoryFolder(context);
  if (!connection || rehearsal !== undefined) return undefined;
  if (root === undefined) return undefined;
  const command = kind.name === 'demerge' ? 'upload' : kind.name;
  const isOther = otherBaselines([connection.accountId, connection.host, command], request);
  const streams = () =>
    (existsSync(root) ? readdirSync(root) : []).flatMap((name) =>
      isOther(name) ? path.join(root, name) : [],
    );
  for (const folder of [root, ...streams()]) refuseUntrusted(folder, context.runtime);
  return new TouchedKeys({ kind: kindOf(kind.name), run, streams });
}

/** Finds the logs of touched keys of a stream; releases its lock if that fails. */
const findTouched = async (folder: string, { name }: WriteKind, lock: FileLock) =>
  TouchedLog.find(folder, kindOf(name)).catch((error: unknown) => {
    lock.release();
    throw error;
  });

/** Returns the folder of all baselines; undefined without a state directory. */
function memoryFolder(context: JobContext): string | undefined {
  const runs = runsFolder(context);
  return runs && path.join(path.dirname(runs), 'memory');
}

const kindOf = (name: WriteKind['name']) => (name === 'subscribe' ? 'subscription' : 'profile');

const digestOf = (names: readonly string[]): Buffer =>
  createHash('sha256').update(JSON.stringify(names)).digest();

type StreamNames = readonly [account: string, host: string, command: string, stream: string];

/** Begins the folder name of each baseline of an account, host and command. */
const accountPrefix = (names: readonly string[]): string =>
  `${digestOf(names.slice(0, 3)).toString('hex', 0, 8)}-`;

/** Begins the folder name of each baseline of a stream; alone, it is that of the undivided input. */
const streamPrefix = (names: StreamNames): string =>
  `${accountPrefix(names)}${digestOf(names).toString('hex', 0, 16)}`;

/** Derives the folder name of a baseline, and the numbers that its files begin with. */
function ownerOf(names: StreamNames, shard: Shard | undefined) {
  const sum = digestOf(shard ? [...names, formatShard(shard)] : names);
  return {
    name: `${streamPrefix(names)}${shard ? `-${shardName(shard)}` : ''}`,
    words: [sum.readUInt32LE(16), sum.readUInt32LE(20)] as const,
  };
}

/**
 * Returns which folders hold baselines whose users a write sends, and that it does not update: without
 * `changed` those of all streams, else those of its stream for other numbers of shards. The spellings of an
 * address may be in different shards, so subscriptions also have those of the other shards.
 */
function otherBaselines(
  account: readonly [account: string, host: string, command: string],
  { changed, stream = 'default', shard }: WriteRequest,
): (folder: string) => boolean {
  if (!changed) return (folder) => folder.startsWith(accountPrefix(account));
  const names = [...account, stream] as const;
  const [prefix, own] = [streamPrefix(names), ownerOf(names, shard).name];
  const sharesKeys = account[2] === 'subscribe';
  return (folder) =>
    folder.startsWith(prefix) &&
    folder !== own &&
    (sharesKeys || folder.split('-of-')[1] !== shard?.count.toString());
}

async function lockStream(
  file: string,
  stream: string,
  { request, context }: WriteContext,
): Promise<FileLock> {
  try {
    return await lockOrWait(file, request, context);
  } catch (error) {
    if (!isLocked(error)) throw error;
    const { why, fix } = error.details;
    throw new EngagectlError(
      'E-RUN-LOCKED',
      `another process uses the baseline of stream "${stream}"`,
      { why, fix: `${fix}; or use a separate stream for each source` },
    );
  }
}

async function inPlace<T>(file: string, { words }: JobContext, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EngagectlError) throw cause;
    throw new EngagectlError('E-FILE-WRITE', `cannot use the folder ${file}`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: `make the state directory writable, or set another one with ${words.stateFolder}`,
      file,
      cause,
    });
  }
}

/** Returns why users of the input may count as missing; undefined if every record was compared. */
function uncomparedReason(
  { hasRejectLines, hasInvalid, hasFurtherIdentities, isRest, isShort }: ComparedInput,
  { isUsed, mayHideUsers }: ChangeTracker,
): string | undefined {
  if (hasRejectLines) return 'the input is a rejects file, so most users are missing from it';
  if (isRest) return 'an earlier attempt read the beginning of the pipe; the next run lists them';
  if (isShort) return 'the input has too few records, so users may be missing from it';
  if (hasInvalid) return 'users of records that could not be read or validated would be listed';
  if (hasFurtherIdentities)
    return 'users with further identities in all_identities may be known by one of these, and would be listed by it';
  if (mayHideUsers)
    return 'users of records without an identity may be known by one, and would be listed by it: give every record all of its keys';
  return isUsed
    ? undefined
    : 'the input has no record to compare, so all users would count as missing';
}

/** Opens the file of missing keys, published when complete. Throws E-USAGE for an input, E-FILE-WRITE. */
function openGone(request: WriteRequest, { runtime: { cwd, uid }, words }: JobContext) {
  if (request.gone === undefined) return undefined;
  const name = request.gone;
  const file = path.resolve(cwd, name);
  const place = { name, what: 'the file', option: words.option('gone', '<file>') };
  refuseInputAsOutput(file, readFilesOf(request), {
    ...place,
    what: 'the list of missing users',
    cwd,
  });
  refuseJsonName(name, words);
  checkWritablePath(file, place, { uid });
  let temporary: AtomicFile | undefined;
  return {
    name,
    /** Returns the numbers of keys. */
    async write(memory: ChangeTracker): Promise<Listed> {
      try {
        temporary = new AtomicFile(file);
        let [listed, others] = [0, 0];
        for await (const gone of memory.gone()) {
          if (isUserKey(gone) && gone.space !== 'identity') {
            others += 1;
            continue;
          }
          temporary.write(goneLine(gone, listed === 0));
          listed += 1;
        }
        temporary.commit();
        return { listed, others };
      } catch (error) {
        throw unwritablePathError(file, place, error);
      }
    },
    close: (): void => temporary?.discard(),
  };
}

/** Throws E-USAGE for a name of NDJSON or JSON: a demerge would read the lines of the list as JSON. */
function refuseJsonName(name: string, { option }: Wording): void {
  if (inputFormatOfName(name) === undefined || isTableName(name)) return;
  const { stem, extension } = parseFileName(name);
  throw new EngagectlError('E-USAGE', `${option('gone', name)} would be a list named like JSON`, {
    why: `the list of missing users has one of them per line, and a file named ${extension} is read as JSON`,
    fix: `use .txt, for a list: ${option('gone', `${stem.replace(/(?<=[^/\\])\.rejects$/i, '')}.txt`)}`,
  });
}

/** Identities that make nobody take the list for a table or JSON, whose first line would name its columns. */
const listsAlone = /^(?!\[)[^,;|{]*$/;

/** First line of a list that names its column, and no user. */
const listHeader = 'identity';

/** Formats a missing key: a bare list for identities, `type,value` for addresses. */
function goneLine({ space, key }: RecordKey, isFirst: boolean): string {
  if (isUserKey({ space })) {
    const isAlone = listsAlone.test(key);
    const isNoValue = key === listHeader || separatorLine.test(key) || !isAlone; // but a header, or a table
    const header = isFirst && isNoValue ? `${listHeader}\n` : '';
    return `${header}${isAlone ? escapeCsvCell(key) : quoteCsvCell(key)}\n`;
  }
  return `${isFirst ? 'type,value\n' : ''}${space},${escapeCsvCell(key)}\n`;
}
