/** Up to here one more chunk is worth a look at once: it may come from a slow pipe. */
const smallWindow = 64 * 1024;

const nothing = Buffer.alloc(0);

/**
 * The part of a text that was read and not yet used. Bytes once handed out do not change while
 * their memory is held: more text goes behind them, or to another one.
 */
export class TextBuffer {
  bytes: Buffer = nothing;
  /** Where `bytes` lie; undefined before there are any. */
  memory: BufferPool | undefined;
  /** Where in the memory they begin. */
  #start = 0;
  readonly #free: BufferPool[] = [];
  /** Nothing follows `bytes`. */
  ended = false;
  /** Bytes given up so far: where in the text `bytes` starts. */
  offset = 0;
  readonly #chunks: AsyncGenerator<Buffer>;
  /** Thrown by the next `grow`, after the bytes that came before it. */
  #failure: unknown;

  constructor(chunks: AsyncGenerator<Buffer>) {
    this.#chunks = chunks;
  }

  /**
   * Reads at least one chunk more, or finds the end. Throws EngagectlError E-FILE-READ.
   * A large window grows by half, since a record that outgrows it is scanned again from its start.
   */
  async grow(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const before = this.bytes.length;
    const wanted = before < smallWindow ? 1 : before >> 1;
    try {
      while (this.bytes.length < before + wanted && !this.ended) {
        const { value, done } = await this.#chunks.next();
        if (done) this.ended = true;
        else this.#append(value, before + wanted);
      }
    } catch (failure) {
      if (this.bytes.length === before) throw failure;
      this.#failure = failure;
    }
  }

  /** Copies the chunk, since it is only lent; `wanted` bytes are going to be together. */
  #append(chunk: Buffer, wanted: number): void {
    const length = this.bytes.length + chunk.length;
    if (!this.memory || this.#start + length > this.memory.bytes.length) {
      const before = this.memory;
      const room = Math.max(length, wanted + chunk.length);
      this.memory = BufferPool.holding(this.bytes, room, this.#free);
      this.#start = 0;
      before?.letGo();
    }
    const end = this.#start + length;
    chunk.copy(this.memory.bytes, end - chunk.length);
    this.bytes = this.memory.bytes.subarray(this.#start, end);
  }

  /** Gives up the first `count` bytes. */
  drop(count: number): void {
    if (count === 0) return;
    this.offset += count;
    this.#start += count;
    this.bytes = this.bytes.subarray(count);
  }

  /** Gives up the text before `offset`; false when the text ends earlier. */
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

/** Room of a buffer: a chunk of a file, and what was left of the text before it. */
const usualBytes = 288 * 1024;

/** A small text, such as a whole file, is mostly the only one; large buffers fit the next large text, too. */
function roomFor(length: number): number {
  if (length < usualBytes / 8) return length;
  return length <= usualBytes ? usualBytes : Math.ceil(length / largeBytes) * largeBytes;
}

const largeBytes = 1 << 19;

/** Up to here Buffers share memory. */
const pooledBytes = 4096;

/** Where records and their cells are, in numbers. */
interface Numbers {
  readonly bounds: Int32Array;
  readonly lines: Uint32Array;
  readonly cells: Int32Array | undefined;
}

const noNumbers = new Int32Array(0);

/** So many numbers, at most, of a small text lie with those of others: there may be thousands of them. */
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

/** Most buffers that wait to be used again. */
const mostFree = 64;

/**
 * Memory for a stretch of text and the numbers that say where its cells are. It is used for
 * another stretch once every holder has let go of it: text would else be most of the garbage of
 * a run. A holder that forgets to let go does no harm, its memory is just not used again.
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

  /** A copy of `text`, with room for so many bytes; held once. */
  static holding(text: Buffer, room: number, free: BufferPool[]): BufferPool {
    const fit = free.findLastIndex(({ bytes }) => bytes.length >= room);
    const memory = fit < 0 ? new BufferPool(free, roomFor(room)) : free.splice(fit, 1)[0]!;
    memory.#holders = 1;
    memory.#numbersUsed = 0;
    text.copy(memory.bytes);
    return memory;
  }

  /** Held so often more. Undefined: it is small and not used again, so nobody needs to let go of it. */
  hold(times: number): this | undefined {
    this.#holders += times;
    return this.bytes.length < pooledBytes ? undefined : this;
  }

  letGo(times = 1): void {
    this.#holders -= times;
    if (this.#holders === 0 && this.#free.length < mostFree) this.#free.push(this);
  }

  /** A copy of the numbers that lives as long as the text. */
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
