import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const fixtures = fileURLToPath(new URL('../../fixtures/', import.meta.url));

it('contains what its generator writes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'engagectl-fixtures-'));
  try {
    execFileSync(process.execPath, [join(fixtures, 'generate.js'), folder]);
    for (const name of filesIn(folder)) {
      expect(content(join(fixtures, name)).equals(content(join(folder, name))), name).toBe(true);
    }
    expect(filesIn(join(fixtures, 'bad'))).toEqual(filesIn(join(folder, 'bad')));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('names every bad file in its README', () => {
  const readme = readFileSync(join(fixtures, 'README.md'), 'utf8');
  for (const name of filesIn(join(fixtures, 'bad'))) expect(readme).toContain(`\`${name}\``);
});

it('has a recording that ends with success', () => {
  const recording = readFileSync(join(fixtures, 'recording.svg'), 'utf8');
  expect(recording).toContain(
    'engagectl upload users.csv --types Points:integer --region local --resume',
  );
  expect(recording).toMatch(/uploaded 60,000 users, [1-9][\d,]* of them in an earlier attempt/);
  expect(recording).not.toMatch(/error E-/);
});

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();

/** Compressed bytes depend on the zlib of the Node at hand; what they hold does not. */
function content(path: string): Buffer {
  const bytes = readFileSync(path);
  return path.endsWith('.gz') && !path.includes('cut') ? gunzipSync(bytes) : bytes;
}
