import { EngagectlError } from '../errors.js';
import { peekBytes } from './decompress.js';
import { StringDecoder } from 'node:string_decoder';

const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);
const replacement = '\u{FFFD}';

/** Bytes inspected to recognize UTF-16 without a byte order mark. */
const sampleBytes = 64;
const leastBytes = 4;

/**
 * Converts an input in UTF-8, in UTF-16 with a byte order mark, or in `encoding` to UTF-8. Removes a mark
 * at the very start only. Passes on UTF-8 unchecked. Throws EngagectlError E-FORMAT for a spreadsheet, for a web page,
 * and for UTF-8 if `encoding` is UTF-16.
 */
export async function* decodeText(
  chunks: AsyncIterable<Buffer>,
  name: string,
  encoding: string | undefined,
): AsyncGenerator<Buffer> {
  const { head, all } = await peekBytes(chunks, leastBytes);
  refuseOtherFiles(head, name);
  const found = markedEncoding(head) ?? encoding ?? 'utf-8';
  const used = new TextDecoder(found).encoding;
  if (used === 'utf-8') yield* withoutMark(all);
  else if (used.startsWith('utf-16'))
    yield* fromUtf16(await refuseUtf8(all, name, used), used === 'utf-16be');
  else yield* transcode(all, used);
}

/**
 * Returns the chunks. Throws E-FORMAT if they start with UTF-8: UTF-16 has a NUL in each ASCII character, such as those
 * that separate cells and members.
 */
async function refuseUtf8(
  chunks: AsyncIterable<Buffer>,
  name: string,
  encoding: string,
): Promise<AsyncIterable<Buffer>> {
  const { head, all } = await peekBytes(chunks, sampleBytes);
  const sample = head.subarray(0, sampleBytes).toString(); // U+FFFD for a character that is cut
  if (sample.length < leastBytes || /[\0\uFFFD](?!$)/.test(sample)) return all;
  throw new EngagectlError('E-FORMAT', `${name} is not ${encoding}`, {
    file: name,
    why: 'it starts with text in UTF-8',
    fix: 'leave out --encoding, or set another one',
  });
}

/** Throws EngagectlError E-USAGE for an encoding that Node.js does not support. */
export function checkEncoding(encoding: string | undefined): void {
  try {
    return void new TextDecoder(encoding);
  } catch (cause) {
    throw new EngagectlError('E-USAGE', `unknown encoding "${encoding}"`, {
      why: 'Node.js does not know this encoding',
      fix: 'use a name such as utf-8, utf-16le, utf-16be, windows-1252, iso-8859-15, shift_jis or gbk',
      cause,
    });
  }
}

export function markedEncoding(head: Buffer): string | undefined {
  if (head.subarray(0, 3).equals(utf8Bom)) return 'utf-8';
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  return undefined;
}

/** First bytes of spreadsheet files: zip (.xlsx, .ods) and OLE (.xls). */
const spreadsheets = [Buffer.from('PK\x03\x04'), Buffer.from([0xd0, 0xcf, 0x11, 0xe0])];

/** Throws EngagectlError E-FORMAT for a spreadsheet, for UTF-32 and for a web page, by their first bytes. */
export function refuseOtherFiles(head: Buffer, name: string): void {
  refuseSpreadsheet(head, name);
  refuseUtf32(head, name);
  refuseWebPage(head, name);
}

function refuseSpreadsheet(head: Buffer, name: string): void {
  if (!spreadsheets.some((start) => head.subarray(0, start.length).equals(start))) return;
  throw new EngagectlError('E-FORMAT', `${name} is a spreadsheet or an archive, not text`, {
    file: name,
    why: 'its first bytes are those of a zip or Excel file',
    fix: 'save the sheet as CSV in UTF-8, or unpack the archive',
  });
}

/** Refuses UTF-32, whose mark begins like that of UTF-16. */
function refuseUtf32(head: Buffer, name: string): void {
  if (!['fffe0000', '0000feff'].includes(head.toString('hex', 0, 4))) return;
  throw new EngagectlError('E-FORMAT', `${name} is UTF-32, which Node.js does not decode`, {
    file: name,
    why: 'it starts with the byte order mark of UTF-32',
    fix: 'save it in UTF-8, or convert it: iconv -f UTF-32 -t UTF-8',
  });
}

/** Refuses HTML, which is downloaded instead of a file by users who are not signed in; some HTML tables are named .xls. */
function refuseWebPage(head: Buffer, name: string): void {
  const beginning = head.toString('latin1', 0, sampleBytes);
  if (!/^(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|table)\b/i.test(beginning)) return;
  throw new EngagectlError('E-FORMAT', `${name} is a web page, not records`, {
    file: name,
    why: 'it starts with HTML; perhaps a sign-in page was saved instead of the file',
    fix: 'download the file again after signing in, or save the table as CSV',
  });
}

/**
 * Returns the encoding of UTF-16 without a mark. ASCII in UTF-16 has a NUL in each pair of bytes, always on the same side,
 * where letters of other alphabets have small numbers.
 */
export function unmarkedUtf16(head: Buffer): string | undefined {
  const sample = head.subarray(0, Math.min(head.length & ~1, sampleBytes));
  if (sample.length < leastBytes) return undefined;
  const isHigh = (side: number): boolean => {
    const high = sample.filter((_, at) => at % 2 === side);
    if ([0x09, 0x0a, 0x0d].some((byte) => high.includes(byte))) return false; // tabs and line ends of UTF-8
    const low = sample.filter((_, at) => at % 2 !== side);
    const nuls = high.filter((byte) => byte === 0).length;
    return !low.includes(0) && nuls > high.filter((byte) => byte >= 0x20).length;
  };
  return isHigh(1) ? 'utf-16le' : isHigh(0) ? 'utf-16be' : undefined;
}

async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let first = true;
  for await (const chunk of chunks) {
    yield first && chunk.subarray(0, 3).equals(utf8Bom) ? chunk.subarray(3) : chunk;
    first = false;
  }
}

async function* transcode(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of chunks) yield encode(decoder.decode(chunk, { stream: true }));
  yield encode(decoder.decode());
}

/** Encodes as UTF-8, with an invalid mark for each U+FFFD, because sending U+FFFD would silently damage data. */
function encode(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (!text.includes(replacement)) return bytes;
  for (let at = bytes.indexOf(replacement); at !== -1; at = bytes.indexOf(replacement, at)) {
    bytes.fill(invalidMark, at, at + 3);
  }
  return bytes;
}

/** Replacement for text that could not be decoded; invalid UTF-8, so that its record is rejected. */
const invalidMark = Buffer.from([0xff, 0xff, 0xff]);

/** Half of a surrogate pair, which also stands for a truncated code unit. */
const half = '\uD800';

/**
 * Converts UTF-16 to UTF-8 without the mark at its start. TextDecoder converts half a pair to U+FFFD,
 * which could not be distinguished from a U+FFFD in the file.
 */
async function* fromUtf16(
  chunks: AsyncIterable<Buffer>,
  bigEndian: boolean,
): AsyncGenerator<Buffer> {
  const decoder = new StringDecoder('utf16le');
  let cut = Buffer.alloc(0);
  let hasStarted = false;
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([cut, chunk]); // a copy, because the buffer of a chunk is reused
    const units = bytes.subarray(0, bytes.length & ~1);
    cut = bytes.subarray(units.length);
    const text = decoder.write(bigEndian ? units.swap16() : units);
    yield utf8Of(hasStarted ? text : text.replace(/^\uFEFF/, ''));
    hasStarted ||= text !== '';
  }
  yield utf8Of(decoder.end() + (cut.length === 0 ? '' : half));
}

function utf8Of(text: string): Buffer {
  const [first = '', ...rest] = text.split(/\p{Surrogate}/u); // unpaired halves
  return Buffer.concat([
    Buffer.from(first),
    ...rest.flatMap((piece) => [invalidMark, Buffer.from(piece)]),
  ]);
}
