import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasStrace } from '../chaos/bin.js';
import { BinProcess } from '../support/processes/bin-process.js';
import { stores } from '../support/processes/queue-stores.js';
import { serve } from '../support/serve.js';
import type { World } from '../support/test-environment.js';

// Every command that writes files runs under strace. Whatever it opens for writing in its state, config, data and
// working directories has O_EXCL or O_NOFOLLOW, so that a planted symbolic link is never followed.

if (!hasStrace)
  process.stderr.write('SKIPPED: strace is missing; opens are not checked for links\n');

/** A command and what it needs. */
interface Step {
  readonly argv: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Exit codes besides 0 that are fine here. */
  readonly code?: number;
  /** Stops a command that runs until a signal, once this is on its stdout or stderr. */
  readonly until?: RegExp;
}

interface OpenedFile {
  readonly file: string;
  readonly flags: string;
}

/** Opens for writing in a log of strace, below `root`, whether they succeeded or not. */
function opensIn(log: string, { root, cwd }: { root: string; cwd: string }): OpenedFile[] {
  const call = /(?:openat\((?:AT_FDCWD|\d+), |\bopen\(|creat\()"((?:[^"\\]|\\.)*)", ?([A-Z_|]*)/g;
  return [...log.matchAll(call)].flatMap(([whole, name = '', flags = '']) => {
    const file = path.resolve(cwd, name);
    const isWrite = /O_WRONLY|O_RDWR/.test(flags) || whole.startsWith('creat(');
    return isWrite && file.startsWith(`${root}/`)
      ? [{ file: path.relative(root, file), flags }]
      : [];
  });
}

/** Runs a command; returns the files that it opened for writing. */
async function traced(world: World, step: Step, at: number): Promise<OpenedFile[]> {
  const root = path.dirname(world.cwd);
  for (const [name, text] of Object.entries(step.files ?? {})) {
    mkdirSync(path.dirname(world.path(name)), { recursive: true, mode: 0o700 });
    writeFileSync(world.path(name), text);
  }
  const log = path.join(root, `strace-${at}.txt`);
  const tracer = ['strace', '-f', '-qq', '-e', 'trace=openat,open,creat', '-o', log];
  const env = { ...world.runtime().env, ...step.env };
  const options = { tracer, ...(step.stdin !== undefined && { stdin: step.stdin }) };
  const child = new BinProcess(world, step.argv.split(' '), env, options);
  if (step.until) {
    const { until: pattern } = step;
    await expect
      .poll(() => child.child.exitCode !== null || pattern.test(child.stdout + child.stderr))
      .toBe(true);
    if (child.child.exitCode === null) process.kill(nodeIn(readFileSync(log, 'utf8')), 'SIGINT');
  }
  const code = await child.ended();
  expect(
    [0, step.code ?? 0, ...(step.until ? [130] : [])],
    `${step.argv}\n${child.stderr}`,
  ).toContain(code);
  return opensIn(readFileSync(log, 'utf8'), { root, cwd: world.cwd });
}

/** The process that strace started: the first one in its log. */
const nodeIn = (log: string): number => Number(/^\d+/.exec(log)?.[0]);

/** The package conf writes drafts of the config file, under random names in a directory of 0700 that was just checked. */
const configDraft = /^config\/config\.json\.tmp-/;

const followed = (opens: readonly OpenedFile[]): OpenedFile[] =>
  opens.filter(({ file, flags }) => !/O_EXCL|O_NOFOLLOW/.test(flags) && !configDraft.test(file));

const users = 'identity,City\nann,Oslo\nbob,Rome\n,none\n';
const range = '--event Seen --from 20231113 --to 20231116';
const event =
  '{"identity":"ann","type":"event","evtName":"Seen","ts":1700000000,"evtData":{"a":1}}\n';
const account = '--region eu1 --account-id A --no-check --base-url https://a.example';
const mapping = '{"types":{"City":"string"}}';
const summary = { GITHUB_STEP_SUMMARY: 'summary.md' };
const calls =
  'caller,callee,context,cancel_after,callee_does\nann_1,bob_1,hello,1s,ignore\nann_1,bob_1,hello,1s,decline\n';

const steps: Readonly<Record<string, readonly Step[]>> = {
  upload: [
    { argv: 'upload users.csv --report r.html --log-file run.log', code: 3, env: summary },
    {
      argv: 'upload users.csv --report r.html --log-file run.log --rejects rejects',
      code: 3,
      env: summary,
    },
    { argv: 'upload events.ndjson --yes', files: { 'events.ndjson': event } },
    { argv: 'upload events.ndjson --yes', code: 8 },
    { argv: 'upload users.csv --check', code: 3 },
    { argv: 'upload users.csv --preview --write-mapping m.json', code: 3 },
    { argv: 'upload users.csv --mapping m2.json', code: 3, files: { 'm2.json': mapping } },
    { argv: 'upload - --identity identity', stdin: users, code: 3 },
    { argv: 'upload users.csv --no-journal', code: 3 },
  ],
  'upload, interrupted and resumed': [
    { argv: 'upload users.csv --max-attempts 1 --base-url http://127.0.0.1:9', code: 5 },
    { argv: 'upload users.csv --max-attempts 1 --base-url http://127.0.0.1:9 --resume', code: 5 },
    { argv: 'runs list' },
    { argv: 'runs prune --yes' },
  ],
  'upload --changed': [
    { argv: 'upload users.csv --changed', code: 3 },
    {
      argv: 'upload users.csv --changed --gone gone.csv',
      files: { 'users.csv': 'identity,City\nann,Bonn\n' },
    },
    { argv: 'upload users.csv --changed --gone gone.csv --overwrite', code: 2 },
  ],
  subscribe: [
    {
      argv: 'subscribe subscribe.csv --report r.html',
      code: 3,
      files: { 'subscribe.csv': 'type,value,status\nemail,a@b.c,Unsubscribe\nx,y,z\n' },
    },
  ],
  demerge: [{ argv: 'demerge ids.csv --yes', code: 3, files: { 'ids.csv': 'identity\nann\n\n' } }],
  exports: [
    { argv: 'upload events.ndjson --yes', files: { 'events.ndjson': event } },
    ...['csv', 'ndjson', 'json', 'csv.gz', 'ndjson.gz'].flatMap((format) => [
      { argv: `export-events ${range} -o e.${format} --report e.html` },
      { argv: `export-profiles ${range} -o p.${format}` },
      { argv: `export-profiles ${range} -o p.${format} --overwrite --fresh` },
    ]),
    {
      argv: `export-events ${range} -o resumed.csv --max-attempts 1 --base-url http://127.0.0.1:9`,
      code: 5,
    },
    {
      argv: `export-events ${range} -o resumed.csv --max-attempts 1 --base-url http://127.0.0.1:9 --resume`,
      code: 5,
    },
  ],
  'get-profile and verify': [
    { argv: 'upload users.csv', code: 3 },
    { argv: 'get-profile ann -o ann.json' },
    { argv: 'get-profile --input users.csv -o users.ndjson', code: 3 },
    { argv: 'get-profile --input users.csv -o table.csv', code: 3 },
    { argv: 'verify users.csv -o differences.ndjson --report v.html', code: 3 },
  ],
  cuid: [
    { argv: 'cuid derive users.csv --from identity -o cuids.csv', code: 3 },
    {
      argv: 'cuid derive users.csv --from identity --key-file cuid.key -o hashed.csv',
      code: 3,
      files: { 'cuid.key': 'k'.repeat(40) },
    },
    { argv: 'cuid check users.csv --column City', code: 3 },
  ],
  config: [
    { argv: `config set ${account} --passcode-stdin`, stdin: 'secret-77\n' },
    { argv: `config set ${account} --profile other --passcode-stdin`, stdin: 'secret-78\n' },
    { argv: 'config use other' },
    { argv: 'config show' },
    { argv: 'config remove default' },
    { argv: 'doctor --max-attempts 1 --timeout 1s', code: 5 },
  ],
  'the local service': [
    { argv: 'upload users.csv --region local', code: 3 },
    { argv: 'serve --port 0 --data data --tls', until: /https:\/\/\S+/ },
    { argv: 'serve --port 0 --data data', until: /http:\/\/\S+/ },
  ],
  calls: [
    {
      argv: 'call run calls.csv --region local --rejects calls.rejects',
      code: 3,
      files: { 'calls.csv': calls },
    },
    {
      argv: 'call listen --cuid ann_1 --region local --record heard.wav',
      until: /is waiting for calls/,
    },
    {
      argv: 'call place --cuid ann_1 --to no_1x --context x --region local --record said.wav',
      code: 5,
    },
  ],
};

describe.skipIf(!hasStrace)('opens no name for writing that may be a link', () => {
  it.each(Object.entries(steps))('%s', { timeout: 120_000 }, async (_, each) => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), users);
    let count = 0;
    const found = [];
    for (const [at, step] of each.entries()) {
      const opens = await traced(world, step, at);
      count += opens.length;
      found.push(...followed(opens).map((open) => ({ argv: step.argv, ...open })));
    }
    expect(found).toEqual([]);
    expect(count, 'strace saw the files that were written').toBeGreaterThan(0);
  });
});

const redis = stores.find(({ name }) => name === 'Redis');

it.skipIf(!hasStrace || !redis)('in a fleet', { timeout: 120_000 }, async () => {
  await using store = await redis!.start();
  const { world } = await serve({}, { env: { ENGAGECTL_QUEUE: store.url } });
  writeFileSync(world.path('users.csv'), users);
  mkdirSync(world.path('fleet'), { mode: 0o700 });
  const opens = await traced(
    world,
    { argv: 'fleet submit upload users.csv --shards 2 --work-dir fleet' },
    0,
  );
  const { stdout } = await world.run(['fleet', 'status', '--json']);
  const run = /[0-9a-f]{12}/.exec(stdout)?.[0] ?? '';
  const rest = ['fleet work --work-dir fleet --drain', `fleet collect ${run} --report f.html`];
  for (const [at, argv] of rest.entries()) {
    opens.push(...(await traced(world, { argv, code: 3 }, at + 1)));
  }
  expect(followed(opens)).toEqual([]);
  expect(opens.some(({ file }) => file.startsWith(`work/fleet/${run}/shards/`))).toBe(true);
  expect(readFileSync(world.path('users.csv.rejects.ndjson'), 'utf8')).toContain('"none"');
});
