import { StringDecoder } from 'node:string_decoder';

/** Stands for text that could not be decoded: never valid in UTF-8, so that its record is refused. */
export const undecodable = Buffer.from([0xff, 0xff, 0xff]);

/** Half of a surrogate pair: what a unit that was cut is counted as, too. */
const half = '\uD800';

/**
 * UTF-8 text of UTF-16, without the mark at its start. TextDecoder makes U+FFFD of half a pair,
 * which a U+FFFD that stands in the file could not be told from.
 */
export async function* fromUtf16(
  chunks: AsyncIterable<Buffer>,
  bigEndian: boolean,
): AsyncGenerator<Buffer> {
  const decoder = new StringDecoder('utf16le');
  let cut = Buffer.alloc(0);
  let begun = false;
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([cut, chunk]); // a copy, as chunks are only lent
    const units = bytes.subarray(0, bytes.length & ~1);
    cut = bytes.subarray(units.length);
    const text = decoder.write(bigEndian ? units.swap16() : units);
    yield utf8Of(begun ? text : text.replace(/^\uFEFF/, ''));
    begun ||= text !== '';
  }
  yield utf8Of(decoder.end() + (cut.length === 0 ? '' : half));
}

function utf8Of(text: string): Buffer {
  const [first = '', ...rest] = text.split(/\p{Surrogate}/u); // of halves only
  return Buffer.concat([
    Buffer.from(first),
    ...rest.flatMap((piece) => [undecodable, Buffer.from(piece)]),
  ]);
}
