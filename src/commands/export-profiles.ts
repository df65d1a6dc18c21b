import { exportOptions, profileBatchSize, type ExportFlags } from './flags/output-flags.js';
import { notEmpty } from './flags/value-parsers.js';
import type { CommandSpec } from './shared/command-spec.js';

type ProfileFlags = ExportFlags & { readonly event: string };

export const command: CommandSpec<ProfileFlags> = {
  summary: 'profiles of users who did an event in a date range',
  description:
    'Exports the profiles of all users who did an event in a range of days, both inclusive. ' +
    'NDJSON holds every record byte for byte as the service sent it.',
  examples: `
    # users who did an event in the last 30 days
    engagectl export-profiles --event "App Launched" --from 30d --to yesterday -o launched.ndjson.gz
    # a table of some columns
    engagectl export-profiles --event Charged --from 2026-01-01 --to 2026-01-31 --columns identity,profileData.Email -o buyers.csv
    # a few of them, to see what they hold
    engagectl export-profiles --event Charged --from 7d --to today --no-event-summaries --limit 3
  `,
  options: [
    'What is exported:',
    [
      '--event <name>',
      'the event that the users did; names are case-sensitive',
      { parse: notEmpty, required: true },
    ],
    ...exportOptions(profileBatchSize),
  ],
  run: async (call) => {
    const [{ exportProfiles }, { runExport }] = await Promise.all([
      import('../jobs/export/export-profiles.js'),
      import('./shared/run-export.js'),
    ]);
    await runExport(call, {
      name: 'export-profiles',
      concurrency: 2,
      parts: 'days',
      job: exportProfiles,
    });
  },
};
