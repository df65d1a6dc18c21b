import { Condition } from '../../event-loop.js';
import { EngagectlError } from '../../errors.js';
import { Batch } from './batch.js';
import { checkRejectLimit, type RunStop } from './stop-conditions.js';
import type { BatchState, BatchSender } from './batch-sender.js';
import type { WriteJob } from './write-job.js';

/** Consecutive batches that end entirely unknown, or entirely refused, before the run stops. */
const unknownBatchesMaximum = 3;
const refusedBatchesMaximum = 2;

/** Batches prepared in advance, so that the next body is ready when a response arrives. */
const readyBatches = 2;

/** Maximum memory of large batches in flight, in bytes. */
const largeBytesMaximum = 22 * 1024 * 1024;

type QueueJob = Pick<
  WriteJob,
  | 'limiter'
  | 'request'
  | 'tally'
  | 'endpoint'
  | 'maxRejects'
  | 'rehearsal'
  | 'piped'
  | 'isResumable'
  | 'option'
>;
type QueueStop = Pick<RunStop, 'error' | 'guard' | 'stopAt'>;
/** Sends a batch until each record has its outcome. */
type Sender = Pick<BatchSender, 'complete'>;

/** Keeps the allowed number of batches in flight, and a few ready. */
export class SendQueue {
  /** Called when the outcome of every record of a batch is committed. */
  onCompleted: (batch: Batch) => void = () => undefined;
  readonly #stop: QueueStop;
  readonly #job: QueueJob;
  readonly #sender: Sender;
  #open = 0;
  /** Memory of large batches submitted and not completed, in bytes. */
  #largeBytes = 0;
  /** Batches with a record that has no outcome yet. */
  #unanswered = 0;
  /** Callers of `nextCompleted`. */
  readonly #completed = new Condition();
  /** Completed batches, for reuse. */
  readonly #free: Batch[] = [];
  readonly #spareBodies: Buffer[] = [];
  #unknownInARow = 0;
  #refusedInARow = 0;

  constructor(job: QueueJob, { stop, sender }: { stop: QueueStop; sender: Sender }) {
    this.#job = job;
    this.#stop = stop;
    this.#sender = sender;
  }

  /** Whether the run stopped and nothing more is sent. */
  get isStopped(): boolean {
    return this.#stop.error !== undefined;
  }

  /** Number of batches submitted and not completed. */
  get open(): number {
    return this.#open;
  }

  /** Returns an empty batch. */
  takeBatch(): Batch {
    const batch = this.#free.pop();
    batch?.clear();
    return batch ?? new Batch(this.#job.request, this.#spareBodies);
  }

  /** Submits a batch when there is room for it. Returns false if the run stopped. */
  async submit(batch: Batch): Promise<boolean> {
    while (this.#isFull && !this.#stop.error) await this.nextCompleted();
    while (this.#isTooMuch(batch) && !this.#stop.error) await this.nextCompleted();
    if (this.#stop.error) return false;
    void this.#complete(batch);
    return true;
  }

  get #isFull(): boolean {
    return this.#unanswered >= this.#job.limiter.limit + readyBatches;
  }

  #isTooMuch(batch: Batch): boolean {
    return this.#largeBytes > 0 && this.#largeBytes + largeBytesOf(batch) > largeBytesMaximum;
  }

  /** Resolves when all submitted batches are completed. */
  async idle(): Promise<void> {
    while (this.#open > 0) await this.nextCompleted();
  }

  async #complete(batch: Batch): Promise<void> {
    const largeBytes = largeBytesOf(batch);
    this.#open += 1;
    this.#largeBytes += largeBytes;
    const state = await this.#send(batch);
    await this.#stop.guard(async () => {
      await (state?.synced ?? this.#job.tally.log.commit());
    });
    this.onCompleted(batch);
    // After a failed attempt, an old socket may still read the body.
    if (state?.attempts === 0) this.#free.push(batch);
    this.#open -= 1;
    this.#largeBytes -= largeBytes;
    this.#completed.notifyAll();
  }

  /** Sends a batch; undefined if a defect stopped the run. */
  async #send(batch: Batch): Promise<BatchState | undefined> {
    this.#unanswered += 1;
    let state: BatchState | undefined;
    await this.#stop.guard(async () => {
      state = await this.#sender.complete(batch);
      this.#checkLimits(batch, state); // before waiting for the disk, because other batches are sent meanwhile
    });
    this.#unanswered -= 1;
    this.#completed.notifyAll();
    return state;
  }

  /** Resolves when the next batch gets its outcomes or completes. */
  async nextCompleted(): Promise<void> {
    return this.#completed.next();
  }

  /** Stops a run with too many rejects, or with several consecutive failed batches. */
  #checkLimits({ size }: Batch, { unknown, refused }: BatchState): void {
    this.#stop.stopAt(checkRejectLimit(this.#job, 'running'));
    this.#unknownInARow = unknown === size ? this.#unknownInARow + 1 : 0;
    this.#refusedInARow = size > 1 && refused === size ? this.#refusedInARow + 1 : 0;
    if (this.#unknownInARow >= unknownBatchesMaximum) {
      this.#stopWith('three consecutive batches ended with unknown outcomes');
    }
    if (this.#refusedInARow >= refusedBatchesMaximum) {
      const few = this.#job.option('limit', '10');
      const then = `, then try a few of them with ${few}`;
      this.#stopWith('every record of two consecutive batches was refused', then);
    }
  }

  #stopWith(what: string, then = ''): void {
    const fix = `read the reasons among the rejects${then}`;
    const why = 'the remaining records would probably fail in the same way';
    const message = `${this.#job.endpoint}: ${what}`;
    this.#stop.stopAt(new EngagectlError('E-ANSWER', message, { why, fix }));
  }
}

const largeBytesOf = (batch: Batch): number => (batch.isLarge ? batch.memoryBytes : 0);
