import type { RecordBlock } from '../../mapping/records.js';
import type { Batch } from '../write/batch.js';
import type { Accepted, AcceptedMemory, Plan } from '../change-tracking/change-tracker.js';
import type { RecordKey } from '../../text/record-hash.js';

/** Opens what is remembered of one kind of record; called at most once for each. */
export type OpenMemory = (holdsEvents: boolean) => AcceptedMemory;

/**
 * What an account last accepted of a stream: of users or addresses, and of events apart from them,
 * each opened when the input first holds one.
 */
export class StreamMemory {
  readonly #open: OpenMemory;
  readonly #opened = new Map<boolean, AcceptedMemory>();
  readonly #isRehearsal: boolean;

  constructor(open: OpenMemory, { isRehearsal }: { readonly isRehearsal: boolean }) {
    this.#open = open;
    this.#isRehearsal = isRehearsal;
  }

  get plan(): Plan {
    const plan: Plan = { new: 0, changed: 0, unchanged: 0, gone: 0 };
    for (const memory of this.#opened.values()) {
      for (const name of ['new', 'changed', 'unchanged', 'gone'] as const) {
        plan[name] += memory.plan[name];
      }
    }
    return plan;
  }

  /** Whether any are remembered. */
  knows(holdsEvents: boolean): boolean {
    return this.#of(holdsEvents).isKnown;
  }

  /** 1 for each record of the block that need not be sent. */
  unchanged(block: RecordBlock): Uint8Array {
    const kinds = block.kinds.subarray(0, block.count);
    const hasEvents = kinds.includes(1);
    if (!hasEvents || !kinds.includes(0)) return this.#of(hasEvents).unchanged(block);
    const isUnchanged = new Uint8Array(block.count);
    for (const kind of [0, 1]) {
      const indexes = [...kinds.keys()].filter((index) => kinds[index] === kind);
      const part = this.#of(kind === 1).unchanged(partOf(block, indexes));
      for (const [at, index] of indexes.entries()) isUnchanged[index] = part[at]!;
    }
    return isUnchanged;
  }

  /** Must resolve before the first byte of the batch goes out. */
  async intend(batch: Batch): Promise<void> {
    if (!this.#isRehearsal) await this.#of(batch.holdsEvents).intend(textsOf(batch));
  }

  /** These records were accepted, all by default: to be called once that is committed. */
  accepted(batch: Batch, positions?: readonly number[]): () => void {
    if (this.#isRehearsal) return () => undefined;
    const memory = this.#of(batch.holdsEvents);
    const accepted: Accepted = memory.entriesOf(textsOf(batch), positions);
    return () => memory.remember(accepted);
  }

  /** Keys that no record so far had; of events there are none. */
  async *gone(): AsyncGenerator<RecordKey> {
    const memory = this.#opened.get(false);
    if (memory) yield* memory.gone();
  }

  close(): void {
    for (const memory of this.#opened.values()) memory.close();
  }

  #of(holdsEvents: boolean): AcceptedMemory {
    const opened = this.#opened.get(holdsEvents) ?? this.#open(holdsEvents);
    this.#opened.set(holdsEvents, opened);
    return opened;
  }
}

const textsOf = (batch: Batch) => ({
  json: batch.body(),
  count: batch.size,
  bounds: batch.bounds(),
});

function partOf({ json, bounds, converges }: RecordBlock, indexes: readonly number[]) {
  return {
    json,
    count: indexes.length,
    bounds: Int32Array.from(
      indexes.flatMap((index) => [bounds[2 * index]!, bounds[2 * index + 1]!]),
    ),
    converges: Uint8Array.from(indexes, (index) => converges[index]!),
  };
}
