import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('exports no name twice from wasm/index.ts, because AssemblyScript silently uses the last', () => {
  const source = readFileSync(new URL('../../wasm/index.ts', import.meta.url), 'utf8');
  const lists = [...source.matchAll(/^export \{([^}]*)\} from '.*';$/gm)];
  expect(source.match(/^export\b/gm)).toHaveLength(lists.length);
  const names = lists.flatMap(([, list = '']) => list.match(/\w+(?=\s*(?:,|$))/g) ?? []);
  expect(names.length).toBeGreaterThan(50);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
