import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import {
  defaultHeaderPrefix,
  endpointNames,
  endpointPaths,
  headerNames,
  pathOf,
  writeEndpoints,
  type WriteEndpoint,
} from '../../src/contract/endpoints.js';
import { buildProgram } from '../../src/program.js';
import { withProgramName } from '../../src/wording.js';
import { startService } from '../../src/testing.js';
import { makeWorld } from '../support/test-environment.js';

// What a new subcommand needs besides its own file, and what neither the compiler nor the tests of help
// (two to four examples), the manual, docs and surface.json ask for.

const root = fileURLToPath(new URL('../../', import.meta.url));
const filesUnder = (folder: string) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ name, text: readFileSync(path.join(root, folder, name), 'utf8') }));

/** `src/commands/upload.ts` is the command upload, `src/commands/fleet/command.ts` is fleet. */
const commandFiles = filesUnder('src/commands')
  .filter(({ text }) => text.includes('export const command:'))
  .map(({ name }) => path.basename(name.replace(/(?:\/|-)command\.ts$|\.ts$/, '')));

it.each(commandFiles)('lists the command %s in the table of src/program.ts', async (name) => {
  const program = await buildProgram(makeWorld().runtime());
  const names = program.commands.map((command) => command.name().replace(/^__/, ''));
  expect(names).toContain(name);
});

it.each(commandFiles)('runs %s in at least one test', (name) => {
  const word = new RegExp(`['"\`\\s_]${name}['"\`\\s]`);
  const tests = filesUnder('test').filter(
    ({ name: file, text }) => /(?:\.test|contract\/behaviors)\.ts$/.test(file) && word.test(text),
  );
  expect(tests).not.toEqual([]);
});

it.each(commandFiles)('%s in a suggested command line follows the name of the program', (name) => {
  const line = `engagectl ${name} --json`;
  expect(withProgramName(line, 'npx engagectl'), 'commandNames of src/wording.ts').toBe(
    `npx ${line}`,
  );
});

const page = (name: string) => readFileSync(path.join(root, 'docs', name), 'utf8');

it('lists each endpoint with its path in docs/service-api.md', () => {
  const listed = page('service-api.md').matchAll(/^\| `([a-z-]+)` +\|[^|]*\| `[A-Z]+ ([^`?]*)/gm);
  const rows = [...listed].map(([, name, path]) => `${name} ${path?.trim()}`);
  const known = endpointNames.map((name) => `${name} ${pathOf(name)}`);
  expect(rows.toSorted()).toEqual(known.toSorted());
});

it.each(Object.keys(writeEndpoints) as WriteEndpoint[])(
  'the local service reads the body of %s',
  async (name) => {
    await using service = await startService();
    const names = headerNames(defaultHeaderPrefix);
    const { ok } = await fetch(`${service.url}${endpointPaths[name]}`, {
      method: 'POST',
      headers: {
        [names.accountId]: service.accountId,
        [names.passcode]: service.passcode,
        'Content-Type': 'application/json',
      },
      body: '{"d":',
    });
    expect(ok, 'a body that is no JSON').toBe(false);
  },
);

it('the local service answers every path of the contract', async () => {
  await using service = await startService();
  for (const known of Object.values(endpointPaths)) {
    const { status } = await fetch(`${service.url}${known}`, { method: 'PATCH' });
    expect(status, `${known}: 405, for PATCH is no method of it; 404 is for unknown paths`).toBe(
      405,
    );
  }
});
