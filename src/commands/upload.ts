import { paths } from '../contract/endpoints.js';
import { limits } from '../contract/limits.js';
import { EngagectlError } from '../errors.js';
import type { UploadMapping } from '../mapping/upload-mapping.js';
import type { Runtime } from '../runtime.js';
import type { CommandSpec } from './command-spec.js';
import { needInput } from './input-options.js';
import { choice } from './option-values.js';
import type { Settings } from './settings.js';
import type { OptionRow } from './option-table.js';
import { inputMeaning, writeOptions, type WriteFlags } from './write-options.js';

interface UploadFlags extends WriteFlags {
  readonly type: 'profile' | 'event';
  readonly identity?: string;
  readonly objectId?: string;
  readonly map?: readonly string[];
  readonly types?: readonly string[];
  readonly drop?: readonly string[];
  readonly only?: readonly string[];
  readonly mapping?: string;
  readonly empty: 'omit' | 'null' | 'string';
  readonly eventName?: string;
  readonly ts?: 'now';
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

const mappingOptions: readonly OptionRow[] = [
  [
    '--type <type>',
    'profile or event: what flat rows are',
    { parse: choice('profile', 'event'), default: 'profile' },
  ],
  ['--identity <column>', 'column of the identity (default: identity)'],
  ['--object-id <column>', 'key by the objectId in this column'],
  ['--map <column=key>', 'send a column under another name (repeatable)', { repeatable: true }],
  ['--drop <column>', 'do not send this column (repeatable)', { repeatable: true }],
  ['--only <a,b>', 'send these columns only (repeatable)', { repeatable: true }],
  [
    '--types <column:type,…>',
    'string, integer, number, boolean, date or json; else strings (repeatable)',
    { repeatable: true },
  ],
  ['--mapping <file>', 'JSON file with identity, map, types and drop'],
  [
    '--empty <how>',
    'empty cells: omit, null or string',
    { parse: choice('omit', 'null', 'string'), default: 'omit' },
  ],
  ['--event-name <name>', 'of events whose row has no evtName'],
  ['--ts <when>', 'now: the time of events whose row has no ts', { parse: choice('now') }],
];

export const command: CommandSpec<UploadFlags> = {
  summary: 'user profiles, created or updated; also events',
  description:
    'Creates or updates user profiles from CSV or NDJSON; with --type event, uploads events.\n' +
    'One column is the identity, every other one a profile property of the same name.',
  operands: [['[file...]', 'CSV, TSV, NDJSON or JSON, each also .gz; - reads stdin']],
  examples: [
    [
      'other column names, types; what would be sent',
      'engagectl upload crm.csv --identity CustomerId --map mail=Email --types Age:integer --preview',
    ],
    ['read and validate everything, send nothing', 'engagectl upload users.csv --check'],
    [
      'from cron: errors only; goes on with a run cut short',
      'engagectl upload users.csv --quiet --resume',
    ],
    [
      'in CI: figures as JSON; too many rejects fail the job',
      'gunzip -c users.ndjson.gz | engagectl upload - --json --max-rejects 1%',
    ],
  ],
  options: [
    ['Mapping:', mappingOptions],
    ['Sending:', [previewOption]],
    ...writeOptions({
      chunkSize: limits.recordsPerUpload,
      inFlight: 8,
      mostInFlight: limits.uploadsInFlight,
      dryRun: 'the same as --check',
      yes: 'do not ask, though the config profile is marked production',
      ordered: true,
    }),
  ],
  run: async (call) => {
    const files = [...(call.flags.preview?.files ?? []), ...call.operands];
    needInput(files, call);
    await upload({ files, flags: call.flags }, call.settings(), call.runtime);
  },
};

async function upload(
  { files, flags }: { readonly files: readonly string[]; readonly flags: UploadFlags },
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  refuseEventFlags(flags);
  const mapping = await mappingOf(flags, runtime);
  if (flags.preview) {
    const { previewUpload } = await import('./preview.js');
    const { count } = flags.preview;
    return previewUpload({ files, flags, count, frame, mapping }, settings, runtime);
  }
  // Together, since most of the time is waiting for small files to be read.
  const [{ runWrite }, { confirmProduction }, { uploadMapper }] = await Promise.all([
    import('../jobs/write-run.js'),
    import('./confirm-production.js'),
    import('../mapping/upload.js'),
  ]);
  await runWrite(
    {
      name: 'upload',
      files,
      flags,
      checkOnly: flags.check === true || flags.dryRun === true,
      meaning: { ...inputMeaning(flags), ...mappingMeaning(mapping) },
      endpoint: `POST ${paths.upload}`,
      frame,
      mapper: (zone) => uploadMapper({ ...mapping, zone }),
      send: (client) => (body, signal) => client.upload(body, signal),
      confirm: confirmProduction(
        {
          command: 'upload',
          does: flags.type === 'event' ? 'adds events' : 'creates or updates user profiles',
          files,
          flags,
        },
        runtime,
      ),
    },
    settings,
    runtime,
  );
}

const frame = ['{"d":[', ']}'] as const;

/** `--event-name` and `--ts` on profiles would do nothing in silence. */
function refuseEventFlags({ type, ts }: UploadFlags): void {
  if (type === 'event' || ts === undefined) return;
  throw new EngagectlError('E-USAGE', '--ts is for events', {
    fix: 'add --type event, or leave it out',
  });
}

/**
 * The mapping without the time of `--ts now`, which is another one in every part of a run, and
 * without the consent to send records of unknown outcome again, which may be given later.
 */
const mappingMeaning = ({
  map,
  types,
  drop,
  only,
  tsNow,
  ...rest
}: Omit<UploadMapping, 'zone'>) => ({
  ...rest,
  retryUnknown: undefined,
  map: [...map],
  types: [...types],
  drop: [...drop],
  only: only && [...only],
  tsNow: tsNow !== undefined,
});

async function mappingOf(
  flags: UploadFlags,
  runtime: Runtime,
): Promise<Omit<UploadMapping, 'zone'>> {
  const { columnMapping } = await import('../mapping/mapping-file.js');
  const { type, objectId, empty, eventName, ts, retryUnknown } = flags;
  return {
    ...(await columnMapping(flags, runtime)),
    kind: type,
    empty,
    retryUnknown: retryUnknown === true,
    ...(objectId !== undefined && { objectId }),
    ...(eventName !== undefined && { eventName }),
    ...(ts === 'now' && { tsNow: Math.floor(runtime.now() / 1000) }),
  };
}
