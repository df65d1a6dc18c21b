import { decode } from './decode.js';
import { DigestedText, headBytes } from './digested-text.js';
import { gunzip } from './gunzip.js';
import type { InputOptions } from './options.js';
import type { TextDigest } from './rows.js';
import type { Source } from './source.js';

/** A text that an input begins with. */
export interface MatchedText {
  readonly text: TextDigest;
  /** Nothing follows it. */
  readonly isWhole: boolean;
}

/**
 * The longest of the texts, each read to its end by another run, that the input is or begins with;
 * undefined: none. Reads no further than it must. Throws EngagectlError E-FILE-READ.
 */
export async function matchText(
  source: Source,
  texts: readonly TextDigest[],
  { encoding }: Pick<InputOptions, 'encoding'>,
): Promise<MatchedText | undefined> {
  if (texts.length === 0) return undefined;
  const { name } = source;
  const opened = source.open();
  const search = new PrefixSearch(texts);
  try {
    for await (const chunk of decode(gunzip(opened.chunks, name), name, encoding)) {
      if (!search.goOn(chunk)) break;
    }
  } finally {
    opened.close();
  }
  return search.found;
}

/** Holds a text that goes by against others. */
class PrefixSearch {
  readonly #read = new DigestedText();
  /** Those that may still come true, the shortest first. */
  #open: readonly TextDigest[];
  #longest: TextDigest | undefined;

  constructor(texts: readonly TextDigest[]) {
    this.#open = texts.toSorted((a, b) => a.offset - b.offset);
  }

  get found(): MatchedText | undefined {
    const text = this.#longest;
    return text && { text, isWhole: this.#read.length === text.offset };
  }

  /** False when more text would change nothing. */
  goOn(chunk: Buffer): boolean {
    let rest = chunk;
    for (const text of this.#open) {
      const left = text.offset - this.#read.length;
      if (left > rest.length) break;
      this.#read.add(rest.subarray(0, left));
      rest = rest.subarray(left);
      this.#open = this.#open.slice(1);
      const isSame = this.#read.hash === text.hash && this.#read.head === text.ended?.head;
      if (isSame) this.#longest = text;
    }
    const hadHead = this.#read.length > headBytes;
    this.#read.add(rest);
    if (!hadHead && this.#read.length >= headBytes) this.#dropOtherHeads();
    return this.#open.length > 0 || this.found?.isWhole === true;
  }

  #dropOtherHeads(): void {
    const { head } = this.#read;
    this.#open = this.#open.filter(
      ({ offset, ended }) => offset < headBytes || ended?.head === head,
    );
  }
}
