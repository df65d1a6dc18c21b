import { isUtf8 } from 'node:buffer';
import { instantiateTextProgram } from './wasm-program.js';
import { reserve, type WasmMemory, type WasmNumber } from '../wasm.js';

/** A body that is not one complete JSON object in UTF-8; the message says where and why. */
export class PageSyntaxError extends Error {}

/** The members of a page that matter, parsed; of any type, since nothing is checked here. */
export interface PageMembers {
  status?: unknown;
  code?: unknown;
  error?: unknown;
  next_cursor?: unknown;
  /** `array`: the page's records; `other`: something else stands in their place. */
  records?: 'array' | 'other';
}

export interface ScannedPage extends RecordPage {
  readonly members: Readonly<PageMembers>;
  /** XXH64 of all its records. */
  readonly hash: () => bigint;
}

/** What `wasm/index.ts` exports for it; places of its memory, and positions in the page. */
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
  readonly hashText: (start: number, end: number) => bigint;
}

/** What comes of `scanPage`. */
const came = { goesOn: 0, isFull: 1, ended: 2, wrong: 3, tooDeep: 4, noObject: 5 };

const parsed = ['status', 'code', 'error', 'next_cursor'] as const;
const quote = 0x22;
const colon = 0x3a;
const openBrace = 0x7b;
const openBracket = 0x5b;
/** How far behind the last byte the program may look. */
const slack = 64;
/** Bytes of a page, which is in memory as a whole. */
const largestPage = 64 * 1024 * 1024;
/** Records of a page: at most 5000 are asked for. */
const mostRecords = 100_000;
/** Bytes of a member that is parsed. */
const longestMember = 64 * 1024;

/**
 * Finds the records and the other members of a page in one pass over its bytes, whatever the
 * order of the keys and however the body is cut into chunks. Only bytes are looked at: the
 * numbers and strings of a record are never turned into values, so that nothing can change.
 * One scanner serves one page after the other and keeps its buffer, which is the memory of
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
  /** Where the member at hand begins, and its value; 0 while its key is not complete. */
  #memberStart = 0;
  #valueStart = 0;
  #recordsStart = 0;
  #recordsEnd = 0;

  /** Forgets the last page. `length` is the body's size in bytes, when known. */
  reset(length = 0): void {
    this.#program.beginPage();
    this.#length = 0;
    this.#finished = false;
    this.#count = 0;
    this.#members = {};
    this.#memberStart = this.#valueStart = this.#recordsStart = this.#recordsEnd = 0;
    this.#reserve(length);
  }

  /** Takes the next piece of the body. Throws PageSyntaxError soon behind the first byte that is wrong. */
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

  /** Known soon after its last byte has been pushed, often long before the page ends. */
  get nextCursor(): unknown {
    return this.#members.next_cursor;
  }

  /** The whole page; its buffer is this scanner's, and good until the next `reset`. */
  end(): ScannedPage {
    if (!this.#finished) throw new PageSyntaxError('the body ends too early');
    const bytes = this.#bytes.subarray(0, this.#length);
    if (!isUtf8(bytes)) throw new PageSyntaxError('the body is not UTF-8');
    const [bounds, count, members] = [this.#bounds, this.#recordCount(), this.#members];
    const hash = () => this.#hash(bounds[0]!, bounds[2 * count - 1]!);
    return { bytes, bounds, count, members, hash };
  }

  #hash(start: number, end: number): bigint {
    const { page, hashText } = this.#program;
    return hashText(page.value + start, page.value + end);
  }

  /** Takes what the program has listed out of its memory. */
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

  /** Of the page itself: the colon behind a key, or what ends a value. */
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
    // Which of two would count is anybody's guess, and a wrong guess loses records.
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

  /** Leaves only the elements of the records in `#bounds`. */
  #recordCount(): number {
    const bounds = this.#bounds;
    let count = 0;
    for (let i = 0; i < this.#count; i += 1) {
      const start = bounds[2 * i]!;
      if (start <= this.#recordsStart || start >= this.#recordsEnd) continue;
      if (this.#bytes[start] !== openBrace)
        throw new PageSyntaxError(`a record is no object (byte ${start + 1})`);
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
    // Growing by doubling copies little.
    reserve(memory, page.value + Math.max(length, Math.min(2 * room, largestPage), 65_536) + slack);
    const all = memory.buffer.byteLength - page.value - slack;
    this.#bytes = Buffer.from(memory.buffer, page.value, all); // the old one has lost its memory
  }
}

/**
 * The records of one page as byte ranges of the page's own buffer. A writer may overwrite
 * that buffer until its promise settles; the owner uses it again only after that.
 */
export interface RecordPage {
  readonly bytes: Buffer;
  /** Record i, a complete JSON object, is `bytes[bounds[2i], bounds[2i+1])`; ascending. */
  readonly bounds: Int32Array;
  readonly count: number;
}
