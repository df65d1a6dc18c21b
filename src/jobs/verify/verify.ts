import { AimdLimiter } from '../../bulk/adaptive-concurrency.js';
import { EngagectlError, countOf, groupDigits } from '../../errors.js';
import { limits } from '../../contract/limits.js';
import { rememberLookUp, type LookedUpEvents } from '../write/open-event-memory.js';
import { namesSearchedColumns, requireColumns } from '../write/required-columns.js';
import { openInputs, type Inputs } from '../../input/inputs.js';
import { subscribeMapper } from '../../mapping/subscribe-mapper.js';
import { uploadMapper } from '../../mapping/upload-mapper.js';
import {
  catchFailure,
  newRunId,
  retryStatusOf,
  runEnd,
  type Connection,
  type JobContext,
} from '../job-context.js';
import { verifyDefaults, type VerifyOptions } from '../job-options.js';
import { inputOptions } from '../input-files.js';
import { subscribeMapping, valueColumns } from '../write/subscribe.js';
import { keyColumns, uploadMapping } from '../write/upload.js';
import { checkAll, type CheckContext } from './check-sent.js';
import { mostSent, SentEvents } from './sent-events.js';
import { SentInput } from './sent-input.js';
import { UnknownResolution, formatDifference, VerdictTally, type Difference } from './verdict.js';
import { watched } from '../../bulk/observed-client.js';
import type { InputOptions } from '../../input/input-format.js';
import type { RetryStatus } from '../../client/retry.js';
import type { JobHooks, JobProgress, VerifyResult } from '../job-results.js';
import type { RecordOutput } from '../record-output.js';

/** Output for differences, or for unresolved records. */
type LineSink = Pick<RecordOutput, 'write' | 'finish' | 'abort'>;

interface VerifyRequest extends VerifyOptions {
  readonly files: readonly string[];
  /** Output path, for the result. */
  readonly output?: string | undefined;
  readonly into: () => Promise<LineSink>;
}

type VerifyHooks = JobHooks<VerifyResult>;

const notSentWarning = (count: number, file: string) =>
  `${countOf(count, 'record')} of ${file} not looked up, because never sent (stage notSent): to send them, run the original command with that file, too`;

const nothingOpen = 'no record of unknown outcome (expected a rejects file)';

interface Verifying {
  readonly request: VerifyRequest;
  readonly context: JobContext;
  readonly hooks: VerifyHooks;
  readonly connection: Connection;
  readonly sent: SentInput;
  readonly seed: number;
  /** Opens the input once more. */
  readonly reopen: () => Promise<Inputs>;
}

/**
 * Compares an account with the records that an input sent. Throws errors that occur before the
 * first request; later errors are part of the result.
 */
export async function verify(
  request: VerifyRequest,
  context: JobContext,
  hooks: VerifyHooks = {},
): Promise<VerifyResult> {
  const mapping = request.subscriptions ? undefined : await uploadMapping(mapped(request), context);
  const subscriptions = mapping ? undefined : await subscriptionsOf(request, context);
  const cleaned = { ...(mapping ?? subscriptions)?.cleaning, ...request };
  const columns = mapping ? keyColumns(mapping) : valueColumns(subscriptions!);
  const reopen = async () => openInputs(readingOf(cleaned, columns), context.runtime);
  const inputs = await reopen();
  let connection: Connection | undefined;
  try {
    connection = await context.connect();
    const { zone } = connection;
    const mapper = mapping ? uploadMapper({ ...mapping, zone }) : subscribeMapper(subscriptions!);
    for (const { header, source } of inputs.headers) mapper.check(header, source);
    if (namesSearchedColumns(mapper, inputs))
      await requireColumns(mapper, await reopen(), context.runtime.signal);
    const seed = request.seed ?? Math.floor(context.runtime.random() * 2 ** 32);
    const reading = {
      mapper,
      kind: mapping ? ('upload' as const) : ('subscribe' as const),
      size: sizeOf(request),
      seed,
      settle: request.settle === true,
      limit: request.limit,
      signal: context.runtime.signal,
    };
    // A pipe cannot be read again, and all records to settle are kept in memory.
    const isOnce = inputs.totalBytes === undefined || request.settle === true;
    const book = new SentEvents({ zone, most: isOnce ? undefined : mostSent });
    const sent = new SentInput(reading, book);
    const verifying = { request: cleaned, context, hooks, connection, sent, seed, reopen };
    return await perform(verifying, inputs);
  } finally {
    await inputs.close();
    await connection?.close();
  }
}

/** Returns the options of the mapping. Events to settle whose time `ts` set were sent at another time, which nobody knows. */
const mapped = ({ settle, subscriptions: _, ts, ...options }: VerifyRequest) => ({
  ...options,
  ...(ts && !settle && { ts }),
  retryUnknown: settle === true,
  again: true,
});

const subscriptionsOf = async (
  { subscriptions, settle, map, types, lowercase, mapping }: VerifyRequest,
  context: JobContext,
) =>
  subscribeMapping(
    {
      ...subscriptions,
      ...(map && { map }),
      ...(types && { types }),
      ...(lowercase && { lowercase }),
      ...(mapping !== undefined && { mapping }),
      retryUnknown: settle === true,
    },
    context,
  );

const readingOf = (request: VerifyRequest, keyColumns: readonly string[]): InputOptions => {
  const { type, status } = request.subscriptions ?? {};
  return inputOptions(request.files, request, {
    keyColumns,
    listColumn: type && status && 'value',
  });
};

const sizeOf = ({ all, settle, sample }: VerifyRequest): number =>
  all || settle ? Number.POSITIVE_INFINITY : (sample ?? verifyDefaults.sample);

async function perform(verifying: Verifying, inputs: Inputs): Promise<VerifyResult> {
  const { request, context, hooks, connection, sent } = verifying;
  const { runtime } = context;
  const started = runtime.monotonic();
  const tally = new VerdictTally();
  const settlement = request.settle ? new UnknownResolution() : undefined;
  const counts = { requests: 0, retries: 0 };
  const waits = retryStatusOf(connection, context);
  const { client, inFlight, history } = watched(connection.client, {
    recordsHistory: hooks.history === true,
    records: () => tally.checked,
    runtime,
  });
  const progress = () => ({
    ...progressOf(verifying, { tally, inputs, waits }),
    inFlight: inFlight(),
  });
  hooks.started?.(progress, inputs.first);
  const { within = 0, concurrency = limits.othersInFlight, pendingTimeout } = request;
  const readAgain = async () => {
    const again = await verifying.reopen();
    try {
      await sent.readEvents(again);
    } finally {
      await again.close();
    }
  };
  const { policy } = connection;
  const asking = { client, policy, runtime, waits, counts, limiter: new AimdLimiter(concurrency) };
  const how = { within, pendingTimeout, concurrency };
  const checking = { sent, context, connection, readAgain, ...asking, ...how };
  const remember = async (events: LookedUpEvents) =>
    rememberLookUp(events, { context, connection, files: inputs.names });
  const work = async () => {
    await sent.readAll(inputs);
    const sink = await request.into();
    await writeVerdicts(checking, { tally, settlement, sink, remember });
  };
  const failure = await catchFailure(work(), runtime.signal);
  for (const line of tally.notes(sent)) context.messages.warn(line);
  if (settlement && sent.read === 0) context.messages.warn(`${inputs.first}: ${nothingOpen}`);
  if (sent.notSent > 0) context.messages.warn(notSentWarning(sent.notSent, inputs.first));
  const error = failure ?? verdictError(tally, settlement, request.output);
  const result = {
    run: newRunId(runtime),
    accountId: connection.accountId,
    read: sent.read,
    rejected: sent.rejected,
    ...tally.counts,
    ...(settlement && { settled: settlement.counts }),
    seed: verifying.seed,
    ...proofOfSample(tally, sent, failure === undefined),
    ...counts,
    output: request.output ?? null,
    ...runEnd(error, started, runtime),
    unfinished: false,
  };
  await hooks.ended?.({ result, history: history(), wasResumed: false });
  return result;
}

/** Reports the records read until the first answer, then the items checked. */
function progressOf(
  { sent }: Verifying,
  { tally, inputs, waits }: { tally: VerdictTally; inputs: Inputs; waits: RetryStatus },
): Omit<JobProgress, 'inFlight'> {
  return {
    read: sent.read,
    records: tally.checked,
    rejected: tally.differing,
    bytes: inputs.bytesRead(),
    totalBytes: undefined,

    waiting: waits.text,
  };
}

interface Writing {
  readonly tally: VerdictTally;
  readonly settlement: UnknownResolution | undefined;
  readonly sink: LineSink;
  /** Notes in the event memory what was found. Returns the positions of absent events that an upload would skip. */
  readonly remember: (events: LookedUpEvents) => Promise<ReadonlySet<number>>;
}

/**
 * Counts verdicts, and writes differences or unresolved records. The latter follow when the event memory counts those
 * that were found as sent, and the others not any more: an upload of these lines would skip them.
 */
async function writeVerdicts(
  checking: CheckContext,
  { tally, settlement, sink, remember }: Writing,
): Promise<void> {
  const { redact } = checking.client; // the service may echo the passcode
  const lineOf = (difference: Difference) => Buffer.from(redact(formatDifference(difference)));
  const writeAll = async (lines: Iterable<Buffer>) => {
    for (const line of lines) await sink.write(line);
  };
  try {
    settlement?.begin(checking.sent.records());
    try {
      for await (const verdict of checkAll(checking)) {
        tally.add(verdict);
        if (settlement) settlement.settle(verdict);
        else await writeAll(verdict.differences.map(lineOf));
      }
    } finally {
      if (settlement) await writeAll(settlement.lines(await remember(settlement)));
    }
    await sink.finish();
  } finally {
    await sink.abort();
  }
}

function verdictError(
  tally: VerdictTally,
  settlement: UnknownResolution | undefined,
  output: string | undefined,
): EngagectlError | undefined {
  if (settlement) return openError(settlement, output);
  if (tally.differing === 0) return undefined;
  const { different, missing, checked } = tally.counts;
  const endedEarly = missing > 0 ? ' or ended before it sent all (engagectl runs list)' : '';
  return new EngagectlError(
    'E-DIFFERENT',
    `${tally.differing} of ${checked} differ from what was sent: ${different} different, ${missing} missing`,
    {
      why:
        tally.extra > 0
          ? `the account has ${countOf(tally.extra, 'event')} more often than the input: another run or program sent them, too`
          : `the upload rejected them${endedEarly}, they changed since, or reads still lag behind writes`,
      fix: 'see the differences for the line, key and found value of each',
    },
  );
}

function openError(
  { counts }: UnknownResolution,
  output = 'the lines written',
): EngagectlError | undefined {
  const { absent, unknown } = counts;
  if (unknown > 0) {
    return new EngagectlError('E-UNKNOWN', `${countOf(unknown, 'record')} could not be resolved`, {
      why: 'the service does not show enough to decide whether they were accepted',
      fix: `see ${output} for the cause of each`,
    });
  }
  if (absent === 0) return undefined;
  return new EngagectlError('E-DIFFERENT', `${countOf(absent, 'record')} not found`, {
    why: 'their request was not processed',
    fix: `resend them: run the original command with ${output}`,
  });
}

/** Confidence of statements about items outside the sample. */
const sure = 0.95;

/**
 * Returns the upper bound of the share that differs, given a sample: the exact one-sided
 * Clopper-Pearson bound. With 0 of n it is 1 - 0.05^(1/n), approximately 3/n (rule of three). For a
 * finite population it is slightly too high.
 */
export function upperBound({ differing, checked }: Counts): number {
  if (differing >= checked) return 1;
  if (differing === 0) return 1 - (1 - sure) ** (1 / checked);
  return solve((p) => atMost(differing, checked, p) > 1 - sure);
}

interface Counts {
  readonly differing: number;
  readonly checked: number;
}

/** Finds the largest number in 0 to 1 for which `holds`, by bisection. */
function solve(holds: (p: number) => boolean): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Returns the binomial probability of at most k of n. */
function atMost(k: number, n: number, p: number): number {
  if (p <= 0) return 1;
  if (p >= 1) return k >= n ? 1 : 0;
  let [sum, logTerm] = [0, n * Math.log1p(-p)];
  const odds = Math.log(p) - Math.log1p(-p);
  for (let i = 0; i <= k; i += 1) {
    sum += Math.exp(logTerm);
    logTerm += Math.log((n - i) / (i + 1)) + odds;
  }
  return Math.min(sum, 1);
}

/** Formats a share as a percentage of two digits, rounded up so that the bound stays valid. */
export function roundUpPercent(share: number): string {
  const value = 100 * share;
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  // A rounding error of binary arithmetic must not add a step.
  const steps = Math.ceil(value / step - 1e-9);
  return `${Number((steps * step).toPrecision(3))} %`;
}

const singular = { users: 'user', addresses: 'address', events: 'event' } as const;

interface Found extends Counts {
  readonly what: keyof typeof singular;
  /** All items were compared. */
  readonly isWhole: boolean;
}

/** Returns what the comparison proves, in one sentence. */
export function proofText({ what, checked, differing, isWhole }: Found): string {
  const compared = checked === 1 ? `${singular[what]} differs` : `${what} differ`;
  const seen = `${groupDigits(differing)} of ${groupDigits(checked)} ${compared}`;
  if (isWhole) return `${seen}: all were compared`;
  const most = upperBound({ differing, checked });
  if (most === 1) return `${seen}: this proves nothing about the others`;
  return `${seen}: with 95 % confidence, fewer than ${roundUpPercent(most)} of all differ`;
}

/**
 * Returns the proof for each kind of item, and the upper bound of differing users or addresses if
 * they were sampled. If the check was stopped, the part that was checked is itself a sample.
 */
function proofOfSample(tally: VerdictTally, sent: SentInput, isDone: boolean) {
  const samples = [
    { what: 'users', isWhole: sent.users.isWhole },
    { what: 'addresses', isWhole: sent.addresses.isWhole },
    { what: 'events', isWhole: true },
  ] as const;
  const seen = samples.filter(({ what }) => tally.of(what).checked > 0);
  const proofs = seen.map(({ what, isWhole }) =>
    proofText({ what, ...tally.of(what), isWhole: isWhole && isDone }),
  );
  const sampled = seen.find(({ what, isWhole }) => what !== 'events' && !(isWhole && isDone));
  return {
    proof: proofs.length > 0 ? proofs.join('; ') : 'nothing was compared, so nothing is proved',
    mostDiffer: sampled ? upperBound(tally.of(sampled.what)) : null,
  };
}
