import type { Runtime } from '../runtime.js';
import type { CommandSpec } from './command-spec.js';
import { exportOptions, profileBatchSize, type ExportFlags } from './export-options.js';
import { notEmpty } from './option-values.js';
import type { Settings } from './settings.js';

type ProfileFlags = ExportFlags & { readonly event: string };

export const command: CommandSpec<ProfileFlags> = {
  summary: 'profiles of users who did an event in a date range',
  description:
    'Exports the profiles of all users who did an event in a range of days, both inclusive.\n' +
    'NDJSON holds every record byte for byte as the service sent it.',
  examples: [
    [
      'users who did an event in the last 30 days',
      'engagectl export-profiles --event "App Launched" --from 30d --to yesterday -o launched.ndjson.gz',
    ],
    [
      'a table of some columns',
      'engagectl export-profiles --event Charged --from 2026-01-01 --to 2026-01-31 --columns identity,profileData.Email -o buyers.csv',
    ],
    [
      'in a pipe',
      'engagectl export-profiles --event Charged --from 7d --to today --no-event-summaries | head -n 3',
    ],
  ],
  options: [
    [
      'Options:',
      [
        [
          '--event <name>',
          'the event that the users did; names are case-sensitive',
          { parse: notEmpty, required: true },
        ],
      ],
    ],
    ...exportOptions(profileBatchSize),
  ],
  run: ({ flags, settings, runtime }) => exportProfiles(flags, settings(), runtime),
};

/** Writes the profiles of all users who did the event, by one cursor. */
async function exportProfiles(
  flags: ProfileFlags,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const { runExportCommand } = await import('../jobs/run-export.js');
  await runExportCommand(
    {
      name: 'export-profiles',
      kind: 'profiles',
      flags,
      meaning: { '--event': flags.event },
      concurrency: 2, // one cursor, one page ahead
      plan: (range, output) => [{ ...range, eventName: flags.event, file: output }],
      restarts: false,
    },
    settings,
    runtime,
  );
}
