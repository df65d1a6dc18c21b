import path from 'node:path';
import { EngagectlError } from '../../errors.js';
import { messages } from '../../ui/messages.js';
import type { QueueStore, StoreOptions } from '../../fleet/queue-store.js';
import type { KnownRun } from '../../fleet/run-status.js';
import type { Call } from '../shared/command-spec.js';
import type { FlagsOf, OptionRow, OptionTable } from '../flags/option-table.js';

export const queueOption = [
  '--queue <url>',
  'redis://… or postgres://…; with a password: in ENGAGECTL_QUEUE',
] as const satisfies OptionRow;
export type QueueFlag = FlagsOf<readonly [typeof queueOption]>;

/** Of commands that name a run. */
export const runOptions = [
  ['--work-dir <dir>', 'where the run is, if the queue has lost it'],
  queueOption,
] as const satisfies OptionTable;
export type RunFlags = FlagsOf<typeof runOptions>;

/** The store that flag or environment name. Throws E-USAGE, E-CONFIG. */
async function openQueue(
  { flags, runtime, settings }: Call<QueueFlag>,
  how: StoreOptions,
): Promise<QueueStore> {
  const url = flags.queue ?? runtime.env['ENGAGECTL_QUEUE'];
  if (url === undefined) {
    throw new EngagectlError('E-USAGE', 'no queue is named', {
      why: 'a fleet shares its work through Redis or PostgreSQL',
      fix: 'set ENGAGECTL_QUEUE, or add --queue redis://localhost:6379',
    });
  }
  if (flags.queue !== undefined && URL.canParse(url) && new URL(url).password !== '') {
    const warning =
      'everybody on this machine can read a password in arguments; use ENGAGECTL_QUEUE';
    messages(settings(), runtime).warn(warning);
  }
  const { openStore } = await import('../../fleet/queue-store.js');
  return openStore(url, how);
}

/** What comes of some work with a store, which is closed then. */
export async function withQueue<T>(
  call: Call<QueueFlag>,
  use: (store: QueueStore) => Promise<T>,
  how: StoreOptions = { patiently: false },
): Promise<T> {
  const store = await openQueue(call, how);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** The run that the first operand names. Throws what `findRun` does. */
export async function runNamed(
  store: QueueStore,
  { operands: [id = ''], flags: { workDir }, runtime }: Call<RunFlags>,
): Promise<KnownRun> {
  const { findRun } = await import('../../fleet/run-status.js');
  return findRun(store, id, workDir === undefined ? undefined : path.resolve(runtime.cwd, workDir));
}
