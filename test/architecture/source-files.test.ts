import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

const filesUnder = (folder: string): string[] =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((name) => statSync(path.join(root, name)).isFile() && !/\.(?:d\.ts|md)$/.test(name));

it('CONTRIBUTING.md has a line for every source file, in the list of its folder', () => {
  const page = readFileSync(path.join(root, 'CONTRIBUTING.md'), 'utf8');
  const [, chapter = ''] = page.split('\n## Every source file\n');
  const folders = chapter.split('\n### ').slice(1);
  const listed = folders.flatMap((text) => {
    const [folder] = text.split('\n', 1);
    return [...text.matchAll(/^- `([^`]+)`: \S/gm)].map(([, name]) => `${folder}/${name}`);
  });
  const files = ['src', 'wasm', 'bin', 'bench'].flatMap(filesUnder);
  expect(listed.toSorted()).toEqual(files.toSorted());
});
