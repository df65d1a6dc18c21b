import path from 'node:path';
import { EngagectlError, refuseUnverifiedTls } from '../../errors.js';
import { messagePrinter, printAnswer } from '../../ui/messages.js';
import { closeAfter, connectAccount } from '../shared/connect.js';
import { localRegion } from '../../config/profiles.js';
import { choice } from '../flags/value-parsers.js';
import type { QueueStore, StoreOptions } from '../../fleet/queue-store.js';
import type { RunAccount } from '../../fleet/fleet-run.js';
import type { FleetKey } from '../../fleet/signature.js';
import type { FoundRun } from '../../fleet/run-status.js';
import type { Account } from '../../config/account.js';
import type { Runtime } from '../../runtime.js';
import type { GlobalOptions } from '../shared/global-options.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionRow, OptionTable } from '../flags/option-table.js';

export const queueOption = [
  '--queue <url>',
  'redis://… or postgres://…; put a password into ENGAGECTL_QUEUE instead',
] as const satisfies OptionRow;
type QueueFlag = FlagsOf<readonly [typeof queueOption]>;

/** Options of commands that name a run. */
export const runOptions = [
  ['--work-dir <dir>', 'work directory of the run, if the queue has lost it'],
  queueOption,
] as const satisfies OptionTable;
export type RunFlags = FlagsOf<typeof runOptions>;

/** Opens the store named by flag or environment. Throws E-USAGE, E-CONFIG. */
async function openQueue(
  { flags, runtime, settings }: Invocation<QueueFlag>,
  how: StoreOptions,
): Promise<QueueStore> {
  const url = flags.queue ?? runtime.env['ENGAGECTL_QUEUE'];
  if (url === undefined) {
    throw new EngagectlError('E-USAGE', 'no queue is named', {
      why: 'a fleet shares its work through Redis or PostgreSQL',
      fix: 'set ENGAGECTL_QUEUE, or add --queue redis://localhost:6379',
    });
  }
  if (!url.startsWith('redis:')) {
    const why = 'an impostor could read the password of the queue and change its jobs';
    refuseUnverifiedTls(runtime.env, why);
    refuseNoVerify(url, runtime.env, why);
  }
  if (flags.queue !== undefined && URL.canParse(url) && new URL(url).password !== '') {
    const warning =
      'everybody on this machine can read a password in arguments; use ENGAGECTL_QUEUE';
    messagePrinter(settings(), runtime).warn(warning);
  }
  const { openQueueStore } = await import('../../fleet/queue-store.js');
  return openQueueStore(url, how);
}

/** Throws E-CONFIG if an address or PGSSLMODE makes the driver of PostgreSQL accept any certificate. */
function refuseNoVerify(url: string, env: Runtime['env'], why: string): void {
  const { protocol = '', searchParams } = URL.canParse(url) ? new URL(url) : {};
  if (!searchParams || !protocol.startsWith('postgres')) return;
  const typed = ['sslmode', 'ssl'].flatMap((name) => searchParams.getAll(name));
  const modes = typed.length > 0 ? typed : [env['PGSSLMODE']]; // which counts only without them
  if (!modes.includes('no-verify')) return;
  throw new EngagectlError('E-CONFIG', 'sslmode=no-verify would accept any certificate', {
    why,
    fix: 'use sslmode=verify-full; for a private certificate authority add sslrootcert=<file.pem>',
  });
}

/** Runs work with a store, then closes it. */
export async function withQueue<T>(
  call: Invocation<QueueFlag>,
  use: (store: QueueStore) => Promise<T>,
  how: StoreOptions = { waitForStore: false },
): Promise<T> {
  const store = await openQueue(call, how);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Finds the run named by the first operand. Throws the errors of `findRun` and `accountOfRun`. */
export async function findNamedRun(
  store: QueueStore,
  { operands: [id = ''], flags: { workDir }, runtime, settings }: Invocation<RunFlags>,
): Promise<FoundRun> {
  const { findRun } = await import('../../fleet/run-status.js');
  const given = settings();
  const isChosen = given.flags.has('profile') || given.flags.has('region');
  return findRun(store, id, {
    workDir: workDir === undefined ? undefined : path.resolve(runtime.cwd, workDir),
    runtime,
    keyOf: async (run) => {
      const of = isChosen ? given : settingsOfRun(run, given);
      return (await accountOfRun(run, of, runtime)).key;
    },
  });
}

/** Settings of this machine with the run's config profile and region, if any. */
export function settingsOfRun(
  { profile, region, timezone }: RunAccount,
  settings: GlobalOptions,
): GlobalOptions {
  const zone = timezone === undefined ? {} : { timezone };
  if (profile === undefined) return { ...settings, ...zone };
  return {
    ...settings,
    profile,
    ...(region !== undefined && { region }),
    ...zone,
    flags: new Set([...settings.flags, 'profile', 'region']),
  };
}

/**
 * Resolves the account of a run on this machine, and the key that must have signed the run. Throws
 * E-RUN-CHANGED if this machine has another account, and the errors of resolving one.
 */
export async function accountOfRun(
  { accountId, host }: RunAccount,
  settings: GlobalOptions,
  runtime: Runtime,
): Promise<{ readonly account: Account; readonly key: FleetKey }> {
  const [{ resolveAccount }, { FleetKey }] = await Promise.all([
    import('../../config/account.js'),
    import('../../fleet/signature.js'),
  ]);
  const account = await resolveAccount(settings, runtime);
  const own = hostOf(account);
  if (account.accountId === accountId && own === host) {
    return { account, key: new FleetKey({ accountId, host, passcode: account.passcode }) };
  }
  throw new EngagectlError('E-RUN-CHANGED', `the account here is ${account.accountId} at ${own}`, {
    why: `the run is for ${accountId} at ${host}`,
    fix: 'use the config profile, or the environment, that the run was submitted with',
  });
}

/** The port of the embedded service differs each time. */
const hostOf = ({ region, baseUrl }: Account): string =>
  region === localRegion ? localRegion : new URL(baseUrl).host;

export const init: CommandSpec<QueueFlag> = {
  needs: 'nothing',
  summary: 'check and prepare the queue: connection, version, tables, eviction policy',
  examples: `
    # Redis
    engagectl fleet init --queue redis://localhost:6379
    # PostgreSQL: creates its tables
    engagectl fleet init --queue postgres://fleet@localhost/fleet
  `,
  options: ['Options:', queueOption],
  run: prepareQueue,
};

export const cancel: CommandSpec<RunFlags> = {
  needs: 'account',
  summary: 'cancel a run: waiting shards at once, running shards after their current request',
  operands: [['<run>', 'run id']],
  examples: `
    # cancel a run; "fleet retry" continues it
    engagectl fleet cancel 0123456789ab
    # a run that the queue has lost
    engagectl fleet cancel 0123456789ab --work-dir /shared/fleet
  `,
  options: ['Options:', ...runOptions],
  run: cancelRun,
};

export const retry: CommandSpec<RunFlags> = {
  needs: 'account',
  summary: 'retry shards that failed, were canceled, or were lost by the queue',
  operands: [['<run>', 'run id']],
  examples: `
    # continue failed shards where they stopped
    engagectl fleet retry 0123456789ab
    # a run that the queue has lost
    engagectl fleet retry 0123456789ab --work-dir /shared/fleet
  `,
  options: ['Options:', ...runOptions],
  run: retryRun,
};

export const repair: CommandSpec<RunFlags> = {
  needs: 'account',
  summary: 'repair failed shards with a damaged journal: unproven records become unknown',
  description:
    'Keeps the outcomes that the journal of a failed shard proves, and puts the shard back into the queue. ' +
    'Its other records are not sent: each is reported as unknown. Slices of an export start again.',
  operands: [['<run>', 'run id']],
  examples: `
    # after E-JOURNAL
    engagectl fleet repair 0123456789ab
    # a run that the queue has lost
    engagectl fleet repair 0123456789ab --work-dir /shared/fleet
  `,
  options: ['Options:', ...runOptions],
  run: repairDamagedRun,
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
  summary: 'set the maximum requests in flight of an account, over all workers',
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
async function prepareQueue(call: Invocation<QueueFlag>): Promise<void> {
  const { flags, runtime } = call;
  const check = async (store: QueueStore) => {
    const { checkStore } = await import('../../fleet/account-queue.js');
    return checkStore(store, flags.queue ?? runtime.env['ENGAGECTL_QUEUE'] ?? '');
  };
  const found = await withQueue(call, check, { waitForStore: false, migrate: true });
  const note = `${found.store}: version ${found.version}, ready`;
  printAnswer(call.settings(), runtime, found, { note });
}

/** `fleet cancel`. */
async function cancelRun(call: Invocation<RunFlags>): Promise<void> {
  await withQueue(call, async (store) => {
    const { cancelRun } = await import('../../fleet/submit-run.js');
    const known = await findNamedRun(store, call);
    const { run, shards } = known.run;
    const isDone = known.signed.results().length === shards;
    if (!isDone) await cancelRun(store, known);
    const note = isDone
      ? `run ${run} is done; nothing was canceled`
      : `run ${run} is canceled; continue with fleet retry`;
    const state = isDone ? 'done' : 'cancelled';
    printAnswer(call.settings(), call.runtime, { run, state }, { note });
  });
}

/** `fleet retry`. */
async function retryRun(call: Invocation<RunFlags>): Promise<void> {
  await withQueue(call, async (store) => {
    const { retryRun } = await import('../../fleet/submit-run.js');
    const known = await findNamedRun(store, call);
    const count = await retryRun(store, known);
    const { run, shards } = known.run;
    const note = `run ${run}: ${count} of ${shards} shards are tried again`;
    printAnswer(call.settings(), call.runtime, { run, retried: count }, { note });
  });
}

/** `fleet repair`. */
async function repairDamagedRun(call: Invocation<RunFlags>): Promise<void> {
  await withQueue(call, async (store) => {
    const [{ repairRun }, { retryRun }] = await Promise.all([
      import('../../fleet/submit-run.js'),
      import('../../fleet/submit-run.js'),
    ]);
    const known = await findNamedRun(store, call);
    const repaired = await repairRun(store, known, call.runtime);
    const retried = await retryRun(store, known);
    const { run, shards } = known.run;
    const note = `run ${run}: repaired ${repaired.length} of ${shards} shards; ${retried} are tried again`;
    printAnswer(call.settings(), call.runtime, { run, repaired, retried }, { note });
  });
}

/** `fleet budget`: of the account that the global options name. */
async function changeBudget(call: Invocation<BudgetFlags>): Promise<void> {
  const { operands, flags, runtime } = call;
  const [text = ''] = operands;
  const budget = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined;
  if (budget === undefined) {
    throw new EngagectlError('E-USAGE', `"${text}" is not a number of requests`, {
      why: 'it is how many may be in flight at a time: a whole number from 1 to 9999',
      fix: 'engagectl fleet budget 15',
    });
  }
  const settings = call.settings();
  const messages = messagePrinter(settings, runtime);
  const connection = await connectAccount(settings, runtime, { maxInFlight: 1, messages });
  const { accountId, host } = connection;
  await closeAfter(connection, Promise.resolve());
  await withQueue(call, async (store) => {
    const [{ queueName, setConcurrencyLimit }, { withinDeadline }] = await Promise.all([
      import('../../fleet/account-queue.js'),
      import('../../fleet/queue-store.js'),
    ]);
    const lane = store.queue(queueName({ accountId, host, kind: flags.lane }));
    await withinDeadline(store, async () => setConcurrencyLimit(lane, flags.lane, budget));
    const note = `account ${accountId}: at most ${budget} requests in flight (${flags.lane})`;
    printAnswer(settings, runtime, { accountId, host, lane: flags.lane, budget }, { note });
  });
}
