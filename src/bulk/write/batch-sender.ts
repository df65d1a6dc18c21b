import { requestError, type Attempt, type Failure } from '../../client/failure.js';
import { backoffDelay, retryDecision, isThrottled } from '../../client/retry.js';
import { batchLocation, type Batch } from './batch.js';
import { matchResponse, type Mismatch, type RejectedPositions } from './response-check.js';
import { ordinalOfRow } from '../outcomes/ordinal-set.js';
import type { WriteResponse } from '../../contract/response-schemas.js';
import type { RunStop } from './stop-conditions.js';
import type { Tally } from '../outcomes/tally.js';
import type { RequestTotals, WriteJob } from './write-job.js';
import type { ConcurrencyLimiter } from '../adaptive-concurrency.js';
import type { OutcomeLog } from '../outcomes/outcome-log.js';

/** Positions of records that the service did not process, and asks for again. */
type Again = readonly number[];

const noRefusals: RejectedPositions = new Map();

/** Sends a batch until each of its records has one outcome in the tally, if not on the disk yet. */
export class BatchSender {
  readonly traffic: RequestTotals = { requests: 0, retries: 0, bytesSent: 0 };
  readonly #slots: CommitBackpressure;
  readonly #job: WriteJob;
  readonly #halt: RunStop;

  constructor(job: WriteJob, halt: RunStop) {
    this.#job = job;
    this.#halt = halt;
    const { tally, budget } = job;
    this.#slots = new CommitBackpressure({ log: () => tally.log, budget, halt });
  }

  async settle(batch: Batch): Promise<BatchState> {
    const fate = newBatchState(this.#job.runtime.monotonic());
    await this.#send(batch, fate);
    return fate;
  }

  async #send(batch: Batch, fate: BatchState): Promise<void> {
    for (;;) {
      const attempt = await this.#attempt(batch, fate);
      if (attempt === undefined) return this.#notSent(batch, 'the run stopped');
      if (attempt.ok) return this.#settleRest(batch, attempt.answer, fate);
      const again = await this.#afterFailure(batch, attempt.failure, fate);
      if (!again) return;
      this.traffic.retries += 1;
    }
  }

  /** One request and what its answer settles; undefined when the run stopped before it. */
  async #attempt(batch: Batch, fate: BatchState): Promise<Attempt<Again | Mismatch> | undefined> {
    fate.synced = undefined;
    const { budget, send } = this.#job;
    const body = batch.body();
    const ticket = await budget.acquire();
    try {
      if (!this.#halt.error && !fate.intended) {
        fate.intended = true;
        await this.#halt.guard(async () => {
          await writeIntents(batch, this.#job);
          await this.#job.memory?.intend(batch);
        });
      }
      if (this.#halt.error) return undefined;
      this.traffic.requests += 1;
      const asked = { once: !batch.isIdempotent, of: batchLocation(batch) };
      const attempt = await send?.(body, this.#halt.abortSignal, asked);
      if (attempt === undefined) return undefined;
      if (attempt.ok || attempt.failure.sent) this.traffic.bytesSent += body.length;
      if (attempt.ok) this.#job.waits.answered();
      if (attempt.ok) return { ok: true, answer: this.#book(batch, attempt.answer, fate) };
      if (isThrottled(attempt.failure)) budget.throttled(ticket);
      return attempt;
    } catch (error) {
      if (!this.#halt.abortSignal.aborted) throw error;
      this.traffic.bytesSent += body.length;
      return { ok: false, failure: { kind: 'connection', sent: true, message: 'interrupted' } };
    } finally {
      if (!fate.synced) budget.release(); // else it goes with the outcomes
    }
  }

  /** True when the batch is to be sent again; else its records have their outcomes. */
  async #afterFailure(batch: Batch, failure: Failure, fate: BatchState): Promise<boolean> {
    const { policy, runtime, waits, endpoint } = this.#job;
    if (!isThrottled(failure)) fate.attempts += 1;
    const decision = retryDecision({
      failure,
      attempt: Math.max(fate.attempts, 1),
      elapsedMs: runtime.monotonic() - fate.since,
      work: batch.isIdempotent ? 'idempotent' : 'notIdempotent',
      policy,
      random: runtime.random,
    });
    switch (decision.action) {
      case 'wait':
        waits.began({ what: endpoint, failure, attempts: fate.attempts, ms: decision.ms });
        if (await this.#halt.sleep(decision.ms)) return true;
        await this.#notSent(batch, 'the run stopped before the next attempt');
        return false;
      case 'split':
        await this.#refused(batch, failure, fate);
        return false;
      case 'unknown':
        await this.#unknown(batch, failure.message, fate);
        return false;
      case 'stop':
      case 'giveUp':
        this.#halt.stopAt(requestError(failure, { what: endpoint, attempts: fate.attempts }));
        await this.#notSent(batch, failure.message);
        return false;
      default:
        return decision satisfies never;
    }
  }

  /** Counts what an answer settles, and gives the request's slot back; in doubt it settles nothing. */
  #book(batch: Batch, answer: WriteResponse | undefined, fate: BatchState): Again | Mismatch {
    this.#job.budget.succeeded();
    const refusals = answer === undefined ? noRefusals : matchResponse(answer, batch);
    if ('why' in refusals) return refusals;
    const again = refusals.size > 0 ? this.#bookEach(batch, refusals, fate) : [];
    if (refusals.size === 0) this.#accept(batch, fate);
    fate.synced = this.#slots.leave({ mayLag: batch.isIdempotent && !batch.isLarge });
    return again;
  }

  #bookEach(batch: Batch, refusals: RejectedPositions, fate: BatchState): Again {
    const again: number[] = [];
    const accepted: number[] = [];
    for (const position of batch.positions()) {
      const refusal = refusals.get(position);
      if (!refusal) {
        this.#job.tally.accept(...batch.source(position));
        accepted.push(position);
      } else if (refusal.again && this.#mayRepeat(fate)) again.push(position);
      else {
        const { code, error } = refusal;
        this.#turnDown(batch, [position], { stage: 'service', code, error });
      }
    }
    if (accepted.length > 0) this.#remember(batch, fate, accepted);
    return again;
  }

  async #settleRest(batch: Batch, rest: Again | Mismatch, fate: BatchState): Promise<void> {
    if ('why' in rest) return this.#doesNotAddUp(batch, rest.why, fate);
    if (rest.length > 0) await this.#sendAgain(batch.pick(rest), fate);
  }

  #mayRepeat({ attempts }: BatchState): boolean {
    return attempts + 1 < this.#job.policy.maxAttempts;
  }

  /** Records with code 555: the service did not process them, and asks for another try. */
  async #sendAgain(again: Batch, fate: BatchState): Promise<void> {
    fate.attempts += 1;
    this.traffic.retries += 1;
    const { policy, runtime } = this.#job;
    const ms = backoffDelay({ attempt: fate.attempts, policy, random: runtime.random });
    if (await this.#halt.sleep(ms)) return this.#send(again, fate);
    return this.#notSent(again, 'the run stopped before the next attempt');
  }

  /** The answer's counts are wrong: find the record it lies about, or call the batch unknown. */
  async #doesNotAddUp(batch: Batch, why: string, fate: BatchState): Promise<void> {
    const { log, endpoint, shown } = this.#job;
    log(`${endpoint}: the answer does not add up: ${shown(why)}`);
    const error = `the service's answer does not add up: ${why}`;
    if (!batch.isIdempotent) return this.#unknown(batch, error, fate);
    if (batch.size > 1) return this.#sendHalves(batch, fate);
    this.#markUnknown(batch, batch.positions(), { error, fate });
  }

  /** The service refused the batch as a whole: find the guilty records. */
  async #refused(batch: Batch, failure: Failure, fate: BatchState): Promise<void> {
    if (batch.size > 1) return this.#sendHalves(batch, fate);
    fate.refused += 1;
    const code = failure.kind === 'refused' ? failure.status : undefined;
    this.#turnDown(batch, [0], { stage: 'service', code, error: failure.message });
  }

  /** One half after the other; a half that is refused has had its second try already. */
  async #sendHalves(batch: Batch, fate: BatchState): Promise<void> {
    const positions = batch.positions();
    const middle = positions.length >> 1;
    for (const half of [positions.slice(0, middle), positions.slice(middle)]) {
      fate.attempts = 1;
      await this.#send(batch.pick(half), fate);
    }
  }

  /** Records that may have been processed: the convergent ones are sent again, the others not. */
  async #unknown(batch: Batch, error: string, fate: BatchState): Promise<void> {
    this.#markUnknown(batch, oncePositions(batch), { error, fate });
    const rest = batch.positions().filter((position) => batch.isIdempotentAt(position));
    if (rest.length > 0) await this.#send(batch.pick(rest), fate);
  }

  #markUnknown(
    batch: Batch,
    positions: readonly number[],
    { error, fate }: { readonly error: string; readonly fate: BatchState },
  ): void {
    fate.unknown += positions.length;
    this.#turnDown(batch, positions, { stage: 'unknown', error });
  }

  /** Records that provably were not processed, or that may safely be sent again. */
  async #notSent(batch: Batch, why: string): Promise<void> {
    this.#turnDown(batch, batch.positions(), { stage: 'notSent', error: `not sent: ${why}` });
    const once = nonIdempotentOrdinals(batch);
    if (once.length > 0)
      await this.#halt.guard(async () => this.#job.tally.log.retractIntent(once));
  }

  #accept(batch: Batch, fate: BatchState): void {
    const { attempts } = fate;
    this.#remember(batch, fate);
    for (const { rows, row, count } of batch.runs()) this.#job.tally.accept(rows, row, count);
    if (attempts === 0) batch.giveBody(); // else it may still be on its way out of an old socket
  }

  #remember(batch: Batch, { remembers }: BatchState, positions?: readonly number[]): void {
    const { memory } = this.#job;
    if (memory) remembers.push(memory.accepted(batch, positions));
  }

  /** The words of the service have been judged: from here on they are for people. */
  #turnDown(batch: Batch, positions: readonly number[], why: Parameters<Tally['reject']>[2]) {
    const { tally, shown } = this.#job;
    const { stage, code } = why;
    const error = shown(why.error);
    const isPlain = code !== undefined && shown(String(code)) === String(code);
    const told = isPlain ? { stage, code, error } : { stage, error };
    for (const position of positions) tally.reject(...batch.source(position), told);
  }
}

/** What became of one batch so far, over all its attempts and halves. */
export type BatchState = ReturnType<typeof newBatchState>;

/** Of a batch that nothing was done with; `since` are monotonic milliseconds. */
const newBatchState = (since: number) => ({
  since,
  /** Failed attempts; 429 does not count. */
  attempts: 0,
  unknown: 0,
  refused: 0,
  /** Its records that must not be sent twice are written down as about to be sent. */
  intended: false,
  /** Resolves when all outcomes are on the disk; undefined: nobody has asked for that yet. */
  synced: undefined as Promise<void> | undefined,
  /** Called once all outcomes are on the disk. */
  remembers: [] as (() => void)[],
});

/**
 * Writes down which records of a batch must not be sent twice: before the first byte of them goes
 * out, and not before there is a slot for it, so that a crash leaves no others unknown than those in
 * flight. What it throws stops the run; then the batch ends as not sent.
 */
export async function writeIntents(
  batch: Batch,
  { onceRefused, tally }: Pick<WriteJob, 'onceRefused' | 'tally'>,
): Promise<void> {
  const once = nonIdempotentOrdinals(batch);
  if (once.length === 0) return;
  if (onceRefused) throw onceRefused;
  await tally.log.intend(once, batch.holdsEvents ? 'event' : 'other');
}

const oncePositions = (batch: Batch): number[] =>
  batch.positions().filter((position) => !batch.isIdempotentAt(position));

/** Ordinals of the records that must not be sent twice. */
const nonIdempotentOrdinals = (batch: Batch): number[] =>
  batch.isIdempotent
    ? []
    : oncePositions(batch).map((position) => ordinalOfRow(...batch.source(position)));

interface Parts {
  /** Where the outcomes are committed. */
  readonly log: () => Pick<OutcomeLog, 'write' | 'commit'>;
  readonly budget: Pick<ConcurrencyLimiter, 'most' | 'release'>;
  readonly halt: Pick<RunStop, 'attempt' | 'guard'>;
}

/**
 * Gives the slots of answered requests back.
 *
 * What is written outlives the process, what is synced a power cut as well. A request keeps its
 * slot until its outcomes are written: after `kill -9` no others are sent again than were in
 * flight. The disk is not waited for where records converge; only their keys stay taken until they
 * are synced, so that no record overtakes an earlier one of the same key after a power cut. That
 * sends up to twice as many requests again as may be in flight, beside those that were. Other
 * records keep their slot until they are synced: what is lost of them is unknown for good. Large
 * requests do, too: their text is kept until then.
 */
export class CommitBackpressure {
  readonly #parts: Parts;
  /** Requests that are written and not synced, and have given their slots back. */
  #unsynced = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Gives back the slot of a request whose outcomes were noted; resolves when they are on the
   * disk. What cannot be written down stops the run instead, before the slot is free.
   */
  async leave({ mayLag }: { readonly mayLag: boolean }): Promise<void> {
    const { log, budget, halt } = this.#parts;
    const isWritten = halt.attempt(() => log().write());
    const lags = isWritten && mayLag && this.#unsynced < 2 * budget.most;
    if (lags) {
      this.#unsynced += 1;
      budget.release();
    }
    await halt.guard(async () => log().commit());
    if (lags) this.#unsynced -= 1;
    else budget.release();
  }
}
