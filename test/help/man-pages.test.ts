import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { errorIds } from '../../src/errors.js';
import { buildProgram } from '../../src/program.js';
import { nodeRuntime } from '../../src/runtime.js';
import { hasCommand } from '../support/has-command.js';

// The manual pages as `npm run build` wrote them.

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = path.join(root, 'dist/man');
const page = (name: string) =>
  readFileSync(path.join(folder, name), 'utf8').replaceAll(String.raw`\-`, '-');
const program = await buildProgram({
  ...nodeRuntime(new AbortController().signal),
  program: 'engagectl',
});
const commands = program.commands.filter((command) => !command.name().startsWith('__'));

it('packs exactly the pages of the table', () => {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly man: readonly string[];
  };
  const written = readdirSync(folder).map((name) => `dist/man/${name}`);
  expect(manifest.man.toSorted()).toEqual(written.toSorted());
  const wanted = ['engagectl', ...commands.map((command) => `engagectl-${command.name()}`)];
  expect(written.toSorted()).toEqual(wanted.map((name) => `dist/man/${name}.1`).toSorted());
});

it.each(commands)('engagectl-$_name.1 describes every option', (command) => {
  const text = page(`engagectl-${command.name()}.1`);
  for (const { flags, hidden } of optionsOf(command)) {
    if (!hidden) expect(text).toContain(`.B ${flags.replaceAll('…', String.raw`\[u2026]`)}\n`);
  }
});

const optionsOf = (command: Command): Command['options'] =>
  [command, ...command.commands].flatMap(({ options }) => options);

it('engagectl.1 contains the topics', () => {
  const text = page('engagectl.1');
  expect(text).toMatch(/^\.SH EXIT STATUS$/m);
  expect(text).toMatch(/^\.SH ENVIRONMENT$/m);
  for (const id of Object.keys(errorIds)) expect(text).toContain(`.B ${id}\n`);
});

describe.skipIf(!hasCommand('mandoc', 'manual pages are not checked'))('mandoc', () => {
  it.each(readdirSync(folder))('accepts %s without warnings', (name) => {
    const lint = execFileSync('mandoc', ['-T', 'lint', path.join(folder, name)], {
      encoding: 'utf8',
    });
    expect(lint).toBe('');
  });
});
