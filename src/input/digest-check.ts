import { inputChangedError, TextHasher, headBytes } from './text-digest.js';
import { decodeText, type InputEncoding } from './encoding.js';
import { decompress } from './decompress.js';
import { CR, LF } from './record-splitter.js';
import { JsonArraySplitter } from './json-array-splitter.js';
import type { TextDigest, Position } from './row-block.js';
import type { Source } from './source.js';
import type { OpenInput } from './open-input.js';

/**
 * Compares the text of an input with the digest of what an earlier process read of it. More text
 * may follow if `mayGrow`, but only on a new line, because otherwise the last record has changed. Throws
 * EngagectlError E-INPUT-CHANGED, E-FILE-READ.
 */
export async function verifyDigest(
  source: Source,
  digest: TextDigest,
  encoding: InputEncoding,
  { mayGrow }: { readonly mayGrow: boolean },
): Promise<void> {
  const { name } = source;
  const read = new TextHasher();
  const opened = source.open();
  try {
    for await (const text of decodeText(decompress(opened.chunks, name), name, encoding)) {
      const left = digest.offset - read.length;
      read.add(text.subarray(0, left));
      if (text.length > left && digest.endsInLine) throw inputChangedError(name, lineExtended);
      if (text.length >= left && mayGrow && !digest.endsInLine) break;
      if (!mayGrow && /\S/.test(text.toString('latin1', left)))
        throw inputChangedError(name, grown);
    }
  } finally {
    opened.close();
  }
  if (read.length < digest.offset) throw inputChangedError(name, 'it is shorter than before');
  if (read.hash !== digest.hash)
    throw inputChangedError(name, 'a part that was already read has changed');
}

const grown = 'text was appended, and records of the inputs behind it were sent';
export const lineExtended = 'text was appended to its last line, which had no line end';

interface VerifiedPrefix {
  readonly name: string;
  readonly from: Position | undefined;
  readonly digest: TextDigest;
}

/**
 * Skips the text of a pipe up to `from`, if given, and reads up to the position that an earlier
 * process reached. Throws E-INPUT-CHANGED if that text differs, and E-FILE-READ.
 */
export async function skipVerified(
  { window, text }: OpenInput,
  { name, from, digest }: VerifiedPrefix,
): Promise<void> {
  const hash = text!.hashAt(digest.offset);
  if (from) await window.skipTo(from.offset);
  while (text!.length < digest.offset && !window.ended) await window.grow();
  const found = hash();
  if (found === undefined) throw inputChangedError(name, 'it is shorter than before');
  if (found !== digest.hash)
    throw inputChangedError(name, 'a part that was already read has changed');
  if (!digest.endsInLine) return;
  while (text!.length === digest.offset && !window.ended) await window.grow();
  if (text!.length > digest.offset) throw inputChangedError(name, lineExtended);
}

/** Returns the length and digests of the beginning of an input: of `headBytes` bytes at most. Throws E-FILE-READ. */
export async function headOf(
  source: Source,
  encoding: InputEncoding,
): Promise<{ readonly bytes: number; readonly digest: string; readonly head: string }> {
  const { name } = source;
  const read = new TextHasher();
  const opened = source.open();
  try {
    for await (const text of decodeText(decompress(opened.chunks, name), name, encoding)) {
      read.add(text.subarray(0, headBytes - read.length));
      if (read.length === headBytes) break;
    }
  } finally {
    opened.close();
  }
  return { bytes: read.length, digest: read.hash, head: read.head };
}

/** Returns the same of what was read of a pipe. */
export function readHeadOf({ text }: OpenInput): Awaited<ReturnType<typeof headOf>> {
  const bytes = Math.min(text?.length ?? 0, headBytes);
  return { bytes, digest: text?.hashOf(bytes) ?? '', head: text?.headOf(bytes) ?? '' };
}

/**
 * Whether a pipe starts with the same bytes as a text that was read to its end. With `isBeingRead`, it is not read here;
 * then `ifUnread` is returned if too little of it was read to tell.
 */
export async function startsWith(
  { window, text }: OpenInput,
  { offset, ended }: TextDigest,
  { isBeingRead, ifUnread }: { readonly isBeingRead: boolean; readonly ifUnread: boolean },
): Promise<boolean> {
  const bytes = Math.min(offset, headBytes);
  if (!isBeingRead) while (text!.length < bytes && !window.ended) await window.grow();
  if (text!.length < bytes) return ifUnread && !window.ended;
  return text!.headOf(bytes) === ended?.head;
}

/** Returns the pipe positioned at `start`, to which its text was skipped. */
export function resumePipe(open: OpenInput, start: Position | undefined): OpenInput {
  open.text?.release();
  if (!start) return open;
  const { state } = start;
  if (state === undefined || !(open.cutter instanceof JsonArraySplitter)) return { ...open, start };
  return { ...open, start, cutter: open.cutter.resumedAt(state) };
}

/** A known text with which an input starts. */
export interface MatchedText {
  readonly known: TextDigest;
  /** The text as the input has it, which may lack its last line end. */
  readonly text: TextDigest;
  /** Whether the input ends with it. */
  readonly isWhole: boolean;
  /** Whether the input goes on in the last line of the text, which had no line end. */
  readonly extendsLine: boolean;
}

/** Index of texts that other runs read to their ends; there may be many thousands. */
export class KnownTexts {
  readonly #byEnd = new Map<string, TextDigest[]>();
  /** Ends of the texts that are shorter than a head, sorted. */
  readonly short: readonly number[];
  /** Ends of the other texts by head, sorted. */
  readonly #long = new Map<string, readonly number[]>();

  constructor(texts: readonly TextDigest[]) {
    const long = new Map<string, TextDigest[]>();
    for (const text of texts) {
      append(this.#byEnd, endOf(text), text);
      if (text.offset >= headBytes) append(long, text.ended?.head ?? '', text);
    }
    this.short = endsOf(texts.filter(({ offset }) => offset < headBytes));
    for (const [head, those] of long) this.#long.set(head, endsOf(those));
  }

  get isEmpty(): boolean {
    return this.#byEnd.size === 0;
  }

  long(head: string): readonly number[] {
    return this.#long.get(head) ?? [];
  }

  /** Finds the known text that equals the text read so far. */
  find(read: Pick<TextHasher, 'length' | 'hash' | 'head'>): TextDigest | undefined {
    const alike = this.#byEnd.get(endOf({ offset: read.length, hash: read.hash }));
    const head = alike && read.head;
    return alike?.findLast(({ ended }) => ended?.head === head);
  }
}

const endOf = ({ offset, hash }: Pick<TextDigest, 'offset' | 'hash'>): string =>
  `${offset} ${hash}`;

const endsOf = (texts: readonly TextDigest[]): readonly number[] =>
  [...new Set(texts.map(({ offset }) => offset))].toSorted((a, b) => a - b);

function append<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/**
 * Returns the longest of the texts that the input equals or starts with, or undefined. Reads no further than
 * necessary. Throws EngagectlError E-FILE-READ.
 */
export async function matchKnownText(
  source: Source,
  texts: KnownTexts,
  encoding: InputEncoding,
): Promise<MatchedText | undefined> {
  if (texts.isEmpty) return undefined;
  const { name } = source;
  const opened = source.open();
  const search = new PrefixSearch(texts);
  try {
    for await (const chunk of decodeText(decompress(opened.chunks, name), name, encoding)) {
      if (!search.add(chunk)) return search.found;
    }
  } finally {
    opened.close();
  }
  return search.foundAtEnd;
}

/** Compares a text, chunk by chunk, with known texts. */
class PrefixSearch {
  readonly #read = new TextHasher();
  readonly #known: KnownTexts;
  /** Ends of the texts that may still match, and how many of them were passed. */
  #ends: readonly number[];
  #passed = 0;
  #longest: TextDigest | undefined;
  /** The first bytes behind it. */
  #more = Buffer.alloc(0);

  constructor(known: KnownTexts) {
    this.#known = known;
    this.#ends = known.short;
  }

  get found(): MatchedText | undefined {
    const text = this.#longest;
    if (!text) return undefined;
    const isWhole = this.#read.length === text.offset;
    const [first, second] = this.#more;
    const hasLineEnd = first === LF || (first === CR && second === LF);
    const isExtended = text.endsInLine && !isWhole && !hasLineEnd;
    return { known: text, text, isWhole, extendsLine: isExtended };
  }

  /** What was found once the whole input was read: an editor may have removed its last line end. */
  get foundAtEnd(): MatchedText | undefined {
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const known = this.#known.find(this.#read.followedBy(Buffer.from(lineEnd)));
      if (!known?.ended) continue;
      const { length: offset, hash, head } = this.#read;
      const { end } = known.ended;
      const isCut = end.offset > offset;
      const cutEnd = isCut ? { ...end, offset, line: end.line - 1 } : end;
      const text = { ...known, offset, hash, endsInLine: isCut, ended: { end: cutEnd, head } };
      return { known, text, isWhole: true, extendsLine: false };
    }
    return this.found;
  }

  /** Adds text; false when more text cannot change the result. */
  add(chunk: Buffer): boolean {
    if (this.found?.isWhole === true) this.#more = Buffer.from(chunk.subarray(0, 2));
    let rest = this.#pass(chunk);
    const head = headBytes - this.#read.length;
    if (head > 0 && rest.length >= head) {
      this.#read.add(rest.subarray(0, head));
      [this.#ends, this.#passed] = [this.#known.long(this.#read.head), 0];
      rest = this.#pass(rest.subarray(head));
    }
    this.#read.add(rest);
    const mayMatch = this.#passed < this.#ends.length || this.#read.length < headBytes;
    return mayMatch || this.found?.isWhole === true;
  }

  /** Compares at each end of a text within the chunk, and returns the rest of the chunk. */
  #pass(chunk: Buffer): Buffer {
    let rest = chunk;
    for (; this.#passed < this.#ends.length; this.#passed += 1) {
      const left = this.#ends[this.#passed]! - this.#read.length;
      if (left > rest.length) break;
      this.#read.add(rest.subarray(0, left));
      rest = rest.subarray(left);
      const found = this.#known.find(this.#read);
      if (found) [this.#longest, this.#more] = [found, Buffer.from(rest.subarray(0, 2))];
    }
    return rest;
  }
}
