import { EngagectlError } from '../../errors.js';
import { answer, messages } from '../../ui/messages.js';
import { jsonAnswer } from '../../ui/sanitize.js';
import { runNamed, withQueue } from './fleet-flags.js';
import { showFleet } from './show-fleet.js';
import type { QueueStore } from '../../fleet/queue-store.js';
import type { KnownRun, RunStatus } from '../../fleet/run-status.js';
import type { Call } from '../shared/command-spec.js';
import type { StatusFlags } from './command.js';

/** Milliseconds between two looks. */
const lookEvery = 1000;

/** `fleet status`. */
export async function status(call: Call<StatusFlags>): Promise<void> {
  await withQueue(call, async (store) => {
    if (call.operands.length === 0) return listRuns(store, call);
    const known = await runNamed(store, call);
    if (call.flags.watch) return follow(call, store, { known, shows: true });
    const found = await statusNow(store, known);
    show(found, call);
    sayMissing(found, call);
    return judge(found);
  });
}

async function statusNow(store: QueueStore, known: KnownRun): Promise<RunStatus> {
  const { statusOf } = await import('../../fleet/run-status.js');
  return statusOf(store, known);
}

/** Looks until the run is over; that no worker is alive may change. Throws what it ended with. */
export async function follow(
  call: Call,
  store: QueueStore,
  { known, shows }: { readonly known: KnownRun; readonly shows: boolean },
): Promise<void> {
  const { runtime } = call;
  const screen = showFleet(call.settings(), runtime);
  for (;;) {
    const found = await statusNow(store, known);
    if (shows) screen.draw(found);
    if (found.state !== 'running') return judge(found);
    await runtime.sleep(lookEvery, runtime.signal);
  }
}

function show(found: RunStatus, { settings, runtime }: Call): void {
  const { json } = settings();
  if (json) runtime.stdout.write(jsonAnswer(found));
  else showFleet({ color: false }, runtime).print(found);
}

function sayMissing({ run, state, counts, shards }: RunStatus, { settings, runtime }: Call): void {
  if (state !== 'running' || counts.missing === 0) return;
  const lost = `${counts.missing} of ${shards} shards are not in the queue`;
  messages(settings(), runtime).warn(`${lost}: engagectl fleet retry ${run} puts them back`);
}

async function listRuns(
  store: QueueStore,
  { settings, runtime }: Call<StatusFlags>,
): Promise<void> {
  const [{ FleetLists }, { answered }] = await Promise.all([
    import('../../fleet/account-queue.js'),
    import('../../fleet/queue-store.js'),
  ]);
  const runs = await answered(store, async () => new FleetLists(store).runs());
  const text = runs.map(({ run, workDir }) => `${run}  ${workDir}\n`).join('');
  answer(settings(), runtime, { runs }, { text });
}

/** Throws what the command ends with. */
function judge({ run, state, errorId, counts, parts, shards }: RunStatus): void {
  if (errorId === null) return;
  if (state === 'running') {
    throw new EngagectlError(errorId, `no worker is alive that could go on with ${run}`, {
      why: `${counts.done} of ${shards} shards are done`,
      fix: 'engagectl fleet work, on as many machines as you like',
    });
  }
  if (state === 'done') {
    throw new EngagectlError(errorId, `run ${run}: done, but not with every record`, {
      fix: `engagectl fleet collect ${run} puts the rejected records into one file`,
    });
  }
  throw new EngagectlError(errorId, `run ${run}: ${counts[state]} of ${shards} shards ${state}`, {
    why: parts.find(({ error }) => error?.startsWith(errorId))?.error ?? undefined,
    fix: `engagectl fleet retry ${run}`,
  });
}
