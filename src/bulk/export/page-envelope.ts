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

const read = ['status', 'code', 'error', 'next_cursor'] as const;
const openBrace = 0x7b;
const openBracket = 0x5b;

/**
 * What a scanner finds of a page itself: its own members, and where the records lie. It is
 * told of every key and value of the page (depth 1) and of every element of these (depth 2).
 */
export class PageEnvelope {
  /** Start and end of each record, in pairs. */
  bounds = new Int32Array(2048);
  count = 0;
  members: PageMembers = {};
  #member = '';
  #memberStart = 0;
  #inRecords = false;

  reset(): void {
    this.count = 0;
    this.members = {};
    this.#inRecords = false;
  }

  /** A key of the page stands at `[start, end)`, with its quotes. */
  key(start: number, end: number, bytes: Buffer): void {
    this.#member = JSON.parse(bytes.toString('utf8', start, end)) as string;
  }

  /** A value begins at `at` with `byte`, inside of `depth` containers. */
  open(depth: number, byte: number, at: number): void {
    if (depth === 0) {
      if (byte !== openBrace) throw new PageSyntaxError('the body is no JSON object');
    } else if (depth === 1) {
      this.#memberStart = at;
      if (this.#member === 'records') this.#openRecords(byte);
    } else if (this.#inRecords) {
      if (byte !== openBrace) throw new PageSyntaxError(`a record is no object (byte ${at + 1})`);
      this.#reserve();
      this.bounds[2 * this.count] = at;
    }
  }

  /** The value that began inside of `depth` containers ended before `at`. */
  close(depth: number, at: number, bytes: Buffer): void {
    if (depth === 1) {
      this.#inRecords = false;
      this.#read(bytes, at);
    } else if (depth === 2 && this.#inRecords) {
      this.bounds[2 * this.count + 1] = at;
      this.count += 1;
    }
  }

  #openRecords(byte: number): void {
    this.#refuseRepeated(this.members.records);
    this.#inRecords = byte === openBracket;
    this.members.records = this.#inRecords ? 'array' : 'other';
  }

  #read(bytes: Buffer, end: number): void {
    const name = read.find((known) => known === this.#member);
    if (name === undefined) return;
    this.#refuseRepeated(this.members[name]);
    this.members[name] = JSON.parse(bytes.toString('utf8', this.#memberStart, end)) as unknown;
  }

  /** Which of two would count is anybody's guess, and a wrong guess loses records. */
  #refuseRepeated(earlier: unknown): void {
    if (earlier !== undefined) throw new PageSyntaxError(`"${this.#member}" appears twice`);
  }

  #reserve(): void {
    if (2 * this.count < this.bounds.length) return;
    const grown = new Int32Array(this.bounds.length * 2);
    grown.set(this.bounds);
    this.bounds = grown;
  }
}
