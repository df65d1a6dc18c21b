import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { startService } from '../../src/testing.js';
import { commandBlocks } from '../support/command-blocks.js';
import { hasCommand } from '../support/has-command.js';
import { stores } from '../support/processes/queue-stores.js';

// Every block of docs/recipes.md runs in bash, by the built bin, and does what the page says of it.

const root = fileURLToPath(new URL('../../', import.meta.url));
const bin = path.join(root, 'bin/engagectl.js');
const passcode = 'passcode-of-the-recipes';
const page = readFileSync(path.join(root, 'docs/recipes.md'), 'utf8');
const blocks = commandBlocks(page);

/** The one block that has this text. */
function blockWith(part: string): string {
  const found = blocks.filter(({ script }) => script.includes(part));
  expect(found, part).toHaveLength(1);
  return found[0]!.script;
}

/** A folder, an account to work with, and another one. */
async function kitchen() {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-recipes-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const start = async (accountId: string) => {
    const service = await startService({ accountId, passcode });
    onTestFinished(() => service.close());
    return service;
  };
  const [here, other] = await Promise.all([start('NEW'), start('OLD')]);
  mkdirSync(path.join(folder, 'bin'));
  const wrapper = `#!/bin/sh\nexec "${process.execPath}" "${bin}" "$@"\n`;
  writeFileSync(path.join(folder, 'bin/engagectl'), wrapper, { mode: 0o700 });
  const env: Record<string, string> = {
    PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    ENGAGECTL_CONFIG_DIR: path.join(folder, 'config'),
    ENGAGECTL_STATE_DIR: path.join(folder, 'state'),
    ENGAGECTL_BASE_URL: here.url,
    ENGAGECTL_ACCOUNT_ID: 'NEW',
    ENGAGECTL_PASSCODE: passcode,
    ENGAGECTL_RETRY_BASE: '10ms',
  };
  writeFileSync(path.join(folder, 'passcode.txt'), passcode);
  for (const [profile, { url }, id] of [
    ['old', other, 'OLD'],
    ['new', here, 'NEW'],
  ] as const) {
    const where = ['--profile', profile, '--region', 'eu1', '--base-url', url];
    const args = [bin, 'config', 'set', ...where, '--account-id', id];
    const secret = ['--passcode-file', path.join(folder, 'passcode.txt')];
    await promisify(execFile)(process.execPath, [...args, ...secret], { cwd: folder, env });
  }
  const bash = async (script: string) => {
    const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr, [code]] = await Promise.all([
      text(shell.stdout),
      text(shell.stderr),
      once(shell, 'close'),
    ]);
    return { code: code as number, stdout, stderr };
  };
  /** Runs a script that must succeed; gives its standard output. */
  const run = async (script: string) => {
    const { code, stdout, stderr } = await bash(script);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  return { env, here, other, bash, run, file: (name: string) => path.join(folder, name) };
}

const event = (n: number, day: string) =>
  JSON.stringify({
    identity: `u${n % 7}`,
    type: 'event',
    evtName: 'Charged',
    evtData: { n },
    ts: Date.parse(`${day}T12:00:00Z`) / 1000 + n,
  });

it('CRM file: sends only changes, and shows them first', async () => {
  const { run, bash, file } = await kitchen();
  const rows = Array.from({ length: 50 }, (_, at) => `c${at},c${at}@example.test,${at + 20}\n`);
  writeFileSync(file('crm.csv'), `CustomerId,mail,Age\n${rows.join('')}`);
  const nightly = blockWith('upload crm.csv');
  expect(await run(nightly)).toBe('');
  expect(await run(nightly)).toBe('');
  const [upload, verify] = nightly.split('\n') as [string, string];
  await run(upload);
  writeFileSync(file('fix.csv'), 'identity,Age\nc7,99\n');
  await run('engagectl upload fix.csv --types Age:integer --quiet');
  const { code, stdout } = await bash(verify.replace('10m', '0s'));
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({ identity: 'c7', line: 9, sent: 27, found: 99 });
});

it('growing log: sends each event once', async () => {
  const { run, file } = await kitchen();
  writeFileSync(
    file('log.csv'),
    'identity,ts,evtName,Amount\nu1,2026-10-01T10:00:00Z,Charged,5\nu2,2026-10-02T10:00:00Z,Charged,7\n',
  );
  await run(blockWith('upload --type event log.csv'));
  const exported = 'engagectl export-events --event Charged --from 2026-10-01 --to 2026-10-31';
  expect((await run(exported)).split('\n')).toHaveLength(3 + 1);
});

it('self-healing export: repeats removed days and includes late events', async () => {
  const { run, file } = await kitchen();
  mkdirSync(file('charged'));
  const now = Date.now(); // once: midnight may pass during the test
  const daysAgo = (days: number) => new Date(now - days * 86_400_000).toISOString();
  const dayOf = (days: number) => daysAgo(days).slice(0, 10);
  const add = async (days: number) => {
    appendFileSync(file('e.ndjson'), `${event(days, dayOf(days))}\n`);
    await run('engagectl upload e.ndjson --resume --quiet');
  };
  await add(20);
  await add(2);
  const nightly = blockWith('--missing');
  await run(nightly);
  const count = (days: number) => {
    const name = file(`charged/${dayOf(days)}.ndjson.gz`);
    return gunzipSync(readFileSync(name)).toString().split('\n').length - 1;
  };
  expect([count(20), count(19), count(2)]).toEqual([1, 0, 1]);
  rmSync(file(`charged/${dayOf(20)}.ndjson.gz`));
  appendFileSync(file('e.ndjson'), `${event(3, dayOf(2))}\n`);
  await run('engagectl upload e.ndjson --resume --quiet');
  await run(nightly);
  expect([count(20), count(2)]).toEqual([1, 2]);
});

it.each([
  ['one after the other', ''],
  ['so many that the upload stops', '--chunk-size 200 --concurrency 1'],
])(
  'migration with proof: delivers every event once over broken connections: %s',
  async (_, how) => {
    const { run, here, other, file } = await kitchen();
    const headers = { 'X-Service-Account-Id': 'OLD', 'X-Service-Passcode': passcode };
    // An event that an upload rejects, but another program did not.
    const odd = { ...(JSON.parse(event(-1, '2026-10-10')) as object), identity: 'eve\n' };
    const body = JSON.stringify({ d: [odd] });
    const json = { 'Content-Type': 'application/json', ...headers };
    await fetch(`${other.url}/1/upload`, { method: 'POST', headers: json, body });
    const lines = Array.from({ length: 2500 }, (_, n) => event(n, `2026-10-${10 + (n % 9)}`));
    writeFileSync(file('e.ndjson'), lines.join('\n'));
    await run('engagectl upload e.ndjson --profile old --quiet');
    // Requests are lost after they are carried out, and one before.
    const rules = [
      { endpoint: 'upload', times: how === '' ? 1 : 3, action: 'reset-after' },
      { endpoint: 'upload', times: 1, action: 'reset-before' },
    ] as const;
    for (const rule of rules) await here.fault(rule);
    const block = blockWith('--settle').replaceAll('10m', '1s');
    await run(block.replaceAll('upload charged.ndjson.gz', `$& ${how}`));
    expect(existsSync(file('open.ndjson'))).toBe(true);
    const days = '--from 2026-10-01 --to 2026-10-31 --no-event-summaries';
    const stored = await run(`engagectl export-events --profile new --event Charged ${days}`);
    const numbers = stored
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { event_props: { n: number } }).event_props.n);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(lines.map((_, n) => n));
  },
);

const postgres = stores.find(({ name }) => name === 'PostgreSQL');
const withPsql = hasCommand('psql', 'the recipe of the warehouse is not run');

it.skipIf(!postgres || !withPsql)(
  'warehouse: uploads its rows as users, and resumes an interrupted run',
  async () => {
    await using store = await postgres!.start();
    const { run, bash, here, env } = await kitchen();
    env['WAREHOUSE'] = store.url;
    const rows = Array.from({ length: 30 }, (_, at) => `('w${at}', 'Oslo')`).join(',');
    const table = 'CREATE TABLE customers (id text, city text)';
    await run(`psql "$WAREHOUSE" -q -c "${table}; INSERT INTO customers VALUES ${rows}"`);
    const nightly = blockWith('$WAREHOUSE');
    await run(nightly);
    expect(await run('engagectl get-profile w29')).toContain('"City":"Oslo"');
    await run(`psql "$WAREHOUSE" -q -c "UPDATE customers SET city = 'Rome' WHERE id = 'w29'"`);
    await run(nightly);
    expect(await run('engagectl get-profile w29')).toContain('"City":"Rome"');

    const many = "SELECT 'm' || to_char(n, 'FM00000'), 'Lima' FROM generate_series(1, 12000) AS n";
    await run(`psql "$WAREHOUSE" -q -c "INSERT INTO customers ${many}"`);
    await here.fault({ endpoint: 'upload', after: 3, answer: { status: 401 } });
    expect(await bash(nightly)).toMatchObject({ code: 4 });
    here.clearFaults();
    const resumed = await bash(nightly);
    expect(resumed.stderr).toMatch(
      /uploaded 12,030 records, [1-9],000 of them in an earlier attempt/,
    );
    expect(resumed.code).toBe(0);
  },
);

const withDuckDb = hasCommand('duckdb', 'the recipes for Parquet are not run');

it.skipIf(!withDuckDb)('Parquet: reads and writes with DuckDB', async () => {
  const { run, file } = await kitchen();
  const table = "SELECT 'p1' AS id, 'Oslo' AS city";
  await run(`duckdb -c "COPY (${table}) TO 'customers.parquet'"`);
  await run(blockWith('customers.parquet'));
  expect(await run('engagectl get-profile p1')).toContain('"City":"Oslo"');
  writeFileSync(file('e.ndjson'), event(1, '2026-10-05'));
  await run('engagectl upload e.ndjson');
  await run(blockWith('charged.parquet'));
  const rows = await run(`duckdb -csv -c "SELECT event_props.n FROM 'charged.parquet'"`);
  expect(rows.trim().split('\n').at(-1)).toBe('1');
});

it('tests every block of the page', () => {
  const told = [
    'upload crm.csv',
    'event log.csv',
    '--missing',
    '--settle',
    '.parquet',
    '$WAREHOUSE',
  ];
  const others = blocks.filter(({ script }) => !told.some((part) => script.includes(part)));
  expect(others).toEqual([]);
});
