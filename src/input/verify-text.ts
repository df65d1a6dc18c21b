import { changedInput } from './changed-input.js';
import { decode } from './encoding.js';
import { gunzip } from './decompress.js';
import { DigestedText } from './text-digest.js';
import type { InputOptions } from './options.js';
import type { TextDigest } from './row-block.js';
import type { Source } from './source.js';

/**
 * Holds the text of an input against the digest of what an earlier process read of it. More text
 * may follow, but only on a new line: otherwise the last record is another one now. Throws
 * EngagectlError E-INPUT-CHANGED, E-FILE-READ.
 */
export async function verifyText(
  source: Source,
  digest: TextDigest,
  { encoding }: Pick<InputOptions, 'encoding'>,
): Promise<void> {
  const { name } = source;
  const read = new DigestedText();
  const opened = source.open();
  try {
    for await (const text of decode(gunzip(opened.chunks, name), name, encoding)) {
      const left = digest.offset - read.length;
      read.add(text.subarray(0, left));
      if (text.length > left && digest.endsInLine) throw changedInput(name, lineGoesOn);
      if (text.length >= left && !digest.endsInLine) break;
    }
  } finally {
    opened.close();
  }
  if (read.length < digest.offset) throw changedInput(name, 'it is shorter now');
  if (read.hash !== digest.hash) throw changedInput(name, 'a part that was read is another now');
}

const lineGoesOn = 'text was added to its last line, which had no line end';
