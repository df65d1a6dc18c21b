import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wrap } from '../../src/help/layout.js';
import { helpPages, helpText } from './pages.js';

// How every help page looks on narrow, usual and wide terminals.

const pages = await helpPages();

describe.each([60, 80, 120])('%i columns', (columns) => {
  it('leaves no single word on the last line if the previous line has room', async () => {
    for (const names of pages) {
      const alone = textsOf(await helpText(names, columns)).filter((text) => endsAlone(text));
      expect(alone, names.join(' ')).toEqual([]);
    }
  });

  it('starts the descriptions of a command in one column', async () => {
    for (const names of pages) {
      const help = await helpText(names, columns);
      if (!help.includes('\nUsage: ')) continue;
      const rows = help.split('\nUsage: ')[1]!.split('\n');
      const starts = rows.flatMap((row) => /^ {2}\S.*? {2,}(?=\S)/.exec(row)?.[0].length ?? []);
      const goesOn = rows.flatMap((row) => /^ {5,}/.exec(row)?.[0].length ?? []);
      expect(new Set([...starts, ...goesOn]).size, names.join(' ')).toBeLessThan(2);
    }
  });
});

/** Lines that belong together: a description, or what a term means. */
function textsOf(help: string): string[][] {
  const texts: string[][] = [];
  let from: number | undefined;
  for (const line of help.split('\n')) {
    const start = line.search(/\S/);
    const term = /^ {2}\S.*? {2,}(?=\S)/.exec(line)?.[0];
    if (start >= 0 && start === from && term === undefined) texts.at(-1)!.push(line.trim());
    else if (term !== undefined) texts.push([line.slice(term.length)]);
    else texts.push([line.trim()]);
    from = term?.length ?? start;
  }
  // Lists and the lines of examples are no texts.
  return texts.filter(([first = '']) => !/^(?:#|engagectl|-|[\d.]+ )/.test(first));
}

/** A short word below a line of several, the last of which could have come along. */
function endsAlone(lines: readonly string[]): boolean {
  const [before, last] = lines.slice(-2);
  if (before === undefined || last === undefined || /[ [\]]/.test(last)) return false;
  const words = before.split(' ');
  return words.length > 2 && words.at(-1)!.length + 1 + last.length <= before.length;
}

it('wraps text into the fewest lines, and drops no word', () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(words, fc.integer({ min: 12, max: 60 }), (given, width) => {
      const lines = wrap(given.join(' '), width);
      expect(lines.join(' ')).toBe(given.join(' '));
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(width);
      let fewest = 0;
      let left = 0;
      for (const { length } of given) {
        if (left >= length + 1) left -= length + 1;
        else [fewest, left] = [fewest + 1, width - length];
      }
      expect(lines).toHaveLength(fewest);
    }),
  );
});
