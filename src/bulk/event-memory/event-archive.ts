import { closeSync, fstatSync, openSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { EngagectlError } from '../../errors.js';
import { notSaved } from '../../files/file-errors.js';
import { Breaks } from '../../event-loop.js';
import { AtomicFile } from '../../files/atomic-write.js';
import { bytesOf, readWords } from '../change-tracking/baseline-file.js';

/**
 * Numbers of an entry: low and high half of the fingerprint, number of the run, and how often the run
 * sent the event, times 4, plus its `archivedState`. The number is negative for `intended` copies of older archives
 * that were reported since.
 */
export const archiveWords = 4;
export const archivedState = {
  sent: 0,
  unknown: 1,
  /** The run was killed before its outcome was known. */
  intended: 2,
  /** As many copies that are unknown in an older archive were found missing. */
  missing: 3,
} as const;
export const entryBytes = 4 * archiveWords;

/** Header: signature, version, count, bits of a bucket's number, parts of the filter, checksum of the index, of the header. */
const headWords = 7;
const headBytes = 4 * headWords;
const magic = 0x45_56_41_31;
const version = 1;

/** Maximum average of entries in a bucket; a look-up that passes the filter reads one bucket. */
const bucketEntries = 128;
/** 256 bits, of which an event sets four: a look-up touches one cache line. */
const filterWords = 8;
const partBytes = 4 * filterWords;

/**
 * Returns the number of parts of the filter: 12 bits for each event up to 9 MiB, with which 1 of 150 new events passes it;
 * then 6.7 bits, which 1 of 25 passes; and at most 40 MiB (50,000,000 events), so that memory stays flat.
 */
const partsFor = (events: number): number =>
  Math.min(
    Math.max(Math.ceil(events / 38), Math.min(Math.ceil(events / 21), (9 << 20) / partBytes)),
    (40 << 20) / partBytes,
  );

const maximumByte = 255;

/** Most buckets of an archive in memory: 8 MiB, which are all of a million events. */
const bucketsInMemory = 4096;

/** Bytes that are read at once only to be checked. */
const checkedBytes = 256 * 1024;

/** An archive that cannot be trusted; the message gives the reason. */
export class CorruptArchive extends Error {}

/** A file that another version of the program wrote. */
export class OtherVersion extends CorruptArchive {
  constructor(what: string, is: number | undefined, supported: number) {
    super(`${what} has version ${is}, and this program supports ${supported}`);
  }
}

/**
 * Events that were sent, sorted by fingerprint in a file: header, entries, index. The index is in memory:
 * where each bucket starts, its checksum, and the filter.
 */
export class EventArchive {
  readonly count: number;
  readonly #file: number;
  readonly #bits: number;
  readonly #starts: Uint32Array;
  readonly #sums: Uint32Array;
  readonly #filter: Uint32Array;
  readonly #parts: number;
  /** Buckets that were read, by their numbers, the first one first. */
  readonly #buckets = new Map<number, Int32Array>();
  /** How many copies of an entry were matched by records of this input, for the entries that were. */
  readonly #used = new Map<number, Uint8Array>();
  /** The same for entries with more copies than a byte can count. */
  readonly #usedOften = new Map<number, number>();

  /** Without `isFiltered`, only `all` may be called, which needs no filter in memory. Throws CorruptArchive or an error of the file system. */
  constructor(path: string, { isFiltered = true } = {}) {
    this.#file = openSync(path, 'r');
    try {
      const head = this.#words(0, headWords);
      const [, is, count = 0, bits = 0, parts = 0, sum] = head;
      if (head[0] !== magic) throw new CorruptArchive('it has another format');
      if (is !== version) throw new OtherVersion('it', is, version);
      if (head[headWords - 1] !== crc32(bytesOf(head).subarray(0, headBytes - 4))) {
        throw new CorruptArchive('its checksum does not match');
      }
      const buckets = 2 ** bits;
      const indexWords = 2 * buckets + 1 + filterWords * parts;
      const size = headBytes + entryBytes * count + 4 * indexWords;
      if (fstatSync(this.#file).size !== size) throw truncated();
      this.count = count;
      this.#bits = bits;
      this.#parts = parts;
      const indexAt = headBytes + entryBytes * count;
      const index = this.#words(indexAt, isFiltered ? indexWords : 2 * buckets + 1);
      const filterAt = indexAt + 4 * index.length;
      const actual = isFiltered ? crc32(bytesOf(index)) : this.#checksum(filterAt, size, index);
      if (actual !== sum) throw new CorruptArchive('its checksum does not match');
      this.#starts = index.subarray(0, buckets + 1);
      this.#sums = index.subarray(buckets + 1, 2 * buckets + 1);
      this.#filter = index.subarray(2 * buckets + 1);
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  /**
   * Sets `candidates` to 1 for each of the events that may be among the entries. A short loop without branches: memory
   * then serves several of its random accesses at once.
   */
  filter(fingerprints: Int32Array, candidates: Uint8Array): void {
    const [filter, parts] = [this.#filter, this.#parts];
    for (let index = 0; index < candidates.length; index += 1) {
      const [low, high] = [fingerprints[2 * index]!, fingerprints[2 * index + 1]!];
      candidates[index]! |= passes(filter, partOf(high, parts), low);
    }
  }

  /** Returns run, state, copies and index of each entry of the event. Throws CorruptArchive. */
  find(low: number, high: number): readonly ArchivedEvent[] {
    const found: ArchivedEvent[] = [];
    if (!passes(this.#filter, partOf(high, this.#parts), low)) return found;
    const bucket = bucketOf(high, this.#bits);
    const first = this.#starts[bucket]!;
    const words = this.#bucket(bucket);
    for (let at = 0; at < words.length; at += archiveWords) {
      if (words[at] !== low || words[at + 1] !== high) continue;
      const packed = words[at + 3]!;
      const entry = first + at / archiveWords;
      found.push({ run: words[at + 2]!, state: packed & 3, copies: packed >> 2, entry });
    }
    return found;
  }

  /** Number of copies of the entry that were matched. */
  used(entry: number): number {
    const used = this.#used.get(entry >>> 12)?.[entry & 4095] ?? 0;
    return used < maximumByte ? used : (this.#usedOften.get(entry) ?? used);
  }

  /** Counts one more copy as matched. */
  use(entry: number): void {
    const page = this.#used.get(entry >>> 12) ?? new Uint8Array(4096);
    this.#used.set(entry >>> 12, page);
    if (page[entry & 4095]! < maximumByte) page[entry & 4095]! += 1;
    else this.#usedOften.set(entry, this.used(entry) + 1);
  }

  /** Yields all entries in order; the array is valid until the next one. Throws CorruptArchive. */
  *all(): Generator<Int32Array> {
    let room = new Int32Array(4 * archiveWords * bucketEntries);
    for (let bucket = 0; bucket < 2 ** this.#bits; bucket += 1) {
      const length = this.#lengthOf(bucket);
      if (length > room.length) room = new Int32Array(2 * length);
      yield this.#readBucket(bucket, room.subarray(0, length));
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #bucket(bucket: number): Int32Array {
    const known = this.#buckets.get(bucket);
    if (known) return known;
    const words = this.#readBucket(bucket, new Int32Array(this.#lengthOf(bucket)));
    if (this.#buckets.size === bucketsInMemory) {
      const [oldest] = this.#buckets.keys();
      this.#buckets.delete(oldest!);
    }
    this.#buckets.set(bucket, words);
    return words;
  }

  #lengthOf(bucket: number): number {
    return archiveWords * (this.#starts[bucket + 1]! - this.#starts[bucket]!);
  }

  #readBucket(bucket: number, words: Int32Array): Int32Array {
    this.#read(words, headBytes + entryBytes * this.#starts[bucket]!);
    if (words.length > 0 && crc32(bytesOf(words)) !== this.#sums[bucket]) {
      throw new CorruptArchive('the checksum of a part does not match');
    }
    return words;
  }

  /** Continues the checksum of `start` with a part of the file. */
  #checksum(from: number, to: number, start: Uint32Array): number {
    let sum = crc32(bytesOf(start));
    const room = new Uint32Array(checkedBytes / 4);
    for (let at = from; at < to; at += checkedBytes) {
      const words = room.subarray(0, (to - at) / 4);
      this.#read(words, at);
      sum = crc32(bytesOf(words), sum);
    }
    return sum;
  }

  #words(position: number, count: number): Uint32Array {
    const words = new Uint32Array(count);
    this.#read(words, position);
    return words;
  }

  #read(words: Int32Array | Uint32Array, position: number): void {
    if (!readWords(this.#file, words, position)) throw truncated();
  }
}

const truncated = () => new CorruptArchive('it is truncated');

export interface ArchivedEvent {
  readonly run: number;
  /** See `archivedState`. */
  readonly state: number;
  readonly copies: number;
  /** Index of the entry. */
  readonly entry: number;
}

const bucketOf = (high: number, bits: number): number => (bits === 0 ? 0 : high >>> (32 - bits));

/** Returns where the part of the filter for an event begins. */
const partOf = (high: number, parts: number): number =>
  filterWords * Math.floor(((high >>> 0) / 2 ** 32) * parts);

/** Returns 1 if all bits of an event are set in its part of the filter, else 0. */
const passes = (filter: Uint32Array, part: number, low: number): number =>
  (filter[part + ((low >>> 5) & 7)]! >>> (low & 31)) &
  (filter[part + ((low >>> 13) & 7)]! >>> ((low >>> 8) & 31)) &
  (filter[part + ((low >>> 21) & 7)]! >>> ((low >>> 16) & 31)) &
  (filter[part + (low >>> 29)]! >>> ((low >>> 24) & 31)) &
  1;

/** Sets the bits of an event in its part of the filter. */
function setBits(filter: Uint32Array, part: number, low: number): void {
  for (let byte = 0; byte < 32; byte += 8) {
    const bit = (low >>> byte) & 255;
    filter[part + (bit >>> 5)]! |= 1 << (bit & 31);
  }
}

const bufferedEntries = 65_536;

/** Writes an archive of at most `most` entries, which get their name when all are written. */
export class ArchiveWriter {
  readonly #temporary: AtomicFile;
  readonly #bits: number;
  readonly #starts: Uint32Array;
  readonly #sums: Uint32Array;
  #buffer: Int32Array;
  #filled = 0;
  /** Where the entries of the current bucket begin in the buffer. */
  #bucketAt = 0;
  #bucket = 0;
  #count = 0;

  constructor(path: string, most: number) {
    this.#bits = Math.max(0, Math.ceil(Math.log2(most / bucketEntries)));
    this.#starts = new Uint32Array(2 ** this.#bits + 1);
    this.#sums = new Uint32Array(2 ** this.#bits);
    this.#buffer = new Int32Array(archiveWords * Math.min(bufferedEntries, Math.max(most, 1)));
    this.#temporary = new AtomicFile(path);
    this.#temporary.write(Buffer.alloc(headBytes));
  }

  /** Adds the entry at `words[at]`. Entries come in the order of their fingerprints. */
  add(words: Int32Array, at: number): void {
    this.#toBucket(bucketOf(words[at + 1]!, this.#bits));
    if (this.#filled === this.#buffer.length) this.#flush();
    for (let word = 0; word < archiveWords; word += 1) {
      this.#buffer[this.#filled + word] = words[at + word]!;
    }
    this.#filled += archiveWords;
    this.#count += 1;
  }

  /** Syncs the file and renames it into place. Discards it if nothing was added; returns whether it exists. */
  async finish(): Promise<boolean> {
    if (this.#count === 0) {
      this.#temporary.discard();
      return false;
    }
    this.#toBucket(this.#sums.length);
    this.#temporary.write(bytesOf(this.#buffer.subarray(0, this.#filled)));
    for (const part of [this.#starts, this.#sums]) this.#temporary.write(bytesOf(part));
    const parts = partsFor(this.#count);
    const sum = await this.#writeFilter(
      parts,
      crc32(bytesOf(this.#sums), crc32(bytesOf(this.#starts))),
    );
    const head = Uint32Array.of(magic, version, this.#count, this.#bits, parts, sum, 0);
    head[headWords - 1] = crc32(bytesOf(head).subarray(0, headBytes - 4));
    this.#temporary.write(bytesOf(head), 0);
    this.#temporary.commit();
    return true;
  }

  /** Reads the entries once more, because the filter of many events takes much memory. Returns `sum`, continued. */
  async #writeFilter(parts: number, sum: number): Promise<number> {
    const end = filterWords * parts;
    const filter = new Uint32Array(Math.min(bufferedEntries, end));
    let start = 0;
    const write = (words: number) => {
      const written = bytesOf(filter.subarray(0, words));
      this.#temporary.write(written);
      sum = crc32(written, sum);
      filter.fill(0);
    };
    const breaks = new Breaks();
    const atOnce = this.#buffer.length / archiveWords;
    for (let first = 0; first < this.#count; first += atOnce) {
      const count = Math.min(atOnce, this.#count - first);
      const words = this.#buffer.subarray(0, archiveWords * count);
      if (!readWords(this.#temporary.descriptor, words, headBytes + entryBytes * first))
        throw truncated();
      for (let at = 0; at < words.length; at += archiveWords) {
        const part = partOf(words[at + 1]!, parts);
        for (; part >= start + filter.length; start += filter.length) write(filter.length);
        setBits(filter, part - start, words[at]!);
      }
      if (breaks.areDue(entryBytes * count)) await breaks.take();
    }
    for (; start < end; start += filter.length) write(Math.min(filter.length, end - start));
    return sum;
  }

  discard(): void {
    this.#temporary.discard();
  }

  #toBucket(bucket: number): void {
    if (bucket === this.#bucket) return;
    const bytes = bytesOf(this.#buffer.subarray(this.#bucketAt, this.#filled));
    this.#sums[this.#bucket] = crc32(bytes);
    this.#bucketAt = this.#filled;
    this.#starts.fill(this.#count, this.#bucket + 1, bucket + 1);
    this.#bucket = bucket;
  }

  /** Writes what is complete, and keeps the current bucket for its checksum. */
  #flush(): void {
    if (this.#bucketAt === 0) {
      const larger = new Int32Array(2 * this.#buffer.length);
      larger.set(this.#buffer);
      this.#buffer = larger;
      return;
    }
    this.#temporary.write(bytesOf(this.#buffer.subarray(0, this.#bucketAt)));
    this.#buffer.copyWithin(0, this.#bucketAt, this.#filled);
    this.#filled -= this.#bucketAt;
    this.#bucketAt = 0;
  }
}

/**
 * Matches the events of an archive with the copies of `other`, and counts them as used. Returns how many were
 * matched. Each archive has one entry for an event. Throws CorruptArchive.
 */
export async function matchCopies(archive: EventArchive, other: EventArchive): Promise<number> {
  const breaks = new Breaks();
  let matched = 0;
  for (const words of other.all()) {
    for (let at = 0; at < words.length; at += archiveWords) {
      for (const { entry, copies } of archive.find(words[at]!, words[at + 1]!)) {
        const left = copies - archive.used(entry);
        const count = Math.min(left, words[at + 3]! >>> 2);
        for (let copy = 0; copy < count; copy += 1) archive.use(entry);
        matched += count;
      }
    }
    if (breaks.areDue(4 * words.length)) await breaks.take();
  }
  return matched;
}

/** Writes the copies that were not matched to one archive, and those that were to another one. */
export async function splitMatched(
  archive: EventArchive,
  names: { readonly rest: string; readonly matched: string },
): Promise<void> {
  const [rest, matched] = [names.rest, names.matched].map(
    (name) => new ArchiveWriter(name, archive.count),
  ) as [ArchiveWriter, ArchiveWriter];
  const breaks = new Breaks();
  const copy = Int32Array.of(0, 0, 0, 0);
  let entry = 0;
  try {
    for (const words of archive.all()) {
      for (let at = 0; at < words.length; at += archiveWords, entry += 1) {
        const used = archive.used(entry);
        const counts = [[rest, (words[at + 3]! >>> 2) - used] as const, [matched, used] as const];
        for (const [writer, count] of counts) {
          if (count === 0) continue;
          copy.set([words[at]!, words[at + 1]!, words[at + 2]!, count * 4 + archivedState.sent]);
          writer.add(copy, 0);
        }
      }
      if (breaks.areDue(4 * words.length)) await breaks.take();
    }
    for (const writer of [rest, matched]) await writer.finish();
  } finally {
    for (const writer of [rest, matched]) writer.discard();
  }
}

/** Runs work on the memory in a folder, of an upload by default. Throws its errors as E-LEDGER or E-FILE-WRITE. */
export async function withFileErrors<T>(
  folder: string,
  work: () => Promise<T>,
  resumes = true,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileError(folder, error, resumes);
  }
}

/** Returns the error for a failure of work on the memory in a folder. */
export function fileError(folder: string, cause: unknown, resumes = true): unknown {
  if (cause instanceof CorruptArchive) {
    const repair =
      cause instanceof OtherVersion
        ? 'run the version of engagectl that wrote it'
        : 'restore the folder from a backup';
    return new EngagectlError('E-LEDGER', `the event memory in ${folder} cannot be read`, {
      why: `${cause.message}; events that were sent before would be sent again`,
      fix: `${repair}; or move the folder away, if the events were not sent before`,
      file: folder,
      cause,
    });
  }
  if (cause instanceof EngagectlError || !(cause instanceof Error)) return cause;
  return notSaved('sent events', folder, { cause, resumes });
}
