import { requestError, type Attempt, type Failure } from '../../client/failure.js';
import { backoffDelay, retryDecision, isThrottled } from '../../client/retry.js';
import { batchLocation, type Batch } from './batch.js';
import { eventState, type EventState } from '../event-memory/event-log.js';
import { matchResponse, type Mismatch, type RejectedPositions } from './response-check.js';
import { ordinalOfRow } from '../outcomes/ordinal-set.js';
import type { WriteResponse } from '../../contract/response-schemas.js';
import type { RunStop } from './stop-conditions.js';
import type { Tally } from '../outcomes/tally.js';
import type { RequestTotals, WriteJob } from './write-job.js';
import type { ConcurrencyLimiter } from '../adaptive-concurrency.js';
import type { OutcomeLog } from '../outcomes/outcome-log.js';

/** Positions of records that the service did not process and asks to resend. */
type Retryable = readonly number[];

const noRejections: RejectedPositions = new Map();

/** Sends a batch, with retries and splits, until each record has an outcome in the tally. */
export class BatchSender {
  readonly traffic: RequestTotals = { requests: 0, retries: 0, bytesSent: 0 };
  readonly #slots: CommitBackpressure;
  readonly #job: WriteJob;
  readonly #stop: RunStop;

  constructor(job: WriteJob, stop: RunStop) {
    this.#job = job;
    this.#stop = stop;
    const { tally, limiter } = job;
    this.#slots = new CommitBackpressure({ log: () => tally.log, limiter, stop });
  }

  async complete(batch: Batch): Promise<BatchState> {
    const state = newBatchState(this.#job.runtime.monotonic());
    await this.#send(batch, state);
    return state;
  }

  async #send(batch: Batch, state: BatchState): Promise<void> {
    for (;;) {
      const attempt = await this.#attempt(batch, state);
      if (state.taken.length > 0) return this.#sendOthers(batch, state);
      if (attempt === undefined) return this.#notSent(batch, 'the run stopped');
      if (attempt.ok) return this.#completeRest(batch, attempt.answer, state);
      const mustResend = await this.#afterFailure(batch, attempt.failure, state);
      if (!mustResend) return;
      this.traffic.retries += 1;
    }
  }

  /** Ends the events that another process has sent meanwhile, and sends the rest. */
  async #sendOthers(batch: Batch, state: BatchState): Promise<void> {
    const taken = new Set(state.taken);
    state.taken = [];
    for (const position of taken) this.#job.tally.alreadySent(...batch.source(position));
    const rest = batch.positions().filter((position) => !taken.has(position));
    if (rest.length > 0) await this.#send(batch.pick(rest), state);
  }

  /** Sends one request and records its outcomes; undefined if the run stopped before it. */
  async #attempt(
    batch: Batch,
    state: BatchState,
  ): Promise<Attempt<Retryable | Mismatch> | undefined> {
    state.synced = undefined;
    const { limiter, send } = this.#job;
    const body = batch.body();
    const ticket = await limiter.acquire();
    try {
      const isFirst = !state.intended;
      if (!this.#stop.error) {
        state.intended = true;
        await this.#stop.guard(async () => {
          if (isFirst) state.taken = await writeIntents(batch, this.#job, this.#stop);
          await this.#job.changes?.intend(batch);
        });
      }
      if (this.#stop.error || state.taken.length > 0) return undefined;
      this.traffic.requests += 1;
      const request = { once: !batch.isIdempotent, of: batchLocation(batch) };
      const attempt = await send?.(body, this.#stop.abortSignal, request);
      if (attempt === undefined) return undefined;
      if (attempt.ok || attempt.failure.sent) this.traffic.bytesSent += body.length;
      await this.#stop.guard(async () => this.#job.changes?.answered(batch));
      if (attempt.ok) this.#job.waits.answered();
      if (attempt.ok)
        return { ok: true, answer: this.#recordOutcomes(batch, attempt.answer, state) };
      if (isThrottled(attempt.failure)) limiter.throttled(ticket);
      return attempt;
    } catch (error) {
      if (!this.#stop.abortSignal.aborted) throw error;
      this.traffic.bytesSent += body.length;
      return { ok: false, failure: { kind: 'connection', sent: true, message: 'interrupted' } };
    } finally {
      if (!state.synced) limiter.release(); // otherwise CommitBackpressure releases it
    }
  }

  /** Returns true if the batch must be resent; otherwise its records have their outcomes. */
  async #afterFailure(batch: Batch, failure: Failure, state: BatchState): Promise<boolean> {
    const { policy, runtime, waits, endpoint } = this.#job;
    if (!isThrottled(failure)) state.attempts += 1;
    const decision = retryDecision({
      failure,
      attempt: Math.max(state.attempts, 1),
      elapsedMs: runtime.monotonic() - state.since,
      work: batch.isIdempotent ? 'idempotent' : 'notIdempotent',
      policy,
      random: runtime.random,
    });
    switch (decision.action) {
      case 'wait':
        waits.began({ what: endpoint, failure, attempts: state.attempts, ms: decision.ms });
        if (await this.#stop.sleep(decision.ms)) return true;
        await this.#notSent(batch, 'the run stopped before the next attempt');
        return false;
      case 'split':
        await this.#refused(batch, failure, state);
        return false;
      case 'unknown':
        await this.#unknown(batch, failure.message, state);
        return false;
      case 'stop':
      case 'giveUp':
        this.#stop.stopAt(requestError(failure, { what: endpoint, attempts: state.attempts }));
        await this.#notSent(batch, failure.message);
        return false;
      default:
        return decision satisfies never;
    }
  }

  /** Records the outcomes in a response and releases the request's slot. A mismatch records nothing. */
  #recordOutcomes(
    batch: Batch,
    answer: WriteResponse | undefined,
    state: BatchState,
  ): Retryable | Mismatch {
    this.#job.limiter.succeeded();
    const rejections = answer === undefined ? noRejections : matchResponse(answer, batch);
    if ('why' in rejections) return rejections;
    const retryable = rejections.size > 0 ? this.#recordEach(batch, rejections, state) : [];
    if (rejections.size === 0) {
      this.#accept(batch);
      if (state.attempts === 0) batch.releaseBody(); // after a failure, an old socket may still read it
    }
    state.synced = this.#slots.release({ mayReleaseEarly: batch.isIdempotent && !batch.isLarge });
    return retryable;
  }

  #recordEach(batch: Batch, rejections: RejectedPositions, state: BatchState): Retryable {
    const retryable: number[] = [];
    const accepted: number[] = [];
    for (const position of batch.positions()) {
      const rejection = rejections.get(position);
      if (!rejection) accepted.push(position);
      else if (rejection.isRetryable && this.#hasAttemptsLeft(state)) retryable.push(position);
      else {
        const { code, error } = rejection;
        this.#reject(batch, [position], { stage: 'service', code, error });
      }
    }
    if (accepted.length > 0) this.#accept(batch, accepted);
    return retryable;
  }

  async #completeRest(batch: Batch, rest: Retryable | Mismatch, state: BatchState): Promise<void> {
    if ('why' in rest) return this.#handleMismatch(batch, rest.why, state);
    if (rest.length > 0) await this.#resend(batch.pick(rest), state);
  }

  #hasAttemptsLeft({ attempts }: BatchState): boolean {
    return attempts + 1 < this.#job.policy.maxAttempts;
  }

  /** Resends records with code 555, which the service did not process. */
  async #resend(batch: Batch, state: BatchState): Promise<void> {
    state.attempts += 1;
    this.traffic.retries += 1;
    const { policy, runtime } = this.#job;
    const ms = backoffDelay({ attempt: state.attempts, policy, random: runtime.random });
    if (await this.#stop.sleep(ms)) return this.#send(batch, state);
    return this.#notSent(batch, 'the run stopped before the next attempt');
  }

  /** Handles wrong counts in a response: bisects idempotent records; others become unknown. */
  async #handleMismatch(batch: Batch, why: string, state: BatchState): Promise<void> {
    const { log, endpoint, redact } = this.#job;
    log(`${endpoint}: the answer does not add up: ${redact(why)}`);
    const error = `the service's answer does not add up: ${why}`;
    if (!batch.isIdempotent) return this.#unknown(batch, error, state);
    if (batch.size > 1) return this.#sendHalves(batch, state);
    await this.#markUnknown(batch, batch.positions(), { error, state });
  }

  /** Bisects a batch that the service refused as a whole, to find the offending records. */
  async #refused(batch: Batch, failure: Failure, state: BatchState): Promise<void> {
    if (batch.size > 1) return this.#sendHalves(batch, state);
    state.refused += 1;
    const code = failure.kind === 'refused' ? failure.status : undefined;
    this.#reject(batch, [0], { stage: 'service', code, error: failure.message });
  }

  /** Sends the halves in order. A refusal of a half counts as its second attempt. */
  async #sendHalves(batch: Batch, state: BatchState): Promise<void> {
    const positions = batch.positions();
    const middle = positions.length >> 1;
    for (const half of [positions.slice(0, middle), positions.slice(middle)]) {
      state.attempts = 1;
      await this.#send(batch.pick(half), state);
    }
  }

  /** Handles an ambiguous failure: resends idempotent records; the others become unknown. */
  async #unknown(batch: Batch, error: string, state: BatchState): Promise<void> {
    await this.#markUnknown(batch, nonIdempotentPositions(batch), { error, state });
    const rest = batch.positions().filter((position) => batch.isIdempotentAt(position));
    if (rest.length > 0) await this.#send(batch.pick(rest), state);
  }

  /** The event memory follows the rejects file: events that it does not list are reported by the next run. */
  async #markUnknown(
    batch: Batch,
    positions: readonly number[],
    { error, state }: { readonly error: string; readonly state: BatchState },
  ): Promise<void> {
    state.unknown += positions.length;
    this.#reject(batch, positions, { stage: 'unknown', error });
    await this.#stop.guard(async () => {
      await this.#job.tally.log.commit();
      this.#settle(batch, eventState.unknown, positions);
    });
  }

  /** Ends records as not sent: they were provably not processed, or are idempotent. */
  async #notSent(batch: Batch, why: string): Promise<void> {
    this.#reject(batch, batch.positions(), { stage: 'notSent', error: `not sent: ${why}` });
    const ordinals = nonIdempotentOrdinals(batch);
    if (ordinals.length > 0)
      await this.#stop.guard(async () => this.#job.tally.log.retractIntent(ordinals));
  }

  /** Ends records as accepted; without positions all of them. */
  #accept(batch: Batch, positions?: readonly number[]): void {
    const { tally } = this.#job;
    const isTracked = this.#trackChanges(batch, positions);
    this.#settle(batch, eventState.sent, positions);
    if (!isTracked) return this.#acceptUntracked(batch, positions ?? batch.positions());
    if (positions) for (const position of positions) tally.accept(...batch.source(position));
    else for (const { rows, row, count } of batch.runs()) tally.accept(rows, row, count);
  }

  /** Ends accepted records that the baseline lacks. Those that are idempotent are sent again when the run is resumed. */
  #acceptUntracked(batch: Batch, positions: readonly number[]): void {
    const { tally } = this.#job;
    for (const position of positions) {
      const [rows, row] = batch.source(position);
      if (batch.isIdempotentAt(position))
        tally.notSent(rows, row, 'accepted, but the baseline could not be saved: send it again');
      else tally.accept(rows, row);
    }
  }

  /**
   * Adds accepted records to the baseline; returns false if that failed and stopped the run. The journal follows: a run
   * that is resumed does not send what its journal has, so the baseline could never contain it.
   */
  #trackChanges(batch: Batch, positions?: readonly number[]): boolean {
    return this.#stop.attempt(() => {
      this.#job.changes?.accepted(batch, positions);
      return true;
    });
  }

  /**
   * Records the outcome of events in the event memory. The journal follows: after a kill in between, the
   * outcome is unknown to the run, but `--retry-unknown` of the whole input does not send the event again.
   */
  #settle(batch: Batch, outcome: EventState, positions?: readonly number[]): void {
    if (!batch.isRemembered) return;
    const { events, tally } = this.#job;
    this.#stop.attempt(() => {
      tally.log.withReserve(() => events?.settle(batch, outcome, positions));
      return true;
    });
  }

  /** Ends records as not accepted, with the error redacted for display. */
  #reject(batch: Batch, positions: readonly number[], why: Parameters<Tally['reject']>[2]) {
    const { tally, redact } = this.#job;
    const { stage, code } = why;
    const error = redact(why.error);
    const isPlain = code !== undefined && redact(String(code)) === String(code);
    const reject = isPlain ? { stage, code, error } : { stage, error };
    if (stage !== 'unknown') this.#settle(batch, eventState.retracted, positions);
    for (const position of positions) tally.reject(...batch.source(position), reject);
  }
}

/** State of a batch over all its attempts and halves. */
export type BatchState = ReturnType<typeof newBatchState>;

/** State of a new batch; `since` is in monotonic milliseconds. */
const newBatchState = (since: number) => ({
  since,
  /** Failed attempts; 429 does not count. */
  attempts: 0,
  unknown: 0,
  refused: 0,
  /** Whether the intent to send its records was committed. */
  intended: false,
  /** Positions of events that another process has sent meanwhile. */
  taken: [] as readonly number[],
  /** Resolves when all outcomes are on disk; undefined before the first commit. */
  synced: undefined as Promise<void> | undefined,
});

/**
 * Commits the intent to send the non-idempotent records of a batch. Call it after acquiring a slot
 * and before the request, so that a crash leaves only records in flight unknown. If it throws, the
 * run stops and the batch ends as not sent, as it does if the run stopped meanwhile. Returns the positions of events that
 * another process sends.
 */
async function writeIntents(
  batch: Batch,
  { begin, tally, events }: Pick<WriteJob, 'begin' | 'tally' | 'events'>,
  stop: Pick<RunStop, 'error'>,
): Promise<readonly number[]> {
  const ordinals = nonIdempotentOrdinals(batch);
  if (ordinals.length === 0) return [];
  const memory = batch.holdsEvents ? events : undefined;
  const kind = batch.holdsEvents ? 'event' : 'other';
  await begin?.(kind);
  if (stop.error) return [];
  const intended = tally.log.intend(ordinals, kind);
  // On a full disk, the journal fails at once. The memory could not take back what it would remember then.
  await Promise.race([intended, Promise.resolve()]);
  const [taken = []] = await Promise.all([memory?.intend(batch), intended]);
  return taken;
}

const nonIdempotentPositions = (batch: Batch): number[] =>
  batch.positions().filter((position) => !batch.isIdempotentAt(position));

/** Returns the ordinals of the non-idempotent records. */
const nonIdempotentOrdinals = (batch: Batch): number[] =>
  batch.isIdempotent
    ? []
    : nonIdempotentPositions(batch).map((position) => ordinalOfRow(...batch.source(position)));

interface BackpressureOptions {
  /** Returns the log that commits the outcomes. */
  readonly log: () => Pick<OutcomeLog, 'write' | 'commit'>;
  readonly limiter: Pick<ConcurrencyLimiter, 'most' | 'release'>;
  readonly stop: Pick<RunStop, 'attempt' | 'guard'>;
}

/**
 * Releases the slots of answered requests.
 *
 * Written outcomes survive `kill -9`; synced outcomes also survive a power cut. A request keeps its
 * slot until its outcomes are written, so that after `kill -9` only requests in flight are resent.
 * Idempotent records do not wait for the disk. Only their keys stay held until the sync, so that no
 * record overtakes an earlier one of its key after a power cut, which can resend up to twice the
 * concurrency limit besides the requests in flight. Non-idempotent records keep their slot until the
 * sync, because a lost outcome stays unknown forever. Large requests do as well, because their text
 * stays in memory until then.
 */
export class CommitBackpressure {
  readonly #options: BackpressureOptions;
  /** Requests with a released slot whose outcomes are written but not synced. */
  #unsynced = 0;

  constructor(options: BackpressureOptions) {
    this.#options = options;
  }

  /**
   * Releases the slot of a request whose outcomes were recorded. Resolves when they are on disk. If
   * they cannot be written, the run stops before the slot is free.
   */
  async release({ mayReleaseEarly }: { readonly mayReleaseEarly: boolean }): Promise<void> {
    const { log, limiter, stop } = this.#options;
    const isWritten = stop.attempt(() => log().write());
    const isEarly = isWritten && mayReleaseEarly && this.#unsynced < 2 * limiter.most;
    if (isEarly) {
      this.#unsynced += 1;
      limiter.release();
    }
    await stop.guard(async () => log().commit());
    if (isEarly) this.#unsynced -= 1;
    else limiter.release();
  }
}
