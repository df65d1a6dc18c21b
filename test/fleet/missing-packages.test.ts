import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { makeWorld } from '../support/test-environment.js';

const bin = fileURLToPath(new URL('../../bin/engagectl.js', import.meta.url));

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
])('without %s a fleet says what to type', async (...[missing, url, line]) => {
  const world = makeWorld();
  writeFileSync(world.path('hooks.mjs'), hooks([missing]));
  const at = pathToFileURL(world.path('hooks.mjs')).href;
  writeFileSync(world.path('register.mjs'), register(at, [missing]));
  const argv = ['--import', world.path('register.mjs'), bin, 'fleet', 'init', '--queue', url];
  const env = { ...process.env, ENGAGECTL_STATE_DIR: world.stateDir };
  const failed = await promisify(execFile)(process.execPath, argv, { env }).then(
    () => undefined,
    (error: { code: number; stderr: string }) => error,
  );
  expect(failed?.code, failed?.stderr).toBe(2);
  expect(failed?.stderr).toContain(line);
});
