import { describe, expect, it } from 'vitest';
import { subscribeMapper, type SubscribeMapping } from '../../src/mapping/subscribe-mapper.js';
import type { RowBlock } from '../../src/input/row-block.js';
import { csvRows, jsonRows, recordTexts } from '../support/builders/row-blocks.js';

type Options = Partial<SubscribeMapping>;
const defaults: SubscribeMapping = {
  columns: new Map(),
  types: new Map(),
  lowercase: new Set(),
  retryUnknown: false,
};
const header = ['type', 'value', 'status'];

function map(rows: RowBlock, options: Options = {}) {
  const block = subscribeMapper({ ...defaults, ...options }).map(rows);
  return { ...block, records: recordTexts(block) };
}

function outcome(rows: RowBlock, options: Options = {}): unknown {
  const { records, rejects } = map(rows, options);
  return records[0] ?? [rejects[0]!.stage, rejects[0]!.error];
}

const sent = (type: string, value: string, status: string) =>
  `{"type":"${type}","value":"${value}","status":"${status}"}`;

/** Returns the row of a value with a mark, and its error. */
const marked =
  (type: string) =>
  ([value = '', mark]: readonly string[]): [string[], string] => [
    [type, value, 'Unsubscribe'],
    `column "value": ${JSON.stringify(value)} contains "${mark}": give one address or number per row, without a name, quotes, brackets or a prefix`,
  ];

describe('a subscription row', () => {
  it.each([
    ['PHONE', '+491', 'UNSUBSCRIBE', sent('phone', '+491', 'Unsubscribe')],
    ['WhatsApp', '+491', 'resubscribe', sent('whatsapp', '+491', 'Resubscribe')],
    ['phone', '+491', 'opted_out', sent('phone', '+491', 'Unsubscribe')],
    ['phone', '+491', 'Unsubscribed', sent('phone', '+491', 'Unsubscribe')],
    ['phone', '+491', 'OPT-IN', sent('phone', '+491', 'Resubscribe')],
    [
      'email',
      "o'neil/a@häuser.de",
      'Unsubscribe',
      sent('email', "o'neil/a@häuser.de", 'Unsubscribe'),
    ],
    ['email', '"Ä\\b"@x.y', 'Resubscribe', sent('email', '\\"Ä\\\\b\\"@x.y', 'Resubscribe')],
  ])('is sent in the documented spelling: %s %s %s', (type, value, status, record) => {
    expect(outcome(csvRows(header, [[type, value, status]]))).toBe(record);
    expect(outcome(jsonRows([JSON.stringify({ status, value, note: 1, type })]))).toBe(record);
  });

  it.each([
    ...['*49 30', '(030) 4'].map((value) => ['phone', value] as const),
    ...['_a', '+a', '#a', '~a', '/a=b/c', 'a|b', 'a*!', 'ä', '❤'].map(
      (name) => ['email', `${name}@i-❤_2.xn--p1ai`] as const,
    ),
  ])('is sent if a mark may be part of the value: %s %s', (type, value) => {
    const rows = csvRows(header, [[type, value, 'Unsubscribe']]);
    expect(outcome(rows)).toBe(sent(type, value, 'Unsubscribe'));
  });

  it.each([
    [['fax', '+1', 'Unsubscribe'], 'column "type": "fax" is not one of phone, whatsapp, email'],
    [
      ['constructor', '+1', 'Unsubscribe'],
      'column "type": "constructor" is not one of phone, whatsapp, email',
    ],
    [['', '+1', 'Unsubscribe'], 'column "type": "" is not one of phone, whatsapp, email'],
    [
      ['phone', '+1', 'Subscribe'],
      'column "status": "Subscribe" is not one of Unsubscribe, Resubscribe',
    ],
    [['phone', '', 'Unsubscribe'], 'column "value": the value is empty'],
    ...[
      ['Ann <a@x.y>', '<'],
      ['mailto:a@x.y', ':'],
      ['a@x.y;b@x.y', ';'],
      ['a@x.y, b@x.y', ','],
      ["'a@x.y'", "'"],
      ['“a@x.y”', '”'],
      ['[a@x.y]', '['],
      ['a@x.y)', ')'],
      ['a@x.y…', '…'],
      ["'a@x.y", "'"],
      ['’+4930123', '’'],
      ['=+4930123', '='],
      ['a@x.y b@x.y', ' '],
      ['a@x.y/b@x.y', '@'],
      ['a @x.y', ' '],
      ['(a@x.y', '('],
      ['*a@x.y', '*'],
      ['|a@x.y', '|'],
      ['“a@x.y', '“'],
      ['•a@x.y', '•'],
      ['→a@x.y', '→'],
      ['‼a@x.y', '‼'],
      ['a@x.y|b2', '|'],
      ['a@x.y/b', '/'],
      ['a@x.y(home', '('],
      ['a@x!y', '!'],
    ].map(marked('email')),
    ...[
      ['+4799999999 / 98888888', '/'],
      ['+4799999999 +4798888888', '+'],
      ['+4799999999&4798888888', '&'],
      ['+4799999999，4798888888', '，'],
      ['+4799999999、4798888888', '、'],
      ['+4799999999 or 4798888888', 'o'],
      ['tel +4799999999', 't'],
      ['+4.799999999E9', 'E'],
    ].map(marked('whatsapp')),
    [['phone', '+1\0', 'Unsubscribe'], 'column "value": "+1\\u0000" contains a control character'],
  ])('rejects the row %j', (cells, error) => {
    expect(outcome(csvRows(header, [cells]))).toEqual(['validate', error]);
    const record = Object.fromEntries(header.map((name, index) => [name, cells[index]]));
    expect(outcome(jsonRows([JSON.stringify(record)]))).toEqual(['validate', error]);
  });

  it.each([
    [
      '{"type":"phone","value":491,"status":"Unsubscribe"}',
      'column "value": the value must be a string',
    ],
    [
      '{"type":1,"value":"+491","status":"Unsubscribe"}',
      'column "type": the value must be a string',
    ],
    ['{"type":"phone","value":null,"status":"Unsubscribe"}', 'column "value": the value is empty'],
    [
      '{"value":"+491"}',
      'column "type": "" is not one of phone, whatsapp, email; ' +
        'column "status": "" is not one of Unsubscribe, Resubscribe',
    ],
    ['["phone"]', 'a record must be a JSON object'],
  ])('is rejected: %s', (text, error) => {
    expect(outcome(jsonRows([text]))).toEqual(['validate', error]);
  });

  it('gets missing values from the flags, and nothing else', () => {
    const flags = { type: 'email', status: 'Unsubscribe' } as const;
    expect(outcome(csvRows(['value'], [['a@b.c']]), flags)).toBe(
      sent('email', 'a@b.c', 'Unsubscribe'),
    );
    expect(outcome(csvRows(header, [['phone', '+1', '']]), flags)).toBe(
      sent('phone', '+1', 'Unsubscribe'),
    );
    expect(outcome(jsonRows(['{"value":"a@b.c"}']), flags)).toBe(
      sent('email', 'a@b.c', 'Unsubscribe'),
    );
  });

  it('is unwrapped from a rejects file', () => {
    const line = (stage: string) =>
      `{"source":"s","line":1,"stage":"${stage}","error":"","record":{"type":"phone","value":"+1","status":"Unsubscribe"}}`;
    expect(outcome(jsonRows([line('service')]))).toBe(sent('phone', '+1', 'Unsubscribe'));
    expect(outcome(jsonRows([line('unknown')]))).toEqual([
      'unknown',
      expect.stringContaining('--retry-unknown'),
    ]);
    expect(outcome(jsonRows([line('unknown')]), { retryUnknown: true })).toBe(
      sent('phone', '+1', 'Unsubscribe'),
    );
  });

  it('is ordered by type and value, and idempotent', () => {
    const { keys, idempotent, kinds } = map(
      csvRows(header, [
        ['phone', '+1', 'Unsubscribe'],
        ['Phone', '+1', 'Resubscribe'],
        ['whatsapp', '+1', 'Resubscribe'],
        ['phone', '+2', 'Resubscribe'],
      ]),
    );
    expect(keys[1]).toBe(keys[0]);
    expect(new Set(keys).size).toBe(3);
    expect([...idempotent]).toEqual([1, 1, 1, 1]);
    expect([...kinds]).toEqual([0, 0, 0, 0]);
  });

  it.each<[string[], Options, string, string]>([
    [
      ['value'],
      {},
      'columns "type", "status" missing',
      'name the columns with --map <column>=type and --map <column>=status; if the file has none, use --type <type> and --status <status> for all of its rows',
    ],
    [
      ['type', 'status'],
      { type: 'phone', status: 'Unsubscribe' },
      'column "value" missing',
      'name the column of the numbers or addresses with --map <column>=value',
    ],
    [
      ['value', 'type'],
      { type: 'phone' },
      'column "status" missing',
      'name the columns with --map <column>=status; if the file has none, use --status <status> for all of its rows',
    ],
  ])('needs the columns %j to have more', (columns, options, message, fix) => {
    const mapper = subscribeMapper({ ...defaults, ...options });
    expect(() => { mapper.check(columns, 's.csv'); }).toThrow(
      expect.objectContaining({ id: 'E-COLUMN-MISSING', message: `s.csv: ${message}`, details: expect.objectContaining({ fix }) }),
    ); // prettier-ignore
    expect(() => { mapper.map(csvRows(columns, [])); }).toThrow(/missing/); // prettier-ignore
  });
});
