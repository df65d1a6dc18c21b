import path from 'node:path';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Baseline, ChangeTracker } from '../../bulk/change-tracking/change-tracker.js';
import { EngagectlError } from '../../errors.js';
import { refuseUntrusted } from '../../files/ownership.js';
import { FileDraft } from '../../files/atomic-write.js';
import { checkWritablePath, unwritablePathError } from '../../files/path-checks.js';
import { lockRun, type FileLock } from '../../files/file-lock.js';
import { makeStateFolder } from '../run/run-folder.js';
import { formatShard } from '../shard.js';
import { escapeCsvCell } from '../../output/formats.js';
import { isUserKey, type RecordKey } from '../../text/record-hash.js';
import type { JobContext } from '../job-context.js';
import type { WriteRequest, WriteContext } from './write-request.js';

/** What a write that sends only what changed works with. */
export interface ChangeTracking {
  readonly stream: string;
  readonly memory: ChangeTracker;
  /** Events of the stream are remembered. */
  readonly knowsEvents: boolean;
  /** Writes whom the input does not hold any more, where a file was asked for. */
  writeGone(): Promise<void>;
  /** Takes in what was accepted. That this fails is a warning: the next run does it. */
  close(): void;
}

/**
 * Opens what is remembered of the account, host, command and stream; undefined where everything is
 * to be sent. Throws E-USAGE, E-RUN-LOCKED, E-FILE-WRITE, E-CONFIG.
 */
export async function openChangeTracking(
  writing: WriteContext,
): Promise<ChangeTracking | undefined> {
  const { kind, request, world, connection, rehearsal } = writing;
  refuseOthers(request, world);
  if (!request.changed || !connection) return undefined;
  const { stream = 'default', shard } = request;
  const names = [connection.accountId, connection.host, kind.name, stream];
  const owner = ownerOf(shard ? [...names, formatShard(shard)] : names);
  const root = path.join(path.dirname(world.runsFolder()), 'memory');
  const folder = path.join(root, owner.name);
  const gone = openGone(request.gone, world);
  const lock = await inPlace(folder, world, async () => {
    makeStateFolder(folder);
    for (const each of [root, folder]) refuseUntrusted(each, world.runtime);
    return lockStream(path.join(root, `.${owner.name}.lock`), stream);
  });
  const { said, runtime } = world;
  const number = () => Math.floor(runtime.random() * 2 ** 32);
  const open = (holdsEvents: boolean) => {
    const what = holdsEvents ? 'event' : kind.name === 'subscribe' ? 'subscription' : 'profile';
    const memory = new Baseline({
      folder,
      kind: what,
      owner: owner.words,
      seed: [number(), number()],
      full: request.full === true,
      doubt: (why) => said.note(`the memory of stream "${stream}" cannot be used: ${why}`),
    });
    const all = 'so all records of the input count as new';
    if (!memory.isKnown) said.note(`no ${what} of stream "${stream}" is remembered: ${all}`);
    return memory;
  };
  const memory = new ChangeTracker(open, { isRehearsal: rehearsal !== undefined });
  return {
    stream,
    memory,
    knowsEvents: existsSync(path.join(folder, 'event.base')) && memory.knows(true),
    writeGone: async () => {
      if (gone) await gone.write(memory);
    },
    close: () => {
      try {
        gone?.close();
        memory.close();
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        said.warn(
          `what was accepted is not taken into the memory yet: ${why}; the next run does it`,
        );
      } finally {
        lock.release();
      }
    },
  };
}

function refuseOthers(request: WriteRequest, { words }: JobContext): void {
  const { changed, order } = request;
  const { option } = words;
  const alone = (['stream', 'full', 'gone'] as const).find((name) => request[name] !== undefined);
  if (!changed && alone) {
    throw new EngagectlError('E-USAGE', `${option(alone)} goes with ${option('changed')}`, {
      why: 'it concerns what the runs before have sent, and nothing else remembers that',
      fix: `add ${option('changed')}, or leave it out`,
    });
  }
  if (changed && order === 'none') {
    throw new EngagectlError('E-USAGE', `${option('changed')} needs the order of records`, {
      why: 'the last record of a user that was accepted has to be the last one sent',
      fix: `leave out ${option('order', 'none')}`,
    });
  }
}

/** By its first numbers files know whose they are. */
function ownerOf(names: readonly string[]) {
  const sum = createHash('sha256').update(JSON.stringify(names)).digest();
  return {
    name: sum.toString('hex', 0, 16),
    words: [sum.readUInt32LE(16), sum.readUInt32LE(20)] as const,
  };
}

async function lockStream(file: string, stream: string): Promise<FileLock> {
  try {
    return await lockRun(file);
  } catch (error) {
    if (!(error instanceof EngagectlError)) throw error;
    throw new EngagectlError(
      'E-RUN-LOCKED',
      `another process works on the memory of stream "${stream}"`,
      {
        why: 'it sends what changed of the same stream to the same account',
        fix: 'wait until it is done; or give each source a stream of its own',
      },
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
      fix: `make the state folder writable, or name another in ${words.stateFolder}`,
      file,
      cause,
    });
  }
}

/** The file for whom the input does not hold; it takes its name when it is whole. Throws E-FILE-WRITE. */
function openGone(name: string | undefined, { runtime: { cwd }, words }: JobContext) {
  if (name === undefined) return undefined;
  const file = path.resolve(cwd, name);
  const place = { name, what: 'the file', option: words.option('gone', '<file>') };
  checkWritablePath(file, place);
  let draft: FileDraft | undefined;
  return {
    async write(memory: ChangeTracker): Promise<void> {
      try {
        draft = new FileDraft(file);
        let head = true;
        for await (const gone of memory.gone()) {
          draft.write(goneLine(gone, head));
          head = false;
        }
        draft.commit();
      } catch (error) {
        throw unwritablePathError(file, place, error);
      }
    },
    close: (): void => draft?.discard(),
  };
}

/** A line for somebody the input does not hold: of users a bare list, of addresses type and value. */
function goneLine({ space, key }: RecordKey, isFirst: boolean): string {
  if (isUserKey({ space })) return `${escapeCsvCell(key)}\n`;
  return `${isFirst ? 'type,value\n' : ''}${space},${escapeCsvCell(key)}\n`;
}
