import { EngagectlError, grouped, placeOf } from '../../errors.js';
import { handedOver } from './handover.js';
import { foreseen, type LibraryWorld } from './library-context.js';
import { openSource } from './open-source.js';
import type { Identifier } from '../../mapping/identity.js';
import type { JobOptions, LookUpOptions } from '../job-options.js';
import type { JsonObject, LookedUpUser, Source, UserIdentifier } from './api.js';
import type { WantedUsers } from '../open-users.js';
import type { ProfileSink } from '../get-profiles.js';
import type { RejectedRecord } from '../job-results.js';

type Options = LookUpOptions & JobOptions;

/** Undefined where nobody has the identifier. */
export async function lookUpUser(
  library: LibraryWorld,
  user: UserIdentifier,
  options: Options,
): Promise<JsonObject | undefined> {
  const [[by, value] = []] = Object.entries(user) as [Identifier['by'], string][];
  if (by === undefined || typeof value !== 'string' || value === '') {
    throw new EngagectlError('E-USAGE', 'the identifier of the user is empty');
  }
  for await (const { profile } of lookUpAll(library, { by, values: [value] }, options)) {
    return profile;
  }
  return undefined;
}

/** The users of a source, in their order. */
export function lookUpUsers(
  library: LibraryWorld,
  source: Source,
  options: Options,
): AsyncGenerator<LookedUpUser> {
  const { files, stream, format } = openSource(source);
  if (files.length > 1) {
    throw new EngagectlError('E-USAGE', 'users are looked up from one file at a time');
  }
  const [input = '-'] = files;
  const how = { ...(format && { inputFormat: format }), ...options };
  return lookUpAll(library, { by: options.by, input }, how, stream);
}

async function* lookUpAll(
  library: LibraryWorld,
  users: WantedUsers,
  options: Options,
  stream?: Parameters<LibraryWorld['of']>[1],
): AsyncGenerator<LookedUpUser> {
  const faults: RejectedRecord[] = [];
  const { signal } = options;
  yield* handedOver<LookedUpUser>(async (found, left) => {
    const world = library.of(signal ? AbortSignal.any([signal, left]) : left, stream);
    const into: ProfileSink = {
      bytes: 0,
      warnings: [],
      write: (record, { by, value }) => {
        const profile = record && (JSON.parse(record.toString()) as JsonObject);
        return found.put({ by, value, profile });
      },
      finish: () => Promise.resolve(),
      abort: () => Promise.resolve(),
    };
    const rejected = (record: RejectedRecord) => {
      if (record.stage === 'parse' || record.stage === 'validate') faults.push(record);
    };
    const { lookUp } = await import('../get-profiles.js');
    const { error } = await foreseen(
      lookUp({ ...options, users, into }, world, { rejected }),
      world,
    );
    if (error && error.id !== 'E-NOT-FOUND') return error;
    return faultsOf(faults);
  });
}

/** Records that name no user are told at the end. */
function faultsOf([first, ...others]: readonly RejectedRecord[]): EngagectlError | undefined {
  if (first === undefined) return undefined;
  const { source, line, error } = first;
  return new EngagectlError(
    'E-REJECTED',
    `${grouped(1 + others.length)} ${others.length === 0 ? 'record names' : 'records name'} no user`,
    {
      why: `${placeOf(source, line)}: ${error}`,
      fix: 'correct them; all others were looked up',
    },
  );
}
