import { PageSyntaxError } from './page-envelope.js';

/** Is told of what lies at the top of a page: depth is the number of containers around it. */
export interface PageEvents {
  /** A key of the page itself, with its quotes. */
  key(start: number, end: number): void;
  /** A value begins at `at` with `byte`; depth 0 to 2. */
  open(depth: number, byte: number, at: number): void;
  /** The value ended before `at`: all of depth 1, objects and arrays of depth 0 and 2. */
  close(depth: number, at: number): void;
}

/**
 * Goes over the bytes of a page once, checks that they are JSON (RFC 8259), and tells its events.
 * There are two that do exactly the same: `TokensInWasm`, and `TokensInJs` where that cannot run.
 */
export interface PageTokens {
  /** Where the page's bytes are to be put; another one after `reserve`. */
  readonly bytes: Buffer;
  /** Makes room for so many bytes; those there are stay. */
  reserve(length: number): void;
  /** Begins another page. */
  restart(): void;
  /** Goes on to `end`, as far as the bytes are there. Throws PageSyntaxError. */
  scan(end: number): void;
  /** Whether the page has ended. */
  readonly finished: boolean;
}

/** Deeper nesting than any record that can be uploaded (200), with room to spare. */
export const deepest = 1000;
/** Bytes; beyond this a body is no page of at most 5000 records. */
const largestPage = 2 ** 30;

/** Bytes to reserve for a page of at least `length`: growing by doubling copies little. */
export function roomFor(length: number, room: number): number {
  if (length > largestPage) throw new PageSyntaxError(`the body exceeds ${largestPage} bytes`);
  return Math.max(length, Math.min(room * 2, largestPage), 65_536);
}

export const unexpected = (at: number): PageSyntaxError =>
  new PageSyntaxError(`an unexpected byte near byte ${at}`);
export const tooDeep = (): PageSyntaxError => new PageSyntaxError(`nested deeper than ${deepest}`);
