import path from 'node:path';
import { EngagectlError } from '../../errors.js';
import { messages, answer } from '../../ui/messages.js';
import { closing, connect } from '../shared/connect.js';
import { choice } from '../flags/value-parsers.js';
import type { QueueStore, StoreOptions } from '../../fleet/queue-store.js';
import type { KnownRun } from '../../fleet/run-status.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionRow, OptionTable } from '../flags/option-table.js';

export const queueOption = [
  '--queue <url>',
  'redis://… or postgres://…; with a password: in ENGAGECTL_QUEUE',
] as const satisfies OptionRow;
type QueueFlag = FlagsOf<readonly [typeof queueOption]>;

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

export const init: CommandSpec<QueueFlag> = {
  needs: 'nothing',
  summary: 'prepares the queue: reachable, its version, tables, nothing evicted',
  examples: `
    # Redis
    engagectl fleet init --queue redis://localhost:6379
    # PostgreSQL: makes its tables
    engagectl fleet init --queue postgres://fleet@localhost/fleet
  `,
  options: ['Options:', queueOption],
  run: prepareQueue,
};

export const cancel: CommandSpec<RunFlags> = {
  needs: 'nothing',
  summary: 'stops a run: waiting shards at once, running ones after their request',
  operands: [['<run>', 'its id']],
  examples: `
    # retry goes on with it
    engagectl fleet cancel 0123456789ab
    # of a run that the queue has lost
    engagectl fleet cancel 0123456789ab --work-dir /shared/fleet
  `,
  options: ['Options:', ...runOptions],
  run: cancelRun,
};

export const retry: CommandSpec<RunFlags> = {
  needs: 'nothing',
  summary: 'tries the shards again that failed, were cancelled, or were lost by the queue',
  operands: [['<run>', 'its id']],
  examples: `
    # what failed goes on where it stopped
    engagectl fleet retry 0123456789ab
    # of a run that the queue has lost
    engagectl fleet retry 0123456789ab --work-dir /shared/fleet
  `,
  options: ['Options:', ...runOptions],
  run: retryRun,
};

const budgetOptions = [
  'Options:',
  [
    '--lane <kind>',
    'upload: uploads and subscriptions; other: exports and demerges',
    { parse: choice('upload', 'other'), default: 'upload' },
  ],
  queueOption,
] as const satisfies OptionTable;
type BudgetFlags = FlagsOf<typeof budgetOptions>;

export const budget: CommandSpec<BudgetFlags> = {
  needs: 'account',
  summary: 'how many requests the account may have in flight, over all workers',
  operands: [['<n>', 'requests']],
  examples: `
    # uploads and subscriptions
    engagectl fleet budget 10
    # exports and demerges
    engagectl fleet budget 2 --lane other
  `,
  options: budgetOptions,
  run: changeBudget,
};

/** `fleet init`. */
async function prepareQueue(call: Call<QueueFlag>): Promise<void> {
  const { flags, runtime } = call;
  const check = async (store: QueueStore) => {
    const { checkStore } = await import('../../fleet/account-queue.js');
    return checkStore(store, flags.queue ?? runtime.env['ENGAGECTL_QUEUE'] ?? '');
  };
  const found = await withQueue(call, check, { patiently: false, migrate: true });
  const note = `${found.store}: version ${found.version}, ready`;
  answer(call.settings(), runtime, found, { note });
}

/** `fleet cancel`. */
async function cancelRun(call: Call<RunFlags>): Promise<void> {
  await withQueue(call, async (store) => {
    const { cancelRun } = await import('../../fleet/submit-run.js');
    const known = await runNamed(store, call);
    await cancelRun(store, known);
    const { run } = known.run;
    const note = `run ${run} is cancelled; fleet retry goes on`;
    answer(call.settings(), call.runtime, { run, state: 'cancelled' }, { note });
  });
}

/** `fleet retry`. */
async function retryRun(call: Call<RunFlags>): Promise<void> {
  await withQueue(call, async (store) => {
    const { retryRun } = await import('../../fleet/submit-run.js');
    const known = await runNamed(store, call);
    const count = await retryRun(store, known);
    const { run, shards } = known.run;
    const note = `run ${run}: ${count} of ${shards} shards are tried again`;
    answer(call.settings(), call.runtime, { run, retried: count }, { note });
  });
}

/** `fleet budget`: of the account that the global options name. */
async function changeBudget(call: Call<BudgetFlags>): Promise<void> {
  const { operands, flags, runtime } = call;
  const [text = ''] = operands;
  const wanted = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined;
  if (wanted === undefined) {
    throw new EngagectlError('E-USAGE', `"${text}" is no number of requests`, {
      why: 'it is how many may be in flight at a time: a whole number from 1 to 9999',
      fix: 'engagectl fleet budget 15',
    });
  }
  const settings = call.settings();
  const said = messages(settings, runtime);
  const connection = await connect(settings, runtime, { maxInFlight: 1, messages: said });
  const { accountId, host } = connection;
  await closing(connection, Promise.resolve());
  await withQueue(call, async (store) => {
    const [{ laneName, setBudget }, { answered }] = await Promise.all([
      import('../../fleet/account-queue.js'),
      import('../../fleet/queue-store.js'),
    ]);
    const lane = store.queue(laneName({ accountId, host, kind: flags.lane }));
    await answered(store, async () => setBudget(lane, flags.lane, wanted));
    const note = `account ${accountId}: at most ${wanted} requests in flight (${flags.lane})`;
    answer(settings, runtime, { accountId, host, lane: flags.lane, budget: wanted }, { note });
  });
}
