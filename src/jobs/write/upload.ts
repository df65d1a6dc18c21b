import { EngagectlError } from '../../errors.js';
import { timeZone, type TimeZone } from '../../time-zone.js';
import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/record-fields.js';
import { resolveColumn } from '../../mapping/columns.js';
import { exportedKind } from '../../mapping/exported-csv.js';
import { loadFormats } from '../../mapping/cell-formats.js';
import { loadMapping } from '../../mapping/mapping-file.js';
import { uploadMapper } from '../../mapping/upload-mapper.js';
import { inputOptions, noRecovery, inputFingerprint, withoutOtherHeaders } from '../input-files.js';
import { openInputs } from '../../input/inputs.js';
import { limitRecords } from '../../input/row-block.js';
import { isPersonalColumn } from '../../bulk/outcomes/reject-samples.js';
import { ordinalOfRow } from '../../bulk/outcomes/ordinal-set.js';
import { holdBackRejects, resentRows } from '../../mapping/rejects-input.js';
import { cellCleaning } from '../../text/cell-cleaning.js';
import { EventFingerprints, type HashSecret } from '../../text/record-hash.js';
import { mayHaveEvents } from './open-event-memory.js';
import { runWrite } from './run-write.js';
import { quotedIn } from './send-input.js';
import { previewFindings, type QualityIssue } from '../../mapping/preview/findings.js';
import { FieldStatistics, type RuledColumn } from '../../mapping/preview/field-statistics.js';
import type { MappingFile } from '../../mapping/mapping-file-schema.js';
import { isPhoneNumber, type CellType, type UploadMapping } from '../../mapping/upload-mapping.js';
import type { Runtime } from '../../runtime.js';
import type { WriteResult } from '../job-results.js';
import type { Wording, JobContext } from '../job-context.js';
import type { ReadOptions, UploadOptions } from '../job-options.js';
import type { RecordForm, WriteHooks, WriteRequest, Remarks } from './write-request.js';
import {
  copyRecords,
  RecordSample,
  type CountedRecords,
  type Mapper,
  type RecordBlock,
} from '../../mapping/record-block.js';

/** Text before and after the records of a request body. */
export const uploadFrame = ['{"d":[', ']}'] as const;

/** Columns of which every table of an upload has one, also a CSV export. */
export const keyColumns = ({
  identity,
  objectId,
}: Pick<UploadMapping, 'identity' | 'objectId'>): readonly string[] => [
  identity,
  objectId ?? 'objectId',
  'platformInfo',
  'profile.identity',
  'profile.objectId',
];

/** Creates or updates user profiles, or adds events. Throws like `runWrite`, and E-USAGE. */
export async function upload(
  given: WriteRequest & UploadOptions,
  context: JobContext,
  hooks?: WriteHooks,
): Promise<WriteResult> {
  const mapping = await uploadMapping(given, context);
  const request = { ...mapping.cleaning, ...given };
  const zone = timeZone(context.timezone);
  return runWrite(
    {
      name: 'upload',
      keyColumns: keyColumns(mapping),
      fingerprinted: fingerprintOf(request, mapping),
      frame: uploadFrame,
      mapper: (ofAccount) => uploadMapper({ ...mapping, zone: ofAccount }),
      formOf: async (options) => formOf(options as unknown as Fingerprinted, mapping),
      keys: personalColumns(mapping),
      minRecords: mapping.expected?.minRecords,
      remarks: (isCheck) => inputRemarks({ ...mapping, zone }, isCheck),
    },
    request,
    context,
    hooks,
  );
}

/** Returns the columns that identify people by the mapping. */
function personalColumns({
  identity,
  objectId = 'objectId',
  types,
  map,
}: Omit<UploadMapping, 'zone'>): string[] {
  const phones = [...types].filter(([, type]) => isPhoneNumber(type));
  const renamed = [...map].filter(([, key]) => isPersonalColumn(key, []));
  return [identity, objectId, ...[...phones, ...renamed].map(([column]) => column)];
}

/** The events of a part of an upload. */
export interface EventPart {
  /** Fingerprints, two numbers each. */
  readonly fingerprints: Int32Array;
  /** The ordinal of each event among the records of the input. */
  readonly ordinals: readonly number[];
  /** Whether the part has other records that are not safe to resend: operators, and lines of a rejects file. */
  readonly hasOthers: boolean;
}

/**
 * Reads an upload as `upload` does, and yields the fingerprints of its events, block by block; nothing for tables
 * of profiles. Omits lines of a rejects file that are to be sent although another run counts them as sent.
 * Throws the errors of reading the input and its header, and E-USAGE.
 */
export async function* uploadedEvents(
  given: UploadOptions & ReadOptions & { readonly files: readonly string[] },
  { secret, zone, ...context }: EventReading,
): AsyncGenerator<EventPart> {
  const mapping = await uploadMapping(given, context);
  const request = { ...mapping.cleaning, ...given };
  const { limit = Number.POSITIVE_INFINITY, retryUnknown = false, again = false } = request;
  const rejects = { retryUnknown, again };
  const mapper = holdBackRejects(withoutOtherHeaders(uploadMapper({ ...mapping, zone })), rejects);
  const prints = new EventFingerprints(secret);
  const options = inputOptions(given.files, request, { keyColumns: keyColumns(mapping) });
  const inputs = await openInputs(options, context.runtime);
  try {
    if (!mayHaveEvents({ request, inputs })) return;
    for (const { header, source } of inputs.headers) mapper.check(header, source);
    for await (const rows of limitRecords(inputs.blocks(), limit)) {
      const block = mapper.map(rows);
      yield eventsOf(block, prints.of(block), resentRows(rows, rejects));
    }
  } finally {
    await inputs.close();
  }
}

interface EventReading {
  readonly runtime: Pick<Runtime, 'cwd' | 'now' | 'signal' | 'stdin'>;
  readonly words: Wording;
  readonly zone: TimeZone;
  /** Secret of the fingerprints. */
  readonly secret: HashSecret;
}

function eventsOf(
  { rows, row, kinds, idempotent, count }: RecordBlock,
  prints: Int32Array,
  isResent: ((row: number) => boolean) | undefined,
): EventPart {
  const fingerprints = new Int32Array(2 * count);
  const ordinals: number[] = [];
  let hasOthers = false;
  for (let index = 0; index < count; index += 1) {
    const isCompared = kinds[index] === 1 && isResent?.(row[index]!) !== true;
    if (!isCompared) {
      hasOthers ||= idempotent[index] === 0;
      continue;
    }
    fingerprints[2 * ordinals.length] = prints[2 * index]!;
    fingerprints[2 * ordinals.length + 1] = prints[2 * index + 1]!;
    ordinals.push(ordinalOfRow(rows, row[index]!));
  }
  return { fingerprints: fingerprints.subarray(0, 2 * ordinals.length), ordinals, hasOthers };
}

/**
 * Builds the mapping of rows to records, without the time zone. `drafted` replaces the mapping
 * file. Throws E-USAGE, E-FILE-READ.
 */
export async function uploadMapping(
  options: UploadOptions,
  {
    runtime,
    words,
  }: { readonly runtime: Pick<Runtime, 'cwd' | 'now' | 'signal'>; readonly words: Wording },
  drafted?: MappingFile,
): Promise<Omit<UploadMapping, 'zone'>> {
  const { type = 'profile', objectId, empty = 'omit', eventName, ts } = options;
  const { retryUnknown, again } = options;
  if (type !== 'event' && ts !== undefined) {
    throw new EngagectlError('E-USAGE', `${words.option('ts')} requires events`, {
      why: 'a profile has no time',
      fix: `add ${words.option('type', 'event')}, or omit ${words.option('ts')}`,
    });
  }
  if (type === 'event' && options.recoverQuotes) throw noRecovery('events', words);
  const columns = await loadMapping(options, runtime, drafted);
  refuseKeyParts(columns.constants, type, words);
  return {
    ...columns,
    kind: type,
    empty,
    retryUnknown: retryUnknown === true,
    again: again === true,
    ...(objectId !== undefined && { objectId }),
    ...(eventName !== undefined && { eventName }),
    ...(ts === 'now' && { tsNow: Math.floor(runtime.now() / 1000) }),
  };
}

/** Throws E-USAGE if a constant would be a part of the record: that differs for each user, or has a flag of its own. */
function refuseKeyParts(
  constants: UploadMapping['constants'],
  type: UploadMapping['kind'],
  { option }: Wording,
): void {
  const flags: Readonly<Record<string, string>> = {
    identity: option('identity', '<column>'),
    objectId: option('objectId', '<column>'),
    ...(type === 'event' && { ts: option('ts', 'now'), evtName: option('eventName', '<name>') }),
  };
  const part = [...constants.keys()].find((key) => Object.hasOwn(flags, key));
  if (part === undefined) return;
  throw new EngagectlError('E-USAGE', `${option('set')} cannot set ${part}`, {
    why: 'it adds members to the data of a record',
    fix: `use ${flags[part]}`,
  });
}

/**
 * Returns the mapping for the fingerprint of a run: without the current time, which differs on
 * resume, and without `retryUnknown` and `again`, which may be added on resume.
 */
const mappingFingerprint = ({
  map,
  types,
  drop,
  only,
  constants,
  lowercase,
  tsNow,
  expected,
  ...rest
}: Omit<UploadMapping, 'zone'>) => ({
  ...rest,
  retryUnknown: undefined,
  again: undefined,
  map: [...map],
  types: [...types],
  drop: [...drop],
  only: only && [...only],
  set: constants.size > 0 ? [...constants] : undefined,
  lowercase: lowercase.size > 0 ? [...lowercase] : undefined,
  tsNow: tsNow !== undefined,
  // minRecords does not change what is sent
  expected: expected && {
    required: [...expected.required],
    isExact: expected.isExact,
    values: [...expected.values].map(([column, values]) => [column, [...values]]),
  },
});

const fingerprintOf = (request: ReadOptions, mapping: Omit<UploadMapping, 'zone'>) => ({
  ...inputFingerprint(request),
  ...mappingFingerprint(mapping),
});

type Fingerprinted = ReturnType<typeof fingerprintOf>;

/**
 * Returns the form of the records of an earlier upload, with the event name of this one. Columns that are not in the
 * input are left out: what it has of other columns was sent without them, if these were dropped or empty.
 */
async function formOf(
  { map, types, drop, only, set, lowercase, tsNow, ...options }: Fingerprinted,
  { eventName }: Pick<UploadMapping, 'eventName'>,
): Promise<RecordForm> {
  const { expected: _, eventName: __, ...others } = options;
  await loadFormats(types.map(([, type]) => type));
  const constants = new Map(set);
  const mappingOf = (header: readonly string[] | undefined) => {
    const isThere = (column: string) => header?.includes(column) !== false;
    return {
      ...others,
      ...(eventName !== undefined && { eventName }),
      map: new Map(map.filter(([column]) => isThere(column))),
      types: new Map(types.filter(([column]) => constants.has(column) || isThere(column))),
      drop: new Set(drop.filter(isThere)),
      ...(only && { only: new Set(only.filter(isThere)) }),
      constants,
      lowercase: new Set(lowercase?.filter(isThere)),
      ...(tsNow && { tsNow: 0 }),
      retryUnknown: true, // whatever it sent of a rejects file
      again: true,
    };
  };
  const { quote, escape, comment, skipLines, records, trim, nullValues } = others;
  return {
    cleaning: cellCleaning({ ...(trim && { trim }), ...(nullValues && { nullValues }) }),
    reading: { quote, escape, comment, skipLines, records },
    mapper: (zone) => {
      const mappers = new Map<readonly string[] | undefined, Mapper>();
      const map: Mapper['map'] = (rows) => {
        const header = rows.cells?.header;
        const mapper = mappers.get(header) ?? uploadMapper({ ...mappingOf(header), zone });
        mappers.set(header, mapper);
        return mapper.map(rows);
      };
      return { map };
    },
  };
}

/**
 * Finds likely mistakes. Suspicious names and shortened numbers of the first block are reported before anything is sent;
 * all others at the end, from a copy of the first records, so that the first request does not wait. A check
 * applies the rules of the service to every record, and samples the first, second, fourth, eighth … block for the rest.
 * Both also look for totals in the last record.
 */
function inputRemarks(mapping: UploadMapping, isCheck: boolean): Remarks {
  const statistics = new FieldStatistics();
  const rules = isCheck ? new FieldStatistics({ onlyRules: true }) : undefined;
  const sample = new RecordSample();
  const reported = new Set<string>();
  const ruledColumns = ruledColumnsOf(mapping);
  let blocks = 0;
  let isFirst = true;
  let last: CountedRecords | undefined; // unless it is in the sample
  return {
    look: (block) => {
      blocks += 1;
      const { cells } = block.rows;
      const columns = rules && cells && ruledColumns(cells.header);
      if (columns && cells) {
        rules.addRejects(block);
        rules.addCells(block, cells, columns);
      } else rules?.add(block);
      let isSampled = false;
      if (!isCheck) isSampled = sample.add(block);
      else if (isPowerOfTwo(blocks)) {
        const sampled = sampleOf(block, blocks === 1);
        statistics.add(sampled);
        isSampled = sampled.count === block.count;
      }
      if (block.count > 0)
        last = isSampled ? undefined : copyRecords(block, block.count - 1, block.count);
      if (!isFirst || block.count === 0) return [];
      isFirst = false;
      const suspicious = suspiciousValues(block, mapping);
      for (const found of suspicious) reported.add(nameOf(found));
      return suspicious.map(({ id, column, what, fix }) => {
        const text = `${block.rows.source}: ${JSON.stringify(column)} ${what}: ${fix}`;
        return { text, personal: id === ofValues ? quotedIn(what) : [] };
      });
    },
    found: () => {
      for (const block of sample.blocks) statistics.add(block);
      if (last && isTotal(last)) statistics.add(last);
      const predicted = rules ? previewFindings(rules, [], mapping).mistakes : [];
      const names = new Set(predicted.map(nameOf));
      const { mistakes } = previewFindings(statistics, [], mapping);
      const likely = mistakes.filter((found) => !names.has(nameOf(found)));
      return [...predicted, ...likely].map((found) => {
        const isInHeader = ofNames.has(found.id) && !statistics.hasJson;
        const isReported = isInHeader || reported.has(nameOf(found));
        return { ...found, isReported };
      });
    },
  };
}

function isTotal(record: CountedRecords): boolean {
  const statistics = new FieldStatistics();
  statistics.add(record);
  return statistics.fields.some(({ traits }) => traits.has('total'));
}

/** Finds the columns of a CSV to which rules of the service apply; undefined if these depend on the record. */
function ruledColumnsOf(mapping: UploadMapping) {
  const { kind, constants, lowercase, empty } = mapping;
  const isCellwise =
    kind === 'profile' && constants.size + lowercase.size === 0 && empty === 'omit';
  let known: readonly string[] | undefined;
  let columns: readonly RuledColumn[] | undefined;
  return (header: readonly string[]): readonly RuledColumn[] | undefined => {
    if (header === known) return columns;
    known = header;
    const data = header
      .map((name) => resolveColumn(name, mapping))
      .map(
        ({ role, key, type }, index) => ({ index, part: 'profileData', key, role, type }) as const,
      )
      .filter(({ role }) => role === 'data');
    const isPlain =
      isCellwise &&
      exportedKind(header, mapping) === undefined &&
      data.length <= limits.profileKeys &&
      data.every(({ key, type = 'string' }) => isSentAsWritten(type) || isSafe(key, type));
    columns = isPlain ? data.filter(({ type = 'string' }) => isSentAsWritten(type)) : undefined;
    return columns;
  };
}

const isSentAsWritten = (type: CellType): boolean => ['string', 'integer', 'number'].includes(type);

/** Whether the service accepts every value of this type under this key: it is short, and has no rule. */
const isSafe = (key: string, type: CellType): boolean =>
  /^(?:boolean|date|phone)/.test(type) && profileFields.get(key)?.code === undefined;

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

/** Maximum records of a later block that are searched for likely mistakes. */
const laterRecords = 100;

/** Returns the records of a block without its rejects, which have an error of their own: all of the first block, a few of others. */
const sampleOf = (block: RecordBlock, isFirst: boolean): CountedRecords => ({
  ...block,
  count: isFirst ? block.count : Math.min(block.count, laterRecords),
  rejects: [],
  parseErrors: [],
});

/** Long numbers that a spreadsheet shortened, which merges users if they are identities. */
const ofValues = 'shortened-number';

/** Mistakes in member names. For CSV, the header check finds them. */
const ofNames = new Set(['field-spelling', 'outside-data', 'event-as-profile']);

const nameOf = ({ id, column }: QualityIssue): string => `${id} ${column}`;

function suspiciousValues(block: RecordBlock, mapping: UploadMapping): QualityIssue[] {
  const { cells, bytes } = block.rows;
  // The header check covers names. Field statistics cost 3 ms to start.
  if (cells && !/\d[eE][+-]?\d/.test(bytes.toString('latin1'))) return [];
  const statistics = new FieldStatistics();
  statistics.add(block);
  const { mistakes } = previewFindings(statistics, [], mapping);
  return mistakes.filter(({ id }) => id === ofValues || (!cells && ofNames.has(id)));
}
