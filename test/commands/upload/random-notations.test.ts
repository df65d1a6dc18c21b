import { readFileSync, writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { makeWorld } from '../../support/test-environment.js';
import { runs } from '../../support/property-runs.js';

// Random notations and dirt: a draft either reads every value as it was meant, or the run stops, rejects or gives a hint.

const pad = (n: number): string => String(n).padStart(2, '0');
const grouped = (n: number, group: string): string =>
  String(n).replaceAll(/\B(?=(?:\d{3})+$)/g, group);

type Day = readonly [year: number, month: number, day: number];
const dates: Readonly<Record<string, (day: Day) => string>> = {
  german: ([y, m, d]) => `${pad(d)}.${pad(m)}.${y}`,
  short: ([y, m, d]) => `${d}.${m}.${y}`,
  us: ([y, m, d]) => `${m}/${d}/${y}`,
  british: ([y, m, d]) => `${pad(d)}/${pad(m)}/${y}`,
  dutch: ([y, m, d]) => `${pad(d)}-${pad(m)}-${y}`,
  iso: ([y, m, d]) => `${y}-${pad(m)}-${pad(d)}`,
  slashed: ([y, m, d]) => `${y}/${pad(m)}/${pad(d)}`,
  compact: ([y, m, d]) => `${y}${pad(m)}${pad(d)}`,
  spreadsheet: ([y, m, d]) => String(Date.UTC(y, m - 1, d) / 86_400_000 + 25_569),
  seconds: ([y, m, d]) => String(Date.UTC(y, m - 1, d) / 1000),
  milliseconds: ([y, m, d]) => String(Date.UTC(y, m - 1, d)),
};
const numbers = [
  [',', '.', '', ''],
  ['.', ',', '', ' €'],
  ['.', ',', '', ''],
  ['\u202f', ',', '', ''],
  ["'", '.', '', ''],
  ['’', '.', 'CHF ', ''],
  ['.', ',', '', ' EUR'],
  ['', ',', '', ''],
  [',', '.', '$', ''],
  ['', ',', '', ' %'],
] as const;
const booleans = [
  ['ja', 'nein'],
  ['Yes', 'No'],
  ['oui', 'non'],
  ['TRUE', 'FALSE'],
  ['WAHR', 'FALSCH'],
] as const;

const row = fc.record({
  day: fc.tuple(
    fc.integer({ min: 1981, max: 2030 }),
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 1, max: 28 }),
  ),
  cents: fc.integer({ min: 0, max: 999_999_999 }),
  decimals: fc.constantFrom(0, 1, 2, 3),
  isTrue: fc.boolean(),
  dirt: fc.constantFrom('', '', '', ' ', '\u00a0'),
  missing: fc.constantFrom(-1, -1, -1, 0, 1, 2),
});
const sheet = fc.record({
  rows: fc.array(row, { minLength: 1, maxLength: 30 }),
  date: fc.constantFrom(...Object.values(dates)),
  number: fc.constantFrom(...numbers),
  words: fc.constantFrom(...booleans),
  delimiter: fc.constantFrom(';', '\t'),
  absent: fc.constantFrom('', 'NULL', 'nan', '-', '#N/A'),
});

it('changes the meaning of no value without a word', async () => {
  const seen = { read: 0, stopped: 0 };
  await fc.assert(
    fc.asyncProperty(sheet, async ({ rows, date, number, words, delimiter, absent }) => {
      const [group, mark, before, after] = number;
      const meant = rows.map(({ day: [y, m, d], cents, decimals, isTrue, missing }, n) => {
        const value = Number(
          `${Math.floor(cents / 1000)}.${String(cents % 1000)
            .padStart(3, '0')
            .slice(0, decimals)}`,
        );
        const all = { Seen: `$D_${Date.UTC(y, m - 1, d) / 1000}`, Spent: value, Active: isTrue };
        const sent = Object.entries(all).filter((_, index) => index !== missing);
        return [`u${n}`, Object.fromEntries(sent)] as const;
      });
      const lines = rows.map(({ day, cents, decimals, isTrue, dirt, missing }, n) => {
        const fraction = String(cents % 1000)
          .padStart(3, '0')
          .slice(0, decimals);
        const whole = grouped(Math.floor(cents / 1000), group);
        const spent = `${before}${whole}${fraction === '' ? '' : `${mark}${fraction}`}${after}`;
        const cells = [date(day), spent, words[isTrue ? 0 : 1]];
        const written = cells.map(
          (cell, index) => `${dirt}${index === missing ? absent : cell}${dirt}`,
        );
        return [`u${n}`, ...written].join(delimiter);
      });
      const world = makeWorld();
      writeFileSync(
        world.path('s.csv'),
        `${['Id', 'Seen', 'Spent', 'Active'].join(delimiter)}\n${lines.join('\n')}\n`,
      );
      const argv = ['upload', 's.csv', '--preview', '30', '--json'];
      const draft = await world.run([...argv, '--write-mapping', 'm.json']);
      if (draft.code === 8) {
        seen.stopped += 1;
        return;
      }
      const { first, mistakes } = JSON.parse(draft.stdout) as {
        first: readonly { record: { identity: string; profileData: object } }[];
        mistakes: readonly unknown[];
      };
      if (mistakes.length > 0) return;
      seen.read += 1;
      const expected = new Map<string, object>(meant);
      for (const { record } of first)
        expect(record.profileData, readFileSync(world.path('m.json'), 'utf8')).toEqual(
          expected.get(record.identity),
        );
    }),
    { numRuns: runs(150) },
  );
  expect(seen.read).toBeGreaterThan(runs(60));
}, 60_000);
