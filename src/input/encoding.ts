import { isAscii, isUtf8 } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import { EngagectlError } from '../errors.js';
import { decompress, peekBytes } from './decompress.js';
import type { Source } from './source.js';

const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);
const replacement = '\u{FFFD}';

/** Bytes inspected to recognize other files, and UTF-8 that is said to be UTF-16. */
const sampleBytes = 64;
const leastBytes = 4;

/** Encoding of an input, and whether it was detected from its beginning. */
export interface InputEncoding {
  readonly encoding: string;
  readonly isDetected: boolean;
}

/**
 * Converts an input from its encoding (`encodingOf`) to UTF-8. Removes a byte order mark at the very start only. Passes on
 * UTF-8 unchecked. Throws EngagectlError E-FORMAT for a spreadsheet, for UTF-32, and for UTF-8 if `encoding` is UTF-16.
 */
export async function* decodeText(
  chunks: AsyncIterable<Buffer>,
  name: string,
  { encoding, isDetected }: InputEncoding,
): AsyncGenerator<Buffer> {
  const { head, all } = await peekBytes(chunks, leastBytes);
  refuseOtherFiles(head, name);
  const used = new TextDecoder(encoding).encoding;
  if (used === 'utf-8') yield* withoutMark(all);
  else if (isUtf16(used)) yield* fromUtf16(await refuseUtf8(all, name, used), used === 'utf-16be');
  else if (isDetected) yield* fromWindows1252(all);
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
  const sample = head.subarray(0, sampleBytes);
  const text = sample.subarray(0, sample.length - incompleteBytes(sample));
  if (text.length < leastBytes || text.includes(0) || !isUtf8(text)) return all;
  throw new EngagectlError('E-FORMAT', `${name} is not ${encoding}`, {
    file: name,
    why: 'it starts with text in UTF-8',
    fix: 'leave out --encoding, or set another one',
  });
}

/** Throws EngagectlError E-USAGE for an encoding that Node.js does not support, and for ISO-2022-JP. */
export function checkEncoding(encoding: string | undefined): void {
  if (nameOf(encoding) !== 'iso-2022-jp') return;
  throw new EngagectlError('E-USAGE', `the encoding "${encoding}" is not supported`, {
    why: 'an escape sequence in the text of a cell changes what the bytes behind it mean, also the quote that ends the cell',
    // iconv takes the escape sequences of a cell for its own, too
    fix: 'save the input as UTF-8 with the program that wrote it, and leave out --encoding',
  });
}

/** Returns the standard name of an encoding. */
function nameOf(encoding: string | undefined): string {
  try {
    return new TextDecoder(encoding).encoding;
  } catch (cause) {
    throw new EngagectlError('E-USAGE', `unknown encoding "${encoding}"`, {
      why: 'Node.js does not know this encoding',
      fix: 'use a name such as utf-8, utf-16le, utf-16be, windows-1252, iso-8859-15, shift_jis or gbk',
      cause,
    });
  }
}

type Utf16 = 'utf-16le' | 'utf-16be';

function markedEncoding(head: Buffer): 'utf-8' | Utf16 | undefined {
  if (head.subarray(0, 3).equals(utf8Bom)) return 'utf-8';
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  return undefined;
}

const isUtf16 = (encoding: string): boolean => encoding.startsWith('utf-16');

/** First bytes of spreadsheets and archives, in hexadecimal digits: zip (.xlsx, .ods), OLE (.xls), zstd, xz, bzip2. */
const archive = /^(?:504b0304|d0cf11e0|28b52ffd|fd377a585a00|425a683[1-9]314159265359)/;

/** Throws EngagectlError E-FORMAT for a spreadsheet, an archive and UTF-32, by their first bytes. */
export function refuseOtherFiles(head: Buffer, name: string): void {
  refuseArchive(head, name);
  refuseUtf32(head, name);
}

function refuseArchive(head: Buffer, name: string): void {
  if (!archive.test(head.toString('hex', 0, 10))) return;
  throw new EngagectlError('E-FORMAT', `${name} is a spreadsheet or an archive, not text`, {
    file: name,
    why: 'its first bytes are those of a zip, Excel, zstd, xz or bzip2 file',
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

/**
 * Throws EngagectlError E-FORMAT for HTML, which is downloaded instead of a file by users who are not signed in; some HTML
 * tables are named .xls.
 */
export function refuseWebPage(head: Buffer, name: string): void {
  const beginning = head.toString('latin1', 0, sampleBytes);
  if (!/^(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|table)\b/i.test(beginning)) return;
  throw new EngagectlError('E-FORMAT', `${name} is a web page, not records`, {
    file: name,
    why: 'it starts with HTML; perhaps a sign-in page was saved instead of the file',
    fix: 'download the file again after signing in, or save the table as CSV; if it is a list of values, add --input-format list',
  });
}

/** Returns the encoding of UTF-16 without a mark, if its first character is one of ASCII or Latin-1, as in names and JSON. */
function unmarkedUtf16(head: Buffer): Utf16 | undefined {
  const [first, second] = head;
  if (head.length < leastBytes || (first === 0) === (second === 0)) return undefined;
  return second === 0 ? 'utf-16le' : 'utf-16be';
}

/**
 * Whether a first line that is neither plain ASCII nor JSON has a NUL, or ends in one, as in UTF-16 whose first character is
 * another one.
 */
function startsWithNul(head: Buffer): boolean {
  const end = head.findIndex((byte) => byte === 0x0a || byte === 0x0d);
  const line = head.subarray(0, end < 0 ? head.length : end);
  const isText = /^(?:[\t\x20-\x7e]*$|\0\0|\s{0,63}[[{])/.test(line.toString('latin1'));
  return !isText && head.subarray(0, line.length + 2).includes(0);
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
  for await (const chunk of chunks)
    yield encode(withoutPrivateUse(decoder.decode(chunk, { stream: true })));
  yield encode(withoutPrivateUse(decoder.decode()));
}

/**
 * Replaces characters of private use, which some tables of Node.js have for what they do not know, such as the additions of Hong
 * Kong to Big5. U+F8FF is the apple of macintosh.
 */
const withoutPrivateUse = (text: string): string =>
  text.replaceAll(/[\u{E000}-\u{F8FE}]/gu, replacement);

/** A character of several bytes in UTF-8, whose bytes are the characters of this text. */
const utf8Character = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g;

/**
 * Converts what was taken for windows-1252. Whoever writes one wrong byte at the beginning of UTF-8 must not make other
 * users of the identities behind it, so that characters of UTF-8 count as invalid.
 */
async function* fromWindows1252(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]); // a copy, because the buffer of a chunk is reused
    const end = bytes.length - incompleteBytes(bytes);
    rest = bytes.subarray(end);
    yield encode(withoutUtf8(bytes.subarray(0, end)));
  }
  yield encode(withoutUtf8(rest));
}

const windows1252 = new TextDecoder('windows-1252');

/** Decodes windows-1252, with U+FFFD for characters of UTF-8. */
function withoutUtf8(bytes: Buffer): string {
  const text = windows1252.decode(bytes, { stream: true }); // else some versions of Node.js decode ISO-8859-1
  let [kept, from] = ['', 0];
  for (const { 0: found, index } of bytes.toString('latin1').matchAll(utf8Character)) {
    kept += text.slice(from, index) + replacement;
    from = index + found.length;
  }
  return kept + text.slice(from);
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

/** Bytes of an input that are checked before anything is sent. */
const detectionBytes = 16 * 1024 * 1024;

interface EncodingHints {
  readonly named: string | undefined;
  /** A character that is cut at the end may be one of UTF-8, whose record is held back. */
  readonly mayGrow: boolean;
  /** The first bytes may be those of a value, which may be any, and not of a header or of JSON. */
  readonly mayBeList: boolean;
}

/**
 * Returns the encoding of an input: that of its byte order mark, or the one that is named, or UTF-8, UTF-16 or
 * windows-1252, detected from the first 16 MiB of a file, or the beginning of a pipe, because waiting for more would block.
 * Throws EngagectlError E-FORMAT for text that is none of these, with the likely encodings, and for UTF-8 that was encoded
 * twice.
 */
export async function encodingOf(
  source: Source,
  head: Buffer,
  hints: EncodingHints,
): Promise<string> {
  const { named, mayGrow } = hints;
  const marked = markedEncoding(head);
  if (named !== undefined && !isUtf16(marked ?? '')) return marked ?? named;
  if (source.size !== undefined) {
    const sample = await sampleOf(source);
    return sample.encoding(hints, !mayGrow && sample.length < detectionBytes);
  }
  const sample = new EncodingSample(source.name);
  sample.add(head);
  return sample.encoding(hints, false);
}

/** Whether the first 16 MiB of a file are UTF-8 with characters beyond ASCII. */
export async function isBeyondAscii(source: Source): Promise<boolean> {
  return (await sampleOf(source)).isBeyondAscii;
}

async function sampleOf(source: Source): Promise<EncodingSample> {
  const opened = source.open();
  const sample = new EncodingSample(source.name);
  try {
    for await (const chunk of decompress(opened.chunks, source.name)) {
      sample.add(chunk);
      if (sample.isDecided || sample.length >= detectionBytes) break;
    }
  } finally {
    opened.close();
  }
  return sample;
}

const utf16LineEnd = { 'utf-16le': /[\r\n]\0/, 'utf-16be': /\0[\r\n]/ };

/** Characters of Latin languages in windows-1252 that other single-byte encodings use for other letters, too. */
const ambiguous = new Set([
  0x81, 0x83, 0x88, 0x8a, 0x8c, 0x8d, 0x8e, 0x8f, 0x90, 0x98, 0x9a, 0x9c, 0x9d, 0x9e, 0x9f, 0xa4,
  0xa5, 0xb1, 0xb3, 0xb9, 0xbc, 0xbe, 0xd0, 0xdd, 0xde, 0xf0, 0xfd, 0xfe, 0xff,
]);

const letter = '[A-Za-zÀ-ÖØ-öø-ÿ]';

/**
 * Signs of windows-1252 that stand like letters, as code pages of DOS and Macs have letters there: M”ller is Möller.
 * Dashes, apostrophes, ellipses, bullets and no-break spaces are missing, because text has them between letters. So it
 * has other signs between a small letter and a capital (Foto©Ann). Patterns start with the rare byte, else they are slow.
 */
const signsAsLetters = new RegExp(
  '[\x80\x82\x84\x86\x87\x89\x8b\x93\x94\x99\x9b¡-£§-©¬¯µ¶¸½¿]' +
    `(?:(?<=[A-ZÀ-ÖØ-Þ].)(?=${letter})|(?<=${letter}.)(?=[a-zß-öø-ÿ])` +
    `|(?<=${letter}[\x82\x84\x89])|(?<!${letter}.)(?<=\x99)(?=${letter}))`, // André, Örebro
  'g',
);

/** Share of the bytes above 0x7f from which on such signs are more than typing errors. */
const signShare = 0.02;

const candidates = [
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'macintosh',
  'shift_jis',
  'gbk',
];

class EncodingSample {
  length = 0;
  readonly #name: string;
  /** Set by a byte order mark, or by a NUL in the first character. */
  #utf16: Utf16 | undefined;
  #isMarked = false;
  #startsWithNul = false;
  #hasNul = false;
  #hasLineEnd = false;
  #hasUtf16LineEnd = false;
  /** Whether each character of UTF-16 is one of ASCII or Latin-1. */
  #isLatin = true;
  /** Incomplete character at the end of the last chunk. */
  #rest: Buffer = Buffer.alloc(0);
  #hasUtf8 = false;
  #lineFeeds = 0;
  /** Line of the first byte that is not UTF-8. */
  #badLine: number | undefined;
  readonly #counts = new Uint32Array(256);
  /** Bytes above 0x7f, and those of them between ASCII characters. */
  #high = 0;
  #alone = 0;
  #signsAsLetters = 0;
  #sign = '';

  constructor(name: string) {
    this.#name = name;
  }

  /** Whether more bytes would not change the result. */
  get isDecided(): boolean {
    return this.#utf16 !== undefined && (this.#isMarked ? this.#hasUtf16LineEnd : !this.#isLatin);
  }

  /** Whether it is UTF-8 with characters beyond ASCII. */
  get isBeyondAscii(): boolean {
    return this.#hasUtf8 && this.#badLine === undefined && this.#utf16 === undefined;
  }

  add(chunk: Buffer): void {
    if (this.length === 0) {
      const marked = markedEncoding(chunk);
      this.#utf16 = marked === 'utf-8' ? undefined : (marked ?? unmarkedUtf16(chunk));
      this.#isMarked = marked !== undefined;
      this.#startsWithNul = startsWithNul(chunk);
    }
    const from = this.length;
    this.length += chunk.length;
    this.#hasNul ||= chunk.includes(0);
    if (this.#utf16 !== undefined) {
      this.#noteUtf16(chunk, from, this.#utf16);
      return;
    }
    if (this.#badLine !== undefined) return this.#count(chunk);
    const text = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const end = text.length - incompleteBytes(text);
    const whole = text.subarray(0, end);
    this.#rest = Buffer.from(text.subarray(end)); // a copy, because the buffer of a chunk is reused
    if (isUtf8(whole)) {
      this.#noteUtf8(whole);
      return;
    }
    const at = firstInvalid(whole);
    this.#noteUtf8(whole.subarray(0, at));
    this.#badLine = this.#lineFeeds + 1;
    this.#rest = Buffer.alloc(0);
    this.#count(text);
  }

  #noteUtf16(chunk: Buffer, from: number, encoding: Utf16): void {
    this.#hasLineEnd ||= chunk.includes(0x0a) || chunk.includes(0x0d);
    this.#hasUtf16LineEnd ||= utf16LineEnd[encoding].test(chunk.toString('latin1'));
    const high = encoding === 'utf-16le' ? 1 : 0;
    for (let at = 0; this.#isLatin && at < chunk.length; at += 1)
      this.#isLatin = (chunk[at] === 0) === ((from + at) % 2 === high);
  }

  /** Returns the encoding; `isWhole`: nothing follows the sample, so a character that is cut at its end is not UTF-8. */
  encoding({ named, mayBeList }: EncodingHints, isWhole: boolean): string {
    const utf16 = this.#utf16;
    if (utf16 !== undefined && this.#isMarked) return this.#markedOr(utf16, named);
    if (utf16 !== undefined && (this.#isLatin || !mayBeList)) return utf16;
    if (!this.#isMarked && (mayBeList ? this.#hasNul : this.#startsWithNul))
      throw this.#ambiguous(utf16 ?? 'utf-16le', 'utf-8');
    if (isWhole && this.#rest.length > 0 && this.#badLine === undefined && !this.#hasUtf8) {
      this.#badLine = this.#lineFeeds + 1;
      this.#count(this.#rest);
    }
    if (this.#badLine === undefined) {
      if (this.#sign !== '') throw this.#twiceEncoded();
      return 'utf-8';
    }
    if (this.#isWindows1252) return 'windows-1252';
    throw this.#undecodable();
  }

  /** Returns the encoding of a mark, unless the text has lines of another one: the mark may be the first value of a list. */
  #markedOr(marked: Utf16, named: string | undefined): string {
    const usual = nameOf(named);
    const isOther = named !== undefined && usual !== 'utf-8';
    const isContradicted = this.#hasLineEnd && !this.#hasUtf16LineEnd && (isOther || !this.#hasNul);
    if (!isContradicted || isUtf16(usual)) return marked;
    if (this.#hasNul || named === undefined) throw this.#ambiguous(marked, named ?? 'windows-1252');
    return named;
  }

  get #isWindows1252(): boolean {
    if (this.#hasUtf8 || this.#alone < 0.8 * this.#high) return false;
    if (this.#signsAsLetters > 0 && this.#signsAsLetters >= signShare * this.#high) return false;
    // ø beside è, ì or ù is rather Czech in windows-1250
    const isCzech = this.#has(0xf8) && [0xe8, 0xec, 0xf9].some((byte) => this.#has(byte));
    return !isCzech && ![...ambiguous].some((byte) => this.#has(byte));
  }

  #has(byte: number): boolean {
    return this.#counts[byte]! > 0;
  }

  /** Notes characters beyond ASCII, and words such as MÃ¼ller. */
  #noteUtf8(text: Buffer): void {
    for (let at = text.indexOf(0x0a); at >= 0; at = text.indexOf(0x0a, at + 1))
      this.#lineFeeds += 1;
    if (isAscii(text)) return;
    this.#hasUtf8 = true;
    if (this.#sign === '') this.#sign = twiceEncoded(text) ?? '';
  }

  /** Counts the bytes beyond ASCII from the first line on that is not UTF-8. */
  #count(text: Buffer): void {
    const characters = text.toString('latin1');
    this.#hasUtf8 ||= characters.search(utf8Character) >= 0;
    this.#signsAsLetters += characters.match(signsAsLetters)?.length ?? 0;
    for (let at = 0; at < text.length; at += 1) {
      const byte = text[at]!;
      if (byte < 0x80) continue;
      this.#counts[byte]! += 1;
      this.#high += 1;
      if ((text[at - 1] ?? 0) < 0x80 && (text[at + 1] ?? 0) < 0x80) this.#alone += 1;
    }
  }

  #ambiguous(encoding: Utf16, other: string): EngagectlError {
    return new EngagectlError(
      'E-FORMAT',
      `${this.#name} may be UTF-16 or ${other}; nothing was sent`,
      {
        file: this.#name,
        why: this.#isMarked
          ? `it starts with the mark of ${encoding}, but has line ends of another encoding`
          : 'it has NULs, but no byte order mark',
        fix: `set its encoding: --encoding ${encoding} or --encoding ${other}`,
      },
    );
  }

  #undecodable(): EngagectlError {
    const line = this.#badLine!;
    const why = this.#hasUtf8
      ? 'other parts of the file are UTF-8, so the file is damaged or was put together from several'
      : `it may be ${candidates.join(', ')} or another one; DOS has cp850, convert that: iconv -f CP850 -t UTF-8`;
    return new EngagectlError(
      'E-FORMAT',
      `${this.#name}: line ${line} is not valid UTF-8; nothing was sent`,
      {
        file: this.#name,
        line,
        why,
        fix: this.#hasUtf8
          ? 'correct the line, or add --encoding utf-8 to reject such lines; if all of it has another encoding, set that'
          : 'set its encoding, for example --encoding windows-1252; --encoding utf-8 rejects such lines',
      },
    );
  }

  #twiceEncoded(): EngagectlError {
    const sign = Buffer.from(this.#sign, 'latin1').toString();
    const meant = Buffer.from(sign, 'latin1').toString();
    return new EngagectlError('E-FORMAT', `${this.#name} was encoded as UTF-8 twice`, {
      file: this.#name,
      why: `it contains ${JSON.stringify(sign)}, probably for ${JSON.stringify(meant)}`,
      fix: `export it again, or convert it: iconv -f UTF-8 -t WINDOWS-1252; --encoding utf-8 sends it as it is`,
    });
  }
}

/** Ã and Â as UTF-8, which a second encoding makes of the first byte of most letters beyond ASCII. */
const firstBytesTwice = [Buffer.from('Ã'), Buffer.from('Â')];

/** Returns a word such as MÃ¼ller with its bytes as characters; undefined if there is none. */
function twiceEncoded(text: Buffer): string | undefined {
  for (const first of firstBytesTwice) {
    for (let at = text.indexOf(first); at >= 0; at = text.indexOf(first, at + 1)) {
      if (text[at + 2] !== 0xc2) continue;
      const before = /[^\s,;"]{0,10}$/.exec(text.toString('latin1', Math.max(0, at - 10), at))![0];
      const after = /^[^\s,;"]{0,10}/.exec(text.toString('latin1', at + 4, at + 14))![0];
      return before + text.toString('latin1', at, at + 4) + after;
    }
  }
  return undefined;
}

/** Returns the bytes of a character that is cut at the end of a text, which may have been decoded. */
export function incompleteBytes(text: Buffer): number {
  for (let back = 1; back <= Math.min(3, text.length); back += 1) {
    const byte = text[text.length - back]!;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

function firstInvalid(text: Buffer): number {
  const decoded = Buffer.from(text.toString());
  return text.findIndex((byte, at) => byte !== decoded[at]);
}
