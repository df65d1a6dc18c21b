import { EngagectlError } from '../../errors.js';
import { timeZone } from '../../time-zone.js';
import { loadMapping } from '../../mapping/mapping-file.js';
import { uploadMapper } from '../../mapping/upload-mapper.js';
import { noRecovery, inputFingerprint } from '../input-files.js';
import { runWrite } from './run-write.js';
import { isPersonalColumn } from '../../bulk/outcomes/reject-samples.js';
import { previewFindings } from '../../mapping/preview/findings.js';
import { FieldStatistics } from '../../mapping/preview/field-statistics.js';
import type { MappingFile } from '../../mapping/mapping-file-schema.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';
import type { Runtime } from '../../runtime.js';
import type { WriteResult } from '../job-results.js';
import type { Wording, JobContext } from '../job-context.js';
import type { UploadOptions } from '../job-options.js';
import type { WriteHooks, WriteRequest, InputWarning, Remarks } from './write-request.js';
import type { RecordBlock } from '../../mapping/record-block.js';

/** Text before and after the records of a request body. */
export const uploadFrame = ['{"d":[', ']}'] as const;

/** Creates or updates user profiles, or adds events. Throws like `runWrite`, and E-USAGE. */
export async function upload(
  request: WriteRequest & UploadOptions,
  context: JobContext,
  hooks?: WriteHooks,
): Promise<WriteResult> {
  const mapping = await uploadMapping(request, context);
  const zone = timeZone(context.timezone);
  return runWrite(
    {
      name: 'upload',
      meaning: { ...inputFingerprint(request), ...meaningOf(mapping) },
      frame: uploadFrame,
      mapper: (ofAccount) => uploadMapper({ ...mapping, zone: ofAccount }),
      keys: [mapping.identity, mapping.objectId ?? 'objectId'],
      minRecords: mapping.expected?.minRecords,
      remarks: (headers, isCheck) => inputWarnings({ ...mapping, zone }, headers, isCheck),
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
const meaningOf = ({
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
 * Warns of likely mistakes. Every run checks only its first block, so there is no cost per record.
 * A check (`--check`) also reports mistakes that the service would reject; since field statistics
 * are slow, it samples the first, second, fourth, eighth … block.
 */
function inputWarnings(
  mapping: UploadMapping,
  headers: readonly (readonly string[])[],
  isCheck: boolean,
): Remarks {
  const survey = isCheck ? new FieldStatistics() : undefined;
  let blocks = 0;
  let isFirst = true;
  return {
    look: (block) => {
      blocks += 1;
      if (isPowerOfTwo(blocks)) survey?.add(block);
      if (!isFirst || block.count === 0) return [];
      isFirst = false;
      return suspiciousNames(block, mapping);
    },
    found: () => (survey ? refusalsOf(survey, headers, mapping) : []),
  };
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

/** Long numbers that a spreadsheet shortened, which merges users if they are identities. */
const ofValues = 'shortened-number';

/** Mistakes in member names. For CSV, the header check finds them. */
const ofNames = new Set(['field-spelling', 'outside-data', 'event-as-profile']);

function suspiciousNames(block: RecordBlock, mapping: UploadMapping): readonly InputWarning[] {
  const { source, cells, bytes } = block.rows;
  // The header check covers names. Field statistics cost 3 ms to start.
  if (cells && !/\d[eE][+-]?\d/.test(bytes.toString('latin1'))) return [];
  const survey = new FieldStatistics();
  survey.add(block);
  return previewFindings(survey, [], mapping).mistakes.flatMap(({ id, column, what, fix }) => {
    const text = `${source}: ${JSON.stringify(column)} ${what}: ${fix}`;
    if (id === ofValues) return { text, personal: quotedIn(what) };
    return cells || !ofNames.has(id) ? [] : { text, personal: [] };
  });
}

const refusalsOf = (
  survey: FieldStatistics,
  headers: readonly (readonly string[])[],
  mapping: UploadMapping,
): readonly InputWarning[] =>
  previewFindings(survey, headers, mapping).mistakes.flatMap(
    ({ column, what, code, line, fix }) => {
      if (code === null) return [];
      const name = column === null ? '' : `column ${JSON.stringify(column)}: `;
      const where = line === null ? '' : `, first on line ${line}`;
      const text = `${name}${what}${where}; the service rejects it with ${code}: ${fix}`;
      const isOfPerson = column !== null && isPersonalColumn(column, [mapping.identity]);
      return [{ text, personal: isOfPerson ? quotedIn(what) : [] }];
    },
  );

const quotedIn = (text: string): string[] =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([found]) => JSON.parse(found) as string);
