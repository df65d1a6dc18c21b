import { changedInput } from './changed-input.js';
import { decode } from './decode.js';
import { gunzip } from './gunzip.js';
import type { InputOptions } from './options.js';
import type { TextDigest } from './rows.js';
import type { Source } from './source.js';
import type { TextHash } from './text-hash.js';

/**
 * Holds the text of an input against the digest of what an earlier process read of it. More text
 * may follow, but only on a new line: otherwise the last record is another one now. Throws
 * EngagectlError E-INPUT-CHANGED, E-FILE-READ.
 */
export async function verifyText(
  source: Source,
  digest: TextDigest,
  { encoding, hash }: Pick<InputOptions, 'encoding'> & { readonly hash: TextHash },
): Promise<void> {
  const { name } = source;
  hash.begin();
  const opened = source.open(hash.buffers);
  let left = digest.offset;
  try {
    for await (const text of decode(gunzip(opened.chunks, name), name, encoding)) {
      hash.update(text.subarray(0, left));
      if (text.length > left && digest.endsInLine) throw changedInput(name, lineGoesOn);
      left -= Math.min(left, text.length);
      if (left === 0 && !digest.endsInLine) break;
    }
  } finally {
    opened.close();
  }
  if (left > 0) throw changedInput(name, 'it is shorter now');
  if (hash.hash() !== digest.hash) throw changedInput(name, 'a part that was read is another now');
}

const lineGoesOn = 'text was added to its last line, which had no line end';
