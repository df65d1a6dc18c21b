import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timeZone } from '../../src/time-zone.js';
import { uploadMapper } from '../../src/mapping/upload-mapper.js';
import { csvRows, jsonRows, recordTexts } from '../support/builders/row-blocks.js';
import {
  mapCells,
  mapRows,
  uploadDefaults,
  isValidIdentity,
  type Options,
} from '../support/builders/upload-mapping.js';
import { anyCharacter } from '../support/any-character.js';

const upload = (header: readonly string[], rows: readonly (readonly string[])[]) =>
  mapRows(csvRows(header, rows));

/** Numbers that are not plausible epoch seconds, and the fix that the message names. */
const implausible = [
  ['19850312', 'use date(YYYYMMDD)'],
  ['45657', 'use date(excel) for day numbers of a spreadsheet'],
  ['2024', 'use integer for a year'],
  ['0', 'write ISO 8601'],
  ['-1', 'write ISO 8601'],
  ['315532799', 'write ISO 8601'],
  ['4133980800', 'write ISO 8601'],
] as const;

const profile = (profileData: object) => ({ identity: 'ada', type: 'profile', profileData });

describe('a CSV row as a profile', () => {
  it('sends every column but the identity as a key of profileData', () => {
    expect(upload(['City', 'identity', 'Plan'], [['Rome', 'ada', 'gold']]).records).toEqual([
      '{"identity":"ada","type":"profile","profileData":{"City":"Rome","Plan":"gold"}}',
    ]);
  });

  it('sends a profile without data', () => {
    expect(mapCells({ identity: 'ada' })).toEqual(profile({}));
  });

  it.each<[string, Options, object]>([
    [
      '--identity',
      { identity: 'City', identityGiven: true },
      { identity: 'Rome', type: 'profile', profileData: { identity: 'ada', Plan: 'gold' } },
    ],
    [
      '--map',
      { map: new Map([['City', 'Town = "home"']]) },
      profile({ 'Town = "home"': 'Rome', Plan: 'gold' }),
    ],
    ['--drop', { drop: new Set(['City']) }, profile({ Plan: 'gold' })],
    ['--only', { only: new Set(['City']) }, profile({ City: 'Rome' })],
    [
      '--map of a column that --only keeps',
      { only: new Set(['City']), map: new Map([['City', 'Town']]) },
      profile({ Town: 'Rome' }),
    ],
    [
      '--object-id, which replaces the identity',
      { objectId: 'City' },
      { objectId: 'Rome', type: 'profile', profileData: { identity: 'ada', Plan: 'gold' } },
    ],
    [
      '--object-id beside --identity',
      { objectId: 'City', identityGiven: true },
      { objectId: 'Rome', ...profile({ Plan: 'gold' }) },
    ],
    [
      '--object-id without the identity',
      { objectId: 'City', drop: new Set(['identity']) },
      { objectId: 'Rome', type: 'profile', profileData: { Plan: 'gold' } },
    ],
  ])('respects %s', (_, options, record) => {
    expect(mapCells({ identity: 'ada', City: 'Rome', Plan: 'gold' }, options)).toEqual(record);
  });

  it.each<['omit' | 'null' | 'string', object]>([
    ['omit', {}],
    ['null', { City: null, Age: null, 'MSG-sms': null, Zip: null }],
    ['string', { City: '', Zip: '' }],
  ])(
    'sends empty cells according to --empty %s, flags and numbers never as text',
    (empty, data) => {
      const types = new Map([
        ['Age', 'integer'],
        ['Zip', 'string'],
      ] as const);
      const row = { identity: 'ada', City: '', Age: '', 'MSG-sms': '', Zip: '' };
      expect(mapCells(row, { empty, types })).toEqual(profile(data));
    },
  );

  it('keeps __proto__ and constructor as plain keys', () => {
    const { records } = upload(['identity', '__proto__', 'constructor'], [['ada', 'x', 'y']]);
    expect(records[0]).toContain('{"__proto__":"x","constructor":"y"}');
  });

  it('formats any cell as JSON.stringify would', () => {
    const cell = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.string({
        unit: fc.constantFrom('"', '\\', '\0', '\u001f', '\u007f', '\n', '\r', ',', 'é', '😀'),
      }),
      fc.string({ unit: 'grapheme', minLength: 60, maxLength: 200 }),
    );
    const name = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('__proto__', 'a"b', 'ключ'));
    const table = fc
      .uniqueArray(
        name.filter((text) => text !== 'identity' && !text.startsWith('MSG-')),
        { maxLength: 6 },
      )
      .chain((names) => {
        const row = fc.array(cell, { minLength: names.length, maxLength: names.length });
        return fc.record({ names: fc.constant(names), rows: fc.array(row, { maxLength: 5 }) });
      });
    fc.assert(
      fc.property(table, ({ names, rows }) => {
        const expected = rows.map((row) => {
          const members = row.flatMap((value, index) =>
            value === '' ? [] : [`${JSON.stringify(names[index])}:${JSON.stringify(value)}`],
          );
          return `{"identity":"ada","type":"profile","profileData":{${members.join(',')}}}`;
        });
        const { records } = upload(
          ['identity', ...names],
          rows.map((row) => ['ada', ...row]),
        );
        expect(records).toEqual(expected);
      }),
    );
  });
});

describe('a column with a type', () => {
  const berlin = timeZone('Europe/Berlin');
  const column = (type: string, value: string) =>
    mapCells(
      { identity: 'ada', x: value },
      { types: new Map([['x', type as 'json']]), zone: berlin },
    );
  const text = (type: string, value: string): string | undefined => {
    const options = { types: new Map([['x', type as 'json']]), zone: berlin };
    return mapRows(csvRows(['identity', 'x'], [['ada', value]]), options).records[0];
  };

  it.each([
    ['string', '007', '"007"'],
    ['string', 'a"b', '"a\\"b"'],
    ['integer', '0', '0'],
    ['integer', '-9007199254740993', '-9007199254740993'],
    ['number', '1387.00', '1387.00'],
    ['number', '-0', '-0'],
    ['number', '1e400', '1e400'],
    ['boolean', 'YES', 'true'],
    ['boolean', 'True', 'true'],
    ['boolean', '1', 'true'],
    ['boolean', 'no', 'false'],
    ['boolean', 'FALSE', 'false'],
    ['boolean', '0', 'false'],
    ['date', '1700000000', '"$D_1700000000"'],
    ['date', '2024-06-01', '"$D_1717192800"'],
    ['date', '2024-06-01T12:30Z', '"$D_1717245000"'],
    ['date', '2024-06-01 12:30:15,999', '"$D_1717237815"'],
    ['date', '2024-06-01T12:30:15.5+05:30', '"$D_1717225215"'],
    ['date', '2024-06-01t12:30:15-0330', '"$D_1717257615"'],
    ['date', '2024-06-01T12:30:15+02', '"$D_1717237815"'],
    ['date', '2024-10-27T02:30:00', '"$D_1729989000"'],
    ['json', ' {"a" : [1.0, "x"]} ', '{"a" : [1.0, "x"]}'],
    ['json', '"text"', '"text"'],
    ['json', 'null', 'null'],
  ])('sends %s %j as %s', (type, value, json) => {
    expect(text(type, value)).toBe(
      `{"identity":"ada","type":"profile","profileData":{"x":${json}}}`,
    );
  });

  it.each([
    ['integer', '1.0', 'is not an integer'],
    ['integer', '1e3', 'is not an integer'],
    ['integer', '007', 'is not an integer'],
    ['integer', ' 7', 'is not an integer'],
    ['integer', '+7', 'is not an integer'],
    ['number', '1,5', 'is not a number: its decimal separator must be a point, not a comma'],
    ['number', 'NaN', 'is not a number'],
    ['number', '1.', 'is not a number'],
    ['boolean', 'ja', 'is not true, false, 1, 0, yes or no'],
    ['boolean', 'true ', 'is not true, false, 1, 0, yes or no'],
    ['boolean', '\u0011', 'is not true, false, 1, 0, yes or no'],
    [
      'date',
      '1700000000000',
      'has more than 11 digits: expected epoch seconds; use date(epochMillis) for milliseconds',
    ],
    ...implausible.map(([value, fix]) => [
      'date',
      value,
      `is not epoch seconds between 1980 and 2100: ${fix}`,
    ]),
    ['date', '0024-02-29', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '0824-02-29T10:00:00Z', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '2024-02-30', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '2024-06-01\u000012:30', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '2024-06-01T24:00', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '2024-06-01T12:60', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '2024-06-01T12', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '2024-06-01T12:30:15+2', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '2024-06-01T12:30:15.', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '2024-06-01T12:30:15Zulu', 'is neither ISO 8601 nor epoch seconds'],
    ['date', '01.06.2024', 'is neither ISO 8601 nor epoch seconds; date(DD.MM.YYYY) would fit'],
    ['date', '-', 'is neither ISO 8601 nor epoch seconds'],
    ['json', '{"a":1,"a":2}', 'is not JSON: it repeats the key "a"'],
    ['json', '[1,]', 'is not JSON: it has "]", not a value'],
    ['json', 'text', 'is not JSON: it has "t", not a value'],
  ])('rejects %s %j', (type, value, why) => {
    expect(column(type, value)).toEqual([
      'validate',
      `column "x": ${JSON.stringify(value)} ${why}`,
    ]);
  });

  it('is boolean by default if it is sent as a flag, and as declared if it is declared', () => {
    const flag = { map: new Map([['sms', 'MSG-sms']]) };
    expect(mapCells({ identity: 'ada', sms: 'No' }, flag)).toEqual(profile({ 'MSG-sms': false }));
    const why = 'column "sms": "off" is not true, false, 1, 0, yes or no';
    expect(mapCells({ identity: 'ada', sms: 'off' }, flag)).toEqual(['validate', why]);
    const declared = { ...flag, types: new Map([['sms', 'string']] as const) };
    expect(mapCells({ identity: 'ada', sms: 'off' }, declared)).toEqual(
      profile({ 'MSG-sms': 'off' }),
    );
  });

  it('shows only the start of a long value in errors', () => {
    const [, error] = column('integer', 'x'.repeat(5000)) as string[];
    expect(error).toBe(`column "x": "${'x'.repeat(40)}…" is not an integer`);
  });

  it('keeps the other rows of the block', () => {
    const rows = csvRows(
      ['identity', 'x'],
      [
        ['a', '1'],
        ['b', 'two'],
        ['c', '3'],
      ],
    );
    const block = mapRows(rows, { types: new Map([['x', 'integer']]) });
    expect(
      block.records.map((record) => (JSON.parse(record) as { identity: string }).identity),
    ).toEqual(['a', 'c']);
    expect([...block.row.subarray(0, block.count)]).toEqual([0, 2]);
    expect(block.rejects).toMatchObject([{ row: 1, stage: 'validate' }]);
  });
});

describe('the key of a record', () => {
  it.each([
    ['', 'column "identity": the value is empty or missing'],
    ['a\0b', 'column "identity": "a\\u0000b" contains a control character'],
    ['x'.repeat(1025), 'column "identity": the value is longer than 1024 characters'],
  ])('rejects the identity %j', (identity, why) => {
    expect(mapCells({ identity })).toEqual(['validate', why]);
  });

  it.each([
    'x'.repeat(1024),
    '😀'.repeat(1024),
    'a b',
    '12',
    'a"b\\c',
    'ü',
    '1.5',
    'nano',
    '‌ب‌ب'.slice(1),
  ])('accepts %j', (identity) => {
    expect(mapCells({ identity })).toEqual({ ...profile({}), identity });
  });

  it.each(['a b', 'ä', 'x'.repeat(65), 'a/b'])('rejects the objectId %j', (id) => {
    const [stage, why] = mapCells({ id }, { objectId: 'id' }) as string[];
    expect(stage).toBe('validate');
    expect(why).toMatch(/^column "id": .* is not 1 to 64 of /);
  });

  it('can be identity or objectId if both columns exist', () => {
    const rows = csvRows(
      ['identity', 'id'],
      [
        ['a', ''],
        ['', 'o'],
        ['a', 'o'],
        ['', ''],
      ],
    );
    const { records, rejects, keys } = mapRows(rows, { objectId: 'id', identityGiven: true });
    expect(records.map((record) => record.slice(0, record.indexOf(',"type"')))).toEqual([
      '{"identity":"a"',
      '{"objectId":"o"',
      '{"objectId":"o","identity":"a"',
    ]);
    expect(rejects).toEqual([
      {
        row: 3,
        stage: 'validate',
        error: 'column "identity" and "id": the value is empty or missing',
      },
    ]);
    expect(keys[2]).toBe(keys[0]);
    expect(keys[1]).not.toBe(keys[0]);
  });

  it('has the same hash for the same identity only, never a negative one', () => {
    const valid = fc.string({ unit: 'grapheme', minLength: 1 }).filter(isValidIdentity);
    const identities = fc.uniqueArray(valid, { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(identities, (all) => {
        const { keys } = upload(
          ['identity'],
          [...all, ...all].map((identity) => [identity]),
        );
        expect([...keys.subarray(0, all.length)]).toEqual([...keys.subarray(all.length)]);
        expect(new Set(keys).size).toBe(all.length);
        expect(Math.min(...keys)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('has the same hash as in NDJSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1100 }), (identity) => {
        fc.pre(isValidIdentity(identity));
        const { keys, count } = upload(['identity'], [[identity]]);
        const json = mapRows(jsonRows([JSON.stringify({ identity })]));
        expect([...keys.subarray(0, count)]).toEqual([...json.keys.subarray(0, json.count)]);
      }),
    );
  });

  it('marks profiles that are not idempotent', () => {
    const cells = ['{"$incr":1}', '{"$decr":1}', '{"$add":["x"]}', '{"$set":["x"]}', '"$incr"', ''];
    const rows = csvRows(
      ['identity', 'x'],
      cells.map((cell) => ['a', cell]),
    );
    const { idempotent } = mapRows(rows, { types: new Map([['x', 'json']]) });
    expect([...idempotent]).toEqual([0, 0, 0, 1, 1, 1]);
  });

  it('does not mistake the row after a rejected one for it', () => {
    const types = new Map([
      ['x', 'json'],
      ['y', 'integer'],
    ] as const);
    const cells = ['{"$incr":1}', '{"$incr":1}', '1'].map((x, n) => ['a', x, n === 0 ? '?' : '1']);
    const { idempotent, count } = mapRows(csvRows(['identity', 'x', 'y'], cells), { types });
    expect([...idempotent.subarray(0, count)]).toEqual([0, 1]);
  });
});

describe('a CSV row as an event', () => {
  const event: Options = { kind: 'event', zone: timeZone('Europe/Berlin') };
  const row = { identity: 'ada', evtName: 'Bought', ts: '1700000000', Price: '12.50' };
  const sent = {
    identity: 'ada',
    type: 'event',
    evtName: 'Bought',
    ts: 1700000000,
    evtData: { Price: '12.50' },
  };

  it('sends every other column in evtData', () => {
    expect(mapCells(row, event)).toEqual(sent);
    const { kinds, idempotent } = mapRows(csvRows(Object.keys(row), [Object.values(row)]), event);
    expect([kinds[0], idempotent[0]]).toEqual([1, 0]);
  });

  it.each<[string, Options, Record<string, string>, unknown]>([
    [
      'takes mapped columns',
      {
        map: new Map([
          ['At', 'ts'],
          ['What', 'evtName'],
        ]),
      },
      { identity: 'ada', At: '1700000005', What: 'x' },
      { identity: 'ada', type: 'event', evtName: 'x', ts: 1700000005, evtData: {} },
    ],
    ['keeps ts and evtName beside --only', { only: new Set(['Price']) }, row, sent],
    [
      'fills in name and time',
      { eventName: 'B"x', tsNow: 7 },
      { identity: 'ada' },
      { identity: 'ada', type: 'event', evtName: 'B"x', ts: 7, evtData: {} },
    ],
    ['fills in only what a row lacks', { eventName: 'Other', tsNow: 7 }, row, sent],
    ['reads local times', {}, { ...row, ts: '2024-10-27T02:30:00' }, { ...sent, ts: 1729989000 }],
    [
      'reads times with an offset',
      {},
      { ...row, ts: '2024-10-27T02:30:00+01:00' },
      { ...sent, ts: 1729992600 },
    ],
    [
      'refuses milliseconds',
      {},
      { ...row, ts: '1700000000000' },
      [
        'validate',
        'column "ts": "1700000000000" has more than 11 digits: expected epoch seconds; use date(epochMillis) for milliseconds',
      ],
    ],
    [
      'refuses the 14 digits of an export',
      {},
      { ...row, ts: '20240601123000' },
      ['validate', expect.stringContaining('more than 11')],
    ],
    [
      'refuses day numbers of a spreadsheet',
      {},
      { ...row, ts: '45657' },
      ['validate', expect.stringContaining('use date(excel)')],
    ],
    [
      'refuses times before 1970',
      {},
      { ...row, ts: '1969-12-31' },
      ['validate', 'column "ts": "1969-12-31" is before 1970'],
    ],
    [
      'refuses a row without a time',
      {},
      { ...row, ts: '' },
      ['validate', 'ts is missing: add it, or use --ts now'],
    ],
    [
      'refuses a row without a name',
      {},
      { ...row, evtName: '' },
      ['validate', 'evtName is missing: set the name of the event with --event-name <name>'],
    ],
    [
      'refuses control characters in a name',
      {},
      { ...row, evtName: 'a\nb' },
      ['validate', 'column "evtName": "a\\nb" contains a control character'],
    ],
  ])('%s', (_, options, cells, expected) => {
    expect(mapCells(cells, { ...event, ...options })).toEqual(expected);
  });
});

describe('the check of a header', () => {
  const check = (header: string[], options: Options) => () => {
    uploadMapper({ ...uploadDefaults, ...options }).check(header, 'users.csv');
  };

  it.each<[string[], Options, string]>([
    [['City'], {}, 'column "identity"'],
    [['identity'], { identity: 'Id', identityGiven: true }, 'column "Id"'],
    [['device'], { objectId: 'device', identityGiven: true }, 'column "identity"'],
    [['identity'], { objectId: 'device' }, 'column "device"'],
    [
      ['identity'],
      {
        map: new Map([['a', 'b']]),
        drop: new Set(['c']),
        types: new Map([['d', 'date']]),
        only: new Set(['e']),
      },
      'columns "a", "c", "e", "d"',
    ],
    [['identity', 'evtName'], { kind: 'event' }, 'column "ts"'],
    [['identity', 'ts'], { kind: 'event' }, 'column "evtName"'],
  ])('names what is missing in %j', (header, options, names) => {
    expect(check(header, options)).toThrow(
      expect.objectContaining({ id: 'E-COLUMN-MISSING', message: `users.csv: ${names} missing` }),
    );
  });

  it.each<[string[], Options]>([
    [['device'], { objectId: 'device' }],
    [['identity'], { kind: 'event', tsNow: 1, eventName: 'x' }],
    [['identity', 'identity '], {}],
  ])('accepts %j', (header, options) => {
    expect(check(header, options)).not.toThrow();
  });

  it('refuses two columns that are sent as one key', () => {
    const shared = check(['identity', 'mail', 'Email'], { map: new Map([['mail', 'Email']]) });
    expect(shared).toThrow(
      expect.objectContaining({
        id: 'E-HEADER-DUPLICATE',
        message: 'users.csv: columns "mail" and "Email" are both sent as "Email"',
      }),
    );
    const dropped = { map: new Map([['mail', 'Email']]), drop: new Set(['Email']) };
    expect(check(['identity', 'mail', 'Email'], dropped)).not.toThrow();
  });

  it('refuses to drop the only key', () => {
    const drop = new Set(['identity']);
    expect(check(['identity'], { drop })).toThrow(expect.objectContaining({ id: 'E-USAGE' }));
    expect(check(['identity', 'id'], { drop, objectId: 'id' })).not.toThrow();
  });

  it('is repeated for every header in the input', () => {
    const mapper = uploadMapper(uploadDefaults);
    mapper.map(csvRows(['identity', 'a'], [['x', 'y']]));
    expect(() => mapper.map(csvRows(['a'], [['x']]))).toThrow(/identity/);
  });
});

describe('D blocks of one mapper', () => {
  const types = new Map([
    ['flag', 'boolean'],
    ['word', 'string'],
  ] as const);
  /** Columns that an option names have to be there. */
  const named = ['flag', 'word', 'dropped'];
  const texts = fc.oneof(
    fc.constant(''),
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\u001f', 'é', 'x'), maxLength: 40 }),
    fc.integer({ min: 0, max: 3000 }).map((length) => '"x\n漢'.repeat(length)),
  );
  /** Good ones and others, some of which no glance can tell. */
  const identities = fc.oneof(
    fc.constantFrom('ada', 'a"b', 'a\\b', 'é'.repeat(1024), '', 'a\tb', '\u007f', 'x'.repeat(1025)),
    fc.string({ unit: 'grapheme', minLength: 1 }).filter(isValidIdentity),
  );
  const flags = fc.constantFrom('', 'true', 'false', 'YES', 'no', '1', 'False', 'maybe', 'true ');
  const blocks = fc
    .shuffledSubarray(['a', 'b', 'a longer name', 'MSG-sms'])
    .chain((names) =>
      fc.shuffledSubarray([...named, ...names], { minLength: named.length + names.length }),
    )
    .chain((names) => {
      const cells = names.map((name) => (isFlag(name) ? flags : texts));
      const rows = fc.array(fc.tuple(identities, ...cells), { maxLength: 5 });
      return fc.record({ header: fc.constant(['identity', ...names]), rows });
    });

  it('match a naive mapper, whatever came before them', () => {
    fc.assert(
      fc.property(
        fc.array(blocks, { maxLength: 5 }),
        fc.constantFrom('omit', 'null', 'string'),
        (blocks, empty) => {
          const options = { ...uploadDefaults, types, empty, drop: new Set(['dropped']) };
          const mapper = uploadMapper(options);
          for (const { header, rows } of blocks) {
            const records = recordTexts(mapper.map(csvRows(header, rows)));
            expect(records).toEqual(rows.flatMap((row) => naively(header, row, empty)));
          }
        },
      ),
    );
  });

  const booleans = new Map([
    ['true', true],
    ['false', false],
    ['YES', true],
    ['no', false],
    ['1', true],
    ['False', false],
  ]);
  const isFlag = (name: string): boolean => name === 'flag' || name.startsWith('MSG-');

  function naively(header: readonly string[], row: readonly string[], empty: string): string[] {
    const profileData: Record<string, string | boolean | null> = {};
    const identity = row[0]!;
    const characters = Array.from(identity, (character) => character.codePointAt(0)!);
    if (characters.length < 1 || characters.length > 1024) return [];
    if (characters.some((code) => code < 0x20 || code === 0x7f)) return [];
    for (const [index, name] of header.entries()) {
      const text = row[index]!;
      if (name === 'identity' || name === 'dropped') continue;
      const value = text !== '' && isFlag(name) ? booleans.get(text) : text;
      if (value === undefined) return [];
      if (value !== '') profileData[name] = value;
      else if (empty === 'null') profileData[name] = null;
      else if (empty === 'string' && !isFlag(name)) profileData[name] = '';
    }
    return [JSON.stringify({ identity, type: 'profile', profileData })];
  }
});
