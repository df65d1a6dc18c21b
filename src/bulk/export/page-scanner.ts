import { isUtf8 } from 'node:buffer';
import type { RecordPage } from '../../output/output.js';
import { PageEnvelope, PageSyntaxError, type PageMembers } from './page-envelope.js';
import { HeapBytes, type PageBytes } from './page-bytes.js';
import { PageTokens } from './page-tokens.js';
import { WasmBytes } from './wasm-bytes.js';

export interface ScannedPage extends RecordPage {
  readonly members: Readonly<PageMembers>;
}

/**
 * Finds the records and the other members of a page in one pass over its bytes, whatever the
 * order of the keys and however the body is cut into chunks. Only bytes are looked at: the
 * numbers and strings of a record are never turned into values, so that nothing can change.
 * One scanner serves one page after the other and keeps its buffer.
 */
export class PageScanner {
  readonly #envelope = new PageEnvelope();
  readonly #tokens: PageTokens;
  #length = 0;

  constructor(page: PageBytes = WasmBytes.open() ?? new HeapBytes()) {
    const events = {
      key: (start: number, end: number) => this.#envelope.key(start, end, page.bytes),
      open: (depth: number, byte: number, at: number) => this.#envelope.open(depth, byte, at),
      close: (depth: number, at: number) => this.#envelope.close(depth, at, page.bytes),
    };
    this.#tokens = new PageTokens(events, page);
  }

  /** Forgets the last page. `length` is the body's size in bytes, when known. */
  reset(length = 0): void {
    this.#envelope.reset();
    this.#tokens.restart();
    this.#length = 0;
    this.#tokens.reserve(length);
  }

  /** Takes the next piece of the body. Throws PageSyntaxError soon behind the first byte that is wrong. */
  push(chunk: Buffer): void {
    this.#tokens.reserve(this.#length + chunk.length);
    this.#length += chunk.copy(this.#tokens.bytes, this.#length);
    this.#tokens.scan(this.#length);
  }

  /** Known as soon as its last byte has been pushed, often long before the page ends. */
  get nextCursor(): unknown {
    return this.#envelope.members.next_cursor;
  }

  /** The whole page; its buffer is this scanner's, and good until the next `reset`. */
  end(): ScannedPage {
    if (!this.#tokens.finished) throw new PageSyntaxError('the body ends too early');
    const bytes = this.#tokens.bytes.subarray(0, this.#length);
    if (!isUtf8(bytes)) throw new PageSyntaxError('the body is not UTF-8');
    const { bounds, count, members } = this.#envelope;
    return { bytes, bounds, count, members };
  }
}
