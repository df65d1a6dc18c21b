import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

// What bin/single-file.mjs makes: one file that runs where there is no Node, and nothing else of ours.

const root = fileURLToPath(new URL('../../', import.meta.url));
const missing = whatIsMissing();
if (missing !== undefined)
  process.stderr.write(`SKIPPED: ${missing}; the single file is not made\n`);

function whatIsMissing(): string | undefined {
  if (process.platform !== 'linux') return 'this is not Linux';
  try {
    createRequire(import.meta.url).resolve('postject');
  } catch {
    return 'postject is not installed';
  }
  const hasPlace = readFileSync(process.execPath).includes('NODE_SEA_FUSE_');
  return hasPlace ? undefined : 'this Node was built without single executable applications';
}

describe.skipIf(missing !== undefined)('the single file', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-file-'));
  const file = path.join(folder, 'engagectl');
  beforeAll(() => {
    const { stderr, status } = spawnSync(
      process.execPath,
      [path.join(root, 'bin/single-file.mjs'), file],
      { encoding: 'utf8' },
    );
    expect(status, stderr).toBe(0);
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  let home: string;
  beforeEach(() => {
    home = mkdtempSync(path.join(folder, 'home-'));
  });
  const caches = () => path.join(home, '.cache/engagectl');
  const run = (line: string, env: Record<string, string> = { HOME: home }) => {
    const how = { cwd: home, env, encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync(file, line.split(' '), how);
    return { status, stdout, stderr };
  };

  it('works with the native store of the local service', () => {
    const users = path.join(root, 'fixtures/profiles-eu.ndjson.gz');
    const { status, stderr } = run(`upload ${users} --region local`);
    expect(stderr).toMatch(/^uploaded 2,000 records$/m);
    expect(status).toBe(0);
    const found = run('get-profile eu-10 --region local');
    expect(JSON.parse(found.stdout)).toMatchObject({ identity: 'eu-10' });
  });

  it('unpacks its parts once, however many processes start at a time, and again if one is deleted', async () => {
    const list = async () =>
      promisify(execFile)(file, ['runs', 'list', '--json'], { env: { HOME: home } });
    const answers = await Promise.all([list(), list(), list(), list()]);
    for (const { stdout } of answers) expect(JSON.parse(stdout)).toMatchObject({ runs: [] });
    const [build, ...others] = readdirSync(caches());
    expect(others).toEqual([]);
    rmSync(path.join(caches(), build!, 'dist/program.cjs'));
    expect(run('runs list')).toMatchObject({ status: 0, stderr: 'no unfinished runs\n' });
    expect(readdirSync(caches())).toEqual([build]);
  });

  it('runs nothing from a directory that others can write to, and leaves no temporary files', () => {
    const temporary = mkdtempSync(path.join(folder, 'tmp-'));
    expect(run('--version').status).toBe(0);
    const [build = ''] = readdirSync(caches());
    const main = path.join(caches(), build, 'bin/engagectl.js');
    const { length } = readFileSync(main);
    spawnSync('sh', ['-c', `echo 'console.log("evil")' | head -c ${length} > "$0"`, main]);
    chmodSync(caches(), 0o777);
    const { stdout } = run('--version', { HOME: home, TMPDIR: temporary });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('reports how to fix a disk without space for its parts', () => {
    const { status, stderr } = run('--version', { XDG_CACHE_HOME: '/proc', TMPDIR: '/none' });
    expect([status, stderr]).toEqual([9, expect.stringContaining('name another in TMPDIR')]);
  });
});
