import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { errorExplanations } from '../../src/error-explanations.js';
import { errorIds, exitCodes } from '../../src/errors.js';
import { topics } from '../../src/help/topics.js';
import { makeWorld } from '../support/test-environment.js';
import { helpPages, helpText } from './pages.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
const wide = 120;

describe('every help text', () => {
  it.each([60, 80, 120])('fits into %i columns', async (columns) => {
    for (const names of await helpPages()) {
      const lines = (await helpText(names, columns)).split('\n');
      expect(
        lines.filter((line) => isTooWide(line, columns)),
        names.join(' '),
      ).toEqual([]);
    }
  });

  it('uses between 60 and 120 columns', async () => {
    expect(await helpText(['upload'], 500)).toBe(await helpText(['upload'], 120));
    expect(await helpText(['upload'], 10)).toBe(await helpText(['upload'], 60));
  });
});

/** A line of one piece, like a URL or a usage, cannot be broken. */
const isTooWide = (line: string, columns: number): boolean =>
  line.length > columns && !line.startsWith('Usage: ') && line.trim().includes(' ');

describe('help environment', () => {
  it.each(variablesOfTheSource())('describes %s', async (name) => {
    expect(await helpText(['environment'], wide)).toMatch(new RegExp(`\\b${name}\\b`));
  });

  it('lists the variables of the configuration page', async () => {
    const named = (text: string) => new Set(text.match(/\bENGAGECTL_[A-Z_]+[A-Z]\b/g));
    const topic = named(await helpText(['environment'], wide));
    const page = readFileSync(path.join(root, 'docs/configuration.md'), 'utf8');
    for (const name of named(page)) expect(topic).toContain(name);
  });
});

/** Every variable that src/ looks at, but for those that npm sets for what it runs. */
function variablesOfTheSource(): string[] {
  const source = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(path.join(root, 'src', file), 'utf8'))
    .join('\n');
  const names = source.match(/(?<=\benv\[')\w+(?='\])|\bENGAGECTL_[A-Z_]+[A-Z]\b/g) ?? [];
  const ours = names.filter((name) => !name.startsWith('npm_'));
  return [...new Set(ours.map((name) => name.toUpperCase()))].toSorted();
}

describe('help exit-codes', () => {
  it.each(Object.entries(exitCodes))('%s, %i: matches the README', async (_name, code) => {
    const topic = await helpText(['exit-codes'], wide);
    const [, meaning = ''] = new RegExp(`^ {2}${code} +(.+)$`, 'm').exec(topic) ?? [];
    expect(meaning).not.toBe('');
    const row = new RegExp(`^\\| ${code} +\\| (.+?) +\\|$`, 'm').exec(readme);
    expect(row?.[1]).toBe(meaning);
  });
});

describe('help errors', () => {
  it.each(Object.entries(errorIds))('%s: is listed under %i and explained', async (id, code) => {
    const list = await helpText(['errors'], wide);
    expect(list).toMatch(new RegExp(`^Exit code ${code}:\\n(?: .*\\n)*? {2}${id} `, 'm'));
    const text = await helpText(['errors', id], wide);
    const { causes, next } = errorExplanations[id as keyof typeof errorExplanations];
    expect(text).toContain(`${id}, exit code ${code}: `);
    for (const line of [...causes, ...next])
      expect(text.replaceAll(/\s+/g, ' ')).toContain(line.replaceAll(/\s+/g, ' '));
  });

  it('accepts an id in any case and without E-, and suggests ids with the same start', async () => {
    expect(await helpText(['errors', 'region'], wide)).toBe(
      await helpText(['errors', 'E-REGION'], wide),
    );
    const { code, stderr } = await makeWorld().run(['help', 'errors', 'E-RUN']);
    expect(code).toBe(2);
    expect(stderr).toContain('help errors E-RUN-LOCKED, engagectl help errors E-RUN-UNFINISHED');
  });
});

it.each(Object.keys(topics))('is linked from the README: %s', (topic) => {
  expect(readme).toContain(`help ${topic}`);
});
