import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { tableBelow } from '../support/markdown-table.js';

// A path of this repository that a page or a comment names exists: files move, and nothing else notices.

const root = fileURLToPath(new URL('../../', import.meta.url));
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.(?:md|ts|mjs|cjs|js)$|^\.ci\/run$/.test(file))
  // The changelog tells of earlier versions; this file's own patterns are not paths.
  .filter((file) => !/^CHANGELOG\.md$|^test\/docs\/paths\.test\.ts$/.test(file))
  .filter((file) => existsSync(path.join(root, file)));

const named =
  /(?<![\w./@-])(?:src|wasm|test|docs|bench|bin|fixtures|\.ci|\.github)\/[\w./-]*[\w/]/g;

/** A file of ours by its name alone, like `errors.ts`. */
const fileName = /`(?:[\w-]+\/)*([a-z][a-z0-9-]*(?:\.test)?\.(?:ts|mjs))`/g;
const names = new Set(files.map((file) => path.basename(file)));

/** `src/**\/*.ts`, `bench/<name>.js` and the like name many files, or none in particular. */
const isPattern = (text: string, end: number): boolean =>
  /^(?:\.?[*<{$…]|-?[*<{$])/.test(text.slice(end));

it.each(files)('%s names only paths that exist', (file) => {
  const text = readFileSync(path.join(root, file), 'utf8');
  // In code only comments are prose: a string may name a file of a test's own folder.
  const prose = file.endsWith('.md')
    ? text
    : (text.match(/\/\/.*|\/\*[^]*?\*\//g) ?? []).join('\n');
  const missing = [...prose.matchAll(named)]
    .filter(({ 0: name, index }) => !isPattern(prose, index + name.length))
    .map(([name]) => name)
    .filter((name) => !existsSync(path.join(root, name)));
  const strangers = [...prose.matchAll(fileName)]
    .map(([, name]) => name!)
    .filter((name) => !names.has(name));
  expect([...new Set([...missing, ...strangers])]).toEqual([]);
});

it('SECURITY.md names a test or test folder in each row of its defenses', () => {
  const page = readFileSync(path.join(root, 'SECURITY.md'), 'utf8');
  const rows = tableBelow(page, 'From whom, and how');
  expect(rows.length).toBeGreaterThan(10);
  for (const [attacker, ...cells] of rows) {
    expect([attacker, cells.length]).toEqual([attacker, 3]);
    expect([attacker, cells.at(-1)]).toEqual([
      attacker,
      expect.stringMatching(/^test\/[\w/.-]+(?:\.test\.ts|\/)(?:, test\/[\w/.-]+)*$/),
    ]);
  }
});
