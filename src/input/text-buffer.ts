/** Up to this size the window grows chunk by chunk, because the chunks may come from a slow pipe. */
const smallWindow = 64 * 1024;

const nothing = Buffer.alloc(0);

const lineEnds: ReadonlySet<number | undefined> = new Set([0x0a, 0x0d, undefined]);

/**
 * The part of a text that was read and not yet consumed. Bytes handed out do not change while
 * their memory is retained; more text is appended after them, or to other memory.
 */
export class TextBuffer {
  bytes: Buffer = nothing;
  /** Memory that contains `bytes`; undefined before the first chunk. */
  memory: BufferPool | undefined;
  /** Offset of `bytes` in the memory. */
  #start = 0;
  readonly #free: BufferPool[] = [];
  /** Whether the text ends with `bytes`. */
  ended = false;
  #lastByte: number | undefined;
  /** Bytes dropped so far, which is the offset of `bytes` in the text. */
  offset = 0;
  readonly #chunks: AsyncGenerator<Buffer>;
  /** Thrown by the next `grow`, after the bytes that came before it. */
  #failure: unknown;

  constructor(chunks: AsyncGenerator<Buffer>) {
    this.#chunks = chunks;
  }

  /** Whether the text ended without a line end, so that appended text would belong to its last line. */
  get endsInLine(): boolean {
    return this.ended && !lineEnds.has(this.#lastByte);
  }

  /**
   * Reads at least one more chunk, or reaches the end. Throws EngagectlError E-FILE-READ.
   * A large window grows by half, because a record that does not fit is scanned again from its start.
   */
  async grow(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const before = this.bytes.length;
    const least = before < smallWindow ? 1 : before >> 1;
    try {
      while (this.bytes.length < before + least && !this.ended) {
        const { value, done } = await this.#chunks.next();
        if (done) this.ended = true;
        else this.#append(value, before + least);
      }
    } catch (failure) {
      if (this.bytes.length === before) throw failure;
      this.#failure = failure;
    }
  }

  /** Copies the chunk, whose buffer is reused; reserves room for `least` bytes. */
  #append(chunk: Buffer, least: number): void {
    const length = this.bytes.length + chunk.length;
    if (!this.memory || this.#start + length > this.memory.bytes.length) {
      const before = this.memory;
      const room = Math.max(length, least + chunk.length);
      this.memory = BufferPool.holding(this.bytes, room, this.#free);
      this.#start = 0;
      before?.release();
    }
    const end = this.#start + length;
    chunk.copy(this.memory.bytes, end - chunk.length);
    this.bytes = this.memory.bytes.subarray(this.#start, end);
    this.#lastByte = chunk.at(-1) ?? this.#lastByte;
  }

  /** Drops the first `count` bytes. */
  drop(count: number): void {
    if (count === 0) return;
    this.offset += count;
    this.#start += count;
    this.bytes = this.bytes.subarray(count);
  }

  /** Drops the text before `offset`; false if the text ends earlier. */
  async skipTo(offset: number): Promise<boolean> {
    while (this.offset < offset) {
      this.drop(Math.min(this.bytes.length, offset - this.offset));
      if (this.offset === offset) break;
      if (this.ended) return false;
      await this.grow();
    }
    return true;
  }
}

/** Size of a buffer: a chunk of a file, and the rest of the text before it. */
const usualBytes = 288 * 1024;

/** Returns the size to allocate: exact for a small text, which is mostly a whole file; rounded up for others, so that buffers can be reused. */
function roomFor(length: number): number {
  if (length < usualBytes / 8) return length;
  return length <= usualBytes ? usualBytes : Math.ceil(length / largeBytes) * largeBytes;
}

const largeBytes = 1 << 19;

/** Up to this size, buffers share memory. */
const pooledBytes = 4096;

/** Bounds of records and cells. */
interface Numbers {
  readonly bounds: Int32Array;
  readonly lines: Uint32Array;
  readonly cells: Int32Array | undefined;
}

const noNumbers = new Int32Array(0);

/** Up to this count, the numbers of several small texts share an array. */
const fewNumbers = 256;
let pool = noNumbers;
let poolUsed = 0;

function pooled(count: number): Int32Array {
  if (poolUsed + count > pool.length) {
    pool = new Int32Array(16 * fewNumbers);
    poolUsed = 0;
  }
  poolUsed += count;
  return pool.subarray(poolUsed - count, poolUsed);
}

/** Maximum number of buffers kept for reuse. */
const maxFree = 64;

/**
 * Reference-counted memory for a part of the text and the bounds of its cells. It is reused for
 * another part once every holder has released it; otherwise text would be most of the garbage of
 * a run. If a holder fails to release it, the memory is only not reused.
 */
export class BufferPool {
  readonly bytes: Buffer;
  #numbers = noNumbers;
  #numbersUsed = 0;
  #holders = 1;
  readonly #free: BufferPool[];

  private constructor(free: BufferPool[], bytes: number) {
    this.#free = free;
    this.bytes = bytes < pooledBytes ? Buffer.allocUnsafe(bytes) : Buffer.allocUnsafeSlow(bytes);
  }

  /** Returns memory with a copy of `text` and room for `room` bytes; its reference count is 1. */
  static holding(text: Buffer, room: number, free: BufferPool[]): BufferPool {
    const fit = free.findLastIndex(({ bytes }) => bytes.length >= room);
    const memory = fit < 0 ? new BufferPool(free, roomFor(room)) : free.splice(fit, 1)[0]!;
    memory.#holders = 1;
    memory.#numbersUsed = 0;
    text.copy(memory.bytes);
    return memory;
  }

  /** Adds references. Returns undefined for small memory, which is not reused and need not be released. */
  retain(times: number): this | undefined {
    this.#holders += times;
    return this.bytes.length < pooledBytes ? undefined : this;
  }

  release(times = 1): void {
    this.#holders -= times;
    if (this.#holders === 0 && this.#free.length < maxFree) this.#free.push(this);
  }

  /** Copies the numbers into memory that lives as long as the text. */
  keep({ bounds, lines, cells }: Numbers): Numbers {
    const kept = this.#room(bounds.length + lines.length + (cells?.length ?? 0));
    kept.set(bounds);
    const behind = bounds.length + lines.length;
    const keptLines = new Uint32Array(
      kept.buffer,
      kept.byteOffset + bounds.byteLength,
      lines.length,
    );
    keptLines.set(lines);
    if (cells) kept.set(cells, behind);
    return {
      bounds: kept.subarray(0, bounds.length),
      lines: keptLines,
      cells: cells && kept.subarray(behind),
    };
  }

  #room(count: number): Int32Array {
    if (this.#numbers === noNumbers && count <= fewNumbers) return pooled(count);
    if (this.#numbersUsed === 0 && this.#numbers.length < count) {
      this.#numbers = new Int32Array(count + (count >> 2));
    }
    const start = this.#numbersUsed;
    if (start + count > this.#numbers.length) return new Int32Array(count);
    this.#numbersUsed += count;
    return this.#numbers.subarray(start, this.#numbersUsed);
  }
}
