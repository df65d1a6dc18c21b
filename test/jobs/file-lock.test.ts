import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lockRun } from '../../src/files/file-lock.js';
import { lockPath, runKey } from '../../src/jobs/run/run-folder.js';
import { accountAt } from '../support/account-environment.js';
import { makeWorld } from '../support/test-environment.js';

// The lock of a run: the kernel keeps it on a file, wherever its holders are and however they end.

const root = fileURLToPath(new URL('../../', import.meta.url));
const built = path.join(root, 'build/files/file-lock.js');

function lockFile(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, '.key.lock');
}

/** Takes the lock in a process of its own, says what came of it, and keeps it. */
const script = (file: string): string =>
  `import { lockRun } from ${JSON.stringify(built)};
   try {
     globalThis.lock = await lockRun(${JSON.stringify(file)});
     console.log('held');
     setInterval(() => undefined, 1000);
   } catch (error) {
     console.log(error.id);
     process.exitCode = error.exitCode;
   }`;

const node = (file: string): readonly [string, ...string[]] => [
  process.execPath,
  '--input-type=module',
  '-e',
  script(file),
];

async function holder([command, ...args]: readonly [string, ...string[]]): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  expect(said.toString().trim()).toBe('held');
  return child;
}

const isHeld = (id = 'E-RUN-LOCKED') => expect.objectContaining({ id }) as Error;

it('is held by one part of a program at a time, and leaves no files', async () => {
  const file = lockFile();
  const lock = await lockRun(file);
  await expect(lockRun(file)).rejects.toEqual(isHeld());
  lock.release();
  const next = await lockRun(file);
  next.release();
  expect(readdirSync(path.dirname(file))).toEqual([]);
});

it('is held by one of many that request it at the same instant, repeatedly', async () => {
  const file = lockFile();
  let held = 0;
  const work = async () => {
    for (let round = 0; round < 50; round += 1) {
      try {
        const lock = await lockRun(file);
        held += 1;
        expect(held).toBe(1);
        await new Promise(setImmediate);
        held -= 1;
        lock.release();
      } catch (error) {
        expect(error).toEqual(isHeld());
        await new Promise(setImmediate);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
});

it('is refused if its file has any content, and names the file', async () => {
  const file = lockFile();
  writeFileSync(file, 'x'.repeat(2000));
  const words = { id: 'E-FILE-WRITE', message: expect.stringContaining(file) as string };
  await expect(lockRun(file)).rejects.toMatchObject(words);
  rmSync(file);
  (await lockRun(file)).release();
});

it('is released at once when its holder is killed', async () => {
  const file = lockFile();
  const child = await holder(node(file));
  await expect(lockRun(file)).rejects.toEqual(isHeld());
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(existsSync(file)).toBe(true);
  const lock = await lockRun(file);
  lock.release();
});

const unshare = ['unshare', '--net', '--map-root-user'] as const;
const canUnshare = spawnSync(unshare[0], [...unshare.slice(1), 'true']).status === 0;
if (!canUnshare) {
  process.stderr.write('SKIPPED: no network namespaces here, so containers are not played\n');
}

describe.runIf(canUnshare)('between network namespaces', () => {
  it('excludes a second process', async () => {
    const file = lockFile();
    const first = await holder([...unshare, ...node(file)]);
    const [command, ...args] = [...unshare, ...node(file)];
    const second = spawnSync(command, args, { encoding: 'utf8' });
    expect([second.stdout.trim(), second.status]).toEqual(['E-RUN-LOCKED', 8]);
    await expect(lockRun(file)).rejects.toEqual(isHeld());
    first.kill('SIGKILL');
    await once(first, 'exit');
    (await lockRun(file)).release();
  });
});

it('reports how to do without a lock that cannot be taken', async () => {
  const world = makeWorld({ env: accountAt('http://127.0.0.1:9', 'passcode') });
  writeFileSync(world.path('users.csv'), 'identity\nu1\n');
  const upload = ['upload', 'users.csv', '--max-attempts', '1'];
  const { code } = await world.run(upload);
  expect(code).toBe(5);
  // A folder in the place of the lock file.
  const runs = path.join(world.stateDir, 'runs');
  mkdirSync(runs, { recursive: true });
  const key = runKey({
    command: 'upload',
    accountId: 'ACCOUNT-1',
    host: '127.0.0.1:9',
    files: [world.path('users.csv')],
  });
  mkdirSync(lockPath(runs, key));
  const refused = await world.run(upload);
  expect([refused.code, refused.stderr]).toEqual([9, expect.stringContaining('--no-journal')]);
  expect(refused.stderr).toContain(`cannot lock the run with ${lockPath(runs, key)}`);
  expect((await world.run([...upload, '--no-journal'])).code).toBe(5);
});
