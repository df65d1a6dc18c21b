import { EngagectlError } from '../errors.js';
import type { UploadOptions } from '../jobs/job-options.js';
import type { Call, CommandSpec } from './command-spec.js';
import { needInput } from './input-flags.js';
import { mappingOptions, typeOption } from './mapping-flags.js';
import type { OptionRow } from './option-table.js';
import { writeOptions, type WriteFlags } from './write-flags.js';

interface UploadFlags extends WriteFlags, Omit<UploadOptions, keyof WriteFlags | 'rehearsal'> {
  readonly preview?: PreviewFlag;
}

interface PreviewFlag {
  readonly count: number;
  /** `--preview users.csv`: a word behind the flag that is no number is a file. */
  readonly files: readonly string[];
}

const previewOption: OptionRow = [
  '--preview [n]',
  'show the first n records (5), columns and likely mistakes; send and write nothing',
  {
    preset: '5',
    parse: (word): PreviewFlag =>
      /^\d+$/.test(word) ? { count: Number(word), files: [] } : { count: 5, files: [word] },
  },
];

export const command: CommandSpec<UploadFlags> = {
  summary: 'user profiles, created or updated; also events',
  description:
    'Creates or updates user profiles from CSV or NDJSON; with --type event, uploads events.\n' +
    'One column is the identity, every other one a profile property of the same name.',
  operands: [['[file...]', 'CSV, TSV, NDJSON or JSON, each also .gz; - reads stdin']],
  examples: `
    # other column names, types; what would be sent
    engagectl upload crm.csv --identity CustomerId --map mail=Email --types Age:integer --preview
    # read and validate everything, send nothing
    engagectl upload users.csv --check
    # from cron: errors only; goes on with a run cut short
    engagectl upload users.csv --quiet --resume
    # in CI: figures as JSON; too many rejects fail the job
    gunzip -c users.ndjson.gz | engagectl upload - --json --max-rejects 1%
  `,
  options: [
    'Mapping:',
    typeOption,
    ...mappingOptions,
    'Sending:',
    previewOption,
    ...writeOptions('upload', { dryRun: 'the same as --check' }),
  ],
  run: async (call) => {
    const { flags } = call;
    if (flags.preview) return preview(call, flags.preview);
    // Together, since most of the time is waiting for small files to be read.
    const [{ upload }, { runWrite }] = await Promise.all([
      import('../jobs/upload-job.js'),
      import('./run-write.js'),
    ]);
    const does = flags.type === 'event' ? 'adds events' : 'creates or updates user profiles';
    const nouns = nounsOf(flags.type, call.operands);
    await runWrite(call, { name: 'upload', does, nouns, job: upload });
  },
};

/** A row of a table is what --type says; a JSON record says it itself. */
function nounsOf(type: UploadFlags['type'], files: readonly string[]): string {
  if (type === 'event') return 'events';
  return files.length > 0 && files.every((file) => /\.[ct]sv(?:\.gz)?$/i.test(file))
    ? 'users'
    : 'records';
}

/** Shows on stdout what would be sent. Throws E-REJECTED where rows would be rejected. */
async function preview(call: Call<UploadFlags>, asked: PreviewFlag): Promise<void> {
  const { shard: _, ...flags } = call.flags; // it is the input that is looked at
  const { runtime } = call;
  const files = [...asked.files, ...call.operands];
  needInput(files, call);
  const settings = call.settings();
  const [{ previewUpload }, { showPreview }, { jobWords }] = await Promise.all([
    import('../jobs/write/preview-upload.js'),
    import('../ui/show-preview.js'),
    import('./job-words.js'),
  ]);
  const { timezone = 'UTC' } = settings;
  const request = { ...flags, files, count: asked.count };
  const seen = await previewUpload(request, { runtime, words: jobWords, timezone });
  showPreview(seen, settings, runtime);
  if (seen.rejected === 0) return;
  const message = `${seen.rejected} of ${seen.records} records would be rejected`;
  throw new EngagectlError('E-REJECTED', message, {
    fix: 'correct them, or let the upload pass over them; --check writes all of them to a file',
  });
}
