import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  dateFormat,
  fittingDate,
  loadFormats,
  localizedType,
  numberFormat,
  readIsoBytes,
  utc,
} from '../../src/mapping/cell-formats.js';
import { loadMapping } from '../../src/mapping/mapping-file.js';
import { JsonWriter } from '../../src/text/json-writer.js';
import { mapCells, mapJson } from '../support/builders/upload-mapping.js';
import { makeWorld } from '../support/test-environment.js';
import type { CellType } from '../../src/mapping/upload-mapping.js';

/** The value that a cell is sent as, or its error. */
function sent(type: string, value: string): unknown {
  const types = new Map([['x', type as CellType]]);
  const outcome = mapCells({ identity: 'u', x: value }, { types });
  if (Array.isArray(outcome)) return (outcome as string[])[1];
  return (outcome as { profileData: { x?: unknown } }).profileData.x;
}
const date = (iso: string) => `$D_${Date.parse(iso) / 1000}`;

beforeAll(() => loadFormats(['phone(DE)']));

describe('a type with a format', () => {
  it.each([
    ['date(DD.MM.YYYY)', '03.04.2024', date('2024-04-03')],
    ['date(D.M.YYYY)', '3.4.2024', date('2024-04-03')],
    ['date(M/D/YYYY H:mm)', '4/3/2024 9:05', date('2024-04-03T09:05Z')],
    ['date(M/D/YYYY h:mm A)', '4/3/2024 12:05 am', date('2024-04-03T00:05Z')],
    ['date(YYYY-MM-DDTHH:mm:ss)', '2024-04-03T10:11:12', date('2024-04-03T10:11:12Z')],
    ['date(YYYYMMDD)', '20240229', date('2024-02-29')],
    ['date(excel)', '45657', date('2024-12-31')],
    ['date(excel)', '61', date('1900-03-01')],
    ['date(excel)', '45657.5', date('2024-12-31T12:00Z')],
    ['date(epoch)', '1700000000', '$D_1700000000'],
    ['date(epochMillis)', '1700000000999', '$D_1700000000'],
    ['number(1.234,56)', '-1.234.567,50', -1234567.5],
    ['number(1.234,56)', '1234,5', 1234.5],
    ['number(1,234.56)', '1,234', 1234],
    ['number($1,234.56)', '$12.00', 12],
    ['number(1.234,56 €)', '12,5 €', 12.5],
    ['number(12,5 %)', '99,9%', 99.9],
    ['number(1 234,5)', '1\u202f234,5', 1234.5],
    ['integer(1.234)', '1.234.567', 1234567],
    ['boolean(ja,nein)', 'JA', true],
    ['boolean(ja,nein)', 'nein', false],
    ['boolean(x,)', 'x', true],
    ['boolean(x,)', '', false],
    ['phone(DE)', '030 / 901820', '+4930901820'],
    ['phone(DE)', '(0151) 12345678', '+4915112345678'],
    ['phone(DE)', '0049 151 12345678', '+4915112345678'],
    ['phone(DE)', '+1 202-456-1111', '+12024561111'],
    ['phone(DE)', '+49 (0)30 / 90182-0', '+4930901820'],
    ['phone(DE)', '\uff0b1 202-456-1111', '+12024561111'],
    ['phone(CN)', '\uff0b１ ３１０ ５５５ ０１２３', '+13105550123'],
    ['phone(US)', '(202) 456-1111', '+12024561111'],
    ['phone(IN)', '098765 43210', '+919876543210'],
    ['phone(IN)', '919876543210', '+919876543210'],
    ['phone(US)', '12024561111', '+12024561111'],
    ['list(;)', 'a; b;;c', ['a', 'b', 'c']],
  ])('parses as %s: %j', (type, value, expected) => {
    expect(sent(type, value)).toEqual(expected);
  });

  it.each([
    ['date(DD.MM.YYYY)', '31.02.2024', 'is not a date like DD.MM.YYYY'],
    ['date(DD.MM.YYYY)', '4/30/2024', 'is not a date like DD.MM.YYYY; date(M/D/YYYY) would fit'],
    ['date(excel)', '0', 'is not a date like excel'],
    ['date(excel)', '60', 'is not a date like excel'], // Excel's 29 February 1900
    ['list(;)', ' ; ', 'has no values (--trim reads blanks as an empty cell)'],
    ['date(epoch)', '45657', 'is not a date like epoch; date(excel) would fit'],
    ['date(DD.MM.YYYY)', '30.04.0024', 'is not a date like DD.MM.YYYY'],
    ['date', '30.04.0024', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '30.04.2024', 'is neither ISO 8601 nor epoch seconds; date(DD.MM.YYYY) would fit'],
    ['number(1.234,56)', '1,234.56', 'is not a number like 1.234,56; number(1,234.56) would fit'],
    ['number(1.234,56)', '1.23', 'is not a number like 1.234,56; number(1,234.56) would fit'],
    ['number(1,234.56)', '1,23', 'is not a number like 1,234.56; number(1.234,56) would fit'],
    ['number(1,234.56)', '$1', 'is not a number like 1,234.56; number($1,234.56) would fit'],
    ['number(1.234,56)', '007', 'is not a number like 1.234,56'],
    ['boolean(ja,nein)', 'x', 'is not "ja" or "nein"'],
    [
      'phone(DE)',
      '4915112345678',
      'can be a number with or without the country code 49: write + before the code',
    ],
    ['phone(DE)', '123', 'is not a phone number of DE, nor one with + and a country code'],
    [
      'phone(DE)',
      'Tel. 030 901820',
      'is not a phone number of DE, nor one with + and a country code',
    ],
    ['phone(DE)', '030 12345 / 030 99999', 'can be two numbers: write one of them'],
    [
      'phone(DE)',
      '٤٩١٥١١٢٣٤٥٦٧٨',
      'can be a number with or without the country code 49: write + before the code',
    ],
    [
      'phone(DE)',
      '０３０ １２３４５ ／ ０３０ ９９９９９',
      'can be two numbers: write one of them',
    ],
    ['phone(DE)', '030 12345  (030) 99999', 'can be two numbers: write one of them'],
    ['phone(DE)', '+49 30 1234 0049 30 999', 'can be two numbers: write one of them'],
    [
      'phone(US)',
      '202-456-1111 ext. 7',
      'is not a phone number of US, nor one with + and a country code',
    ],
  ])('rejects as %s: %j', (type, value, why) => {
    expect(sent(type, value)).toBe(`column "x": ${JSON.stringify(value)} ${why}`);
  });

  it.each([
    '030 123456 (2)',
    '0171/1234567/8',
    '089/1234/1235',
    '+49 171 1234567 / 8',
    '1. 030 123456',
    '2) 030 123456',
    '(2) 030 123456',
    '０３０ １２３４５６（２）',
    '۰۳۰ ۱۲۳۴۵۶ (۲)',
  ])('makes no number of another user of %j', (value) => {
    expect(sent('phone(DE)', value)).toContain('a number with others beside it: write it alone');
  });

  it('uses the format of --locale if it has none of its own', async () => {
    const { types } = await loadMapping(
      { types: ['a:date,b:number', 'c:boolean,d:integer,e:date(excel)'], locale: 'de-DE' },
      makeWorld().runtime(),
    );
    expect([...types.values()]).toEqual([
      'date(D.M.YYYY)',
      'number(1.234,5)',
      'boolean(ja,nein)',
      'integer(1.234)',
      'date(excel)',
    ]);
    expect(localizedType('date', 'en-US')).toBe('date(M/D/YYYY)');
    expect(localizedType('date', 'en-GB')).toBe('date(D/M/YYYY)');
    expect(localizedType('number', 'th-TH')).toBe('number(1,234.5)');
    expect(localizedType('date', 'th-TH-u-ca-gregory')).toBe('date(D/M/YYYY)');
  });

  it.each([
    [['x:date(YYYY)'], undefined, 'the type date(YYYY) has an unknown format'],
    [['x:date(foo)'], undefined, 'unknown format'],
    [['x:number(1.234)'], undefined, 'unknown format'],
    [['x:boolean(ja)'], undefined, 'unknown format'],
    [['x:date'], 'nonsense!', 'unknown locale'],
    [['x:date'], 'th-TH', '--locale th-TH has dates of the buddhist calendar'],
    [['x:date'], 'fa-IR', '--locale fa-IR has dates of the persian calendar'],
    [['x:phone(UK)'], undefined, 'the type phone(UK) has an unknown format'],
  ])('is refused as ambiguous: %j %j', async (types, locale, message) => {
    const flags = { types, ...(locale !== undefined && { locale }) };
    await expect(loadMapping(flags, makeWorld().runtime())).rejects.toThrow(message);
  });

  it('parses what Intl formats in any locale', () => {
    const tags = fc.constantFrom(
      'de-DE',
      'en-US',
      'en-GB',
      'fr-FR',
      'it-IT',
      'sv-SE',
      'pt-BR',
      'pl-PL',
    );
    fc.assert(
      fc.property(
        tags,
        fc.integer({ min: -1e9, max: 1e9 }),
        fc.integer({ min: 0, max: 47_000 }),
        (tag, cents, day) => {
          const written = new Intl.NumberFormat(tag, { minimumFractionDigits: 2 }).format(
            cents / 100,
          );
          const [, example = ''] = /\((.*)\)/.exec(localizedType('number', tag)) ?? [];
          const ascii = written.replace('−', '-');
          expect(Number(numberFormat(example, 'number').read(ascii))).toBe(cents / 100);
          const at = new Date(day * 86_400_000);
          const text = new Intl.DateTimeFormat(tag, { timeZone: 'UTC' }).format(at);
          expect(sent(localizedType('date', tag), text)).toBe(`$D_${day * 86_400}`);
        },
      ),
    );
  });

  it('suggests no format for a text that is not a date', () => {
    expect(['x', '61', '99/99/9999'].map(fittingDate)).toEqual([
      undefined,
      'date(excel)',
      undefined,
    ]);
  });
});

it('reads the times of events in the format of the type of ts', () => {
  const types = new Map([['ts', 'date(DD.MM.YYYY HH:mm)']] as const);
  const options = { kind: 'event', eventName: 'Buy', types } as const;
  const event = { identity: 'u', type: 'event', evtName: 'Buy', evtData: {} };
  expect(mapCells({ identity: 'u', ts: '14.11.2023 22:13' }, options)).toEqual({
    ...event,
    ts: Date.parse('2023-11-14T22:13Z') / 1000,
  });
  expect(mapCells({ identity: 'u', ts: '2023-11-14' }, options)).toEqual([
    'validate',
    'column "ts": "2023-11-14" is not a date like DD.MM.YYYY HH:mm; date(YYYY-MM-DD) would fit',
  ]);
});

it('sends a JSON number as the identity if its type is string', () => {
  const types = new Map([['id', 'string']] as const);
  const options = { identity: 'id', identityGiven: true, types };
  expect(mapJson('{"id":12345678901234567890,"x":1.50}', options)).toBe(
    '{"identity":"12345678901234567890","type":"profile","profileData":{"x":1.50}}',
  );
  expect(mapJson('{"id":{}}', options)).toEqual(['validate', expect.stringContaining('must be')]);
});

const someText = fc.stringMatching(/^[\d.,+/: T€-]{0,18}$/);
const two = (n: number): string => String(n).padStart(2, '0');
const dateText = fc
  .tuple(
    fc.integer({ min: 0, max: 2110 }),
    fc.nat(13),
    fc.nat(32),
    fc.nat(25),
    fc.nat(61),
    fc.nat(61),
  )
  .chain(([year, month, day, hour, minute, second]) =>
    fc.constantFrom(
      `${two(day)}.${two(month)}.${String(year).padStart(4, '0')}`,
      `${month}/${day}/${year} ${hour}:${two(minute)}`,
      `${two(day)}.${two(month)}.${two(year % 100)}`,
      `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}`,
      `${year}${two(month)}${two(day)}`,
    ),
  );

it('reads dates by their bytes as by the pattern of their format', () => {
  const formats = ['DD.MM.YYYY', 'D.M.YYYY', 'M/D/YYYY H:mm', 'DD.MM.YY', 'YYYY-MM-DDTHH:mm:ss', 'YYYYMMDD', 'DMYYYY']; // prettier-ignore
  let read = 0;
  fc.assert(
    fc.property(fc.constantFrom(...formats), fc.oneof(dateText, someText), (format, text) => {
      const { read: readText, readBytes } = dateFormat(format);
      const bytes = Buffer.from(`9${text}9`);
      const seconds = readBytes?.(bytes, 1, bytes.length - 1);
      if (seconds === undefined) return;
      read += 1;
      expect(seconds).toBe(readText(text, utc));
    }),
    { numRuns: 5000 },
  );
  expect(read).toBeGreaterThan(100);
  expect(dateFormat('DD.MM.YYYY').read('31.12.2023', utc)).toBe(Date.UTC(2023, 11, 31) / 1000);
  expect(dateFormat('DD.MM.YYYY').read('29.02.1600', utc)).toBe(Date.UTC(1600, 1, 29) / 1000);
});

it('writes numbers by their bytes as by the pattern of their format', () => {
  const formats = ['1,234.56', '1.234,56', '12.5', '1,5', "1'234.56"];
  const numberText = fc
    .tuple(fc.constantFrom('', '-', '+'), fc.nat(12_345_678), fc.constantFrom('', '.', ',', "'"), fc.constantFrom('', '.5', ',25', '.', '.1234'))
    .map(([sign, n, group, rest]) => `${sign}${String(n).replaceAll(/\B(?=(?:\d{3})+$)/g, group)}${rest}`); // prettier-ignore
  let written = 0;
  fc.assert(
    fc.property(fc.constantFrom(...formats), fc.oneof(numberText, someText), (format, text) => {
      const { read, writeBytes } = numberFormat(format, 'number');
      const bytes = Buffer.from(`9${text}9`);
      const out = new JsonWriter();
      out.ascii('x');
      const isWritten = writeBytes?.(bytes, 1, bytes.length - 1, out) === true;
      expect(out.bytes.toString('latin1', 0, out.length)).toBe(isWritten ? `x${read(text)}` : 'x');
      if (isWritten) written += 1;
    }),
    { numRuns: 5000 },
  );
  expect(written).toBeGreaterThan(100);
});

it('writes integers as JSON', () => {
  const out = new JsonWriter();
  for (const value of [
    0, -1, 7, 10, 2_147_483_647, 2_147_483_648, -62_135_596_800, 253_402_300_799,
  ]) {
    out.length = 0;
    out.integer(value);
    expect(out.bytes.toString('latin1', 0, out.length)).toBe(String(value));
  }
});

it('reads a day in ISO 8601 as the reader of any format does', () => {
  const read = dateFormat('YYYY-MM-DD').readBytes!;
  const number = fc.nat(3000).map((n) => String(n).padStart(2, '0'));
  const dates = fc.oneof(
    fc.tuple(fc.nat(9999), fc.nat(13), fc.nat(32)).map(
      ([year, month, day]) =>
      [String(year).padStart(4, '0'), String(month).padStart(2, '0'), String(day).padStart(2, '0')].join('-'), // prettier-ignore
    ),
    fc.tuple(number, fc.constantFrom('-', '/'), number, number).map((parts) => parts.join('')),
    fc.string({
      unit: fc.constantFrom('0', '1', '2', '-', '/', ':'),
      minLength: 10,
      maxLength: 10,
    }),
  );
  fc.assert(
    fc.property(dates, (text) => {
      const bytes = Buffer.from(`2${text}9`);
      const [start, end] = [1, bytes.length - 1];
      if (end - start === 10) expect(readIsoBytes(bytes, start, end)).toBe(read(bytes, start, end));
    }),
    { numRuns: 2000 },
  );
});
