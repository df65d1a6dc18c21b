import { readFileSync, readdirSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cliAdvice } from '../../src/commands/shared/job-context.js';
import { openOutput } from '../../src/output/document-output.js';
import type { OutputOptions } from '../../src/output/formats.js';
import type { Output } from '../../src/output/output.js';
import { pageOf } from '../support/builders/record-page.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { runs } from '../support/property-runs.js';
import { anyCharacter } from '../support/any-character.js';

const csv: OutputOptions = {
  path: 'out.csv',
  format: 'csv',
  gzip: false,
  overwrite: true,
  fresh: true,
  escapeFormulas: false,
  bom: false,
  option: cliAdvice.option,
};

async function written(
  world: World,
  pages: readonly (readonly string[])[],
  options: Partial<OutputOptions> = {},
): Promise<{ text: string; output: Output }> {
  const output = await openOutput({ ...csv, ...options }, world.runtime());
  for (const page of pages) await output.writePage(pageOf(page));
  await output.seal();
  await output.publish();
  return { text: readFileSync(world.path('out.csv'), 'utf8'), output };
}

describe('CSV', () => {
  it('flattens nested objects into dotted columns and keeps arrays as JSON', async () => {
    const { text } = await written(makeWorld(), [
      ['{"a":1,"b":{"c":"x","d":{"e":true}},"list":[1, "two",{"k":null}]}'],
    ]);
    expect(text).toBe('a,b.c,b.d.e,list\n1,x,true,"[1, ""two"",{""k"":null}]"\n');
  });

  it('keeps an object within a hundred others as JSON, so that no depth exhausts the stack', async () => {
    const deep = `${'{"a":'.repeat(10_000)}{"b":1}${'}'.repeat(10_000)}`;
    const { text } = await written(makeWorld(), [[deep, '{"c":2}']]);
    const kept = deep.slice(100 * 5, -100);
    expect(text).toBe(
      `${Array(100).fill('a').join('.')},c\n"${kept.replaceAll('"', '""')}",\n,2\n`,
    );
  });

  it('has the union of all columns in order of first appearance, across pages', async () => {
    const world = makeWorld();
    const { text } = await written(world, [
      ['{"a":1}', '{"b":2,"a":3}'],
      ['{"c":{"d":4}}', '{}'],
    ]);
    expect(text).toBe('a,b,c.d\n1,,\n3,2,\n,,4\n,,\n');
    expect(readdirSync(world.cwd)).toEqual(['out.csv']);
  });

  it('has no row that is an empty line', async () => {
    const { text } = await written(makeWorld(), [['{}', '{"a":null}', '{"a":1}']]);
    expect(text).toBe('a\n""\n""\n1\n');
  });

  it('keeps the spelling of numbers', async () => {
    const numbers = ['9007199254740993123', '1387.00', '1e400', '-0', '1E+2'];
    const { text } = await written(makeWorld(), [
      [`{"n":[],${numbers.map((n, i) => `"k${i}":${n}`).join(',')}}`],
    ]);
    expect(text).toBe(`n,k0,k1,k2,k3,k4\n[],${numbers.join(',')}\n`);
  });

  it.each([
    ['a literal dot', '{"a.b":1,"a":{"b":2}}', 'a\\.b,a.b\n1,2\n'],
    ['a backslash before a dot', '{"a\\\\":{"b":1},"a\\\\.b":2}', 'a\\\\.b,a\\\\\\.b\n1,2\n'],
    ['quotes and newlines in names', '{"q\\"n\\n":1}', '"q""n\n"\n1\n'],
    ['empty names', '{"":1,"a":{"":2}}', ',a.\n1,2\n'],
    ['two spellings of one name', '{"A":1}\n{"\\u0041":2}', 'A\n1\n2\n'],
    ['prototype names', '{"__proto__":{"x":1},"constructor":2}', '__proto__.x,constructor\n1,2\n'],
    ['a scalar and an object in one place', '{"a":1}\n{"a":{"b":2}}', 'a,a.b\n1,\n,2\n'],
    ['escapes, commas and quotes', '{"t":"a,\\"b\\"\\u00e9\\ud83d\\ude00"}', 't\n"a,""b""é😀"\n'],
    ['null and empty text', '{"a":null,"b":"","c":1}', 'a,b,c\n,,1\n'],
  ])('writes %s', async (_what, records, expected) => {
    expect((await written(makeWorld(), [records.split('\n')])).text).toBe(expected);
  });

  it('streams the requested columns, objects as JSON', async () => {
    const { text } = await written(
      makeWorld(),
      [['{"a":{"b":1,"x.y":2,"z":3},"c":4}', '{"c":{"d":5},"e":6}']],
      { columns: ['c', 'a.x\\.y', 'a.b', 'none'] },
    );
    expect(text).toBe('c,a.x\\.y,a.b,none\n4,2,1,\n"{""d"":5}",,,\n');
  });

  it('writes only the header if columns are given and there is no record', async () => {
    expect((await written(makeWorld(), [], { columns: ['a', 'b'] })).text).toBe('a,b\n');
  });

  it('counts formulas, and escapes them on request, except numbers and phones', async () => {
    const record =
      '{"a":"=1+1","b":"@x","c":"-2+3","d":"+49 (30) 123-4","e":"-12.5","f":"+1","g":-3,"h":"\\t=1"}';
    const kept = await written(makeWorld(), [[record]]);
    expect(kept.text).toBe('a,b,c,d,e,f,g,h\n=1+1,@x,-2+3,+49 (30) 123-4,-12.5,+1,-3,\t=1\n');
    expect(kept.output.warnings).toEqual([
      '4 cells would be run as a formula by a spreadsheet; --csv-formulas escape prevents it',
    ]);
    const escaped = await written(makeWorld(), [[record]], { escapeFormulas: true });
    expect(escaped.text).toContain("\n'=1+1,'@x,'-2+3,+49 (30) 123-4,-12.5,+1,-3,'\t=1\n");
  });

  it('escapes formulas after spaces, after control characters, and with full-width signs', async () => {
    const cells = [' =1', '   @x', '＝1', ' ＋1', '－1', '＠x', '\0=1'];
    const harmless = [' -12.5', ' ', '  a=1', '！', '\ufeffa', '：'];
    const text = (values: readonly string[]) =>
      JSON.stringify(Object.fromEntries(values.map((value, n) => [`c${n}`, value])));
    const escaped = await written(makeWorld(), [[text(cells)]], { escapeFormulas: true });
    expect(escaped.text.split('\n')[1]).toBe(cells.map((cell) => `'${cell}`).join(','));
    const kept = await written(makeWorld(), [[text(harmless)]], { escapeFormulas: true });
    expect(kept.text.split('\n')[1]).toBe(harmless.join(','));
    expect(kept.output.warnings).toEqual([]);
  });

  it('drops truncated rows and their columns', async () => {
    const world = makeWorld();
    const output = await openOutput(csv, world.runtime());
    await output.writePage(pageOf(['{"a":"=1"}']));
    const checkpoint = output.checkpoint();
    await output.writePage(pageOf(['{"gone":"=2"}']));
    await output.rewind(checkpoint);
    await output.writePage(pageOf(['{"b":3}']));
    await output.seal();
    await output.publish();
    expect(readFileSync(world.path('out.csv'), 'utf8')).toBe('a,b\n=1,\n,3\n');
    expect(output.warnings[0]).toMatch(/^1 cell /);
  });

  it('agrees with JSON.parse, flattening and an independent CSV reader', async () => {
    const world = makeWorld();
    const names = fc.oneof(
      fc.constantFrom('a', 'b', 'c', 'a.b', '\\', '"', ''),
      fc.string({ maxLength: 3 }),
    );
    const leaf = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.integer(), { maxLength: 2 }),
    );
    const { record } = fc.letrec((tie) => ({
      record: fc.dictionary(names, fc.oneof({ depthSize: 'small' }, leaf, tie('record')), {
        maxKeys: 4,
        noNullPrototype: false,
      }),
    }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(record, { maxLength: 4 }), { maxLength: 3 }),
        async (pages) => {
          const { text } = await written(
            world,
            pages.map((page) => page.map((r) => JSON.stringify(r))),
          );
          const rows = pages.flat().map((r) => flattened(r as object));
          const header = [...new Set(rows.flatMap((row) => [...row.keys()]))];
          fc.pre(header.length > 0);
          const expected = [
            header,
            ...rows.map((row) => header.map((name) => row.get(name) ?? '')),
          ];
          expect(parse(text, { relax_column_count: false })).toEqual(expected);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});

/** Column names and cells of a parsed record. */
function flattened(record: object, prefix = ''): Map<string, string> {
  const cells = new Map<string, string>();
  for (const [name, value] of Object.entries(record)) {
    const column = prefix + name.replaceAll(/[.\\]/g, '\\$&');
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [inner, cell] of flattened(value as object, `${column}.`)) cells.set(inner, cell);
    } else if (value === null) cells.set(column, '');
    else cells.set(column, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return cells;
}
