import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../.github/workflows/', import.meta.url));

// A tag can be moved to other code by whoever gets hold of the action's repository.
it.each(readdirSync(folder))(
  '%s names its actions by the hash of a commit, and their version',
  (name) => {
    const text = readFileSync(path.join(folder, name), 'utf8');
    const used = [...text.matchAll(/\buses: (.*)$/gm)].map(([, action = '']) => action);
    expect(used).not.toEqual([]);
    for (const action of used) expect(action).toMatch(/^[\w./-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/);
  },
);
