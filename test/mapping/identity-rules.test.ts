import { describe, expect, it } from 'vitest';
import { demergeMapper } from '../../src/mapping/demerge-mapper.js';
import { cellCleaning, cleanCells } from '../../src/text/cell-cleaning.js';
import { csvRows, jsonRows } from '../support/builders/row-blocks.js';
import { mapRows } from '../support/builders/upload-mapping.js';
import type { RowBlock } from '../../src/input/row-block.js';

type Flags = Parameters<typeof cellCleaning>[0];

/** A block as `--trim` and `--null-values` leave it. */
function cleaned(rows: RowBlock, flags: Flags): RowBlock {
  const cleaning = cellCleaning(flags);
  const { cells, bytes } = rows;
  if (!cells || !cleaning) return { ...rows, cleaning };
  return {
    ...rows,
    cleaning,
    cells: { ...cells, bounds: cleanCells(bytes, cells.bounds, cleaning) },
  };
}

const csv = (identity: string, flags: Flags = {}) =>
  outcome(cleaned(csvRows(['identity', 'Email'], [[identity, 'a@x.com']]), flags));
const json = (identity: string, flags: Flags = {}) =>
  outcome(cleaned(jsonRows([JSON.stringify({ identity, Email: 'a@x.com' })]), flags));

/** The identity that is sent, or the error. */
function outcome(rows: RowBlock): string {
  const { records, rejects } = mapRows(rows);
  return rejects[0]?.error ?? (JSON.parse(records[0]!) as { identity: string }).identity;
}

describe('whitespace and invisible characters', () => {
  it.each([
    ['ann ', 'has whitespace around it', 'ann'],
    ['\u3000ann', 'has whitespace around it', 'ann'],
    ['ann\u200b', 'contains the invisible character U+200B', 'ann'],
    ['\ufeffann', 'contains the invisible character U+FEFF', 'ann'],
    ['ann\u00a0', 'contains the invisible character U+00A0', 'ann'],
    ['\u202eann\u202c', 'contains the invisible character U+202E', 'ann'],
    ['\u3164ann', 'contains the invisible character U+3164', 'ann'],
    ['ann\u0085', 'contains the invisible character U+0085', 'ann'],
    ['ann\u115f', 'contains the invisible character U+115F', 'ann'],
    ['ann\u2800', 'contains the invisible character U+2800', 'ann'],
    [' ü\u2069 ', 'contains the invisible character U+2069', 'ü'],
  ])('of the identity %j are an error, and are removed by --trim', (identity, why, trimmed) => {
    for (const read of [csv, json]) {
      expect(read(identity)).toBe(`column "identity": ${JSON.stringify(identity)} ${why}`);
      expect(read(identity, { trim: true })).toBe(trimmed);
    }
  });

  it.each(['\u200B', '\u034F', '\u0085', '\uFE0E', '\uFE0F'])(
    'within an identity are an error in spite of --trim: %j',
    (character) => {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
      for (const read of [csv, json])
        expect(read(`a${character}b`, { trim: true })).toContain(
          `the invisible character U+${code}`,
        );
    },
  );

  it('are the same in CSV and JSON', () => {
    for (let code = 0x80; code < 0xe_0080; code += 1) {
      const character = String.fromCodePoint(code);
      if (!/[\p{Cf}\p{Cc}\p{White_Space}\p{Variation_Selector}]/u.test(character)) continue;
      for (const identity of [`${character}anna`, `an${character}na`, `anna${character}`])
        expect(csv(identity), `U+${code.toString(16)}`).toBe(json(identity));
    }
  });

  it.each([
    'Ann Lee',
    '한글',
    'größe',
    '山田',
    'नमस्\u200dते',
    '👩\u200d👧',
    '❤\uFE0F',
    '☎\uFE0E',
    '1\uFE0F\u20E3',
  ])('do not include those of %j', (identity) => {
    expect([csv(identity), json(identity)]).toEqual([identity, identity]);
  });

  it.each(['Email', 'Phone'])('of %s are an error', (name) => {
    const error = `column "${name}": "a@x.com " has whitespace around it`;
    for (const rows of [
      csvRows(['identity', name], [['u', 'a@x.com ']]),
      jsonRows([`{"identity":"u","${name}":"a@x.com "}`]),
    ]) {
      expect(mapRows(rows).rejects[0]?.error).toBe(error);
      const { records } = mapRows(cleaned(rows, { trim: true }));
      expect(records[0]).toContain(`"${name}":"a@x.com"`);
    }
  });

  it('of a demerge are an error', () => {
    const mapper = demergeMapper({ identity: 'identity', retryUnknown: false });
    const { rejects } = mapper.map(csvRows(['identity'], [['ann ']]));
    expect(rejects[0]?.error).toBe('column "identity": "ann " has whitespace around it');
  });

  it('of other columns are sent, unless --trim removes them from strings and typed cells', () => {
    const rows = csvRows(['identity', 'City', 'Age'], [['u', ' Oslo "x" ', ' 7 ']]);
    const types = new Map([['Age', 'integer']] as const);
    expect(mapRows(rows).records[0]).toContain('"City":" Oslo \\"x\\" "');
    expect(mapRows(cleaned(rows, { trim: true }), { types }).records[0]).toContain(
      '{"City":"Oslo \\"x\\"","Age":7}',
    );
  });
});

describe('a placeholder', () => {
  it.each([
    'nan',
    'NaN',
    'NULL',
    'None',
    'none',
    'n/a',
    '\\N',
    '#N/A',
    '#REF!',
    '#BEZUG!',
    '#NV',
    '#¡VALOR!',
    '#NOM?',
    '########',
    'NaT',
    '-',
    'undefined',
  ])('%s is not an identity in a CSV row, unless --null-values changes the list', (text) => {
    const error = `column "identity": ${JSON.stringify(text)} is a placeholder for a missing value (--null-values '' accepts it)`;
    expect(csv(text)).toBe(error);
    expect(csv(text, { nullValues: [] })).toBe(text);
    expect(csv(text, { nullValues: [''] })).toBe(text);
    expect(csv(text, { nullValues: [text] })).toBe(
      'column "identity": the value is empty or missing',
    );
    expect(json(text)).toBe(text);
  });

  it.each(['nan', '#REF!', '9.17E+11', '1001.0', "'007", '="007"'])(
    '%s is not an identity either if --null-values names other texts, unless one of them is empty',
    (text) => {
      expect(csv(text, { nullValues: ['NULL', '-'] })).toBe(csv(text));
      expect(csv(text, { nullValues: ['NULL', ''] })).toBe(text);
    },
  );

  it.each(['#1', '#NV1', '#', '#why not?'])('%s is an identity', (text) => {
    expect(csv(text)).toBe(text);
  });

  it('includes an id that a program converted to a decimal', () => {
    expect(csv('1001.0')).toContain('is an id that a program converted to a decimal');
    expect(csv('1001.0', { nullValues: [] })).toBe('1001.0');
    expect(csv('1001.10')).toBe('1001.10');
  });

  it.each([
    ['9.17891234567E+11', 'is a number that a program has rounded'],
    ['9,17E+11', 'is a number that a program has rounded'],
    ['1E+100', 'is a number that a program has rounded'],
    ['1e+05', 'is a number that a program has rounded'],
    ["'007", 'has the mark of a spreadsheet for text'],
    ["'@ann", 'has the mark of a spreadsheet for text'],
    ['="007"', 'has the mark of a spreadsheet for text'],
  ])('includes what a spreadsheet or R makes of an id: %s', (identity, why) => {
    const mapper = demergeMapper({ identity: 'identity', retryUnknown: false });
    const error = `column "identity": ${JSON.stringify(identity)} ${why} (--null-values '' accepts it)`;
    expect(csv(identity)).toBe(error);
    expect(mapper.map(csvRows(['identity'], [[identity]])).rejects[0]?.error).toBe(error);
    expect([csv(identity, { nullValues: [] }), json(identity)]).toEqual([identity, identity]);
  });

  it.each(['1e3', '12E45', '1.5E+1', '+4712345678', "'s-Gravenhage", '=x', '12+34', '7'])(
    'does not include the id %s',
    (identity) => {
      expect(csv(identity)).toBe(identity);
    },
  );

  it('of another column is sent as text, unless --null-values lists it', () => {
    const rows = csvRows(['identity', 'City', 'Plan'], [['u', 'NULL', 'nan']]);
    expect(mapRows(rows).records[0]).toContain('{"City":"NULL","Plan":"nan"}');
    const { records } = mapRows(cleaned(rows, { nullValues: ['NULL'] }));
    expect(records[0]).toContain('{"Plan":"nan"}');
    const object = jsonRows(['{"identity":"u","City":"NULL","Plan":"nan"}']);
    expect(mapRows(cleaned(object, { nullValues: ['NULL'] })).records[0]).toContain(
      '{"Plan":"nan"}',
    );
  });
});
