import { inputChangedError, TextHasher, headBytes } from './text-digest.js';
import { decodeText } from './encoding.js';
import { decompress } from './decompress.js';
import { JsonArraySplitter } from './json-array-splitter.js';
import type { InputOptions } from './input-format.js';
import type { TextDigest, Position } from './row-block.js';
import type { Source } from './source.js';
import type { OpenInput } from './open-input.js';

/**
 * Holds the text of an input against the digest of what an earlier process read of it. More text
 * may follow, but only on a new line: otherwise the last record is another one now. Throws
 * EngagectlError E-INPUT-CHANGED, E-FILE-READ.
 */
export async function verifyDigest(
  source: Source,
  digest: TextDigest,
  { encoding }: Pick<InputOptions, 'encoding'>,
): Promise<void> {
  const { name } = source;
  const read = new TextHasher();
  const opened = source.open();
  try {
    for await (const text of decodeText(decompress(opened.chunks, name), name, encoding)) {
      const left = digest.offset - read.length;
      read.add(text.subarray(0, left));
      if (text.length > left && digest.endsInLine) throw inputChangedError(name, lineGoesOn);
      if (text.length >= left && !digest.endsInLine) break;
    }
  } finally {
    opened.close();
  }
  if (read.length < digest.offset) throw inputChangedError(name, 'it is shorter now');
  if (read.hash !== digest.hash)
    throw inputChangedError(name, 'a part that was read is another now');
}

const lineGoesOn = 'text was added to its last line, which had no line end';

interface Passed {
  readonly name: string;
  readonly from: Position | undefined;
  readonly digest: TextDigest;
}

/**
 * Gives up the text of a pipe before a place, if one is named, and reads on to where an earlier
 * process read: that text has to be the same. Throws E-INPUT-CHANGED, E-FILE-READ.
 */
export async function skipVerified(
  { window, text }: OpenInput,
  { name, from, digest }: Passed,
): Promise<void> {
  const hash = text!.hashAt(digest.offset);
  if (from) await window.skipTo(from.offset);
  while (text!.length < digest.offset && !window.ended) await window.grow();
  const found = hash();
  if (found === undefined) throw inputChangedError(name, 'it is shorter now');
  if (found !== digest.hash) throw inputChangedError(name, 'a part that was read is another now');
  if (!digest.endsInLine) return;
  while (text!.length === digest.offset && !window.ended) await window.grow();
  if (text!.length > digest.offset) throw inputChangedError(name, lineGoesOn);
}

/** Whether a pipe begins as a text does that was read to its end: its first bytes tell. */
export async function startsWith(
  { window, text }: OpenInput,
  { offset, ended }: TextDigest,
): Promise<boolean> {
  const bytes = Math.min(offset, headBytes);
  while (text!.length < bytes && !window.ended) await window.grow();
  return text!.length >= bytes && text!.headOf(bytes) === ended?.head;
}

/** The pipe from the place on, before which its text was given up. */
export function resumePipe(open: OpenInput, start: Position | undefined): OpenInput {
  open.text?.release();
  if (!start) return open;
  const { state } = start;
  return { ...open, start, ...(state !== undefined && { cutter: new JsonArraySplitter(state) }) };
}

/** A text that an input begins with. */
export interface MatchedText {
  readonly text: TextDigest;
  /** Nothing follows it. */
  readonly isWhole: boolean;
}

/** Texts, each read to its end by another run; there may be many thousands, for many thousands of inputs. */
export class KnownTexts {
  readonly #byEnd = new Map<string, TextDigest[]>();
  /** Where those end that are shorter than their heads, in order. */
  readonly short: readonly number[];
  /** Where the others end, in order, by their heads. */
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

  /** The text that was read so far, if it is one of them. */
  find(read: TextHasher): TextDigest | undefined {
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
 * The longest of the texts that the input is or begins with; undefined: none. Reads no further than it
 * must. Throws EngagectlError E-FILE-READ.
 */
export async function matchKnownText(
  source: Source,
  texts: KnownTexts,
  { encoding }: Pick<InputOptions, 'encoding'>,
): Promise<MatchedText | undefined> {
  if (texts.isEmpty) return undefined;
  const { name } = source;
  const opened = source.open();
  const search = new PrefixSearch(texts);
  try {
    for await (const chunk of decodeText(decompress(opened.chunks, name), name, encoding)) {
      if (!search.goOn(chunk)) break;
    }
  } finally {
    opened.close();
  }
  return search.found;
}

/** Holds a text that goes by against others. */
class PrefixSearch {
  readonly #read = new TextHasher();
  readonly #known: KnownTexts;
  /** Where a text that may come true ends, and how many of these places were passed. */
  #ends: readonly number[];
  #passed = 0;
  #longest: TextDigest | undefined;

  constructor(known: KnownTexts) {
    this.#known = known;
    this.#ends = known.short;
  }

  get found(): MatchedText | undefined {
    const text = this.#longest;
    return text && { text, isWhole: this.#read.length === text.offset };
  }

  /** False when more text would change nothing. */
  goOn(chunk: Buffer): boolean {
    let rest = this.#pass(chunk);
    const head = headBytes - this.#read.length;
    if (head > 0 && rest.length >= head) {
      this.#read.add(rest.subarray(0, head));
      [this.#ends, this.#passed] = [this.#known.long(this.#read.head), 0];
      rest = this.#pass(rest.subarray(head));
    }
    this.#read.add(rest);
    const mayComeTrue = this.#passed < this.#ends.length || this.#read.length < headBytes;
    return mayComeTrue || this.found?.isWhole === true;
  }

  /** Looks at each place where a text ends; what is behind the last of them. */
  #pass(chunk: Buffer): Buffer {
    let rest = chunk;
    for (; this.#passed < this.#ends.length; this.#passed += 1) {
      const left = this.#ends[this.#passed]! - this.#read.length;
      if (left > rest.length) break;
      this.#read.add(rest.subarray(0, left));
      rest = rest.subarray(left);
      this.#longest = this.#known.find(this.#read) ?? this.#longest;
    }
    return rest;
  }
}
