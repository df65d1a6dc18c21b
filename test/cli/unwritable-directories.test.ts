import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeWorld, type World } from '../support/test-environment.js';
import { accountAt } from '../support/account-environment.js';

// Folders that cannot be made, and files that cannot be written: said, with the path and a way out.

const places: [name: string, lay: (world: World) => string][] = [
  ['under a file', (world) => world.path('users.csv', 'state')],
  ['a file', (world) => world.path('users.csv')],
  [
    'behind a link to nothing',
    (world) => {
      symlinkSync(world.path('gone', 'disk'), world.path('link'));
      return world.path('link', 'state');
    },
  ],
];
// A kernel that answers ENOENT for what it will not make.
if (process.platform === 'linux') places.push(['under /proc', () => '/proc/engagectl/state']);

function withUsers(): World {
  const world = makeWorld();
  writeFileSync(world.path('users.csv'), 'identity,Name\nu1,One\n', { mode: 0o640 });
  return world;
}

describe.each(places)('a state folder %s', (_name, lay) => {
  it('ends an upload before anything is sent', async () => {
    const world = withUsers();
    const state = lay(world);
    const env = { ...accountAt('http://127.0.0.1:9', 'p'), ENGAGECTL_STATE_DIR: state };
    const { code, stderr } = await world.run(['upload', 'users.csv'], { env });
    expect([code, stderr]).toEqual([9, expect.stringContaining(`folder ${state}/runs/`)]);
    expect(stderr).toContain('set another one with ENGAGECTL_STATE_DIR');
  });

  it.each([
    ['--region local', ['upload', 'users.csv', '--region', 'local']],
    ['serve', ['serve', '--port', '0']],
  ])('ends %s with an error', async (_command, argv) => {
    const world = withUsers();
    const state = lay(world);
    const { code, stderr } = await world.run(argv, { env: { ENGAGECTL_STATE_DIR: state } });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${state}/local: cannot be used`)]);
    expect(stderr).toContain('fix: choose another folder: ');
  });

  it('ends serve with an account from the environment', async () => {
    const world = withUsers();
    const state = lay(world);
    const env = accountAt('http://127.0.0.1:9', 'p');
    const { code, stderr } = await world.run(['serve', '--port', '0', '--data', state], { env });
    // Calls are routed from it, too: who of the two says it first is all the same.
    expect([code, stderr]).toEqual([9, expect.stringMatching(/: (the store|calls) cannot be/)]);
    expect(stderr).toContain(`E-FILE-WRITE: ${state}: `);
  });

  it('ends serve --tls, which writes its certificate there', async () => {
    const world = withUsers();
    const state = lay(world);
    const env = { ...accountAt('http://127.0.0.1:9', 'p'), ENGAGECTL_STATE_DIR: state };
    const argv = ['serve', '--port', '0', '--memory', '--tls'];
    const { code, stderr } = await world.run(argv, { env });
    expect([code, stderr]).toEqual([9, expect.stringContaining(`certificate to ${state}/local`)]);
    expect(stderr).toContain('fix: select another directory with ENGAGECTL_STATE_DIR');
  });

  it('ends config set when the config directory is affected', async () => {
    const world = withUsers();
    const folder = lay(world);
    const argv = 'config set --region eu1 --base-url https://a.example --account-id A';
    const { code, stderr } = await world.run([...argv.split(' '), '--passcode-stdin'], {
      env: { ENGAGECTL_CONFIG_DIR: folder },
      stdin: 'secret\n',
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('E-CONFIG-FILE')]);
    expect(stderr).toContain(folder);
    expect(readdirSync(world.cwd)).not.toContain('gone');
  });
});

describe('a rejects file', () => {
  it.each([
    ['under a file', 'users.csv/rejects.ndjson'],
    ['in no folder', 'none/rejects.ndjson'],
    ['with a name too long', `${'n'.repeat(300)}.ndjson`],
  ])('%s is refused before anything is sent', async (_name, rejects) => {
    const world = withUsers();
    const { code, stderr } = await world.run(['upload', 'users.csv', '--rejects', rejects], {
      env: accountAt('http://127.0.0.1:9', 'p'),
    });
    expect([code, stderr]).toEqual([
      9,
      expect.stringContaining(`the rejects file ${rejects} could not be written`),
    ]);
    expect(stderr).toContain('name another place with --rejects <file>');
  });
});
