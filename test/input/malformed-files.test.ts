import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { makeWorld } from '../support/test-environment.js';

// What becomes of each file of fixtures/bad/, as the README there tells it.

const folder = fileURLToPath(new URL('../../fixtures/bad/', import.meta.url));

interface Case {
  /** `upload` without one. */
  readonly command?: 'subscribe';
  readonly flags?: readonly string[];
  readonly code: 0 | 3 | 8 | 9;
  readonly read?: number;
  /** Physical lines of the rejected records. */
  readonly rejected?: readonly number[];
  /** Of the error that ends the run before it begins. */
  readonly error?: { readonly id: string; readonly line?: number; readonly fix?: string };
}

const cases: Readonly<Record<string, Case>> = {
  'duplicate-header.csv': { code: 8, error: { id: 'E-HEADER-DUPLICATE', line: 1 } },
  'empty-header.csv': { code: 8, error: { id: 'E-HEADER-EMPTY', line: 1 } },
  'no-identity.csv': {
    code: 8,
    error: {
      id: 'E-COLUMN-MISSING',
      fix: 'add --identity id if that column identifies the user, or name another one',
    },
  },
  'no-header.csv': { code: 8, error: { id: 'E-HEADER' } },
  'header-only.csv': { code: 0, read: 0 },
  'empty-array.json': { code: 0, read: 0 },
  'broken-quote.csv': { code: 3, read: 4, rejected: [3, 5] },
  'wrong-cell-count.csv': { code: 3, read: 4, rejected: [3, 4] },
  'mixed-newlines.csv': { code: 0, read: 3 },
  'old-mac-newlines.csv': { code: 0, read: 2 },
  'no-final-newline.csv': { code: 0, read: 2 },
  'blank-lines.ndjson': { code: 0, read: 2 },
  'bom.csv': { code: 0, read: 1 },
  'utf16.csv': { code: 0, read: 2 },
  'utf16-big-endian.csv': { code: 0, read: 1 },
  'latin1.csv': { code: 0, read: 3 },
  'nul-bytes.csv': { code: 0, read: 2 },
  'semicolons.csv': { flags: ['--delimiter', ';'], code: 0, read: 2 },
  'tabs.tsv': { code: 0, read: 2 },
  'bidi-name.csv': { code: 3, read: 2, rejected: [2] },
  'unfit-types.csv': { flags: ['--types', 'Points:integer'], code: 3, read: 3, rejected: [3, 4] },
  'broken-json.ndjson': { code: 3, read: 3, rejected: [2] },
  'repeated-key.ndjson': { code: 3, read: 2, rejected: [1] },
  'number-identity.ndjson': { code: 3, read: 2, rejected: [1] },
  'big-numbers.ndjson': { code: 0, read: 1 },
  'cut-array.json': { code: 3, read: 3, rejected: [1] },
  'fax.csv': { command: 'subscribe', code: 3, read: 2, rejected: [3] },
  'cut.csv.gz': { code: 9 },
};

describe('a bad file', () => {
  for (const [
    name,
    { command = 'upload', flags = [], code, read, rejected = [], error },
  ] of Object.entries(cases)) {
    it(`${name} ends with ${code}`, async () => {
      const world = makeWorld();
      const rejects = world.path('rejects.ndjson');
      const line = [command, `${folder}${name}`, '--check', '--json', '--rejects', rejects];
      const outcome = await world.run([...line, ...flags]);
      expect(outcome.code, outcome.stderr).toBe(code);
      if (read !== undefined) expect(JSON.parse(outcome.stdout)).toMatchObject({ read });
      if (error) expect(JSON.parse(outcome.stderr)).toMatchObject({ error });
      expect(linesOf(rejects)).toEqual(rejected);
    });
  }

  it('is listed in the table', () => {
    expect(Object.keys(cases).sort()).toEqual(readdirSync(folder).sort());
  });

  it('in another encoding is read if the encoding is named', async () => {
    const argv = ['upload', `${folder}latin1.csv`, '--encoding', 'latin1', '--check', '--json'];
    const { code, stdout } = await makeWorld().run(argv);
    expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, read: 3 });
  });
});

it.each([
  ['a name of 200,000 characters', 'x'.repeat(200_000)],
  ['9,000 columns', Array.from({ length: 9000 }, (_, n) => `column_${n}`).join(',')],
])('limits the error of a header with %s to a few lines', async (_, header) => {
  const world = makeWorld();
  writeFileSync(world.path('users.csv'), `${header},n\n`);
  for (const way of [[], ['--json']]) {
    const { code, stderr } = await world.run(['upload', 'users.csv', '--check', ...way]);
    expect(code).toBe(8);
    expect(stderr).toContain('more characters');
    expect(stderr.length).toBeLessThan(5000);
  }
});

function linesOf(rejects: string): number[] {
  if (!existsSync(rejects)) return [];
  const lines = readFileSync(rejects, 'utf8').trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { line: number }).line).sort((a, b) => a - b);
}
