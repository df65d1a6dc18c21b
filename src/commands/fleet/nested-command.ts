import { Command, type Option } from 'commander';
import { EngagectlError } from '../../errors.js';
import { addCommand, type Invocation, type CommandSpec } from '../shared/command-spec.js';
import type { EventExportOptions } from '../../jobs/job-options.js';
import type { WriteEndpoint } from '../../contract/endpoints.js';
import type { FleetCommand } from '../../fleet/fleet-run.js';
import type { ExportFlags } from '../flags/output-flags.js';
import type { WriteFlags } from '../flags/write-flags.js';

/** Commands that a fleet can run. */
const specs: Readonly<Record<FleetCommand, () => Promise<{ readonly command: CommandSpec }>>> = {
  upload: async () => import('../upload.js'),
  subscribe: async () => import('../subscribe.js'),
  demerge: async () => import('../demerge.js'),
  'export-events': async () => import('../export-events.js'),
};

/** Jobs of the writes that a fleet can run. */
export const writeJobs = {
  upload: async () => (await import('../../jobs/write/upload.js')).upload,
  subscribe: async () => (await import('../../jobs/write/subscribe.js')).subscribe,
  demerge: async () => (await import('../../jobs/write/demerge.js')).demerge,
} satisfies Record<WriteEndpoint, unknown>;

export type NestedFlags = Partial<WriteFlags> &
  Partial<Omit<EventExportOptions, 'shard'>> &
  Partial<ExportFlags> & {
    readonly mapping?: string;
  };

/** A command line inside a `fleet` command. */
export interface NestedCommand {
  readonly name: FleetCommand;
  readonly flags: NestedFlags;
  readonly files: readonly string[];
  /** Flags that were typed, like `--no-journal`; others have their defaults. */
  readonly typed: ReadonlySet<string>;
}

/** Parses it as the command itself would. Throws E-USAGE and commander's errors. */
export async function parseNestedCommand(
  [name = '', ...words]: readonly string[],
  { program, runtime }: Pick<Invocation, 'program' | 'runtime'>,
): Promise<NestedCommand> {
  if (!Object.hasOwn(specs, name)) {
    throw new EngagectlError('E-USAGE', `a fleet cannot run "${name}"`, {
      why: 'its work cannot be shared out',
      fix: `it runs ${Object.keys(specs).join(', ')}: engagectl fleet submit upload users.csv …`,
    });
  }
  const { command } = await specs[name as FleetCommand]();
  let found: Invocation | undefined;
  let parsed: (() => Promise<void> | void) | undefined;
  const spec: CommandSpec = {
    ...command,
    run: (call) => {
      found = call;
    },
  };
  const silent = { writeErr: () => undefined, outputError: () => undefined };
  const root = new Command('engagectl').exitOverride().configureOutput(silent);
  await addCommand(root, name, {
    spec,
    program,
    runtime,
    words: [],
    begin: (work) => (parsed = work),
  });
  root.parse([name, ...words], { from: 'user' });
  await parsed?.();
  const { options = [] } = found?.command ?? {};
  const isTyped = (option: Option) =>
    found?.command.getOptionValueSource(option.attributeName()) === 'cli';
  return {
    name: name as FleetCommand,
    flags: found?.flags ?? {},
    files: found?.operands ?? [],
    typed: new Set(options.filter(isTyped).map(({ long, flags }) => long ?? flags)),
  };
}

/** Why a flag has no effect in a fleet, and what to type instead. */
export type Refusal = readonly [why: string, fix: string];

const ofOneMachine: Refusal = [
  'it depends on files of one machine',
  'run the command without a fleet',
];
const sendsNothing: Refusal = [
  'the workers of a fleet send the records',
  'check the input first, without a fleet: engagectl upload <file> --check',
];

/** Flags of the submitted command that have no effect in a fleet. */
export const refusedFlags: Readonly<Record<string, Refusal>> = {
  '--shard': ['the fleet assigns the shards', 'leave it out, or run the command without a fleet'],
  '--concurrency': [
    'each shard has one request in flight',
    'limit the requests of all shards with --budget <n>',
  ],
  '--resume': [
    'each shard continues where its last worker stopped',
    'leave it out: submitting the same command again continues its run',
  ],
  '--fresh': [
    'the run continues from the journals in the work directory',
    'leave it out; to start from scratch, submit to another --work-dir',
  ],
  '--wait-lock': ['the queue gives each shard to one worker', 'leave it out'],
  '--run': ['it is the id of a run without a fleet', 'engagectl fleet retry <run>'],
  '--run-name': ['a fleet reads files', 'leave it out'],
  '--final': ['the input of a fleet is pinned, so its last record is complete', 'leave it out'],
  '--no-journal': ['another worker continues a shard by its journal', 'leave it out'],
  '--report': [
    'the report is about all shards',
    'create it afterwards: engagectl fleet collect <run> --report <file.html>',
  ],
  '--check': sendsNothing,
  '--dry-run': sendsNothing,
  '--preview': sendsNothing,
  '--write-mapping': sendsNothing,
  '--fail-on-warnings': [
    'each worker sees a part of the input, and sends it',
    'check the input first, without a fleet: engagectl upload <file> --check --fail-on-warnings',
  ],
  '--changed': ofOneMachine,
  '--stream': ofOneMachine,
  '--full': ofOneMachine,
  '--gone': ofOneMachine,
  '--missing': ofOneMachine,
  '--refresh': ofOneMachine,
  '--min-records': ofOneMachine,
};

const refusedOfWrites: typeof refusedFlags = { '--overwrite': sendsNothing };
const refusedOfExports: typeof refusedFlags = {
  '--limit': ['each slice is exported by itself', 'leave it out'],
};

/**
 * Refuses typed flags that have no effect in a fleet, or that write files on one machine. Workers check again: whoever
 * signs a run may not have used `fleet submit`. Throws E-USAGE.
 */
export function refuseWithoutEffect({ name, typed }: NestedCommand): void {
  const refused = {
    ...refusedFlags,
    ...(name === 'export-events' ? refusedOfExports : refusedOfWrites),
  };
  for (const flag of typed) {
    const refusal = refused[flag];
    if (flag === '--resume' && name === 'upload') continue; // it has an effect on events
    if (refusal) throw noEffect(flag, refusal);
  }
}

export const noEffect = (flag: string, [why, fix]: Refusal): EngagectlError =>
  new EngagectlError('E-USAGE', `${flag} has no effect in a fleet`, { why, fix });
