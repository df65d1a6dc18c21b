import path from 'node:path';
import { earlierParts, hasRecords } from '../bulk/write/earlier-parts.js';
import { Journal, readJournal } from '../bulk/journal/journal.js';
import { writeEntries, type EarlierParts, type WriteEntry } from '../bulk/write/write-entries.js';
import { createRun, digest, journalOf, removeRun, runKey, type RunFolder } from './run-folder.js';
import { lockRun } from '../files/run-lock.js';
import { JournalledOutcomes } from '../bulk/write/journalled-outcomes.js';
import type { Tally } from '../bulk/tally.js';
import type { Inputs } from '../input/open.js';
import type { Runtime } from '../runtime.js';
import type { Messages } from '../ui/messages.js';
import type { Connection } from '../commands/connect.js';
import { runId } from './run-id.js';
import {
  hasPlaceForRuns,
  hostOf,
  notForgotten,
  runsFolder,
  unfinishedRun,
} from './unfinished-run.js';
import type { WriteFlags } from '../commands/write-options.js';

/** What a run is found by, and made of. */
interface RunToOpen {
  readonly command: string;
  readonly flags: WriteFlags;
  readonly files: readonly string[];
  /** All that decides what is sent. */
  readonly meaning: unknown;
  readonly argv: readonly string[];
  readonly connection: Connection;
  readonly inputs: Inputs;
  readonly runtime: Runtime;
  readonly said: Messages;
}

/** A run with its journal open and nobody else at work on it. */
export interface OpenRun {
  readonly id: string;
  readonly earlier: EarlierParts;
  /** From now on the tally's outcomes are kept. */
  attach(tally: Tally): Promise<void>;
  /**
   * Lets go of the run. Its folder is removed when it is done, or when there is nothing in it
   * that could be resumed. True when it stays, which is a warning where it ought to be gone.
   */
  close(options: { readonly done: boolean }): Promise<boolean>;
}

/**
 * Finds the unfinished run that `--resume` means, or begins a new one. Throws E-RUN-UNFINISHED,
 * E-RUN-LOCKED, E-RUN-CHANGED, E-INPUT-CHANGED, E-JOURNAL, E-FILE-WRITE.
 */
export async function openRun(run: RunToOpen): Promise<OpenRun> {
  const { runtime, inputs } = run;
  const lock = await lockOf(run);
  try {
    const folder = findUnfinished(run) ?? createRun(runsFolder(runtime), headerOf(run));
    const { journal, entries } = Journal.open<WriteEntry>(journalOf(folder), writeEntries);
    const earlier = earlierParts(entries);
    await inputs.verify([...earlier.digests.values()]).catch(async (error: unknown) => {
      journal.close();
      throw error;
    });
    return {
      id: folder.header.run,
      earlier,
      attach: (tally) => attach(tally, { journal, earlier, inputs }),
      close: async ({ done }) => {
        try {
          journal.close();
          const stays = !done && mayHaveContent(folder);
          if (!stays) removeRun(folder);
          return stays;
        } catch (error) {
          run.said.warn(notForgotten(folder, error));
          return !done;
        } finally {
          await lock.release();
        }
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/**
 * For a run without a journal, which must not send again in silence what an unfinished one sent.
 * A user without a place for runs has none. Throws E-RUN-UNFINISHED, E-RUN-LOCKED, E-FILE-WRITE.
 */
export async function refuseUnfinished(run: RunToOpen): Promise<void> {
  if (!hasPlaceForRuns(run.runtime)) return;
  const lock = await lockOf(run);
  try {
    findUnfinished(run);
  } finally {
    await lock.release();
  }
}

const lockOf = async (run: RunToOpen) =>
  lockRun(`${runsFolder(run.runtime)}:${runKey(identityOf(run))}`);

const findUnfinished = (run: RunToOpen) =>
  unfinishedRun(runsFolder(run.runtime), {
    ...identityOf(run),
    options: digest(run.meaning),
    flags: run.flags,
  });

async function attach(
  tally: Tally,
  parts: {
    readonly journal: Journal<WriteEntry>;
    readonly earlier: EarlierParts;
    readonly inputs: Inputs;
  },
): Promise<void> {
  const { journal, earlier, inputs } = parts;
  const { rejects } = tally;
  await rejects.resume({ file: earlier.rejectsFile, mark: earlier.rejects });
  tally.resume(earlier.counts);
  tally.log = new JournalledOutcomes({
    journal,
    rejects,
    digests: () => inputs.takeDigests(),
    start: earlier.watermark,
  });
}

const identityOf = ({ command, connection, files, runtime }: RunToOpen) => ({
  command,
  accountId: connection.account.accountId,
  host: hostOf(connection.account),
  files: files.map((file) => path.resolve(runtime.cwd, file)),
});

const headerOf = (run: RunToOpen) => ({
  version: 1 as const,
  run: runId(run.runtime),
  key: runKey(identityOf(run)),
  ...identityOf(run),
  argv: run.argv,
  cwd: run.runtime.cwd,
  started: new Date(run.runtime.now()).toISOString(),
  options: digest(run.meaning),
});

/**
 * An outcome, an intent or the beginning of a rejects file was written down; or the journal cannot
 * be read now, and may be readable later.
 */
function mayHaveContent(folder: RunFolder): boolean {
  try {
    const earlier = earlierParts(readJournal<WriteEntry>(journalOf(folder), writeEntries));
    return hasRecords(earlier) || earlier.rejectsFile !== undefined;
  } catch {
    return true;
  }
}
