import { hostname } from 'node:os';
import { EngagectlError } from '../../errors.js';
import { answer, messages } from '../../ui/messages.js';
import { closing, connect } from '../shared/connect.js';
import { runNamed, withQueue, type QueueFlag, type RunFlags } from './fleet-flags.js';
import { shardPerformer } from './work.js';
import type { QueueStore } from '../../fleet/queue-store.js';
import type { Call } from '../shared/command-spec.js';
import type { BudgetFlags, WorkFlags } from './command.js';

/** `fleet init`. */
export async function init(call: Call<QueueFlag>): Promise<void> {
  const { flags, runtime } = call;
  const check = async (store: QueueStore) => {
    const { checkStore } = await import('../../fleet/account-queue.js');
    return checkStore(store, flags.queue ?? runtime.env['ENGAGECTL_QUEUE'] ?? '');
  };
  const found = await withQueue(call, check, { patiently: false, migrate: true });
  const note = `${found.store}: version ${found.version}, ready`;
  answer(call.settings(), runtime, found, { note });
}

/** `fleet work`: returns when it was told to stop, or when all is drained. */
export async function work(call: Call<WorkFlags>): Promise<void> {
  const { flags, runtime } = call;
  const { slots, lease, drain = false } = flags;
  const said = messages(call.settings(), runtime);
  const some = runtime.token().replaceAll(/[-_]/g, '').slice(0, 4);
  const worker = `${hostname().slice(0, 16)}-${some}`;
  const { Outage } = await import('../../fleet/queue-store.js');
  const outage = new Outage(said);
  await withQueue(
    call,
    async (store) => {
      const { work: takeJobs } = await import('../../fleet/worker.js');
      said.note(`worker ${worker} takes up to ${slots} shards at once from ${store.shown}`);
      const perform = shardPerformer(call);
      await takeJobs(store, { worker, slots, lease, drain, runtime, perform, said, outage });
    },
    { patiently: true, away: outage.tell, doubt: (text) => said.warn(text) },
  );
}

/** `fleet cancel`. */
export async function cancel(call: Call<RunFlags>): Promise<void> {
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
export async function retry(call: Call<RunFlags>): Promise<void> {
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
export async function budget(call: Call<BudgetFlags>): Promise<void> {
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
