import { isUtf8 } from 'node:buffer';
import { instantiateTextProgram, reserve, type WasmMemory, type WasmNumber } from '../wasm.js';

/** A body that is not one complete JSON object in UTF-8; the message states position and cause. */
export class PageSyntaxError extends Error {}

/** The relevant members of a page, parsed but not validated. */
export interface PageMembers {
  status?: unknown;
  code?: unknown;
  error?: unknown;
  next_cursor?: unknown;
  /** `array`: the page has records; `other`: the member has another type. */
  records?: 'array' | 'other';
}

export interface ScannedPage extends RecordPage {
  readonly members: Readonly<PageMembers>;
  /** XXH64 of all records. */
  readonly hash: () => bigint;
}

/** Exports of `wasm/index.ts`; addresses in its memory, and positions in the page. */
interface Program {
  readonly memory: WasmMemory;
  readonly page: WasmNumber;
  readonly marks: WasmNumber;
  readonly markCount: WasmNumber;
  readonly elements: WasmNumber;
  readonly elementCount: WasmNumber;
  readonly stoppedAt: WasmNumber;
  beginPage(): void;
  emptyLists(): void;
  scanPage(end: number): number;
  readonly hashPage: (start: number, end: number) => bigint;
}

/** Results of `scanPage`. */
const came = { goesOn: 0, isFull: 1, ended: 2, wrong: 3, tooDeep: 4, noObject: 5 };

const parsed = ['status', 'code', 'error', 'next_cursor'] as const;
const quote = 0x22;
const colon = 0x3a;
const openBrace = 0x7b;
const openBracket = 0x5b;
/** How far past the last byte the program may read. */
const slack = 64;
/** Maximum bytes of a page, which is in memory as a whole. */
export const largestPage = 64 * 1024 * 1024;
/** Maximum bytes of a record; a CSV takes several times as much for each. The service accepts far smaller ones. */
const longestRecord = 4 * 1024 * 1024;
/** Maximum records of a page; at most 5000 are requested. */
const mostRecords = 100_000;
/** Maximum bytes of a member that is parsed. */
const longestMember = 64 * 1024;

/**
 * Finds the records and the other members of a page in one pass over its bytes, whatever the order of
 * the keys and the chunks of the body. Numbers and strings of records are never parsed, so that nothing
 * can change. A scanner is reused for each page and keeps its buffer, the memory of
 * `wasm/page-scanner.ts`.
 */
export class PageScanner {
  readonly #program = instantiateTextProgram() as Program;
  #bytes = Buffer.alloc(0);
  #length = 0;
  #finished = false;
  #bounds = new Int32Array(2048);
  #count = 0;
  #members: PageMembers = {};
  /** Start of the current member and of its value; 0 until its key is complete. */
  #memberStart = 0;
  #valueStart = 0;
  #recordsStart = 0;
  #recordsEnd = 0;

  /** Starts a new page. `length` is the body's size in bytes, if known. */
  reset(length = 0): void {
    this.#program.beginPage();
    this.#length = 0;
    this.#finished = false;
    this.#count = 0;
    this.#members = {};
    this.#memberStart = this.#valueStart = this.#recordsStart = this.#recordsEnd = 0;
    this.#reserve(length);
  }

  /** Scans the next chunk of the body. Throws PageSyntaxError soon after the first invalid byte. */
  push(chunk: Buffer): void {
    this.#reserve(this.#length + chunk.length);
    this.#length += chunk.copy(this.#bytes, this.#length);
    let result;
    do {
      result = this.#program.scanPage(this.#length);
      this.#takeLists();
    } while (result === came.isFull);
    const { value: at } = this.#program.stoppedAt;
    if (result === came.wrong) throw new PageSyntaxError(`an unexpected byte near byte ${at}`);
    if (result === came.tooDeep) throw new PageSyntaxError('nested deeper than 65,536');
    if (result === came.noObject) throw new PageSyntaxError('the body is no JSON object');
    this.#finished = result === came.ended;
  }

  /** Known soon after its last byte, often long before the page ends. */
  get nextCursor(): unknown {
    return this.#members.next_cursor;
  }

  /** Returns the whole page, in this scanner's buffer; valid until the next `reset`. */
  end(): ScannedPage {
    if (!this.#finished) throw new PageSyntaxError('the body ends too early');
    const bytes = this.#bytes.subarray(0, this.#length);
    if (!isUtf8(bytes)) throw new PageSyntaxError('the body is not UTF-8');
    const [bounds, count, members] = [this.#bounds, this.#recordCount(), this.#members];
    for (let i = 0; i < 2 * count; i += 2)
      if (bounds[i + 1]! - bounds[i]! > longestRecord)
        throw new PageSyntaxError(`a record of more than ${longestRecord} bytes`);
    const hash = () => this.#hash(bounds[0]!, bounds[2 * count - 1]!);
    return { bytes, bounds, count, members, hash };
  }

  #hash(start: number, end: number): bigint {
    const { page, hashPage } = this.#program;
    return hashPage(page.value + start, page.value + end);
  }

  /** Copies the lists out of the program's memory. */
  #takeLists(): void {
    const { memory, marks, markCount, elements, elementCount } = this.#program;
    for (const mark of new Int32Array(memory.buffer, marks.value, markCount.value))
      this.#take(mark);
    const found = new Int32Array(memory.buffer, elements.value, 2 * elementCount.value);
    const needed = 2 * this.#count + found.length;
    if (needed > 2 * mostRecords) throw new PageSyntaxError(`more than ${mostRecords} records`);
    if (needed > this.#bounds.length) {
      const grown = new Int32Array(2 * needed);
      grown.set(this.#bounds);
      this.#bounds = grown;
    }
    this.#bounds.set(found, 2 * this.#count);
    this.#count += elementCount.value;
    this.#program.emptyLists();
  }

  /** Handles a token of the page object: the colon after a key, or the end of a value. */
  #take(mark: number): void {
    const bytes = this.#bytes;
    if (bytes[mark] === colon) this.#valueStart = mark + 1;
    else if (this.#valueStart > 0) {
      const key = bytes.toString(
        'utf8',
        bytes.indexOf(quote, this.#memberStart),
        this.#valueStart - 1,
      );
      this.#addMember(JSON.parse(key) as string, mark);
      this.#memberStart = mark + 1;
      this.#valueStart = 0;
    }
  }

  #addMember(key: string, end: number): void {
    const name = key === 'records' ? key : parsed.find((known) => known === key);
    if (name === undefined) return;
    // It is ambiguous which of two counts, and the wrong one loses records.
    if (this.#members[name] !== undefined) throw new PageSyntaxError(`"${name}" appears twice`);
    const bytes = this.#bytes;
    if (name !== 'records') {
      if (end - this.#valueStart > longestMember)
        throw new PageSyntaxError(`"${name}" is longer than ${longestMember} bytes`);
      this.#members[name] = JSON.parse(bytes.toString('utf8', this.#valueStart, end)) as unknown;
      return;
    }
    let start = this.#valueStart;
    while (bytes[start]! <= 0x20) start += 1;
    this.#members.records = bytes[start] === openBracket ? 'array' : 'other';
    this.#recordsStart = start;
    this.#recordsEnd = end;
  }

  /** Keeps only the elements of the records in `#bounds`. */
  #recordCount(): number {
    const bounds = this.#bounds;
    let count = 0;
    for (let i = 0; i < this.#count; i += 1) {
      const start = bounds[2 * i]!;
      if (start <= this.#recordsStart || start >= this.#recordsEnd) continue;
      if (this.#bytes[start] !== openBrace)
        throw new PageSyntaxError(`a record is not an object (byte ${start + 1})`);
      bounds[2 * count] = start;
      bounds[2 * count + 1] = bounds[2 * i + 1]!;
      count += 1;
    }
    return count;
  }

  #reserve(length: number): void {
    const room = this.#bytes.length;
    if (length <= room) return;
    if (length > largestPage)
      throw new PageSyntaxError(
        `the body exceeds ${largestPage} bytes: ask for fewer records with --batch-size`,
      );
    const { memory, page } = this.#program;
    // Doubling keeps the amount of copying low.
    reserve(memory, page.value + Math.max(length, Math.min(2 * room, largestPage), 65_536) + slack);
    const all = memory.buffer.byteLength - page.value - slack;
    this.#bytes = Buffer.from(memory.buffer, page.value, all); // the old view is detached
  }
}

/**
 * The records of one page as byte ranges of the page's buffer. A writer may overwrite the buffer until
 * its promise settles; the owner reuses it only after that.
 */
export interface RecordPage {
  readonly bytes: Buffer;
  /** Record i, a complete JSON object, is `bytes[bounds[2i], bounds[2i+1])`; ascending. */
  readonly bounds: Int32Array;
  readonly count: number;
}
