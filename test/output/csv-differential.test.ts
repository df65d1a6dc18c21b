import { readFileSync } from 'node:fs';
import { stringify } from 'csv-stringify/sync';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { cliAdvice } from '../../src/commands/shared/job-context.js';
import { openOutput } from '../../src/output/document-output.js';
import type { OutputOptions } from '../../src/output/formats.js';
import { pageOf } from '../support/builders/record-page.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { runs } from '../support/property-runs.js';
import { anyCharacter } from '../support/any-character.js';

// Flattening on bytes against JSON.parse, a walk over the parsed record, and csv-stringify.

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const texts = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.constantFrom(
    '',
    '=1',
    '+49 30 1',
    '-1e5',
    '-1e',
    '+',
    '-,',
    '@x',
    '\t=',
    '\r',
    'a,b',
    '"',
    '\n',
  ),
  fc.constantFrom(
    '-5',
    '1e5',
    '1E-7',
    '-0',
    '007',
    '1.2.3',
    'true',
    'false',
    '[x]',
    '{}',
    '2024-01-01',
  ),
  fc.string({ unit: fc.constantFrom('0', '1', '.', '-', 'e', 'E', '+'), maxLength: 20 }),
  fc.constantFrom('\ud800', 'x\udc00y', '😀', 'ü', '"=1"', '\\', ' ', "'", 'é'.repeat(20)),
  fc.string({ unit: fc.constantFrom('a', ',', '"', '\\', '+', '1', '(', 'ü'), maxLength: 60 }),
);
// Of names that are numbers JSON.parse changes the order.
const names = fc
  .oneof(fc.constantFrom('a', 'b', 'c', 'a.b', '\\', 'City', '', '__proto__', '=x', 'x,"y"'), texts)
  .filter((name) => !/^\d+$/.test(name));
const scalars = fc.oneof(
  texts,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0)),
  fc.boolean(),
  fc.constant(null),
);
const { record } = fc.letrec<{ value: Json; list: Json[]; record: { [name: string]: Json } }>(
  (tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalars,
      tie('list'),
      tie('record'),
    ),
    list: fc.array(tie('value'), { maxLength: 3 }),
    record: fc.dictionary(names, tie('value'), { maxKeys: 6, noNullPrototype: false }),
  }),
);

/** JSON text with any whitespace, and any character of a string as an escape. */
function spelled(value: Json, choose: () => number): string {
  const space = () => ['', '', ' ', '\n', '\r\n\t'][choose() % 5]!;
  if (typeof value === 'string') return spelledString(value, choose);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, inner]) =>
      `${space()}${spelledString(name, choose)}${space()}:${space()}${spelled(inner, choose)}`,
  );
  return `{${members.join(`${space()},`)}${space()}}`;
}

function spelledString(text: string, choose: () => number): string {
  const plain = JSON.stringify(text).slice(1, -1);
  if (choose() % 2 === 0) return `"${plain}"`;
  const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
  const escaped = units.map((unit) =>
    choose() % 3 > 0 && unit > 0x1f && unit < 0x7f && unit !== 0x22 && unit !== 0x5c
      ? String.fromCharCode(unit)
      : `\\u${unit.toString(16).padStart(4, '0')}`,
  );
  return `"${escaped.join('')}"`;
}

const quotedName = (name: string) => name.replaceAll(/[.\\]/g, '\\$&');
const isObject = (value: Json): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Cells by column; an object is one only where its column was asked for. */
function flattened(
  value: { [name: string]: Json },
  wanted: readonly string[] | undefined,
  prefix = '',
) {
  const cells = new Map<string, string>();
  for (const [name, inner] of Object.entries(value)) {
    const column = prefix + quotedName(name);
    const isData = /^(?:profileData|event_props)\./.test(column);
    if (isData && isObject(inner) && Object.keys(inner).length === 0) cells.set(column, '{}');
    else if (isObject(inner) && !wanted?.includes(column)) {
      for (const [key, cell] of flattened(inner, wanted, `${column}.`)) cells.set(key, cell);
    } else if (inner === null) cells.set(column, '');
    else if (typeof inner === 'string')
      cells.set(
        column,
        isData && looksTyped.test(harmless(inner)) ? `${quoted}${inner}` : harmless(inner),
      );
    else cells.set(column, JSON.stringify(inner));
  }
  return cells;
}

/** Precedes a cell that is quoted without need. */
const quoted = '\ue000';
const looksTyped = /^(?:[[{][^",\r\n]*|true|false|-?(?!0\d)\d(?:[\d.]|[eE][+-]?)*)$/;

const harmless = (text: string): string =>
  (text.charCodeAt(0) < 0x20 || /^ *[=@+＝＠＋－-]/.test(text)) &&
  !/^ *[+-][\d .,()/-]*\d(?:[eE][+-]?\d+)?$/.test(text)
    ? `'${text}`
    : text;

function expected(records: readonly string[], wanted?: readonly string[]): string {
  const rows = records.map((text) =>
    flattened(JSON.parse(text) as { [name: string]: Json }, wanted),
  );
  const columns = wanted ?? [...new Set(rows.flatMap((row) => [...row.keys()]))];
  if (columns.length === 0) return '';
  // A line without anything would be no row to many readers.
  const lines = [
    columns.map(harmless),
    ...rows.map((row) => columns.map((name) => row.get(name) ?? '')),
  ];
  return lines
    .map((cells) => (cells.join('') === '' && cells.length === 1 ? '""\n' : line(cells)))
    .join('');
}

const line = (cells: readonly string[]) => `${cells.map(cellText).join(',')}\n`;

function cellText(cell: string): string {
  if (cell.startsWith(quoted)) return `"${cell.slice(1)}"`;
  const text = stringify([[cell, 'end']], { quoted_match: /\r/, record_delimiter: '' });
  return Buffer.from(text).toString().slice(0, -',end'.length);
}

async function written(
  world: World,
  pages: readonly (readonly string[])[],
  columns?: readonly string[],
) {
  const options: OutputOptions = {
    path: 'out.csv',
    format: 'csv',
    gzip: false,
    overwrite: true,
    fresh: true,
    escapeFormulas: true,
    bom: false,
    option: cliAdvice.option,
    ...(columns && { columns }),
  };
  const output = await openOutput(options, world.runtime());
  for (const page of pages) await output.writePage(pageOf(page));
  await output.seal();
  await output.publish();
  return readFileSync(world.path('out.csv'), 'utf8');
}

const pagesOf = <T>(one: fc.Arbitrary<T>) =>
  fc.array(fc.array(one, { maxLength: 20 }), { maxLength: 3 });

it('writes the union of all columns, however the records are spelled', async () => {
  const world = makeWorld();
  const choices = fc.infiniteStream(fc.nat(29));
  await fc.assert(
    fc.asyncProperty(pagesOf(record), choices, async (pages, choice) => {
      const choose = () => choice.next().value as number;
      const spelledPages = pages.map((page) => page.map((one) => spelled(one, choose)));
      expect(await written(world, spelledPages)).toBe(expected(spelledPages.flat()));
    }),
    { numRuns: runs(80) },
  );
}, 60_000);

it('quotes text that looks like another value in the data of records', async () => {
  const world = makeWorld();
  const choices = fc.infiniteStream(fc.nat(29));
  const place = fc.constantFrom('profileData', 'event_props');
  const records = fc.tuple(place, record).map(([name, data]) => ({ identity: '1', [name]: data }));
  await fc.assert(
    fc.asyncProperty(pagesOf(records), choices, async (pages, choice) => {
      const choose = () => choice.next().value as number;
      const spelledPages = pages.map((page) => page.map((one) => spelled(one, choose)));
      const text = (await written(world, spelledPages)).replaceAll(/\{\s+\}/g, '{}');
      expect(text).toBe(expected(spelledPages.flat()).replaceAll(/\{\s+\}/g, '{}'));
    }),
    { numRuns: runs(80) },
  );
}, 60_000);

it('writes the requested columns', async () => {
  const world = makeWorld();
  await fc.assert(
    fc.asyncProperty(
      pagesOf(record),
      fc.array(fc.nat(), { maxLength: 5 }),
      async (pages, picks) => {
        const texts = pages.map((page) => page.map((one) => JSON.stringify(one)));
        const all = texts
          .flat()
          .flatMap((text) => placesOf(JSON.parse(text) as { [name: string]: Json }));
        const some = picks.flatMap((pick) => all[pick % (all.length || 1)] ?? []);
        const columns = [...new Set([...some, 'none'])];
        expect(await written(world, texts, columns)).toBe(expected(texts.flat(), columns));
      },
    ),
    { numRuns: runs(80) },
  );
}, 60_000);

/** Columns of the record, and of the objects in it. */
const placesOf = (value: { [name: string]: Json }, prefix = ''): string[] =>
  Object.entries(value).flatMap(([name, inner]) => {
    const column = prefix + quotedName(name);
    return [column, ...(isObject(inner) ? placesOf(inner, `${column}.`) : [])];
  });
