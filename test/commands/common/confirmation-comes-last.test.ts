import { appendFileSync, existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { main } from '../../../src/main.js';
import { serve, written } from '../../support/serve.js';
import { until } from '../../support/until.js';

// A person is asked last: about nothing that would be refused anyway, and nothing stays of what was declined.

const stage = async () => {
  const { service, world } = await serve({}, { tty: true, env: { NO_COLOR: '1' } });
  writeFileSync(world.path('ids.txt'), 'u1\nu2\n');
  const typing = async (typed: string, ...more: string[]) =>
    world.run(['demerge', 'ids.txt', ...more], { stdin: typed });
  return { service, world, typing };
};

it('is not asked about records that were sent before', async () => {
  const { service, typing } = await stage();
  expect((await typing('2\n')).code).toBe(0);
  const { code, stderr } = await typing('2\n');
  expect([code, stderr]).toEqual([8, expect.stringContaining('error E-ALREADY-SENT: ids.txt')]);
  expect(stderr).not.toContain('Type 2');
  expect(written(service)).toHaveLength(1);
});

it('is not asked if --resume has nothing to send, which succeeds without a terminal too', async () => {
  const { service, world, typing } = await stage();
  await typing('2\n');
  const again = await world.run(['demerge', 'ids.txt', '--resume', '--json'], { tty: false });
  expect(again.code, again.stderr).toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({ read: 2, resumed: 2, accepted: 0 });
  expect(written(service)).toHaveLength(1);
});

it('is not asked if the rejects file is unusable', async () => {
  const { typing } = await stage();
  const { code, stderr } = await typing('2\n', '--rejects', 'ids.txt');
  expect([code, stderr]).toEqual([2, expect.stringContaining('ids.txt is an input of this run')]);
  expect(stderr).not.toContain('Type 2');
});

it('is not asked if the ledger cannot be read', async () => {
  const { world, typing } = await stage();
  await typing('2\n');
  writeFileSync(path.join(world.stateDir, 'ledger.ndjson'), 'no ledger\n');
  const { code, stderr } = await typing('2\n');
  expect([code, stderr]).toEqual([8, expect.stringContaining('error E-LEDGER')]);
  expect(stderr).not.toContain('Type 2');
});

it('is not asked while another process asks the same', async () => {
  const { service, world, typing } = await stage();
  const person = new PassThrough();
  const first = world.run(['demerge', 'ids.txt'], { stdin: person });
  const runs = path.join(world.stateDir, 'runs');
  await until(() => existsSync(runs) && readdirSync(runs).length >= 2); // the run, and its lock
  const { code, stderr } = await typing('2\n');
  expect([code, stderr]).toEqual([8, expect.stringContaining('error E-RUN-LOCKED')]);
  person.end('2\n');
  expect((await first).code).toBe(0);
  expect(written(service)).toHaveLength(1);
});

it('leaves no files when it is declined', async () => {
  const { service, world, typing } = await stage();
  expect((await typing('no\n')).code).toBe(2);
  expect((await world.run(['runs', 'list'])).stderr).toContain('no unfinished runs');
  expect((await typing('2\n')).code).toBe(0);
  appendFileSync(world.path('ids.txt'), 'u3\n');
  expect((await typing('no\n', '--resume')).code).toBe(2);
  expect((await typing('3\n', '--resume')).code).toBe(0);
  expect(written<string>(service)).toEqual([['u1', 'u2'], ['u3']]);
});

it.each(['written to', 'rewritten', 'replaced'])(
  'sends nothing of a file that was %s while a person was asked',
  async (how) => {
    const { service, world } = await stage();
    const file = world.path('ids.txt');
    const person = new PassThrough();
    const runtime = world.runtime({ stdin: person });
    const ended = main(['demerge', 'ids.txt'], runtime);
    await until(() => runtime.output().stderr.includes('Type 2'));
    if (how === 'written to') appendFileSync(file, 'u3\n');
    if (how === 'rewritten') writeFileSync(file, 'v1\nv2\n');
    if (how === 'replaced') {
      writeFileSync(world.path('new.txt'), 'v1\nv2\n');
      renameSync(world.path('new.txt'), file);
    }
    person.end('2\n');
    expect(await ended).toBe(8);
    expect(runtime.output().stderr).toContain('ids.txt was changed before it was confirmed');
    expect(written(service)).toEqual([]);
  },
);

it('sends a file that grows before the first request if nobody is asked', async () => {
  const { service, world } = await stage();
  const identities = Array.from({ length: 10_000 }, (_, n) => `user-with-a-long-name-${n}\n`);
  const file = world.path('ids.txt');
  writeFileSync(file, identities.join(''));
  const runs = path.join(world.stateDir, 'runs');
  const ended = world.run(['demerge', 'ids.txt', '--yes']);
  await until(() => existsSync(runs) && readdirSync(runs).length >= 2); // the run, and its lock
  for (let turn = 0; turn < 50; turn += 1) {
    appendFileSync(file, 'user-with-a-long-name-0\n');
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { code, stderr } = await ended;
  expect(code, stderr).toBe(0);
  expect(written<string>(service).flat()).toHaveLength(10_000);
});
