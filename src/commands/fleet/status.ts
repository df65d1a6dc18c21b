import { EngagectlError, type ErrorId } from '../../errors.js';
import { printAnswer, messagePrinter } from '../../ui/messages.js';
import { jsonAnswer, sanitize } from '../../ui/sanitize.js';
import { findNamedRun, withQueue, runOptions } from './queue.js';
import { textTable, truncate, grouped, formatDuration } from '../../ui/format.js';
import { quoteForShell, sanitizeLine } from '../../wording.js';
import type { QueueStore } from '../../fleet/queue-store.js';
import type { FoundRun, RunStatus } from '../../fleet/run-status.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';
import type { Runtime } from '../../runtime.js';
import type { DisplaySettings } from '../../ui/display-settings.js';

const statusOptions = [
  'Options:',
  ['--watch', 'refresh until the run has finished'],
  ...runOptions,
] as const satisfies OptionTable;
type StatusFlags = FlagsOf<typeof statusOptions>;

export const status: CommandSpec<StatusFlags> = {
  needs: 'account',
  summary: 'show the progress of a run, or list all runs',
  description:
    'Shows the progress of a run; without an id, lists all runs. Exit code 0: finished or in progress; 3: finished ' +
    'with rejects; 5: no worker is alive.',
  operands: [['[run]', 'run id']],
  examples: `
    # show its progress
    engagectl fleet status 0123456789ab
    # a live table until the run has finished
    engagectl fleet status 0123456789ab --watch
  `,
  options: statusOptions,
  run: showStatus,
};

/** Milliseconds between updates. */
const lookEvery = 1000;

/** `fleet status`. */
async function showStatus(call: Invocation<StatusFlags>): Promise<void> {
  await withQueue(call, async (store) => {
    if (call.operands.length === 0) return listRuns(store, call);
    const known = await findNamedRun(store, call);
    if (call.flags.watch) return watchRun(call, store, { known, shows: true });
    const found = await statusNow(store, known);
    show(found, call);
    sayMissing(found, call);
    return throwIfFailed(found);
  });
}

async function statusNow(store: QueueStore, known: FoundRun): Promise<RunStatus> {
  const { runStatus } = await import('../../fleet/run-status.js');
  return runStatus(store, known);
}

/** Polls until the run is over; having no worker may be temporary. Throws the error that it ended with. */
export async function watchRun(
  call: Invocation,
  store: QueueStore,
  { known, shows }: { readonly known: FoundRun; readonly shows: boolean },
): Promise<void> {
  const { runtime } = call;
  const screen = fleetTable(call.settings(), runtime);
  for (;;) {
    const found = await statusNow(store, known);
    if (shows) screen.draw(found);
    if (found.state !== 'running') return throwIfFailed(found);
    await runtime.sleep(lookEvery, runtime.signal);
  }
}

function show(found: RunStatus, { settings, runtime }: Invocation): void {
  const { json } = settings();
  if (json) runtime.stdout.write(jsonAnswer(found));
  else fleetTable({ color: false }, runtime).print(found);
}

function sayMissing(
  { run, state, counts, shards }: RunStatus,
  { settings, runtime }: Invocation,
): void {
  if (state !== 'running' || counts.missing === 0) return;
  const lost = `${counts.missing} of ${shards} shards are not in the queue`;
  messagePrinter(settings(), runtime).warn(
    `${lost}: engagectl fleet retry ${quoteForShell(run)} puts them back`,
  );
}

async function listRuns(
  store: QueueStore,
  { settings, runtime }: Invocation<StatusFlags>,
): Promise<void> {
  const [{ RunIndex }, { withinDeadline }] = await Promise.all([
    import('../../fleet/account-queue.js'),
    import('../../fleet/queue-store.js'),
  ]);
  const runs = await withinDeadline(store, async () => new RunIndex(store).runs());
  const text = runs.map(({ run, workDir }) => `${run}  ${sanitizeLine(workDir)}\n`).join('');
  printAnswer(settings(), runtime, { runs }, { text });
}

/** Throws the error that the command ends with. */
function throwIfFailed({ run, state, errorId, counts, parts, shards }: RunStatus): void {
  if (errorId === null) return;
  if (state === 'running') {
    throw new EngagectlError(errorId, `no worker is alive to continue ${run}`, {
      why: `${counts.done} of ${shards} shards are done`,
      fix: 'engagectl fleet work --work-dir <dir>, on as many machines as you like',
    });
  }
  if (state === 'done') {
    throw new EngagectlError(errorId, `run ${run}: done, but not with every record`, {
      fix: `engagectl fleet collect ${quoteForShell(run)} puts the rejected records into one file`,
    });
  }
  // Anyone who can write to the store may have written it.
  const why = parts.find(({ error }) => error?.startsWith(errorId))?.error;
  throw new EngagectlError(errorId, `run ${run}: ${counts[state]} of ${shards} shards ${state}`, {
    why: why ? sanitizeLine(why) : undefined,
    fix: wayOn(errorId, quoteForShell(run)),
  });
}

/** Returns the command that continues the failed shards of a run. */
function wayOn(errorId: ErrorId, run: string): string {
  if (errorId === 'E-JOURNAL') return `engagectl fleet repair ${run}`;
  const retry = `engagectl fleet retry ${run}`;
  if (errorId === 'E-FILE-WRITE')
    return `free disk space, or make the file writable, then: ${retry}`;
  return errorId === 'E-REJECTED'
    ? `${retry}    (sends the rest, however many are rejected)`
    : retry;
}

/** The members of a status that a table shows. */
export type FleetSnapshot = Pick<
  RunStatus,
  'run' | 'command' | 'state' | 'shards' | 'counts' | 'workers' | 'budget' | 'parts'
>;

/** Maximum number of shards displayed. */
const maxRows = 30;

/**
 * Lines of a table besides shards: two of figures, the header, the number of hidden shards, and the
 * cursor line.
 */
const otherLines = 5;

/** Table of a run: printed once, or redrawn on a terminal. */
export function fleetTable(
  { quiet = false, json = false }: DisplaySettings,
  { stdout, env }: Pick<Runtime, 'stdout' | 'env'>,
) {
  const isTerminal = stdout.isTTY === true && env['TERM'] !== 'dumb';
  let drawn = 0;
  let last = '';
  return {
    print: (picture: FleetSnapshot): void => void stdout.write(tableOf(picture, maxRows)),
    draw: (picture: FleetSnapshot): void => {
      if (quiet) return;
      if (json) return void stdout.write(jsonAnswer(picture));
      if (!isTerminal) {
        const line = headOf(picture).join('; ');
        if (line !== last) stdout.write(`${line}\n`);
        last = line;
        return;
      }
      // A table larger than the terminal could not be redrawn.
      const { rows = 24, columns = 80 } = stdout;
      const visible = Math.min(maxRows, Math.max(rows - otherLines, 1));
      const lines = tableOf(picture, visible).split('\n');
      const up = drawn > 0 ? `\u001B[${drawn}A\u001B[J` : '';
      stdout.write(up + lines.map((line) => truncate(line, columns)).join('\n'));
      drawn = lines.length - 1;
    },
  };
}

function headOf(picture: FleetSnapshot): readonly [shards: string, records: string] {
  const { run, command, state, shards, counts, workers, budget, parts } = picture;
  const records = parts.reduce((sum, part) => sum + part.records, 0);
  return [
    sanitize(
      `${command} ${run}: ${state}; ${counts['done'] ?? 0} of ${shards} shards done, ` +
        `${counts['running'] ?? 0} running, ${counts['failed'] ?? 0} failed`,
    ),
    `${grouped(records)} records; ${workers} workers, budget ${budget ?? 'none'}`,
  ];
}

/** Running and failed shards come first; the rest is hidden if there are too many. */
function tableOf(picture: FleetSnapshot, most: number): string {
  const order = ['failed', 'running', 'missing', 'cancelled', 'waiting', 'done'];
  const parts = picture.parts
    .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || a.shard - b.shard)
    .slice(0, most)
    .toSorted((a, b) => a.shard - b.shard);
  const rows = parts.map(({ shard, state, worker, records, rejected, share, seconds, error }) => [
    `${shard}/${picture.shards}`,
    state,
    share === null ? '' : `${Math.floor(share * 100)} %`,
    grouped(records),
    grouped(rejected),
    worker ?? '',
    seconds === null ? '' : formatDuration(seconds),
    error ?? '',
  ]);
  const heads = ['SHARD', 'STATE', 'READ', 'RECORDS', 'REJECTED', 'WORKER', 'TIME', ''];
  const more = picture.parts.length - parts.length;
  return (
    `${headOf(picture).join('\n')}\n${sanitize(textTable([heads, ...rows]))}` +
    (more > 0 ? `and ${grouped(more)} more\n` : '')
  );
}
