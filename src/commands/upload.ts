import { EngagectlError } from '../errors.js';
import { mappingOptions, typeOption } from './flags/input-flags.js';
import { notEmpty } from './flags/value-parsers.js';
import { writeOptions, type WriteFlags } from './flags/write-flags.js';
import type { UploadOptions } from '../jobs/job-options.js';
import type { CommandSpec } from './shared/command-spec.js';
import type { OptionRow, OptionTable } from './flags/option-table.js';

export interface UploadFlags
  extends WriteFlags, Omit<UploadOptions, keyof WriteFlags | 'rehearsal'> {
  readonly preview?: PreviewFlag;
  readonly writeMapping?: string;
  readonly overwrite?: boolean;
}

export interface PreviewFlag {
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

const draftOptions: OptionTable = [
  [
    '--write-mapping <file>',
    'with --preview: draft a mapping file from the data, and show what it comes to',
    { parse: notEmpty, conflicts: 'mapping' },
  ],
  ['--overwrite', 'let --write-mapping replace its file'],
];

export const command: CommandSpec<UploadFlags> = {
  summary: 'user profiles, created or updated; also events',
  description:
    'Creates or updates user profiles from CSV or NDJSON; with --type event, uploads events. ' +
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
    ...draftOptions,
    'Sending:',
    previewOption,
    ...writeOptions('upload', { dryRun: 'the same as --check' }),
  ],
  run: async (call) => {
    const { flags } = call;
    if (flags.preview) return (await import('./preview.js')).preview(call, flags.preview);
    refuseDraft(flags);
    // Together, since most of the time is waiting for small files to be read.
    const [{ upload }, { runWrite }] = await Promise.all([
      import('../jobs/write/upload.js'),
      import('./shared/run-write.js'),
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

/** Throws E-USAGE. */
function refuseDraft({ writeMapping, overwrite }: UploadFlags): void {
  if (writeMapping === undefined && !overwrite) return;
  const flag = writeMapping === undefined ? '--overwrite' : '--write-mapping';
  throw new EngagectlError('E-USAGE', `${flag} is for --preview`, {
    why: 'a mapping file is drafted from what a preview reads',
    fix: 'add --preview --write-mapping <file>; then upload with --mapping <file>',
  });
}
