import path from 'node:path';
import { confirmDemerge, confirmWrite } from '../../ui/prompt.js';
import { jsonAnswer } from '../../ui/sanitize.js';
import { messages } from '../../ui/messages.js';
import { closing, connect, type Connection } from '../shared/connect.js';
import { withQueue } from './fleet-flags.js';
import { commandWithin, type CommandWithin } from './nested-command.js';
import { planRun } from './submit.js';
import { follow } from './status.js';
import type { FleetRun } from '../../fleet/fleet-run.js';
import type { QueueStore } from '../../fleet/queue-store.js';
import type { Call } from '../shared/command-spec.js';
import type { SubmitFlags } from './command.js';

/** `fleet submit`: the run's id on stdout. */
export async function submit(call: Call<SubmitFlags>): Promise<void> {
  const { operands, flags, runtime } = call;
  const within = await commandWithin(operands, call);
  const settings = call.settings();
  const said = messages(settings, runtime);
  const connection = await connect(settings, runtime, { maxInFlight: 1, messages: said });
  const planned = { within, argv: operands, shards: flags.shards, connection, runtime };
  const plan = await closing(connection, planRun(planned));
  const workDir = workDirOf(call);
  const [{ fleetRunId, fleetVersion }, { findRun }, { refuseTwiceSent }] = await Promise.all([
    import('../../fleet/fleet-run.js'),
    import('../../fleet/run-status.js'),
    import('../../fleet/submit-run.js'),
  ]);
  const run: FleetRun = { version: fleetVersion, run: fleetRunId(plan, workDir), ...plan };
  const doesHarm = within.flags.again !== true && mayDoHarm(within, run);
  const submitTo = async (store: QueueStore) => {
    await refuseTwiceSent(run, { workDir, doesHarm }, store);
    await confirm(within, connection, call);
    await put(run, store, call);
    if (!flags.wait) return;
    const known = await findRun(store, run.run, workDir);
    await follow(call, store, { known, shows: false });
  };
  await withQueue(call, submitTo, { patiently: false, doubt: (text) => said.warn(text) });
}

/** When sent twice. */
const mayDoHarm = ({ name, flags }: CommandWithin, { files }: FleetRun): boolean =>
  name === 'demerge' ||
  (flags as { readonly type?: string }).type === 'event' ||
  (name === 'upload' && files.some(({ once }) => once === true));

const workDirOf = ({ flags, runtime }: Call<SubmitFlags>): string =>
  path.resolve(runtime.cwd, flags.workDir);

async function put(run: FleetRun, store: QueueStore, call: Call<SubmitFlags>): Promise<void> {
  const { submitRun } = await import('../../fleet/submit-run.js');
  const place = { workDir: workDirOf(call), budget: call.flags.budget };
  const { budget, isKnown } = await submitRun(run, place, store);
  const settings = call.settings();
  const { stdout } = call.runtime;
  const { run: id, shards } = run;
  if (settings.json) return void stdout.write(jsonAnswer({ run: id, shards, budget, isKnown }));
  const which = isKnown ? 'known already' : 'submitted';
  const said = messages(settings, call.runtime);
  said.note(`run ${id} is ${which}: ${shards} shards, at most ${budget} at once`);
  stdout.write(`${id}\n`);
}

/** The workers ask nobody: who submits is asked. */
async function confirm(
  { name, flags, files }: CommandWithin,
  { account }: Connection,
  { runtime }: Call<SubmitFlags>,
): Promise<void> {
  if (name === 'export-events' || flags.yes) return;
  if (name === 'demerge') {
    // How many there are, nobody has counted: the workers tell duplicates.
    const about = { ...account, files, count: files.length, firstIdentities: [] };
    return confirmDemerge(about, { yes: false, inputIsStdin: true }, runtime);
  }
  const does = name === 'upload' ? 'creates or updates user profiles' : 'sets subscriptions';
  if (account.production) await confirmWrite({ ...account, command: name, does, files }, runtime);
}
