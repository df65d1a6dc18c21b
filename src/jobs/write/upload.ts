import { EngagectlError } from '../../errors.js';
import { zoneOf } from '../../zone.js';
import { uploadRemarks } from './upload-remarks.js';
import { columnMapping } from '../../mapping/mapping-file.js';
import { uploadMapper } from '../../mapping/upload-mapper.js';
import { readMeaning } from '../input-files.js';
import { performWrite } from './run-write.js';
import type { MappingFile } from '../../mapping/mapping-file-schema.js';
import type { UploadMapping } from '../../mapping/upload-mapping.js';
import type { Runtime } from '../../runtime.js';
import type { WriteResult } from '../job-results.js';
import type { Words, World } from '../job-context.js';
import type { UploadOptions } from '../job-options.js';
import type { WriteHooks, WriteRequest } from './write-request.js';

/** What surrounds the records in a request body. */
export const uploadFrame = ['{"d":[', ']}'] as const;

/** Creates or updates user profiles; or adds events. Throws like `performWrite`, and E-USAGE. */
export async function upload(
  request: WriteRequest & UploadOptions,
  world: World,
  hooks?: WriteHooks,
): Promise<WriteResult> {
  const mapping = await uploadMapping(request, world);
  const zone = zoneOf(world.timezone);
  return performWrite(
    {
      name: 'upload',
      meaning: { ...readMeaning(request), ...meaningOf(mapping) },
      frame: uploadFrame,
      mapper: (ofAccount) => uploadMapper({ ...mapping, zone: ofAccount }),
      keys: [mapping.identity, mapping.objectId ?? 'objectId'],
      minRecords: mapping.expected?.minRecords,
      remarks: (headers, isCheck) => uploadRemarks({ ...mapping, zone }, headers, isCheck),
    },
    request,
    world,
    hooks,
  );
}

/**
 * How rows become records; the zone is the account's. `drafted` stands for the mapping file. Throws
 * E-USAGE, E-FILE-READ.
 */
export async function uploadMapping(
  options: UploadOptions,
  {
    runtime,
    words,
  }: { readonly runtime: Pick<Runtime, 'cwd' | 'now' | 'signal'>; readonly words: Words },
  drafted?: MappingFile,
): Promise<Omit<UploadMapping, 'zone'>> {
  const { type = 'profile', objectId, empty = 'omit', eventName, ts, retryUnknown } = options;
  if (type !== 'event' && ts !== undefined) {
    throw new EngagectlError('E-USAGE', `${words.option('ts')} is for events`, {
      why: 'it says when something happened, and a profile has no such time',
      fix: `add ${words.option('type', 'event')}, or leave it out`,
    });
  }
  return {
    ...(await columnMapping(options, runtime, drafted)),
    kind: type,
    empty,
    retryUnknown: retryUnknown === true,
    ...(objectId !== undefined && { objectId }),
    ...(eventName !== undefined && { eventName }),
    ...(ts === 'now' && { tsNow: Math.floor(runtime.now() / 1000) }),
  };
}

/**
 * The mapping without the time of `ts: now`, which is another one in every part of a run, and
 * without the consent to send records of unknown outcome again, which may be given later.
 */
const meaningOf = ({
  map,
  types,
  drop,
  only,
  tsNow,
  expected,
  ...rest
}: Omit<UploadMapping, 'zone'>) => ({
  ...rest,
  retryUnknown: undefined,
  map: [...map],
  types: [...types],
  drop: [...drop],
  only: only && [...only],
  tsNow: tsNow !== undefined,
  // how many records are too few decides nothing about any of them
  expected: expected && {
    required: [...expected.required],
    isExact: expected.isExact,
    values: [...expected.values].map(([column, values]) => [column, [...values]]),
  },
});
