/** Room of a buffer: a chunk of a file, and what was left of the text before it. */
const usualBytes = 160 * 1024;

/** A small text, such as a whole file, is mostly the only one; large buffers fit the next large text, too. */
function roomFor(length: number): number {
  if (length < usualBytes / 8) return length;
  return length <= usualBytes ? usualBytes : Math.ceil(length / largeBytes) * largeBytes;
}

const largeBytes = 1 << 19;

/** Most buffers that wait to be used again. */
const mostFree = 64;

/**
 * Memory for a stretch of text and the numbers that say where its cells are. It is used for
 * another stretch once every holder has let go of it: text would else be most of the garbage of
 * a run. A holder that forgets to let go does no harm, its memory is just not used again.
 */
export class TextMemory {
  readonly bytes: Buffer;
  #numbers = new Int32Array(0);
  #numbersUsed = 0;
  #holders = 1;
  readonly #free: TextMemory[];

  private constructor(free: TextMemory[], bytes: number) {
    this.#free = free;
    this.bytes = Buffer.allocUnsafeSlow(bytes);
  }

  /** A copy of `text`, with room for so many bytes; held once. */
  static holding(text: Buffer, room: number, free: TextMemory[]): TextMemory {
    const fit = free.findLastIndex(({ bytes }) => bytes.length >= room);
    const memory = fit < 0 ? new TextMemory(free, roomFor(room)) : free.splice(fit, 1)[0]!;
    memory.#holders = 1;
    memory.#numbersUsed = 0;
    text.copy(memory.bytes);
    return memory;
  }

  hold(times: number): void {
    this.#holders += times;
  }

  letGo(times = 1): void {
    this.#holders -= times;
    if (this.#holders === 0 && this.#free.length < mostFree) this.#free.push(this);
  }

  /** A copy of the numbers that lives as long as the text. */
  keep(numbers: Int32Array): Int32Array {
    if (this.#numbersUsed === 0 && this.#numbers.length < numbers.length) {
      this.#numbers = new Int32Array(numbers.length + (numbers.length >> 2));
    }
    const end = this.#numbersUsed + numbers.length;
    if (end > this.#numbers.length) return numbers.slice();
    const kept = this.#numbers.subarray(this.#numbersUsed, end);
    kept.set(numbers);
    this.#numbersUsed = end;
    return kept;
  }
}
