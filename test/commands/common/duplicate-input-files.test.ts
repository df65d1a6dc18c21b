import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { serve, written } from '../../support/serve.js';

// An input that is named twice: its records would be taken twice, in silence.

const stage = async () => {
  const { service, world } = await serve();
  writeFileSync(world.path('a.csv'), 'identity,ts,evtName\nu1,1700000000,Visit\n');
  writeFileSync(world.path('b.csv'), 'identity,ts,evtName\nu2,1700000000,Visit\n');
  writeFileSync(
    world.path('addresses.csv'),
    'type,value,status\nemail,a@example.com,Unsubscribe\n',
  );
  mkdirSync(world.path('sub'));
  symlinkSync('a.csv', world.path('latest.csv'));
  return { service, world };
};

it.each([
  ['upload a.csv b.csv a.csv --type event', 'a.csv is named twice'],
  ['upload a.csv ./a.csv', './a.csv and a.csv are the same file'],
  ['upload a.csv sub/../a.csv', 'sub/../a.csv and a.csv are the same file'],
  ['upload a.csv b.csv latest.csv', 'latest.csv and a.csv are the same file'],
  ['upload a.csv b.csv latest.csv b.csv', 'latest.csv and a.csv are the same file; b.csv is named'],
  ['upload a.csv a.csv --preview', 'a.csv is named twice'],
  ['upload - -', 'standard input (-) is named twice'],
  ['upload - /dev/stdin', '/dev/stdin and standard input (-) are the same file'],
  ['subscribe addresses.csv addresses.csv', 'addresses.csv is named twice'],
  ['demerge a.csv a.csv --yes', 'a.csv is named twice'],
  ['verify a.csv a.csv', 'a.csv is named twice'],
  ['cuid check a.csv a.csv', 'a.csv is named twice'],
])('%s: exit 2, nothing is sent', async (line, message) => {
  const { service, world } = await stage();
  const { code, stderr } = await world.run(line.split(' '));
  expect(stderr).toContain(`error E-USAGE: ${message}`);
  expect(stderr).toContain('fix: name each input once');
  expect(code).toBe(2);
  expect(service.requests()).toEqual([]);
});

it('of very many files that are named again a few are told', async () => {
  const { world } = await stage();
  const names = Array.from({ length: 30 }, (_, n) => `${n}.csv`);
  for (const name of names) writeFileSync(world.path(name), 'identity\nu1\n');
  const { code, stderr } = await world.run(['upload', ...names, ...names]);
  expect(code).toBe(2);
  expect(stderr).toContain(
    '0.csv is named twice; 1.csv is named twice; 2.csv is named twice; and 27 more',
  );
});

it('files of the same content are two inputs', async () => {
  const { service, world } = await stage();
  writeFileSync(world.path('copy.csv'), 'identity,ts,evtName\nu1,1700000000,Visit\n');
  const { code, stderr } = await world.run(['upload', 'a.csv', 'copy.csv', '--check']);
  expect(code, stderr).toBe(0);
  expect(written(service)).toEqual([]);
});
