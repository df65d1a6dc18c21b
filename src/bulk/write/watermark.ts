import type { Position, RowBlock } from '../../input/rows.js';

interface OpenBlock {
  left: number;
  readonly end: Position;
}

/** The place up to which every record is settled, known to the block. */
export class Watermark {
  #position: Position;
  /** Blocks that are read, in order; the first ones may be settled, when one before is not. */
  readonly #open: OpenBlock[] = [];
  readonly #byBlock = new Map<RowBlock, OpenBlock>();

  constructor(start: Position) {
    this.#position = start;
  }

  get position(): Position {
    return this.#position;
  }

  opened(block: RowBlock): void {
    const open = { left: block.count + block.faults.length, end: block.end };
    this.#open.push(open);
    if (open.left > 0) this.#byBlock.set(block, open);
  }

  settled(block: RowBlock, count = 1): void {
    const open = this.#byBlock.get(block);
    if (!open) return;
    open.left -= count;
    if (open.left > 0) return;
    // A settled block behind an unsettled one does not stay in memory.
    this.#byBlock.delete(block);
    for (let first = this.#open[0]; first?.left === 0; first = this.#open[0]) {
      this.#position = first.end;
      this.#open.shift();
    }
  }
}
