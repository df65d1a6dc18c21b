import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildProgram } from '../../../src/program.js';
import { startService, type TestService } from '../../../src/testing.js';
import { makeWorld } from '../../support/test-environment.js';

// A file that cannot be written is refused before the first request, whichever flag names it.

let service: TestService;
beforeAll(async () => {
  service = await startService({ accountId: 'ACC-1', passcode: 'pass' });
  return () => service.close();
});
afterAll(() => service.close());

const days = '--from 2026-10-01 --to 2026-10-02';
/** For each command and flag that names an output, a command line that would write it. */
const lines: Readonly<Record<string, string>> = {
  'upload --rejects': 'upload users.csv',
  'upload --report': 'upload users.csv',
  'upload --write-mapping': 'upload users.csv --preview',
  'upload --gone': 'upload users.csv --changed',
  'subscribe --rejects': 'subscribe addresses.csv',
  'subscribe --report': 'subscribe addresses.csv',
  'subscribe --gone': 'subscribe addresses.csv --changed',
  'demerge --rejects': 'demerge users.csv --yes',
  'demerge --report': 'demerge users.csv --yes',
  'export-profiles --output': `export-profiles --event Charged ${days}`,
  'export-profiles --report': `export-profiles --event Charged ${days}`,
  'export-events --output': `export-events --event Charged ${days}`,
  'export-events --report': `export-events --event Charged ${days}`,
  'verify --output': 'verify users.csv',
  'verify --report': 'verify users.csv',
  'get-profile --output': 'get-profile u1 u2',
  'get-profile --rejects': 'get-profile u1 u2',
  'call log --output': 'call log --since 1h --region local',
  'call run --rejects': 'call run calls.csv --region local',
  'cuid check --rejects': 'cuid check users.csv --column identity',
  'cuid derive --output': 'cuid derive users.csv --from identity',
  'cuid derive --rejects': 'cuid derive users.csv --from identity',
};
/** They look at a queue first, and make no requests. */
const ofQueue = ['fleet collect --output', 'fleet collect --report'];

const places = [
  ['none/file', 'none'],
  ['users.csv/file', 'users.csv'],
  ['n'.repeat(250), 'its name is too long'],
] as const;

it.each(Object.entries(lines))(
  'refuses an unusable location before anything is sent: %s',
  async (named, line) => {
    const flag = `--${named.split(' --')[1]}`;
    const world = makeWorld({ env: service.env });
    writeFileSync(world.path('users.csv'), 'identity\nu1\n');
    writeFileSync(
      world.path('addresses.csv'),
      'type,value,status\nemail,a@b.example,Unsubscribe\n',
    );
    writeFileSync(world.path('calls.csv'), 'caller,callee,context\nann_1,bob_1,hello\n');
    const [before, there] = [service.requests(), readdirSync(world.cwd)];
    for (const [place, told] of places) {
      const file = `${place}.csv`;
      const { code, stdout, stderr } = await world.run([...line.split(' '), flag, file]);
      expect({ code, stdout }, stderr).toEqual({ code: 9, stdout: '' });
      expect(stderr).toContain(`E-FILE-WRITE: `);
      expect(stderr).toContain(file);
      expect(stderr).toMatch(new RegExp(`why: .*${told}`));
      expect(stderr).toMatch(new RegExp(`fix: .*name another place with ${flag} <file`));
    }
    expect(service.requests()).toEqual(before);
    expect(readdirSync(world.cwd)).toEqual(there);
  },
);

it('checks every flag that names an output', async () => {
  const isOutput = /^--(?:output|rejects|report|gone|write-mapping)$/;
  const found = (command: Command, path: string): string[] => [
    ...command.options.flatMap(({ long }) => (isOutput.test(long ?? '') ? `${path} ${long}` : [])),
    ...command.commands.flatMap((child) => found(child, `${path} ${child.name()}`.trim())),
  ];
  const program = await buildProgram(makeWorld().runtime());
  expect(found(program, '').sort()).toEqual([...Object.keys(lines), ...ofQueue].sort());
});

it('does not create the directory of a log file', async () => {
  const world = makeWorld({ env: service.env });
  const before = service.requests();
  const { code, stderr } = await world.run(['get-profile', 'u1', '--log-file', 'none/run.log']);
  expect([code, stderr]).toEqual([
    9,
    expect.stringContaining(`why: there is no folder ${world.path('none')}`),
  ]);
  expect(existsSync(world.path('none'))).toBe(false);
  expect(service.requests()).toEqual(before);
});
