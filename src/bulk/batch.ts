import type { RecordBlock } from '../mapping/records.js';
import type { Item } from './window.js';

const comma = 0x2c;

/** What surrounds the records of a request body, e.g. `{"d":[` and `]}`. */
export interface Frame {
  readonly open: Buffer;
  readonly close: Buffer;
}

/** Records that travel in one request. Grows while it is filled, then stays as it is. */
export class Batch {
  readonly blocks: RecordBlock[] = [];
  readonly indexes: number[] = [];
  /** Bytes of the records with a comma each. */
  #bytes = 0;
  #diverging = 0;

  static of(items: Iterable<Item>): Batch {
    const batch = new Batch();
    for (const { block, index } of items) batch.add(block, index);
    return batch;
  }

  get size(): number {
    return this.indexes.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** True when sending the whole batch twice ends in the same state. */
  get converges(): boolean {
    return this.#diverging === 0;
  }

  add(block: RecordBlock, index: number): void {
    this.blocks.push(block);
    this.indexes.push(index);
    this.#bytes += recordBytes(block, index) + 1;
    if (block.converges[index] === 0) this.#diverging += 1;
  }

  item(position: number): Item {
    const block = this.blocks[position];
    const index = this.indexes[position];
    if (block === undefined || index === undefined) throw new RangeError(`no record ${position}`);
    return { block, index };
  }

  /** JSON text of one record. */
  record(position: number): Buffer {
    const { block, index } = this.item(position);
    return block.json.subarray(block.bounds[2 * index], block.bounds[2 * index + 1]);
  }

  *items(): Generator<Item> {
    for (let position = 0; position < this.size; position += 1) yield this.item(position);
  }

  *keys(): Generator<number> {
    for (const { block, index } of this.items()) yield block.keys[index] ?? 0;
  }

  split(): [Batch, Batch] {
    const items = [...this.items()];
    const middle = items.length >> 1;
    return [Batch.of(items.slice(0, middle)), Batch.of(items.slice(middle))];
  }

  /** The request body. Records that lie side by side in their block are copied in one go. */
  body({ open, close }: Frame): Buffer {
    const body = Buffer.allocUnsafe(open.length + this.#bytes + close.length);
    let end = open.copy(body, 0);
    for (let position = 0; position < this.size;) {
      const { block, index } = this.item(position);
      const after = this.#runEnd(position);
      const last = this.indexes[after - 1] ?? index;
      end += block.json.copy(body, end, block.bounds[2 * index], block.bounds[2 * last + 1]);
      body[end] = comma;
      end += 1;
      position = after;
    }
    if (this.size > 0) end -= 1;
    end += close.copy(body, end);
    return body.subarray(0, end);
  }

  /** The position after the last record that follows this one in its block with only a comma between. */
  #runEnd(position: number): number {
    let after = position + 1;
    while (after < this.size && this.#followsDirectly(after)) after += 1;
    return after;
  }

  #followsDirectly(position: number): boolean {
    const block = this.blocks[position];
    const index = this.indexes[position] ?? 0;
    if (block === undefined || this.blocks[position - 1] !== block) return false;
    if (this.indexes[position - 1] !== index - 1) return false;
    const gap = block.bounds[2 * index - 1] ?? -1;
    return block.bounds[2 * index] === gap + 1 && block.json[gap] === comma;
  }
}

export const recordBytes = (block: RecordBlock, index: number): number =>
  (block.bounds[2 * index + 1] ?? 0) - (block.bounds[2 * index] ?? 0);
