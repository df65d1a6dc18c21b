import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { zoneOf } from '../../src/contract/zones.js';
import { uploadMapper, type UploadMapping } from '../../src/mapping/upload.js';
import { csvRows, recordTexts } from '../support/row-blocks.js';

const defaults: UploadMapping = {
  kind: 'profile',
  identity: 'identity',
  identityGiven: false,
  map: new Map(),
  drop: new Set(),
  types: new Map(),
  empty: 'omit',
  zone: zoneOf('UTC'),
  retryUnknown: false,
};

function upload(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: Partial<UploadMapping> = {},
) {
  const block = uploadMapper({ ...defaults, ...options }).map(csvRows(header, rows));
  return { ...block, records: recordTexts(block) };
}

/** The record of one row, parsed; or why it was rejected. */
function one(cells: Readonly<Record<string, string>>, options: Partial<UploadMapping> = {}) {
  const { records, rejects } = upload(Object.keys(cells), [Object.values(cells)], options);
  expect(records.length + rejects.length).toBe(1);
  return rejects[0]
    ? { [rejects[0].stage]: rejects[0].error }
    : (JSON.parse(records[0]!) as object);
}

const profile = (profileData: object) => ({ identity: 'ada', type: 'profile', profileData });

describe('a CSV row as a profile', () => {
  it('sends every column but the identity as a key of profileData', () => {
    expect(upload(['City', 'identity', 'Plan'], [['Rome', 'ada', 'gold']]).records).toEqual([
      '{"identity":"ada","type":"profile","profileData":{"City":"Rome","Plan":"gold"}}',
    ]);
  });

  it('sends a profile without data', () => {
    expect(one({ identity: 'ada' })).toEqual(profile({}));
  });

  it.each<[string, Partial<UploadMapping>, object]>([
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
    ['--object-id', { objectId: 'City' }, { objectId: 'Rome', ...profile({ Plan: 'gold' }) }],
    [
      '--object-id without the identity',
      { objectId: 'City', drop: new Set(['identity']) },
      { objectId: 'Rome', type: 'profile', profileData: { Plan: 'gold' } },
    ],
  ])('keeps to %s', (_, options, record) => {
    expect(one({ identity: 'ada', City: 'Rome', Plan: 'gold' }, options)).toEqual(record);
  });

  it.each<[UploadMapping['empty'], object]>([
    ['omit', {}],
    ['null', { City: null, Age: null, 'MSG-sms': null, Zip: null }],
    ['string', { City: '', Zip: '' }],
  ])('sends empty cells as --empty %s says, flags and numbers never as text', (empty, data) => {
    const types = new Map([
      ['Age', 'integer'],
      ['Zip', 'string'],
    ] as const);
    const row = { identity: 'ada', City: '', Age: '', 'MSG-sms': '', Zip: '' };
    expect(one(row, { empty, types })).toEqual(profile(data));
  });

  it('carries __proto__ and constructor as plain keys', () => {
    const { records } = upload(['identity', '__proto__', 'constructor'], [['ada', 'x', 'y']]);
    expect(records[0]).toContain('{"__proto__":"x","constructor":"y"}');
  });

  it('writes cells as JSON.stringify would, whatever they hold', () => {
    const cell = fc.oneof(
      fc.string({ unit: 'binary' }),
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
