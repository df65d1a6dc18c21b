import type { RecordBlock } from '../../mapping/record-block.js';

interface RequestLimits {
  readonly records: number;
  /** Of a request body. */
  readonly bytes: number;
  /** Of what surrounds the records. */
  readonly frameBytes: number;
}

/**
 * How many requests records would make: full ones, events and profiles apart. Records that wait
 * for an earlier one of their key are taken as if they did not, and can make a few more.
 */
export class RequestCount {
  requests = 0;
  /** Of all bodies. */
  bytes = 0;
  readonly #limits: RequestLimits;
  /** Of the request being filled, for profiles and for events. */
  readonly #records = [0, 0];
  readonly #bytes = [0, 0];

  constructor(limits: RequestLimits) {
    this.#limits = limits;
  }

  add({ count, bounds, kinds }: RecordBlock): void {
    for (let index = 0; index < count; index++) {
      this.#addRecord(kinds[index]!, bounds[2 * index + 1]! - bounds[2 * index]!);
    }
  }

  #addRecord(kind: number, bytes: number): void {
    const { records: most, bytes: mostBytes, frameBytes } = this.#limits;
    const isFull = this.#records[kind] === most || this.#bytes[kind]! + bytes + 1 > mostBytes;
    if (this.#records[kind] === 0 || isFull) {
      this.requests += 1;
      this.bytes += frameBytes + bytes;
      this.#records[kind] = 1;
      this.#bytes[kind] = frameBytes + bytes;
    } else {
      this.bytes += bytes + 1;
      this.#records[kind]! += 1;
      this.#bytes[kind]! += bytes + 1;
    }
  }
}
