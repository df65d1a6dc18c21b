import { AimdLimiter } from '../bulk/adaptive-concurrency.js';
import { watched } from '../bulk/observed-client.js';
import { PeekableIterator } from '../bulk/peekable-iterator.js';
import {
  lookUpProfiles as lookUpEach,
  type LookupAnswer,
  type LookupItem,
} from '../bulk/profile-lookup.js';
import { Tally } from '../bulk/outcomes/tally.js';
import { limits } from '../contract/limits.js';
import { EngagectlError, sourceLine, fractionOf, argumentsSource } from '../errors.js';
import {
  isIdentifier,
  identifierReader,
  type Identifier,
  type IdentifierReader,
} from '../mapping/identity.js';
import { textRules } from '../mapping/cell-types.js';
import { loadMapping } from '../mapping/mapping-file.js';
import { UnseenMembers } from '../mapping/row-values.js';
import { addReachability } from '../mapping/reachability.js';
import { sourceRecord } from '../mapping/rejects-input.js';
import { isStdout } from '../output/formats.js';
import { expandDate } from './date-range.js';
import { checkOutputFormat } from './output-options.js';
import {
  catchFailure,
  retryStatusOf,
  runEnd,
  type Connection,
  type JobContext,
} from './job-context.js';
import { openRejects, describeRejects } from './rejects.js';
import { namesSearchedColumns, requireColumns } from './write/required-columns.js';
import { unjournaledRun } from './run/open-run.js';
import { openRecordOutput, type RecordOutput } from './record-output.js';
import { openInputs, type Inputs } from '../input/inputs.js';
import { inputOptions } from './input-files.js';
import type { Client } from '../client/client.js';
import type { RetryStatus } from '../client/retry.js';
import type { RowBlock } from '../input/row-block.js';
import type { FileOptions, LookUpOptions } from './job-options.js';
import type { JobHooks, JobProgress, LookupResult } from './job-results.js';
import { identifierKinds, type IdentifierKind } from '../contract/endpoints.js';
import type { Runtime } from '../runtime.js';

export interface LookupRequest extends LookUpOptions, FileOptions {
  readonly users: LookupTarget;
  /** File for identifiers that were not found. */
  readonly rejects?: string;
  /** Output path; undefined is stdout unless `into` is set. */
  readonly output?: string;
  readonly into?: ProfileSink | undefined;
}

/** Receives profiles with their identifiers, including those not found. */
export interface ProfileSink extends Omit<RecordOutput, 'write'> {
  write(record: Buffer | undefined, user: Identifier): Promise<void>;
}

type LookUpHooks = JobHooks<LookupResult>;

interface LookingUp {
  readonly request: LookupRequest;
  readonly context: JobContext;
  readonly users: Users;
  readonly connection: Connection;
  readonly tally: Tally;
  readonly traffic: { requests: number; retries: number };
  readonly waits: RetryStatus;
}

/**
 * Looks up users in order. Throws errors that occur before the first request; later errors are part
 * of the result.
 */
export async function getProfiles(
  request: LookupRequest,
  context: JobContext,
  hooks: LookUpHooks = {},
): Promise<LookupResult> {
  checkOutputFormat(request.output, request, context.words);
  const users = await openIdentifiers(request.users, request, context.runtime);
  let connection: Connection | undefined;
  try {
    const tally = openTally(request, users, { context, hooks });
    connection = await context.connect();
    const output = expandDate(request.output, {
      zone: connection.zone,
      now: context.runtime.now(),
    });
    if (output !== undefined) await context.refuseOutputs?.([output]);
    const dated = { ...request, ...(output !== undefined && { output }) };
    const traffic = { requests: 0, retries: 0 };
    const waits = retryStatusOf(connection, context);
    const looking = { request: dated, context, users, connection, tally, traffic, waits };
    return await perform(looking, hooks);
  } finally {
    await users.close();
    await connection?.close();
  }
}

/** Whether a single user is looked up, whose failure is reported without a rejects file. */
export const isSingle = (users: LookupTarget): boolean =>
  'values' in users && users.values.length === 1;

function openTally(
  { users: target, rejects: named, column }: LookupRequest,
  users: Users,
  { context, hooks }: { readonly context: JobContext; readonly hooks: LookUpHooks },
) {
  const files = 'input' in target ? [target.input] : [];
  // arguments need no file that repeats them
  const isListed = 'values' in target && named === undefined;
  const onReject = hooks.rejected ?? (isListed ? () => undefined : undefined);
  // Only a file has a folder for the rejects file.
  const first = files.length === 0 ? 'stdin' : users.first;
  return new Tally({
    rejects: openRejects({ job: 'get-profile', named, files, first, onReject }, context),
    sourceRecord,
    keys: column === undefined ? [] : [column],
    listNotSent: () => users.totalBytes === undefined,
  });
}

async function perform(looking: LookingUp, hooks: LookUpHooks): Promise<LookupResult> {
  const { request, context, users, connection, tally, traffic } = looking;
  const { runtime, messages } = context;
  const started = runtime.monotonic();
  const sink = request.into ?? (await openRecordOutput(request.output, request, context));
  const named = 'input' in request.users ? users.first : undefined;
  const { client, inFlight } = watched(connection.client, {
    recordsHistory: false,
    records: () => tally.counts.read,
    runtime,
  });
  hooks.started?.(() => ({ ...progressOf(looking), inFlight: inFlight() }), named);
  const work = async () => {
    try {
      await lookUpAll(looking, sink, client);
      await sink.finish();
    } finally {
      await sink.abort();
      if (!isSingle(request.users)) await tally.close();
    }
  };
  const failure = await catchFailure(work(), runtime.signal);
  tally.assertBalanced();
  for (const warning of sink.warnings) messages.warn(warning);
  const error = failure ?? notFound(looking);
  const onStdout = request.into !== undefined || isStdout(request.output);
  const result: LookupResult = {
    run: unjournaledRun(context).id,
    accountId: connection.accountId,
    ...tally.counts,
    ...traffic,
    bytes: sink.bytes,
    rejectsFile: tally.rejects.exists && !isSingle(request.users) ? tally.rejects.path : null,
    output: onStdout ? null : (request.output ?? null),
    ...runEnd(error, started, runtime),
    unfinished: false,
  };
  const rejectSummary = isSingle(request.users) ? undefined : tally;
  await hooks.ended?.({ result, rejectSummary, wasResumed: false });
  return result;
}

async function lookUpAll(looking: LookingUp, sink: ProfileSink, client: Client): Promise<void> {
  const { request, context, connection, traffic } = looking;
  const results = lookUpEach(identifiersOf(looking), {
    client,
    policy: connection.policy,
    runtime: context.runtime,
    limiter: new AimdLimiter(request.concurrency ?? limits.othersInFlight),
    waits: looking.waits,
    counts: traffic,
  });
  for await (const result of results) await settle(looking, result, sink);
  context.runtime.signal.throwIfAborted();
}

/** Row that identifies a user. */
interface Place {
  readonly rows: RowBlock;
  readonly row: number;
}

/** Yields rows with a valid identifier and rejects the others. */
async function* identifiersOf({
  request,
  context,
  users,
  tally,
}: LookingUp): AsyncGenerator<LookupItem<Place>> {
  const { limit = Number.POSITIVE_INFINITY } = request;
  let taken = 0;
  for await (const rows of new PeekableIterator(users.blocks()).until(context.runtime.signal)) {
    for (const failure of rows.parseErrors) {
      if (taken === limit) return;
      taken += 1;
      tally.counts.read += 1;
      tally.parseError(rows, failure);
    }
    for (let row = 0; row < rows.count; row += 1) {
      if (taken === limit) return;
      taken += 1;
      const read = users.reader.read(rows, row);
      if (isIdentifier(read)) {
        const place = sourceLine(rows.source, rows.lines[row]!);
        yield { identifier: read, place, origin: { rows, row } };
        continue;
      }
      tally.counts.read += 1;
      tally.reject(rows, row, read);
    }
  }
}

async function settle(
  { request, tally }: LookingUp,
  { answer, identifier, origin: { rows, row } }: LookupAnswer<Place>,
  sink: ProfileSink,
): Promise<void> {
  tally.counts.read += 1;
  if (!answer) {
    tally.reject(rows, row, { stage: 'notSent', error: 'the run stopped before this user' });
  } else if (answer.record) {
    tally.accept(rows, row);
    const { record } = answer;
    await sink.write(request.reachability ? addReachability(record) : record, identifier);
  } else {
    tally.reject(rows, row, {
      stage: 'service',
      error: `no user has ${identifier.by} ${JSON.stringify(identifier.value)}`,
    });
    await sink.write(undefined, identifier);
  }
  if (!isSingle(request.users)) await tally.log.commit();
}

function notFound({ request, tally }: LookingUp): EngagectlError | undefined {
  const { rejected, read } = tally.counts;
  if (rejected === 0) return undefined;
  return new EngagectlError('E-NOT-FOUND', `${fractionOf(rejected, read, 'users')} not found`, {
    why: describeRejects(tally.samples, 'unknown to the service'),
    fix:
      'values' in request.users && request.rejects === undefined
        ? 'correct their identifiers'
        : `see ${tally.rejects.path} for each user and error`,
  });
}

const progressOf = ({ users, tally, waits }: LookingUp): Omit<JobProgress, 'inFlight'> => ({
  read: tally.counts.read,
  records: tally.counts.read - tally.counts.notSent,
  rejected: tally.counts.rejected,
  bytes: users.bytesRead(tally.counts.read),
  totalBytes: users.totalBytes === 0 ? undefined : users.totalBytes,

  waiting: waits.text,
});

/** Users to look up: listed values, or an input. */
export type LookupTarget =
  | { readonly by: IdentifierKind; readonly values: readonly string[] }
  | { readonly by?: IdentifierKind | undefined; readonly input: string };

/** Users to look up as rows, and the reader of their identifiers. */
export interface Users extends Pick<
  Inputs,
  'first' | 'totalBytes' | 'bytesRead' | 'blocks' | 'close'
> {
  readonly reader: IdentifierReader;
}

/** Opens the input and checks its header. Throws like `openInputs`, and E-COLUMN-MISSING. */
async function openIdentifiers(
  target: LookupTarget,
  options: LookUpOptions,
  runtime: Pick<Runtime, 'stdin' | 'cwd' | 'signal'>,
): Promise<Users> {
  if ('values' in target)
    return { ...valuesAsInput(target.values, target.by), reader: identifierReader(target.by) };
  const { types, lowercase, column } = options;
  const flags = { ...(types && { types }), ...(lowercase && { lowercase }) };
  const columns = new Map(target.by && column !== undefined ? [[target.by, column]] : []);
  const rules = { columns, ...textRules(await loadMapping(flags, runtime)) };
  const reader = identifierReader(target.by, rules);
  const listColumn = column ?? target.by ?? 'identity';
  const keyColumns = target.by === undefined ? identifierKinds : [listColumn];
  const opened = inputOptions([target.input], options, { keyColumns, listColumn });
  const inputs = await openInputs(opened, runtime);
  for (const { header, source } of inputs.headers) reader.check(header, source);
  const namedColumns = [...columns.values()];
  if (namesSearchedColumns({ namedColumns }, inputs)) {
    const members = new UnseenMembers(namedColumns);
    const search = {
      map: (rows: RowBlock) => members.look(rows),
      unseenColumns: () => members.names,
    };
    await requireColumns(search, await openInputs(opened, runtime), runtime.signal);
  }
  return {
    first: inputs.first,
    totalBytes: inputs.totalBytes,
    bytesRead: (records) => inputs.bytesRead(records),
    blocks: () => inputs.blocks(),
    close: () => inputs.close(),
    reader,
  };
}

function valuesAsInput(values: readonly string[], column: string): Omit<Users, 'reader'> {
  return {
    first: argumentsSource,
    totalBytes: 0,
    bytesRead: () => 0,
    // oxlint-disable-next-line typescript/require-await -- the shape of an input
    blocks: async function* blocks() {
      yield valueRows(values, column);
    },
    close: () => Promise.resolve(),
  };
}

/** Builds a block of one row per value, on the lines 1, 2, 3 … */
function valueRows(values: readonly string[], column: string): RowBlock {
  const texts = values.map((value) => Buffer.from(value));
  const bounds = new Int32Array(2 * texts.length);
  let end = 0;
  for (const [index, text] of texts.entries()) {
    bounds[2 * index] = end;
    end += text.length;
    bounds[2 * index + 1] = end;
  }
  return {
    source: argumentsSource,
    bytes: Buffer.concat(texts),
    count: texts.length,
    bounds,
    lines: Uint32Array.from(texts, (_, index) => index + 1),
    cells: { header: [column], bounds },
    first: 0,
    end: { input: 0, offset: end, line: values.length + 1, ordinal: values.length },
    parseErrors: [],
  };
}
