import { exportOptions, profileBatchSize, type ExportFlags } from './flags/output-flags.js';
import { nonEmpty } from './flags/value-parsers.js';
import type { CommandSpec } from './shared/command-spec.js';

type ProfileFlags = ExportFlags & { readonly event: string };

export const command: CommandSpec<ProfileFlags> = {
  summary: 'export the profiles of users who performed an event',
  description:
    'Exports the profiles of all users who performed an event between two days, both inclusive. ' +
    'NDJSON contains every record byte for byte as the service sent it.',
  examples: `
    # users who performed an event in the last 30 days
    engagectl export-profiles --event "App Launched" --from 30d --to yesterday -o launched.ndjson.gz
    # a table with selected columns
    engagectl export-profiles --event Charged --from 2026-01-01 --to 2026-01-31 --columns identity,profileData.Email -o buyers.csv
    # a few records, to see their contents
    engagectl export-profiles --event Charged --from 7d --to today --no-event-summaries --limit 3
  `,
  options: [
    'Selection:',
    [
      '--event <name>',
      'event that the users performed (case-sensitive)',
      { parse: nonEmpty, required: true },
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
