import type { Command } from 'commander';
import type { Runtime } from '../runtime.js';
import { addExportOptions, profileBatchSize, type ExportFlags } from './export-options.js';
import { resolveSettings, type Settings } from './options.js';

type ProfileFlags = ExportFlags & { readonly event: string };

export function registerExportProfiles(
  program: Command,
  runtime: Runtime,
  run = exportProfiles,
): void {
  const command = program
    .command('export-profiles')
    .summary('profiles of users who did an event in a date range')
    .requiredOption('--event <name>', 'the event that the users did; names are case-sensitive')
    .action((flags: ProfileFlags) => run(flags, resolveSettings(command, runtime), runtime));
  addExportOptions(command, profileBatchSize);
}

/** Writes the profiles of all users who did the event, by one cursor. */
export async function exportProfiles(
  flags: ProfileFlags,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const { runExportCommand } = await import('./run-export.js');
  await runExportCommand(
    {
      name: 'export-profiles',
      kind: 'profiles',
      flags,
      concurrency: 2, // one cursor, one page ahead
      plan: (range) => [{ ...range, eventName: flags.event, file: flags.output }],
      restarts: false,
    },
    settings,
    runtime,
  );
}
