import { PageSyntaxError } from './page-envelope.js';

/** Holds the bytes of a page, one page after the other. */
export interface PageBytes {
  /** Where they are to be put; another one after `reserve`. */
  readonly bytes: Buffer;
  /** Makes room for so many bytes; those there are stay. Throws PageSyntaxError when they are too many. */
  reserve(length: number): void;
  /** Undefined where every byte must be looked at by itself. */
  readonly insides: Insides | undefined;
}

/** Goes over the inside of an object or array at once, and checks that it is JSON (RFC 8259). */
export interface Insides {
  /**
   * Begins at `start`, behind the opening bracket; a `start` of 0 goes on with the last one. Returns the
   * position behind the container, 0 when it does not end before `end`. Throws PageSyntaxError.
   */
  pass(start: number, isObject: boolean, end: number): number;
}

export class HeapBytes implements PageBytes {
  readonly insides = undefined;
  #bytes = Buffer.alloc(0);

  get bytes(): Buffer {
    return this.#bytes;
  }

  reserve(length: number): void {
    if (length <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(roomFor(length, this.#bytes.length));
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }
}

/** Bytes; beyond this a body is no page of at most 5000 records. */
const largestPage = 2 ** 30;

/** Bytes to reserve for a page of at least `length`: growing by doubling copies little. */
export function roomFor(length: number, room: number): number {
  if (length > largestPage) throw new PageSyntaxError(`the body exceeds ${largestPage} bytes`);
  return Math.max(length, Math.min(room * 2, largestPage), 65_536);
}
