import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const table = readFileSync(path.join(root, 'test/chaos/README.md'), 'utf8');
const rows = [...table.matchAll(/^\| ([FSO]\d+) +\|.*$/gm)].map(([row, id]) => ({ id, row }));

it('lists all fifty faults, sixteen risks, and the findings of a second rig', () => {
  const ids = [
    ...Array.from({ length: 50 }, (_, n) => `F${n + 1}`),
    ...Array.from({ length: 16 }, (_, n) => `S${n + 1}`),
    ...Array.from({ length: 32 }, (_, n) => `O${n + 1}`),
  ];
  expect(rows.map(({ id }) => id)).toEqual(ids);
});

it.each(rows)('$id is covered by existing tests', ({ row }) => {
  const held = [...row.matchAll(/`((?:test\/|SECURITY)[\w./-]+)(?:: ([^`]+))?`/g)];
  expect(held.length).toBeGreaterThan(0);
  for (const [, file = '', words] of held) {
    expect(existsSync(path.join(root, file)), file).toBe(true);
    // A name may be broken over lines, or be made of several pieces.
    const text = readFileSync(path.join(root, file), 'utf8').replaceAll(/\s+/g, ' ');
    if (words !== undefined) expect(text, `${file}: ${words}`).toContain(words);
  }
});
