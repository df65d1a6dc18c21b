import { EngagectlError } from '../../errors.js';
import { timeZone } from '../../time-zone.js';
import { limits } from '../../contract/limits.js';
import { resolveColumn } from '../../mapping/columns.js';
import { exportedKind } from '../../mapping/exported-csv.js';
import { loadMapping } from '../../mapping/mapping-file.js';
import { uploadMapper } from '../../mapping/upload-mapper.js';
import { noRecovery, inputFingerprint } from '../input-files.js';
import { runWrite } from './run-write.js';
import { quotedIn } from './send-input.js';
import { previewFindings, type QualityIssue } from '../../mapping/preview/findings.js';
import {
  RecordSample,
  FieldStatistics,
  type CountedRecords,
  type RuledColumn,
} from '../../mapping/preview/field-statistics.js';
import type { MappingFile } from '../../mapping/mapping-file-schema.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';
import type { Runtime } from '../../runtime.js';
import type { WriteResult } from '../job-results.js';
import type { Wording, JobContext } from '../job-context.js';
import type { UploadOptions } from '../job-options.js';
import type { WriteHooks, WriteRequest, Remarks } from './write-request.js';
import type { RecordBlock } from '../../mapping/record-block.js';

/** Text before and after the records of a request body. */
export const uploadFrame = ['{"d":[', ']}'] as const;

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
      fingerprinted: { ...inputFingerprint(request), ...mappingFingerprint(mapping) },
      frame: uploadFrame,
      mapper: (ofAccount) => uploadMapper({ ...mapping, zone: ofAccount }),
      keys: [mapping.identity, mapping.objectId ?? 'objectId'],
      minRecords: mapping.expected?.minRecords,
      remarks: (isCheck) => inputRemarks({ ...mapping, zone }, isCheck),
    },
    request,
    context,
    hooks,
  );
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

/**
 * Finds likely mistakes. Suspicious names and shortened numbers of the first block are reported before anything is sent;
 * all others at the end, from a copy of the first records, so that the first request does not wait. A check
 * applies the rules of the service to every record, and samples the first, second, fourth, eighth … block for the rest.
 */
function inputRemarks(mapping: UploadMapping, isCheck: boolean): Remarks {
  const statistics = new FieldStatistics();
  const rules = isCheck ? new FieldStatistics({ onlyRules: true }) : undefined;
  const sample = new RecordSample();
  const reported = new Set<string>();
  const ruledColumns = ruledColumnsOf(mapping);
  let blocks = 0;
  let isFirst = true;
  return {
    look: (block) => {
      blocks += 1;
      const { cells } = block.rows;
      const columns = rules && cells && ruledColumns(cells.header);
      if (columns && cells) rules.addCells(block, cells, columns);
      else rules?.add(block);
      if (isCheck && isPowerOfTwo(blocks)) statistics.add(sampleOf(block, blocks === 1));
      if (!isCheck) sample.add(block);
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
      data.every(({ type = 'string' }) => type !== 'json' && !type.startsWith('list('));
    columns = isPlain ? data.filter(({ type = 'string' }) => type === 'string') : undefined;
    return columns;
  };
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

/** Maximum records of a later block that are searched for likely mistakes. */
const laterRecords = 100;

/** Returns the records of a block without its rejects, which have an error of their own: all of the first block, a few of others. */
const sampleOf = (block: RecordBlock, isFirst: boolean): CountedRecords => ({
  ...block,
  count: isFirst ? block.count : Math.min(block.count, laterRecords),
  rejects: [],
  faults: [],
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
