import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { format, resolveConfig } from 'prettier';

const root = new URL('../../', import.meta.url);
const text = (name: string) => readFileSync(new URL(name, root), 'utf8');

interface Results {
  readonly readmeTable: (results: unknown) => string;
  readonly fleetFigures: (results: unknown) => string;
}

it.each([
  ['README.md', 'benchmarks', ({ readmeTable }: Results, all: object) => readmeTable(all)],
  [
    'docs/scale.md',
    'figures',
    ({ fleetFigures }: Results, { fleet }: { fleet?: unknown }) => fleetFigures(fleet),
  ],
])('shows the figures of the last benchmark run in %s', async (page, name, figuresOf) => {
  const results = (await import(new URL('bench/harness/results.js', root).href)) as Results;
  const figures = figuresOf(results, JSON.parse(text('bench/results.json')) as object);
  const options = await resolveConfig(new URL(page, root));
  const expected = await format(figures, { ...options, parser: 'markdown' });
  const marked = new RegExp(`<!-- ${name} -->\\n([^]*)<!-- end of ${name} -->`);
  expect(marked.exec(text(page))?.[1]?.trim()).toBe(expected.trim());
});

it('compares uploads to a near and to a distant service in the README', () => {
  expect(text('README.md')).toMatch(/^\| engagectl upload .*at once.*\n[^]*after 100 ms/m);
});
