import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { BinProcess } from '../support/processes/bin-process.js';
import { makeWorld } from '../support/test-environment.js';

/** Makes `import` find none of these packages. */
const hooks = (names: readonly string[]): string => `
  export async function resolve(name, context, next) {
    if (!${JSON.stringify(names)}.includes(name)) return next(name, context);
    throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
  }`;

/** And `require`, by which the bundle finds them. */
const register = (hooksUrl: string, names: readonly string[]): string => `
  import Module from 'node:module';
  Module.register(${JSON.stringify(hooksUrl)});
  const found = Module._resolveFilename;
  Module._resolveFilename = function (name, ...how) {
    if (!${JSON.stringify(names)}.includes(name)) return found.call(this, name, ...how);
    throw Object.assign(new Error('Cannot find module ' + name), { code: 'MODULE_NOT_FOUND' });
  };`;

it.each([
  ['bullmq', 'redis://127.0.0.1:1', 'npm install bullmq ioredis'],
  ['ioredis', 'redis://127.0.0.1:1', 'npm install bullmq ioredis'],
  ['pg', 'postgres://127.0.0.1:1/x', 'npm install bullmq pg'],
])('names the command to install a missing %s', async (...[missing, url, line]) => {
  const world = makeWorld();
  writeFileSync(world.path('hooks.mjs'), hooks([missing]));
  const at = pathToFileURL(world.path('hooks.mjs')).href;
  writeFileSync(world.path('register.mjs'), register(at, [missing]));
  const node = ['--import', world.path('register.mjs')];
  const started = new BinProcess(world, ['fleet', 'init', '--queue', url], {}, { node });
  expect(await started.ended(), started.stderr).toBe(2);
  expect(started.stderr).toContain(line);
});
