import { runExport, type ExportHooks } from './run-export.js';
import type { ProfileExportOptions } from '../job-options.js';
import type { ExportRequest } from './export-files.js';
import type { ExportResult } from '../job-results.js';
import type { JobContext } from '../job-context.js';

/** Exports the profiles of all users who performed the event, with one cursor. */
export const exportProfiles = (
  request: ExportRequest & ProfileExportOptions,
  context: JobContext,
  hooks?: ExportHooks,
): Promise<ExportResult> =>
  runExport(
    {
      name: 'export-profiles',
      reads: 'profiles',
      fingerprinted: { '--event': request.event },
      concurrency: 2, // one cursor, one page ahead
      slicing: 'whole',
      plan: (ranges, output) =>
        ranges.map((range) => ({ ...range, eventName: request.event, file: output })),
      restarts: false,
    },
    request,
    context,
    hooks,
  );
