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
