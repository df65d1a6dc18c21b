import path from 'node:path';
import { statSync } from 'node:fs';
import { EngagectlError } from '../../errors.js';
import { messages } from '../../ui/messages.js';
import { errorWithoutPersonal } from '../../ui/mask.js';
import { jobWorld } from '../shared/job-context.js';
import { commandWithin, type CommandWithin } from './nested-command.js';
import { hostname } from 'node:os';
import { duration, integer } from '../flags/value-parsers.js';
import { queueOption, withQueue } from './queue.js';
import type { FleetRun } from '../../fleet/fleet-run.js';
import type { ShardOutcome, ShardPart } from '../../fleet/worker.js';
import type {
  HistoryFigures,
  JobHooks,
  ExportResult,
  RunResult,
  WriteResult,
} from '../../jobs/job-results.js';
import type { World } from '../../jobs/job-context.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';
import type { Settings } from '../shared/global-options.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const workOptions = [
  'Options:',
  [
    '--slots <n>',
    'shards at once, of each account',
    { parse: integer({ min: 1, max: 100 }), default: 4 },
  ],
  ['--drain', 'end when nothing is left to do'],
  [
    '--lease <duration>',
    'a worker that is silent for so long has lost its shards',
    { parse: duration, default: 30_000, shown: '30s' },
  ],
  queueOption,
] as const satisfies OptionTable;
type WorkFlags = FlagsOf<typeof workOptions>;

export const work: CommandSpec<WorkFlags> = {
  summary: 'takes shards until it is told to stop; then gives them back',
  examples: `
    # until SIGTERM or Ctrl-C
    engagectl fleet work
    # until there is nothing left to do
    engagectl fleet work --drain
  `,
  options: workOptions,
  run: takeShards,
};

/** `fleet work`: returns when it was told to stop, or when all is drained. */
async function takeShards(call: Call<WorkFlags>): Promise<void> {
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

/** Performs shards by the jobs of the commands, with the accounts that this machine has. */
const shardPerformer =
  (call: Pick<Call, 'program' | 'runtime' | 'settings'>) =>
  async (part: ShardPart): Promise<ShardOutcome> => {
    const { run, signal } = part;
    const runtime = { ...call.runtime, cwd: run.cwd, signal };
    const within = await commandWithin(run.argv, { program: call.program, runtime }).catch(unknown);
    refuseChanged(run);
    const settings = settingsOf(run, call.settings());
    const said = messages({ ...settings, quiet: !settings.verbose }, runtime);
    const world: World = {
      ...jobWorld(settings, runtime, { maxInFlight: 1, messages: said }),
      argv: run.argv,
      ports: part.ports,
      runsFolder: () => path.join(part.folder, 'state', 'runs'),
    };
    const checked = { ...world, connect: async () => sameAccount(run, await world.connect()) };
    const perform = within.name === 'export-events' ? exportSlice : writeShard;
    // The queue keeps why a shard failed, and `fleet status` shows it to others.
    const outcome = await perform(within, part, checked);
    return { ...outcome, error: errorWithoutPersonal(outcome.error, settings) };
  };

/** Throws E-RUN-VERSION: whoever submitted it has read it, too. */
function unknown(cause: Error): never {
  throw new EngagectlError('E-RUN-VERSION', 'this worker does not understand the command', {
    why: cause.message,
    fix: 'use the same version of engagectl for submit and all workers',
    cause,
  });
}

async function writeShard(
  { name, flags, files }: CommandWithin,
  part: ShardPart,
  world: World,
): Promise<ShardOutcome> {
  const request = {
    ...flags,
    files,
    shard: part.shard,
    resume: true,
    fresh: false,
    journal: true,
    rehearsal: undefined,
    rejects: path.join(part.folder, 'rejects.ndjson'),
    ...(flags.strict && { maxRejects: { records: 0 } }),
  };
  const job = {
    upload: async () => (await import('../../jobs/write/upload.js')).upload,
    subscribe: async () => (await import('../../jobs/write/subscribe.js')).subscribe,
    demerge: async () => (await import('../../jobs/write/demerge.js')).demerge,
  }[name as 'upload'];
  const perform = await job();
  return outcomeOf(await perform(request, world, hooksOf(part)));
}

async function exportSlice(
  { flags }: CommandWithin,
  part: ShardPart,
  world: World,
): Promise<ShardOutcome> {
  const { exportEvents } = await import('../../jobs/export/export-events.js');
  const extension = flags.output?.endsWith('.gz') === true ? 'ndjson.gz' : 'ndjson';
  const { format: _, columns: __, csvFormulas: ___, bom: ____, ...asked } = flags; // for who collects
  const request = {
    ...asked,
    ...part.run.range!,
    event: flags.event ?? [],
    shard: part.shard,
    resume: true,
    fresh: false,
    overwrite: true,
    output: path.join(part.folder, `out.${extension}`),
  };
  return outcomeOf(await exportEvents(request, world, hooksOf(part)));
}

/** What a job tells of a shard. */
const hooksOf = ({ begun, ended }: ShardPart): JobHooks<WriteResult | ExportResult> => ({
  begun: (progress) =>
    begun(() => {
      const { records, rejected, bytes, totalBytes } = progress();
      return { records, rejected, share: totalBytes ? bytes / totalBytes : undefined };
    }),
  history: true,
  ended: ({ result, history }) => {
    ended(outcomeOf(result, history));
    return Promise.resolve(false); // the journal stays: it is what tells that there is nothing left to do
  },
});

/** Figures that are summed over the shards of a run. */
const summed = [
  ...(['read', 'accepted', 'rejected', 'unknown', 'duplicates', 'bytesSent'] as const),
  ...(['records', 'pages', 'requests', 'retries', 'bytes'] as const),
];

function outcomeOf(result: WriteResult | ExportResult, history?: HistoryFigures): ShardOutcome {
  const of: RunResult & Partial<WriteResult & ExportResult> = result;
  const { exitCode, error, seconds, rejectsFile = null, output = null } = of;
  const { done = error === undefined, resumed = 0 } = of; // of an export
  const figures: Record<string, number> = { throttled: history?.throttled ?? 0 };
  for (const name of summed) {
    const figure = of[name];
    if (figure !== undefined) figures[name] = figure + (name === 'accepted' ? resumed : 0);
  }
  return { done, exitCode, error, seconds, figures, rejectsFile, output };
}

/** The run names a config profile and a region, if any; all else is this worker's. */
function settingsOf({ profile, region, timezone, argv }: FleetRun, settings: Settings): Settings {
  if (profile === undefined) return { ...settings, ...(timezone && { timezone }), argv };
  return {
    ...settings,
    profile,
    ...(region !== undefined && { region }),
    ...(timezone !== undefined && { timezone }),
    argv,
    flags: new Set([...settings.flags, 'profile', 'region']),
  };
}

/** Throws E-RUN-CHANGED where this worker would send to another account. */
async function sameAccount(
  { accountId, host }: FleetRun,
  connection: Awaited<ReturnType<World['connect']>>,
): Promise<typeof connection> {
  if (connection.accountId === accountId && connection.host === host) return connection;
  await connection.close();
  const is = `${connection.accountId} at ${connection.host}`;
  throw new EngagectlError('E-RUN-CHANGED', `this worker's account is ${is}`, {
    why: `the run is for ${accountId} at ${host}`,
    fix: 'give the worker the same config profile as who submitted the run',
  });
}

/** Throws E-INPUT-CHANGED: its content is compared with the journal's, what never began by its size. */
function refuseChanged({ files }: FleetRun): void {
  for (const { file, bytes } of files) {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found?.size === bytes) continue;
    throw new EngagectlError('E-INPUT-CHANGED', `${file} is not as it was submitted`, {
      why: found
        ? `it has ${found.size} bytes, and had ${bytes}`
        : 'it is not there on this machine',
      fix: 'put it back as it was, or submit it as another run',
      file,
    });
  }
}
