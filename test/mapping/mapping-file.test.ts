import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadMapping, type ColumnFlags } from '../../src/mapping/mapping-file.js';

let cwd: string;
beforeEach(async () => (cwd = await mkdtemp(path.join(tmpdir(), 'mapping-'))));
afterEach(() => rm(cwd, { recursive: true }));

const withFile = async (text: string, flags: ColumnFlags = {}) => {
  await writeFile(path.join(cwd, 'm.json'), text);
  return loadMapping({ ...flags, mapping: 'm.json' }, { cwd });
};

describe('the column mapping', () => {
  it('is the identity column alone without flags', async () => {
    expect(await loadMapping({}, { cwd })).toEqual({
      identity: 'identity',
      identityGiven: false,
      map: new Map(),
      types: new Map(),
      drop: new Set(),
      constants: new Map(),
      lowercase: new Set(),
    });
  });

  it.each([
    ['mail=Email', 'mail', 'Email'],
    ['a=b=c', 'a=b', 'c'],
    ['a, b:c=d', 'a, b:c', 'd'],
  ])('reads --map %s', async (text, column, key) => {
    const { map } = await loadMapping({ map: ['x=y', text] }, { cwd });
    expect([...map]).toEqual([['x', 'y'], [column, key]]); // prettier-ignore
  });

  it.each([
    ['Age:integer', [['Age', 'integer']]],
    [
      'Age:integer,Born:date',
      [
        ['Age', 'integer'],
        ['Born', 'date'],
      ],
    ],
    [
      'Last, First:string,at 10:30:date',
      [
        ['Last, First', 'string'],
        ['at 10:30', 'date'],
      ],
    ],
    ['a:b=c:json', [['a:b=c', 'json']]],
  ])('reads --types %s', async (text, types) => {
    expect([...(await loadMapping({ types: [text] }, { cwd })).types]).toEqual(types);
  });

  it('can be given twice in the same words', async () => {
    const { map, types } = await loadMapping(
      { map: ['a=b', 'a=b'], types: ['a:date', 'a:date'] },
      { cwd },
    );
    expect([[...map], [...types]]).toEqual([[['a', 'b']], [['a', 'date']]]);
  });

  it.each<ColumnFlags>([
    { map: ['a=b', 'a=c'] },
    { types: ['a:integer,b:date', 'a:string'] },
    { map: ['mail'] },
    { map: ['=Email'] },
    { map: ['mail='] },
    { types: ['Age'] },
    { types: ['Age:int'] },
    { types: ['Age:integer,Born'] },
    { types: [':integer'] },
    { types: [''] },
    { set: ['Source'] },
    { set: ['Source='] },
    { set: ['=x'] },
    { set: ['a=b', 'a=c'] },
  ])('refuses %j', async (flags) => {
    await expect(loadMapping(flags, { cwd })).rejects.toMatchObject({ id: 'E-USAGE' });
  });

  it('can be read from a file, where flags add and take precedence', async () => {
    const text =
      '\uFEFF{"identity":"Id","objectId":"Dev","map":{"a":"A","b":"B"},"types":{"c":"date","d":"json"},"drop":["e"],"only":["a"],"set":{"Source":"crm","Score":5},"lowercase":["a"]}';
    expect(await withFile(text)).toEqual({
      identity: 'Id',
      identityGiven: true,
      objectId: 'Dev',
      map: new Map([['a', 'A'], ['b', 'B']]),
      types: new Map([['c', 'date'], ['d', 'json']]),
      drop: new Set(['e']),
      only: new Set(['a']),
      constants: new Map<string, unknown>([['Source', 'crm'], ['Score', 5]]),
      lowercase: new Set(['a']),
    }); // prettier-ignore
    const flags = { identity: 'X', map: ['b=Z'], types: ['c:string'], drop: ['f'], only: ['g,h'], set: ['Source=a=b'], lowercase: ['c,d'] }; // prettier-ignore
    expect(await withFile(text, flags)).toMatchObject({
      identity: 'X',
      map: new Map([['a', 'A'], ['b', 'Z']]),
      types: new Map([['c', 'string'], ['d', 'json']]),
      drop: new Set(['e', 'f']),
      only: new Set(['a', 'g', 'h']),
      constants: new Map<string, unknown>([['Source', 'a=b'], ['Score', 5]]),
      lowercase: new Set(['a', 'c', 'd']),
    }); // prettier-ignore
  });

  it.each([
    ['{"identify":"Id"}', /^m\.json: .*identify/],
    ['{"map":{"a":5}}', /^m\.json: map\.a /],
    ['{"types":{"a":"int"}}', /^m\.json: types\.a /],
    ['{"drop":"a"}', /^m\.json: drop /],
    ['[]', /^m\.json: /],
    ['{"types":{"__proto__":"int"}}', /^m\.json: types\.\0__proto__ /],
    ['{"map":}', /^m\.json:1:8: JSON has /],
  ])('refuses the file %s, naming file and key', async (text, message) => {
    await expect(withFile(text)).rejects.toMatchObject({
      id: 'E-USAGE',
      message: expect.stringMatching(message) as string,
      details: { file: 'm.json' },
    });
  });

  it('reads a column of any name', async () => {
    const text =
      '{"map":{"a":"A","__proto__":"B"},"types":{"__proto__":"integer","constructor":"json"}}';
    const { map, types } = await withFile(text);
    expect([...map]).toEqual([['a', 'A'], ['__proto__', 'B']]); // prettier-ignore
    expect([...types]).toEqual([['__proto__', 'integer'], ['constructor', 'json']]); // prettier-ignore
  });

  it.each([
    ['identity', '--identity'],
    ['objectId', '--object-id'],
  ])('refuses a column mapped to %s, which is not a property', async (key, flag) => {
    const expected = {
      id: 'E-USAGE',
      message: `the column "a" is mapped to ${key}`,
      details: { fix: `${flag} a` },
    };
    await expect(withFile(`{"map":{"a":"${key}"}}`)).rejects.toMatchObject(expected);
    await expect(loadMapping({ map: [`a=${key}`] }, { cwd })).rejects.toMatchObject(expected);
  });

  it('refuses a file that cannot be read', async () => {
    await expect(loadMapping({ mapping: 'none.json' }, { cwd })).rejects.toMatchObject({
      id: 'E-FILE-READ',
      message: expect.stringContaining('none.json') as string,
      details: { why: 'there is no such file' },
    });
  });
});

describe.skipIf(process.platform === 'win32')('a mapping file that is a FIFO', () => {
  beforeEach(() => void execFileSync('mkfifo', [path.join(cwd, 'm.json')]));

  it('is read to its end', async () => {
    const reading = loadMapping({ mapping: 'm.json' }, { cwd });
    await writeFile(path.join(cwd, 'm.json'), '{"identity":"Mail"}');
    expect((await reading).identity).toBe('Mail');
  });

  it('is waited for until the run is interrupted', async () => {
    const interrupt = new AbortController();
    const reading = loadMapping({ mapping: 'm.json' }, { cwd, signal: interrupt.signal });
    const failure = expect(reading).rejects.toMatchObject({ id: 'E-INTERRUPTED' });
    await new Promise(setImmediate);
    interrupt.abort();
    await failure;
  });
});
