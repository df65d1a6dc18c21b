import * as fc from 'fast-check';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { chunkSizes } from '../support/oracles/documents.js';
import { chunked, readFiles, readText } from './read-rows.js';
import { runs } from '../support/property-runs.js';

const lines = (count: number): string =>
  Array.from({ length: count }, (_, i) => `{"n":${i},"x":"${(i * 7919) % 9973}"}\n`).join('');

describe('gzip', () => {
  it('of several members is one text, wherever chunks end', async () => {
    const text = lines(40);
    const cuts = fc.array(fc.nat(text.length), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(cuts, chunkSizes, async (cuts, sizes) => {
        const ends = [...cuts.toSorted((a, b) => a - b), text.length];
        const members = ends.map((end, i) => gzipSync(text.slice(ends[i - 1] ?? 0, end)));
        const { rows, error } = await readText(chunked(Buffer.concat(members), sizes));
        expect(rows.map((row) => `${row.text}\n`).join('')).toBe(text);
        expect(error).toBeUndefined();
      }),
      { numRuns: runs(50) },
    );
  });

  it('that is truncated yields its complete records, then an error', async () => {
    const text = lines(20_000);
    const packed = gzipSync(text);
    const kept = Math.floor(packed.length * 0.7);
    const { rows, parseErrors, error } = await readText(packed.subarray(0, kept));
    expect(rows.length).toBeGreaterThan(10_000);
    expect(text.startsWith(rows.map((row) => `${row.text}\n`).join(''))).toBe(true);
    expect(parseErrors).toEqual([]);
    expect(error).toMatchObject({
      id: 'E-FILE-READ',
      exitCode: 9,
      message: 'stdin ends in the middle of its gzip data',
      details: { file: 'stdin' },
    });
  });

  it('or a truncated pipe yields a record longer than a read, and what follows', async () => {
    const parts = [`{"a":"${'x'.repeat(70_000)}`, '"}\n{"a":2}\n{"a"'];
    async function* cut(): AsyncGenerator<Buffer> {
      for (const part of parts) yield Buffer.from(part);
      throw new Error('the pipe broke');
    }
    const { rows, error } = await readFiles({ files: ['-'] }, { stdin: Readable.from(cut()) });
    expect(rows.map(({ line }) => line)).toEqual([1, 2]);
    expect(error).toMatchObject({ id: 'E-FILE-READ' });
  });

  it('that is truncated in its last bytes is an error too', async () => {
    const { rows, error } = await readText(gzipSync(lines(30)).subarray(0, -1));
    expect(rows).toHaveLength(30);
    expect(error).toMatchObject({ id: 'E-FILE-READ' });
  });

  it('can be padded with NULs, but not followed by anything else', async () => {
    const packed = gzipSync(lines(30));
    const padded = await readText(Buffer.concat([packed, Buffer.alloc(512)]));
    expect(padded).toMatchObject({ error: undefined });
    expect(padded.rows).toHaveLength(30);
    const mixed = chunked(Buffer.concat([packed, Buffer.from(lines(30))]), [packed.length]);
    const { rows, error } = await readText(mixed);
    expect(rows).toHaveLength(30);
    expect(error).toMatchObject({ id: 'E-FILE-READ', message: 'stdin contains damaged gzip data' });
  });

  it.each([
    ['text', Buffer.from('{"a":1}\n')],
    ['another member', gzipSync('{"a":1}\n')],
  ])('followed by NULs and %s is an error, wherever chunks end', async (_, rest) => {
    const packed = gzipSync(lines(30));
    const nulls = fc.constantFrom(1, 2, 512, 70_000);
    await fc.assert(
      fc.asyncProperty(nulls, chunkSizes, async (count, sizes) => {
        const all = Buffer.concat([packed, Buffer.alloc(count), rest]);
        const { rows, error } = await readText(chunked(all, [packed.length, ...sizes]));
        expect(rows).toHaveLength(30);
        expect(error).toMatchObject({ message: 'stdin contains damaged gzip data' });
      }),
      { numRuns: runs(30) },
    );
  });

  it('with a wrong checksum is an error', async () => {
    const packed = gzipSync(lines(30));
    packed[packed.length - 8]! ^= 1;
    const read = await readText(packed).catch((error: unknown) => ({ error }));
    expect(read.error).toMatchObject({ id: 'E-FILE-READ' });
  });
});

describe('encodings', () => {
  it.each([
    ['windows-1252', Buffer.from([0x47, 0x72, 0xf6, 0xdf, 0x65]), 'Größe'],
    ['utf-16be', Buffer.from('Größe', 'utf16le').swap16(), 'Größe'],
    ['shift_jis', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '日本'],
    ['utf-8', Buffer.from('Größe'), 'Größe'],
  ])('%s is read if it is named', async (encoding, bytes, text) => {
    for (const sizes of [[1], [1000]]) {
      const { rows } = await readText(chunked(bytes, sizes), { encoding, inputFormat: 'ndjson' });
      expect(rows.map((row) => row.text)).toEqual([text]);
    }
  });

  /** Bytes of a text in windows-1252, or in an encoding that was read as windows-1252. */
  const read = async (text: string) => {
    const decoder = new TextDecoder('windows-1252');
    const codes = Array.from(
      { length: 256 },
      (_, byte) => decoder.decode(Uint8Array.of(byte), { stream: true }), // else some versions of Node.js decode ISO-8859-1
    );
    const bytes = Buffer.from(Array.from(text, (character) => codes.indexOf(character)));
    try {
      const { rows } = await readText(bytes, { inputFormat: 'list', listColumn: 'value' });
      return rows.map((row) => row.text);
    } catch (error) {
      return error;
    }
  };

  it.each([
    ['German in cp850', ['M”ller', 'K”ln', 'J„ger', '™sterreich', 'K™LN']],
    ['French and Spanish in cp850', ['Andr‚', 'Fran‡ois', 'Jos‚', 'Garc¡a', 'L¢pez', 'Jes£s']],
    ['Scandinavian languages in cp850', ['G”teborg', 'V„ster†s', 'K›benhavn']],
    ['languages on an old Mac', ['M‡laga', 'Jo‹o', 'C™te', 'K¿benhavn', 'J€GER', 'b‰timent']],
    ['French in iso-8859-15', ['c½ur', 'S½ur, de Liège à Orléans']],
    ['Finnish in iso-8859-15', ['Ta¨kent']],
    ['Polish in iso-8859-2', ['Wi¶niewski']],
    ['Central Europe in cp852', ['Jo§e', 'KO¬ICE']],
  ])('%s are not taken for windows-1252', async (_, texts) => {
    for (const text of texts) {
      const details = { fix: expect.stringContaining('--encoding') as string };
      expect([text, await read(`value\n${text}\n`)]).toMatchObject([
        text,
        { id: 'E-FORMAT', details },
      ]);
    }
  });

  it.each([
    'Hélène août coûte Loïc sûr brûlé',
    'l’été: “oui”, „Wort“ ‚Wort‘ »Wort« «mot»s ”ord” ›ord‹',
    'Paris–Dakar, word—word, north–south, well…maybe, rock•pop, col·legi',
    'Mme\u{A0}Dupont, 2½ kg, 8½x11, n°12, N°A, 1ª, Mª, 5€, 12 k€, 50¢, l´aquila',
    'Foto©Ann Bar® Foo™ iPhone™, Word™Perfect, Müller† note‡',
    '¿Qué? ¡Hola! García, Muñoz, Begoña',
    'João Simões Camões razões põe João Brasília cãibra',
    'Tõnu Võru Emajõe Mustjõgi Rõõm nõus Õie Sõjamäe',
    'Tórshøvn Sørvágur Næstved Mariæ knæ diæt',
    'Niccolò perchè è Noè cioè Desirèe Mirèio',
    'Tiranë Zoë Koçak Fañch',
  ])('what is written in windows-1252 is read as such: %s', async (text) => {
    expect(await read(`value\n${text}\n`)).toEqual([text]);
  });

  it('one wrong character among many others does not stop it', async () => {
    const texts = [...Array.from({ length: 60 }, (_, at) => `Müller${at}`), 'M¿ller'];
    expect(await read(`value\n${texts.join('\n')}\n`)).toEqual(texts);
  });

  it('of the byte order mark take precedence over the named one', async () => {
    const bytes = Buffer.from('\u{FEFF}{"a":"é"}', 'utf16le');
    const { rows } = await readText(bytes, { encoding: 'windows-1252' });
    expect(rows.map((row) => row.text)).toEqual(['{"a":"é"}']);
  });

  it('yield an error for a record that cannot be decoded, not a replacement character', async () => {
    const bytes = Buffer.from('\u{FEFF}a,b\n1,x\n2,\u{D800}\n3,y\n', 'utf16le');
    const { rows, parseErrors } = await readText(bytes, { inputFormat: 'csv' });
    expect(rows.map(({ line }) => line)).toEqual([2, 4]);
    expect(parseErrors).toMatchObject([{ line: 3, column: 3, error: /not valid/ }]);
  });

  it.each([
    ['big5-hkscs', '83fe', 2],
    ['big5', 'c6e7', 2],
    ['gbk', 'aaa1', 2],
    ['shift_jis', 'f040', 2],
    ['macintosh', 'f0', 3],
  ])(
    '%s is read, but for characters of private use other than U+F8FF',
    async (encoding, hex, rows) => {
      const [before, behind] = ['name\nann\n', '\nbob\n'].map((part) => Buffer.from(part));
      const text = Buffer.concat([before!, Buffer.from(hex, 'hex'), behind!]);
      const read = await readText(text, { encoding, inputFormat: 'csv' });
      expect([read.rows.length, read.parseErrors.length]).toEqual([rows, 3 - rows]);
    },
  );

  it('yield an error for UTF-16 that ends with half a character', async () => {
    const bytes = Buffer.from('\u{FEFF}{"a":1}\n{"a":2}', 'utf16le');
    const { rows, parseErrors } = await readText(bytes.subarray(0, -1), { inputFormat: 'ndjson' });
    expect(rows).toHaveLength(1);
    expect(parseErrors).toMatchObject([{ line: 2 }]);
  });
});

describe('UTF-16', () => {
  it('keeps U+FFFD and rejects half a surrogate pair, wherever chunks end', async () => {
    const unit = fc.constantFrom('a', 'ü', '\u{FFFD}', '\u{1F600}', '\u{FEFF}', '\uD83D', '\uDE00');
    const line = fc
      .array(unit, { minLength: 1, maxLength: 6 })
      .map((units) => `v${units.join('')}`);
    const documents = fc.array(line, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(documents, fc.boolean(), chunkSizes, async (lines, bigEndian, sizes) => {
        const bytes = Buffer.from(`\u{FEFF}value\n${lines.join('\n')}\n`, 'utf16le');
        if (bigEndian) bytes.swap16();
        const options = { inputFormat: 'list', listColumn: 'value' } as const;
        const { rows, parseErrors } = await readText(chunked(bytes, sizes), options);
        const numbered = lines.map((text, at) => ({ line: at + 2, text }));
        const isWhole = ({ text }: { text: string }) => !/\p{Surrogate}/u.test(text);
        expect(rows.map(({ line, text }) => ({ line, text }))).toEqual(numbered.filter(isWhole));
        expect(parseErrors.map(({ line, column }) => ({ line, column }))).toEqual(
          numbered
            .filter((line) => !isWhole(line))
            .map(({ line, text }) => ({ line, column: bytesBeforeHalf(text) + 1 })),
        );
      }),
      { numRuns: runs(300) },
    );
  });
});

describe('windows-1252 that was detected at the beginning of a pipe', () => {
  const text = (bytes: string) => Buffer.from(bytes, 'latin1');
  const head = text('value\nM\xfcnchen\n');

  it('does not change what is UTF-8 behind it, wherever chunks end', async () => {
    const parts = ['a', ' ', '\xfc', '\xd6', '\xc3\xbc', '\xe2\x82\xac', '\xf0\x9f\x98\x80'];
    const line = fc
      .array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 })
      .map((chosen) => `v${chosen.join('')}`);
    const documents = fc.array(line, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(documents, chunkSizes, async (lines, sizes) => {
        const chunks = [head, ...chunked(text(`${lines.join('\n')}\n`), sizes)];
        const { rows, parseErrors } = await readText(chunks, { listColumn: 'value' });
        const isUtf8 = (one: string) => /[\xc2-\xf4][\x80-\xbf]/.test(one);
        const numbered = lines.map((one, at) => ({ line: at + 3, text: one }));
        const whole = numbered.filter((one) => !isUtf8(one.text));
        expect(rows.slice(1).map((one) => ({ line: one.line, text: one.text }))).toEqual(whole);
        const wrong = numbered.filter((one) => isUtf8(one.text));
        expect(parseErrors.map((one) => one.line)).toEqual(wrong.map((one) => one.line));
      }),
      { numRuns: runs(300) },
    );
  });

  it('is refused if a character of UTF-8 is there, too, among however many others', async () => {
    const lines = Buffer.concat([head, text('a\xfc\n'.repeat(99)), Buffer.from('björn\n')]);
    await expect(readText(lines, { listColumn: 'value' })).rejects.toMatchObject({
      id: 'E-FORMAT',
      details: { line: 2, fix: expect.stringContaining('--encoding utf-8') as unknown },
    });
    const { rows } = await readText(lines, { listColumn: 'value', encoding: 'windows-1252' });
    expect(rows.at(-1)?.text).toBe('bjÃ¶rn');
  });
});

const bytesBeforeHalf = (text: string): number =>
  Buffer.byteLength(text.slice(0, text.search(/\p{Surrogate}/u)));

describe('a record that is not UTF-8', () => {
  it('is an error with its bytes, and the others are read', async () => {
    const text = Buffer.from('a,b\nx,1\nGr\xf6\xdfe,2\n"y\n\xff",3\nz,4\n', 'latin1');
    const { rows, parseErrors } = await readText(text, { inputFormat: 'csv', encoding: 'utf-8' });
    expect(rows.map(({ line, cells }) => [line, cells])).toEqual([
      [2, ['x', '1']],
      [6, ['z', '4']],
    ]);
    const error = 'not valid UTF-8; if the file has another encoding, set it with --encoding';
    expect(parseErrors).toEqual([
      { line: 3, column: 3, error, raw: 'Gr\xf6\xdfe,2' },
      { line: 4, column: undefined, error, raw: '"y\n\xff",3' },
    ]);
  });

  it.each([
    ['overlong', [0xc0, 0xaf]],
    ['surrogate', [0xed, 0xa0, 0x80]],
    ['cut', [0xe2, 0x82]],
    ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
  ])('is detected in NDJSON and JSON: %s', async (_, bytes) => {
    const bad = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
    const ndjson = Buffer.concat([Buffer.from('{"a":1}\n'), bad, Buffer.from('\n{"a":2}\n')]);
    const json = Buffer.concat([Buffer.from('[{"a":1},\n'), bad, Buffer.from(',\n{"a":2}]')]);
    for (const text of [ndjson, json]) {
      const { rows, parseErrors } = await readText(text, { encoding: 'utf-8' });
      expect(rows.map(({ line }) => line)).toEqual([1, 3]);
      expect(parseErrors).toMatchObject([{ line: 2, column: 7, raw: bad.toString('latin1') }]);
    }
  });
});

describe('a record over the limit', () => {
  const long = 'x'.repeat(3000);
  it.each([
    ['csv', `a,b\n1,2\n3,${long}\n5,6`],
    ['ndjson', `\n{"a":1}\n{"a":"${long}"}\n{"a":2}`],
    ['json', `[\n{"a":1},\n{"a":"${long}"},\n{"a":2}]`],
    ['json', `[\n{"a":1},\n{"a":"${'\\"]'.repeat(1000)}"},\n{"a":2}]`],
    ['list', `\na\n${long}\nb`],
  ] as const)('of %s is an error, wherever chunks end', async (format, text) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4000 }), async (size) => {
        const options = { inputFormat: format, maxRecordBytes: 1000, listColumn: 'value' };
        const { rows, parseErrors } = await readText(chunked(Buffer.from(text), [size]), options);
        expect(rows.map(({ line }) => line)).toEqual([2, 4]);
        expect(parseErrors).toMatchObject([
          { line: 3, error: 'longer than 1000 bytes (--max-record-bytes)' },
        ]);
      }),
      { numRuns: runs(60) },
    );
  });

  it.each(['\n', '\r\n', '\r'])(
    'is one byte longer than the limit, whatever ends it: %j',
    async (end) => {
      const text = `a\n${'x'.repeat(1000)}${end}${'y'.repeat(1001)}${end}z${end}`;
      for (const size of [1, 7, 1001, 1002, 1003, 5000]) {
        const options = { inputFormat: 'csv', maxRecordBytes: 1000 } as const;
        const { rows, parseErrors } = await readText(chunked(Buffer.from(text), [size]), options);
        expect(rows.map(({ line }) => line)).toEqual([2, 4]);
        expect(parseErrors.map(({ line }) => line)).toEqual([3]);
      }
    },
  );

  it('because of a lost quote costs only the line of the quote with --recover-quotes', async () => {
    const text = `a,b\n1,"x\n${'2,y\n'.repeat(1000)}`;
    const options = { inputFormat: 'csv', maxRecordBytes: 1000, recoverQuotes: true } as const;
    const { rows, parseErrors } = await readText(text, options);
    expect(parseErrors).toMatchObject([{ line: 2 }]);
    expect(rows.map(({ line }) => line)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 3));
  });

  it('keeps its first 64 KiB', async () => {
    const text = `{"a":"${'x'.repeat(200_000)}"}`;
    const { parseErrors } = await readText(text, { maxRecordBytes: 100_000 });
    expect(parseErrors.map(({ raw }) => raw)).toEqual([text.slice(0, 64 * 1024)]);
  });
});
