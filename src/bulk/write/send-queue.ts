import { EngagectlError } from '../../errors.js';
import { Batch } from './batch.js';
import { checkRejectLimit, type RunStop } from './stop-conditions.js';
import type { BatchState, BatchSender } from './batch-sender.js';
import type { WriteJob } from './write-job.js';

/** Whole batches in a row that end all unknown, or all refused, before the run stops. */
const unknownBatchesMaximum = 3;
const refusedBatchesMaximum = 2;

/** Batches that stand ready, so that the next body is there when an answer arrives. */
const readyBatches = 2;

/** Bytes of large bodies under way at once: the text of their records is kept beside them. */
const mostLargeBytes = 16 * 1024 * 1024;

type SenderJob = Pick<
  WriteJob,
  'budget' | 'request' | 'tally' | 'endpoint' | 'maxRejects' | 'rehearsal' | 'option'
>;
type SenderHalt = Pick<RunStop, 'error' | 'guard' | 'stopAt'>;
/** Sees each batch to its end. */
type BatchSettler = Pick<BatchSender, 'settle'>;

/** Keeps as many batches under way as may be in flight, and a few ready to go. */
export class SendQueue {
  /** Called when every record of a batch has its outcome. */
  onSettled: (batch: Batch) => void = () => undefined;
  readonly #halt: SenderHalt;
  readonly #job: SenderJob;
  readonly #settler: BatchSettler;
  #open = 0;
  /** Bytes of large bodies that are submitted and not settled. */
  #largeBytes = 0;
  /** Batches without an answer to each of their records. */
  #unanswered = 0;
  /** Who waits for the next batch to be answered or settled. */
  #waiting: (() => void)[] = [];
  /** Settled batches, to be filled again. */
  readonly #free: Batch[] = [];
  readonly #spareBodies: Buffer[] = [];
  #unknownInARow = 0;
  #refusedInARow = 0;

  constructor(job: SenderJob, { halt, settler }: { halt: SenderHalt; settler: BatchSettler }) {
    this.#job = job;
    this.#halt = halt;
    this.#settler = settler;
  }

  /** Nothing more is to be sent. */
  get isStopped(): boolean {
    return this.#halt.error !== undefined;
  }

  /** Batches submitted and not settled. */
  get open(): number {
    return this.#open;
  }

  /** An empty batch. */
  takeBatch(): Batch {
    const batch = this.#free.pop();
    batch?.clear();
    return batch ?? new Batch(this.#job.request, this.#spareBodies);
  }

  /** Takes a batch when there is room for it; false when the run stopped meanwhile. */
  async submit(batch: Batch): Promise<boolean> {
    const most = this.#job.budget.most + readyBatches;
    while (this.#unanswered >= most && !this.#halt.error) await this.nextSettled();
    while (this.#isTooMuch(batch) && !this.#halt.error) await this.nextSettled();
    if (this.#halt.error) return false;
    void this.#settle(batch);
    return true;
  }

  #isTooMuch(batch: Batch): boolean {
    return this.#largeBytes > 0 && this.#largeBytes + largeBytesOf(batch) > mostLargeBytes;
  }

  async idle(): Promise<void> {
    while (this.#open > 0) await this.nextSettled();
  }

  async #settle(batch: Batch): Promise<void> {
    const largeBytes = largeBytesOf(batch);
    this.#open += 1;
    this.#largeBytes += largeBytes;
    const fate = await this.#answers(batch);
    await this.#halt.guard(async () => {
      const { log } = this.#job.tally;
      await (fate?.synced ?? log.commit());
      if (!fate || fate.remembers.length === 0) return;
      await log.commit(); // throws where the one before did
      for (const remember of fate.remembers) remember();
    });
    this.onSettled(batch);
    // After a failed attempt the body may still be on its way out of an old socket.
    if (fate?.attempts === 0) this.#free.push(batch);
    this.#open -= 1;
    this.#largeBytes -= largeBytes;
    this.#wake();
  }

  /** Undefined when the run stopped by a defect. */
  async #answers(batch: Batch): Promise<BatchState | undefined> {
    this.#unanswered += 1;
    let fate: BatchState | undefined;
    await this.#halt.guard(async () => {
      fate = await this.#settler.settle(batch);
      this.#judge(batch, fate); // before the disk is waited for: until then others are sent
    });
    this.#unanswered -= 1;
    this.#wake();
    return fate;
  }

  /** Waits for a batch to be answered or settled. */
  async nextSettled(): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Stops a run with too many rejects, or whose every batch goes wrong in the same way. */
  #judge({ size }: Batch, { unknown, refused }: BatchState): void {
    this.#halt.stopAt(checkRejectLimit(this.#job, 'running'));
    this.#unknownInARow = unknown === size ? this.#unknownInARow + 1 : 0;
    this.#refusedInARow = size > 1 && refused === size ? this.#refusedInARow + 1 : 0;
    if (this.#unknownInARow >= unknownBatchesMaximum) {
      this.#stop('three batches in a row ended with unknown outcomes');
    }
    if (this.#refusedInARow >= refusedBatchesMaximum) {
      this.#stop('two whole batches in a row were refused, to the last record');
    }
  }

  #stop(what: string): void {
    const { endpoint, tally, option } = this.#job;
    const few = option('limit', '10');
    const fix = `see the reasons in ${tally.rejects.path}, and try a few records with ${few}`;
    const why = 'the records behind them would probably have fared no better';
    this.#halt.stopAt(new EngagectlError('E-ANSWER', `${endpoint}: ${what}`, { why, fix }));
  }
}

const largeBytesOf = (batch: Batch): number => (batch.isLarge ? batch.bytesWith(0) : 0);
