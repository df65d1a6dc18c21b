import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { format, resolveConfig } from 'prettier';

const root = new URL('../../', import.meta.url);
const text = (name: string) => readFileSync(new URL(name, root), 'utf8');

it('shows the figures of the last benchmark run in the README, for near and distant services', async () => {
  const { readmeTable } = (await import(new URL('bench/harness/results.js', root).href)) as {
    readmeTable: (results: unknown) => string;
  };
  const table = readmeTable(JSON.parse(text('bench/results.json')));
  const options = await resolveConfig(new URL('README.md', root));
  const expected = await format(table, { ...options, parser: 'markdown' });
  const shown = /<!-- benchmarks -->\n([^]*)<!-- end of benchmarks -->/.exec(
    text('README.md'),
  )?.[1];
  expect(shown?.trim()).toBe(expected.trim());
  expect(expected).toMatch(/after 100 ms/);
});
