import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timeZone } from '../../src/time-zone.js';
import { uploadMapper } from '../../src/mapping/upload-mapper.js';
import { csvRows, jsonRows, recordTexts } from '../support/builders/row-blocks.js';
import {
  mapJson,
  mapRows,
  uploadDefaults,
  type Options,
} from '../support/builders/upload-mapping.js';
import { anyCharacter } from '../support/any-character.js';

const invalid = (error: string) => ['validate', error];

describe('D a record with a type', () => {
  it.each([
    '{"identity":"ada","type":"profile","profileData":{}}',
    '{"type":"profile","objectId":"_a1","profileData":{"n":1387.00,"big":12345678901234567890,"é":"\\u00e9\\/"}}',
    '{ "profileData" : {"a":{"b":[1e400,-0]}} , "type" : "pro\\u0066ile", "FBID":"1", "ts": 1700000000 }',
    '{"GPID":"1","type":"profile","profileData":{},"unknown":null}',
    '{"identity":"ada","type":"event","evtName":"Charged","evtData":{"Items":[{"a":1}]},"ts":1}',
    '{"identity":"ada","type":"event","evtName":"Bought"}',
  ])('is sent byte for byte: %s', (text) => {
    expect(mapJson(text)).toBe(text);
    expect(
      mapJson(text, { kind: 'event', identity: 'x', types: new Map([['identity', 'date']]) }),
    ).toBe(text);
  });

  it('is sent unchanged among records that are rewritten or rejected', () => {
    const sent = (text: string) => ({ text, sent: text.trim() });
    const row = fc.constantFrom(
      sent(' { "type":"profile", "identity":"a", "profileData":{} } '),
      sent('{"type":"event","identity":"ü","evtName":"x"}'),
      { text: '{"identity":"b","n":1}', sent: String(mapJson('{"identity":"b","n":1}')) },
      { text: '{"type":"profile"}', sent: undefined },
      { text: '{', sent: undefined },
    );
    const mapper = uploadMapper(uploadDefaults);
    fc.assert(
      fc.property(fc.array(row, { maxLength: 8 }), (rows) => {
        const block = mapper.map(jsonRows(rows.map(({ text }) => text)));
        const found = new Map(recordTexts(block).map((text, at) => [block.row[at], text]));
        expect(rows.map((_, at) => found.get(at))).toEqual(rows.map(({ sent }) => sent));
        const isRewritten = rows.some(
          ({ text, sent }) => sent !== undefined && !text.includes(sent),
        );
        expect(block.json === block.rows.bytes).toBe(!isRewritten);
      }),
    );
  });

  it('loses the whitespace around it', () => {
    expect(mapJson('\t{"identity":"a","type":"profile","profileData":{}} \r')).toBe(
      '{"identity":"a","type":"profile","profileData":{}}',
    );
  });

  it.each([
    [
      '"type":"Profile","identity":"a"',
      'type is "Profile", not "profile" or "event" (with --identity or --map, it is a property like others)',
    ],
    [
      '"type":null,"identity":"a"',
      'type is "null", not "profile" or "event" (with --identity or --map, it is a property like others)',
    ],
    ['"type":"profile","profileData":{}', 'identity is missing'],
    [
      '"type":"profile","identity":12,"profileData":{}',
      'identity must be a string ("12"), found a number',
    ],
    ['"type":"profile","identity":"","profileData":{}', 'identity: the value is empty'],
    [
      '"type":"profile","identity":"a\\u0000","profileData":{}',
      'identity: "a\\u0000" contains a control character',
    ],
    [
      '"type":"profile","identity":"a\\ud800","profileData":{}',
      expect.stringMatching(/^identity: .* has half of a surrogate pair$/),
    ],
    [
      '"type":"profile","identity":"a","objectId":"b c","profileData":{}',
      'objectId: "b c" is not 1 to 64 of A-Z a-z 0-9 ( ) ! : @ $ _ -',
    ],
    [
      '"type":"profile","identity":"a","FBID":7,"profileData":{}',
      'FBID must be a string ("7"), found a number',
    ],
    ['"type":"profile","identity":"a"', 'profileData is missing'],
    ['"type":"profile","identity":"a","profileData":[]', 'profileData is not an object'],
    ['"type":"event","identity":"a"', 'evtName is missing'],
    ['"type":"event","identity":"a","evtName":5', 'evtName: the value is not a string'],
    ['"type":"event","identity":"a","evtName":""', 'evtName: the value is empty'],
    ['"type":"event","identity":"a","evtName":"x","evtData":"y"', 'evtData is not an object'],
    [
      '"type":"event","identity":"a","evtName":"x","ts":1700000000000',
      'ts: "1700000000000" is not a number of epoch seconds with at most 11 digits',
    ],
    [
      '"type":"event","identity":"a","evtName":"x","ts":"5"',
      'ts: "\\"5\\"" is not a number of epoch seconds with at most 11 digits',
    ],
    [
      '"type":"event","identity":"a","evtName":"x","ts":1.5',
      'ts: "1.5" is not a number of epoch seconds with at most 11 digits',
    ],
  ])('is rejected if it contains %s', (members, error) => {
    expect(mapJson(`{${members}}`)).toEqual(invalid(error as string));
  });

  it('names the missing type of a flat row whose evtData is an object', () => {
    const row = '{"identity":"ada","evtName":"x","ts":1700000000,"evtData":{"p":1}}';
    expect(mapJson(row, { kind: 'event' })).toEqual(
      invalid(
        'column "evtData": the record has event properties but no "type": add "type":"event" to it',
      ),
    );
    expect(mapJson(row, { kind: 'event', drop: new Set(['evtData']) })).toContain('"evtData":{}');
  });

  it('reports its kind, whether it is idempotent, and its key', () => {
    const { kinds, idempotent, keys } = mapRows(
      jsonRows([
        '{"type":"profile","identity":"\\u0061","profileData":{}}',
        '{"type":"profile","profileData":{"n":{"$incr":1}},"objectId":"o","identity":"a"}',
        '{"type":"event","identity":"a","evtName":"x"}',
        '{"type":"profile","objectId":"a","profileData":{"n":{"$remove":["x"]}}}',
      ]),
    );
    expect([...kinds]).toEqual([0, 0, 1, 0]);
    expect([...idempotent]).toEqual([1, 0, 0, 1]);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).toBe(keys[0]);
    expect(keys[3]).not.toBe(keys[0]);
    expect(mapRows(csvRows(['identity'], [['a']])).keys[0]).toBe(keys[0]);
  });
});

describe('a flat object', () => {
  const profile = (data: string) => `{"identity":"ada","type":"profile","profileData":{${data}}}`;

  it.each<[string, string, Options, unknown]>([
    [
      'passes values as written',
      '{"identity":"ada","a":1387.00,"b":12345678901234567890,"c":"\\u00e9","d":true,"e":{"$set":[1.0]},"f":[]}',
      {},
      profile(
        '"a":1387.00,"b":12345678901234567890,"c":"\\u00e9","d":true,"e":{"$set":[1.0]},"f":[]',
      ),
    ],
    ['leaves empty values out', '{"identity":"ada","a":"","b":null,"c":[]}', {}, profile('"c":[]')],
    [
      'sends empty values as null',
      '{"identity":"ada","a":"","b":null}',
      { empty: 'null' },
      profile('"a":null,"b":null'),
    ],
    [
      'sends empty values as strings',
      '{"identity":"ada","a":"","b":null}',
      { empty: 'string' },
      profile('"a":"","b":""'),
    ],
    [
      'renames, drops and selects',
      '{"identity":"ada","mail":"x","Note":"y","z":1}',
      {
        map: new Map([['mail', 'E "mail"']]),
        drop: new Set(['Note']),
        only: new Set(['mail', 'Note']),
      },
      profile('"E \\"mail\\"":"x"'),
    ],
    [
      'takes another identity',
      '{"Id":"ada","identity":"x"}',
      { identity: 'Id' },
      profile('"identity":"x"'),
    ],
    [
      'takes an identity by its escaped name',
      '{"\\u0069dentity":"\\u0061da"}',
      {},
      '{"identity":"\\u0061da","type":"profile","profileData":{}}',
    ],
    [
      'is keyed by objectId without identity',
      '{"objectId":"o1","a":"b"}',
      {},
      '{"objectId":"o1","type":"profile","profileData":{"a":"b"}}',
    ],
    [
      'keeps objectId as data beside an identity',
      '{"identity":"ada","objectId":"o1"}',
      {},
      profile('"objectId":"o1"'),
    ],
    [
      'is keyed as --object-id says',
      '{"dev":"o1","a":"b"}',
      { objectId: 'dev' },
      '{"objectId":"o1","type":"profile","profileData":{"a":"b"}}',
    ],
    [
      'sends flags as booleans',
      '{"identity":"ada","MSG-sms":"no","MSG-email":true,"MSG-push":1}',
      {},
      profile('"MSG-sms":false,"MSG-email":true,"MSG-push":true'),
    ],
    [
      'refuses flags that are none',
      '{"identity":"ada","MSG-sms":"maybe"}',
      {},
      invalid('column "MSG-sms": "maybe" is not true, false, 1, 0, yes or no'),
    ],
    [
      'refuses nested flags',
      '{"identity":"ada","MSG-sms":{}}',
      {},
      invalid('column "MSG-sms": an object or array cannot be sent as boolean'),
    ],
    [
      'reads declared types',
      '{"identity":"ada","a":"7","b":7,"c":"[1.0]","d":{"x":1.0},"e":"2024-06-01","f":"\\u00e9"}',
      {
        types: new Map([
          ['a', 'integer'],
          ['b', 'string'],
          ['c', 'json'],
          ['d', 'json'],
          ['e', 'date'],
          ['f', 'string'],
        ]),
      },
      profile('"a":7,"b":"7","c":[1.0],"d":{"x":1.0},"e":"$D_1717200000","f":"\\u00e9"'),
    ],
    [
      'refuses what does not fit',
      '{"identity":"ada","a":7.5}',
      { types: new Map([['a', 'integer']]) },
      invalid('column "a": "7.5" is not an integer'),
    ],
    [
      'refuses a number as identity',
      '{"identity":12}',
      {},
      invalid(
        'column "identity": must be a string ("12"), found a number (--types identity:string accepts it)',
      ),
    ],
    [
      'refuses an object as identity',
      '{"identity":{}}',
      {},
      invalid('column "identity": must be a string'),
    ],
    [
      'needs an identity',
      '{"a":"b"}',
      {},
      invalid('column "identity": the value is empty or missing'),
    ],
    [
      'needs an identity that is not null',
      '{"identity":null}',
      {},
      invalid('column "identity": the value is empty or missing'),
    ],
    [
      'refuses two members with one key',
      '{"identity":"ada","a":1,"b":2}',
      { map: new Map([['a', 'b']]) },
      invalid('column "b": another column is also sent as "b"'),
    ],
    [
      'carries __proto__',
      '{"identity":"ada","__proto__":{"x":1},"constructor":2}',
      {},
      profile('"__proto__":{"x":1},"constructor":2'),
    ],
    [
      'keeps keys that UTF-8 cannot hold',
      '{"identity":"ada","\\ud800":1}',
      {},
      profile('"\\ud800":1'),
    ],
  ])('%s', (_, text, options, expected) => {
    expect(mapJson(text, options)).toEqual(expected);
  });

  it.each<[string, Options, unknown]>([
    [
      '{"identity":"ada","ts":1700000000,"evtName":"B\\u0061","p":1.50}',
      {},
      '{"identity":"ada","type":"event","evtName":"B\\u0061","ts":1700000000,"evtData":{"p":1.50}}',
    ],
    [
      '{"identity":"ada","ts":"2024-06-01"}',
      { eventName: 'X' },
      '{"identity":"ada","type":"event","evtName":"X","ts":1717192800,"evtData":{}}',
    ],
    [
      '{"identity":"ada"}',
      { eventName: 'X', tsNow: 5 },
      '{"identity":"ada","type":"event","evtName":"X","ts":5,"evtData":{}}',
    ],
    ['{"identity":"ada","evtName":"X"}', {}, invalid('ts is missing: add it, or use --ts now')],
    [
      '{"identity":"ada","evtName":5,"ts":1}',
      {},
      invalid('column "evtName": the value is not a string'),
    ],
    [
      '{"identity":"ada","evtName":"X","ts":{}}',
      {},
      invalid('column "ts": "{}" is neither ISO 8601 nor epoch seconds'),
    ],
  ])('becomes an event with --type event: %s', (text, options, expected) => {
    const event = { kind: 'event', zone: timeZone('Europe/Berlin'), ...options } as const;
    expect(mapJson(text, event)).toEqual(expected);
  });

  it('is not idempotent with operators', () => {
    const { idempotent } = mapRows(
      jsonRows(['{"identity":"a","n":{"$add":["x"]}}', '{"identity":"a","n":1}']),
    );
    expect([...idempotent]).toEqual([0, 1]);
  });

  it('is mapped like a naive mapper on objects, whatever came before it', () => {
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom('a', 'b', 'identity', '__proto__', 'MSG-x', '"', 'ü'),
    );
    const number = fc
      .constantFrom('1e400', '-0', '9007199254740993', '0.10', '1E+2')
      .map((text) => ({ text }));
    const value = fc.oneof(
      fc.string({ unit: anyCharacter }).map((text) => ({ text: JSON.stringify(text) })),
      number,
      fc.json().map((text) => ({ text })),
    );
    const record = fc.uniqueArray(fc.tuple(key, value), {
      selector: ([name]) => name,
      maxLength: 8,
    });
    const isShaped = new Set([
      'type',
      'event_props',
      'profileData',
      'events',
      'platformInfo',
      'all_identities',
      'objectId',
    ]);
    fc.assert(
      fc.property(fc.array(record, { maxLength: 6 }), (all) => {
        const plain = all.map((members) =>
          members.filter(
            ([name]) => name !== 'identity' && !name.startsWith('MSG-') && !isShaped.has(name),
          ),
        );
        const texts = plain.map(
          (members) =>
            `{${[['identity', { text: '"ada"' }] as const, ...members].map(([name, { text }]) => `${JSON.stringify(name)} : ${text}`).join()}}`,
        );
        const { records, rejects } = mapRows(jsonRows(texts));
        const rejected = new Set(rejects.map(({ row }) => row));
        const expected = plain.map((members) => {
          const kept = members.filter(([, { text }]) => text !== '""' && text.trim() !== 'null');
          const data = kept.map(([name, { text }]) => `${JSON.stringify(name)}:${text.trim()}`);
          return `{"identity":"ada","type":"profile","profileData":{${data.join(',')}}}`;
        });
        for (const { error } of rejects) expect(error).toMatch(/repeats the key/);
        expect(records).toEqual(expected.filter((_, row) => !rejected.has(row)));
      }),
    );
  });
});

describe('an export piped into an upload', () => {
  it.each([
    [
      '{"identity":"ada","profileData":{"City":"Rome","n":1387.00},"events":{"x":{"count":1}},"email":"a@b.c","name":"Ada","phone":"+39"}',
      '{"identity":"ada","type":"profile","profileData":{"City":"Rome","n":1387.00,"Email":"a@b.c","Name":"Ada","Phone":"+39"}}',
    ],
    [
      '{"identity":"ada","profileData":{ "Em\\u0061il":"own" },"email":"a@b.c","name":"","phone":null}',
      '{"identity":"ada","type":"profile","profileData":{ "Em\\u0061il":"own" }}',
    ],
    [
      '{"platformInfo":[{"platform":"Web"},null,{"objectId":"o:1"},{"objectId":"o2"}],"profileData":{}}',
      '{"objectId":"o:1","type":"profile","profileData":{}}',
    ],
    [
      '{"identity":"","platformInfo":[{"objectId":"o1"}],"email":"a@b.c"}',
      '{"objectId":"o1","type":"profile","profileData":{"Email":"a@b.c"}}',
    ],
    [
      '{"identity":"ada","all_identities":["ada"],"profileData":null}',
      '{"identity":"ada","type":"profile","profileData":{}}',
    ],
    [
      '{"identity":"ada","profileData":{ }}',
      '{"identity":"ada","type":"profile","profileData":{}}',
    ],
  ])('makes the profile %s', (text, record) => {
    expect(mapJson(text)).toBe(record);
    expect(mapJson(text, { kind: 'event' })).toBe(record);
  });

  it.each([
    ['{"events":{}}', 'the exported profile has neither identity nor objectId'],
    ['{"platformInfo":[{"objectId":5}]}', 'the exported profile has neither identity nor objectId'],
    [
      '{"platformInfo":[{"objectId":"a b"}]}',
      expect.stringMatching(/^platformInfo: objectId: "a b" is not 1 to 64/),
    ],
    ['{"identity":7,"events":{}}', 'identity must be a string ("7"), found a number'],
    ['{"identity":"ada","profileData":[]}', 'profileData is not an object'],
    ['{"event_props":{},"ts":20240601123000,"event_name":"x"}', 'profile is not an object'],
    [
      '{"event_props":{},"profile":{"identity":""},"ts":20240601123000,"event_name":"x"}',
      'profile has neither identity nor objectId',
    ],
    [
      '{"event_props":[],"profile":{"identity":"a"},"ts":20240601123000}',
      'event_props is not an object',
    ],
    [
      '{"event_props":{},"profile":{"identity":"a"},"ts":20240601123000}',
      'event_name is missing: set it with --event-name <name>',
    ],
    ['{"event_props":{},"profile":{"identity":"a"},"event_name":"x"}', 'ts is missing'],
    [
      '{"event_props":{},"profile":{"identity":"a"},"event_name":"x","ts":1700000000}',
      'ts: "1700000000" is not a time of 14 digits, yyyyMMddHHmmSS',
    ],
    [
      '{"event_props":{},"profile":{"identity":"a"},"event_name":"x","ts":20240631123000}',
      'ts: "20240631123000" is not a time of 14 digits, yyyyMMddHHmmSS',
    ],
  ])('rejects %s', (text, error) => {
    expect(mapJson(text)).toEqual(invalid(error as string));
  });

  it.each([
    ['"events":12', '"events":12'],
    ['"events":["a"]', '"events":["a"]'],
    ['"platformInfo":"ios"', '"platformInfo":"ios"'],
    ['"all_identities":"ada;ann"', '"all_identities":"ada;ann"'],
  ])('is not a row of another program with %s, whose columns are all sent', (member, sent) => {
    const record = `{"identity":"ada","type":"profile","profileData":{${sent},"City":"Rome"}}`;
    expect(mapJson(`{"identity":"ada",${member},"City":"Rome"}`)).toBe(record);
    const types = new Map([['City', 'string']] as const);
    expect(mapJson(`{"identity":"ada",${member},"City":"Rome"}`, { types })).toBe(record);
  });

  it.each<[string, Options, string]>([
    [
      '{"profile":{"objectId":"o1","identity":"ada"},"events":{},"ts":20241027023000,"event_props":{"p":1.50},"event_name":"B\\u0061"}',
      {},
      '{"identity":"ada","type":"event","evtName":"B\\u0061","ts":1729989000,"evtData":{"p":1.50}}',
    ],
    [
      '{"profile":{"objectId":"o1"},"ts":"20240601000000","event_props":{}}',
      { eventName: 'X' },
      '{"objectId":"o1","type":"event","evtName":"X","ts":1717192800,"evtData":{}}',
    ],
    [
      '{"profile":{"objectId":"o1"},"ts":20240601000000,"event_props":{},"event_name":"own"}',
      { eventName: 'X' },
      '{"objectId":"o1","type":"event","evtName":"own","ts":1717192800,"evtData":{}}',
    ],
  ])('makes the event %s', (text, options, record) => {
    const zone = timeZone('Europe/Berlin');
    expect(mapJson(text, { zone, ...options })).toBe(record);
    expect([...mapRows(jsonRows([text]), { zone, ...options }).kinds]).toEqual([1]);
  });
});

describe('a line of a rejects file', () => {
  const line = (stage: string, rest: string) =>
    `{"source":"u.csv","line":2,"stage":"${stage}","error":"…",${rest}}`;
  const flat = '"record":{"identity":"ada","a":""}';
  const sent = '{"identity":"ada","type":"profile","profileData":{}}';

  it.each(['parse', 'validate', 'service', 'notSent'])(
    'is sent as its record: stage %s',
    (stage) => {
      expect(mapJson(line(stage, flat))).toBe(sent);
      expect(mapJson(line('service', `"record":${line(stage, flat)}`))).toBe(sent);
      expect(mapJson(line(stage, `"record":${sent}`))).toBe(sent);
    },
  );

  it('is skipped if its outcome is unknown, unless requested', () => {
    const text = line('unknown', flat);
    const skipped = [
      'unknown',
      'its outcome in an earlier run is unknown: --retry-unknown resends it',
    ];
    expect(mapJson(text)).toEqual(skipped);
    expect(mapJson(text, { retryUnknown: true })).toBe(sent);
    const nested = line('validate', `"record":${text}`); // the first run may have sent it
    expect(mapJson(nested)).toEqual(skipped);
    expect(mapJson(nested, { retryUnknown: true })).toBe(sent);
  });

  it.each([
    ['"record":"{\\"identity"', 'JSON ends within a string, at column 11'],
    [
      '"recordBase64":"/w=="',
      'its bytes are not UTF-8: correct it here, or send the original input again with its --encoding',
    ],
    ['"record":"a,b,c","columns":["identity","City"]', '3 cells, but the header has 2'],
    ['"record":"a,\\"b","columns":["identity","City"]', 'quote that is never closed'],
  ])('cannot be sent if it contains %s', (rest, error) => {
    expect(mapJson(line('parse', rest))).toEqual(['parse', error]);
  });

  it.each([
    '"record":"{\\"identity\\":\\"ada\\",\\"City\\":\\"Oslo\\"}"',
    '"record":"ada,\\"Oslo\\"","columns":["identity","City"]',
    '"record":"ada;Oslo","columns":["identity","City"],"delimiter":";"',
  ])('can be sent after correction: %s', (rest) => {
    const plain = mapJson('{"identity":"ada","City":"Oslo"}');
    expect(mapJson(line('parse', rest))).toBe(plain);
  });

  it('is a flat object if it only looks similar', () => {
    expect(
      mapJson('{"identity":"ada","source":"a","line":1,"stage":"trial","record":5}'),
    ).toContain('"stage":"trial"');
  });
});

describe('D a row that is not a record', () => {
  it.each([
    ['{"a":1', ['parse', 'JSON ends where a comma or a closing brace should be, at column 7']],
    ['{"a":x}', ['parse', 'JSON has "x", not a value, at column 6']],
    ['{"a":\n x}', ['parse', 'JSON has "x", not a value, at line 2 of the record, column 2']],
    [
      `${'['.repeat(201)}${']'.repeat(201)}`,
      ['parse', 'JSON nests deeper than 200, at column 201'],
    ],
    ['{"identity":"a","identity":"b"}', invalid('JSON repeats the key "identity", at column 17')],
    [
      '{"identity":"a","d":{"x":1,"\\u0078":2}}',
      invalid('JSON repeats the key "\\u0078", at column 28'),
    ],
    ['[]', invalid('a record must be a JSON object')],
    ['"ada"', invalid('a record must be a JSON object')],
  ])('is rejected: %s', (text, expected) => {
    expect(mapJson(text)).toEqual(expected);
  });

  it('is counted in bytes of its own line', () => {
    const { rejects } = mapRows(jsonRows(['{"identity":"a"}', '{"é":x}']));
    expect(rejects).toEqual([
      { row: 1, stage: 'parse', error: 'JSON has "x", not a value, at column 7' },
    ]);
  });
});
