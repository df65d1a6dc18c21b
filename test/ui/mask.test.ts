import { describe, expect, test } from 'vitest';
import { mask, maskPersonalData } from '../../src/ui/mask.js';

test.each([
  ['ada.lovelace@mail.example', 'ada…'],
  ['a@b.example', 'a…'],
  ['+919876543210', '+9198…'],
  ['919876543210', '9198…'],
  ['CUSTOMER-77', 'CUST…'],
  ['ann_1', 'an…'],
  ['u17', 'u17'],
  ['日本語のなまえ', '日本語…'],
])('masks %s as %s', (value, shown) => {
  expect(mask(value)).toBe(shown);
});

describe('D masking', () => {
  test.each([
    ['no ada@mail.example.', 'no ada….'],
    ['<ada+x@mail.example>,bob.b@mail.example', '<ada…>,bob…'],
    ['identity=ada%40mail.example', 'identity=ada…'],
    ['call +91 (98765) 43-210 now', 'call +9198… now'],
  ])('removes addresses: %s', (text, shown) => {
    expect(maskPersonalData(text, {})).toBe(shown);
  });

  test.each([
    "ENOENT: no such file or directory, open '/home/ada@corp.example/users.csv'",
    'C:\\Users\\ada@corp.example\\state',
    '2026-11-22T21:15:06.373Z, 1,234,567,890 records, 12345678901 bytes',
    'run 20261122-211506-7dnp at 10.20.30.40:8787, +05:30',
  ])('keeps paths, times and numbers: %s', (text) => {
    expect(maskPersonalData(text, {})).toBe(text);
  });

  test('removes values that are patterns of a replacement, or too long for a regular expression', () => {
    const long = 'x'.repeat(70_000);
    const personal = [long, '$&$`ada'];
    expect(maskPersonalData(`no ${long} and $&$\`ada`, {}, { personal })).toBe('no xxxx… and $&$…');
    expect(maskPersonalData('neither', {}, { personal })).toBe('neither');
  });

  test('removes the values of the record: in quotes, truncated, with or without a plus, as a word', () => {
    const personal = ['a.*(b)+customer-with-a-long-identity', '+919876543210', 'x'];
    const text = 'a "a.*(b)+customer-wi…" and 919876543210, "x" of 9198765432101';
    expect(maskPersonalData(text, {}, { personal })).toBe(
      'a "a.*(…" and 9198…, "x" of 9198765432101',
    );
    expect(maskPersonalData(text, { showPii: true }, { personal })).toBe(text);
  });

  test('keeps the typed arguments, and names derived from them', () => {
    const argv = ['get-profile', 'ada@mail.example', 'a@b.csv'];
    const text = 'no "ada@mail.example"; see a@b.csv.rejects.ndjson; nor bob@mail.example';
    expect(maskPersonalData(text, { argv }, { personal: ['ada@mail.example'] })).toBe(
      'no "ada@mail.example"; see a@b.csv.rejects.ndjson; nor bob…',
    );
  });

  test('removes phone numbers without a plus from service texts', () => {
    const text = 'Invalid 919876543210';
    expect(maskPersonalData(text, {}, { isForeign: true })).toBe('Invalid 9198…');
    const quoting = `HTTP 500: ${text} (request id 1764319084123)`;
    expect(maskPersonalData(quoting, {}, { foreign: text })).toBe(
      'HTTP 500: Invalid 9198… (request id 1764319084123)',
    );
    expect(maskPersonalData(quoting, { showPii: true }, { foreign: text })).toBe(quoting);
  });
});
