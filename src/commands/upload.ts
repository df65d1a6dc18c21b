import { inputFormatsText, isTableName } from '../contract/file-formats.js';
import { EngagectlError } from '../errors.js';
import { mappingOptions, requireInput, typeOption } from './flags/input-flags.js';
import { nonEmpty } from './flags/value-parsers.js';
import { writeOptions, type WriteFlags } from './flags/write-flags.js';
import type { UploadOptions } from '../jobs/job-options.js';
import type { Invocation, CommandSpec } from './shared/command-spec.js';
import type { OptionRow, OptionTable } from './flags/option-table.js';
import { quoteForShell } from '../wording.js';
import { count, grouped } from '../ui/format.js';
import { messagePrinter } from '../ui/messages.js';
import type { ChooseType } from '../jobs/write/write-mapping-file.js';
import type { Preview } from '../jobs/write/preview.js';

interface UploadFlags extends WriteFlags, Omit<UploadOptions, keyof WriteFlags | 'rehearsal'> {
  readonly preview?: PreviewFlag;
  readonly writeMapping?: string;
  readonly overwrite?: boolean;
}

interface PreviewFlag {
  readonly count: number;
  /** `--preview users.csv`: a value of --preview that is not a number is a file. */
  readonly files: readonly string[];
}

const previewOption: OptionRow = [
  '--preview [n]',
  'show the first n records (default: 5), columns and likely mistakes; send nothing',
  {
    preset: '5',
    common: true,
    parse: (word): PreviewFlag =>
      /^\d+$/.test(word) ? { count: Number(word), files: [] } : { count: 5, files: [word] },
  },
];

const draftOptions: OptionTable = [
  [
    '--write-mapping <file>',
    'with --preview: draft a mapping file from the data and preview its effect',
    { parse: nonEmpty, conflicts: 'mapping', writes: true },
  ],
  ['--overwrite', 'let --write-mapping replace an existing file'],
];

export const command: CommandSpec<UploadFlags> = {
  summary: 'create or update user profiles; upload events',
  description:
    'Creates or updates user profiles from CSV or NDJSON; with --type event, uploads events. ' +
    'One column is the identity; every other column becomes a profile property of the same name.',
  operands: [['[file...]', `${inputFormatsText}; - reads stdin`]],
  examples: `
    # preview with other column names and types
    engagectl upload crm.csv --identity CustomerId --map mail=Email --types Age:integer --preview
    # read and validate everything, send nothing
    engagectl upload users.csv --check
    # from cron: print errors only; continue an interrupted run
    engagectl upload users.csv --quiet --resume
    # in CI: JSON summary; stop at the first rejected record
    gunzip -c users.ndjson.gz | engagectl upload - --json --strict
  `,
  options: [
    'Mapping:',
    typeOption,
    ...mappingOptions,
    ...draftOptions,
    'Sending:',
    previewOption,
    ...writeOptions('upload'),
  ],
  run: async (call) => {
    const { flags } = call;
    if (flags.preview) return runPreview(call, flags.preview);
    refuseDraft(flags);
    // In parallel, since most of the time is spent reading small files.
    const [{ upload }, { runWrite }] = await Promise.all([
      import('../jobs/write/upload.js'),
      import('./shared/run-write.js'),
    ]);
    await runWrite(call, { name: 'upload', ...wordsOf(flags.type, call.operands), job: upload });
  },
};

/** Words for an upload: rows of a table are of --type; a JSON record states its own type. */
function wordsOf(type: UploadFlags['type'], files: readonly string[]) {
  if (type === 'event') return { does: 'adds events', nouns: 'events' };
  return files.length > 0 && files.every(isTableName) ? { nouns: 'users' } : {};
}

/** Checks the flags of a drafted mapping file. Throws E-USAGE. */
function refuseDraft({ writeMapping, overwrite }: UploadFlags): void {
  if (writeMapping === undefined && !overwrite) return;
  const flag = writeMapping === undefined ? '--overwrite' : '--write-mapping';
  throw new EngagectlError('E-USAGE', `${flag} is for --preview`, {
    why: 'a mapping file is drafted from what a preview reads',
    fix: 'add --preview --write-mapping <file>; then upload with --mapping <file>',
  });
}

/** Flags that a drafted mapping file replaces, and its path. */
const draftFlags = [
  'write-mapping',
  'overwrite',
  'identity',
  'object-id',
  'map',
  'types',
  'drop',
  'only',
  'set',
  'lowercase',
];

/** Prints what would be sent. Throws E-REJECTED if rows would be rejected. */
async function runPreview(call: Invocation<UploadFlags>, preview: PreviewFlag): Promise<void> {
  const { shard: _, ...flags } = call.flags; // the input is only inspected
  const { runtime } = call;
  const files = [...preview.files, ...call.operands];
  requireInput(files, call);
  const settings = call.settings();
  const { timezone = 'UTC' } = settings;
  if (flags.overwrite && flags.writeMapping === undefined) throw nothingToReplace();
  const [{ previewUpload }, { cliAdvice }, { printPreview }] = await Promise.all([
    import('../jobs/write/preview.js'),
    import('./shared/job-context.js'),
    import('../ui/preview.js'),
  ]);
  const request = { ...flags, files, count: preview.count };
  const choose = await typeChooser(files, runtime);
  const seen = await previewUpload(request, { runtime, words: cliAdvice, timezone, choose });
  printPreview(seen, settings, runtime);
  if (flags.writeMapping !== undefined) {
    const { suggestCommand, dryRunFlags } = await import('./shared/suggested-command.js');
    const typed = { command: call.command, argv: settings.argv };
    const next = `${suggestCommand(typed, files, [...dryRunFlags, ...draftFlags])} --check --mapping ${quoteForShell(flags.writeMapping)}`;
    messagePrinter(settings, runtime).note(
      [describeMapping(seen, flags.writeMapping), ...seen.evidence, `next: ${next}`].join('\n'),
    );
  }
  if (seen.rejected === 0) return;
  const message = `${grouped(seen.rejected)} of ${count(seen.records, 'record')} would be rejected`;
  throw new EngagectlError('E-REJECTED', message, {
    why: seen.rejects[0]?.error,
    fix: 'correct them, or let the upload pass over them; --check writes all of them to a file',
  });
}

/** Returns a function that asks about the type of a column; undefined if nobody can be asked. */
async function typeChooser(
  files: readonly string[],
  runtime: Invocation['runtime'],
): Promise<ChooseType | undefined> {
  const { canPrompt, askChoice } = await import('../ui/prompt.js');
  const isStdin = files.length === 0 || files.includes('-');
  if (isStdin || !canPrompt(runtime)) return undefined;
  return async (column, { types, readings }) => {
    const samples = types.map((type, at) => {
      const isDate = type.startsWith('date(');
      const values = readings.map(({ text, read }) => {
        const value = isDate ? new Date(1000 * Number(read[at])).toISOString() : String(read[at]);
        return `${text} is ${isDate ? value.replace(/T00:00:00.000Z$/, '') : value}`;
      });
      return `${type}: ${values.join(', ')}`;
    });
    const question = `column ${JSON.stringify(column)} can be read in several ways:`;
    const chosen = await askChoice(question, samples, runtime);
    return chosen === undefined ? undefined : types[chosen];
  };
}

const nothingToReplace = (): EngagectlError =>
  new EngagectlError('E-USAGE', '--overwrite is for --write-mapping', {
    why: 'a preview writes no other file',
    fix: 'add --write-mapping <file>, or leave --overwrite out',
  });

/** Formats `wrote m.json: identity "Id", 12 columns, 2 of them renamed, …`. */
function describeMapping({ drafted: mapping, columns, complete }: Preview, file: string): string {
  const { identity, objectId, map = {}, types = {}, required = [], values = {} } = mapping ?? {};
  const renamed = Object.entries(map).filter(([column, key]) => column !== key).length;
  const parts = [
    `${identity === undefined ? 'objectId' : 'identity'} ${JSON.stringify(identity ?? objectId)}`,
    count(columns.length, 'column'),
    renamed > 0 && `${grouped(renamed)} renamed`,
    Object.keys(types).length > 0 && `${grouped(Object.keys(types).length)} typed`,
    required.length > 0 && `${grouped(required.length)} required`,
    Object.keys(values).length > 0 && `${grouped(Object.keys(values).length)} of few values`,
  ];
  const from = complete ? '' : ', from the beginning of the input';
  return `wrote ${file}: ${parts.filter(Boolean).join(', ')}${from}`;
}
