import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { isWrite, writeEndpoints } from '../../src/contract/endpoints.js';
import { EngagectlError } from '../../src/errors.js';
import { startService, type TestService } from '../../src/testing.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { examplesIn, helpPages, helpText } from './pages.js';
import { binPath } from '../support/processes/bin-process.js';

// Every example of every help text is run, in a world with the files and profiles that it names. The quick suite runs one of
// four.

const account = { accountId: 'ACC-1', passcode: 'passcode-of-the-examples' };
const calls = { accountId: 'CALLS-1', apiKey: 'key-of-the-examples' };
const users = ['crm-00003', 'CUSTOMER-1'];
const emails = ['someone@example.com', 'other@example.com'];

const files: Readonly<Record<string, string | Buffer>> = {
  'users.csv': `identity,Email\n${users.map((user, at) => `${user},${emails[at]}\n`).join('')}`,
  'crm.csv': 'CustomerId,mail,Age\nc1,c1@example.com,41\n',
  'users.ndjson.gz': gzipSync('{"identity":"c2","City":"Oslo"}\n'),
  'semicolons.txt': Buffer.from('identity;City\nc3;M\u00FCnchen\n', 'latin1'),
  'opt-outs.csv': `type,value,status\nemail,${emails[0]},Unsubscribe\n`,
  'opt-outs.ndjson.gz': gzipSync(
    `{"type":"email","value":"${emails[1]}","status":"Unsubscribe"}\n`,
  ),
  'events.ndjson':
    '{"identity":"e1","type":"event","evtName":"Charged","evtData":{},"ts":1790841600}\n',
  'events.rejects.ndjson': `{"source":"events.ndjson","line":1,"stage":"unknown","error":"it was cut","record":{"identity":"${users[0]}","Email":"${emails[0]}"}}\n`,
  'phones.txt': '+447700900001\n',
  'identities.csv': `identity\n${users.join('\n')}\n`,
  'identities.txt': `${users.join('\n')}\n`,
  'identities.ndjson': `{"identity":"${users[0]}"}\n`,
  'init.json': JSON.stringify({
    accountId: 'A',
    apiKey: 'K',
    cuid: 'ann_1',
    allowPersistSocketConnection: true,
    production: false,
  }),
  'calls.csv': 'caller,callee,context\nbob_1,ann_1,Order 25\n',
  'call.key': `${calls.apiKey}\n`,
  'actions.json': '{"later":"Call me later"}',
  'devices.csv': 'identity,device\nann,phone\nann,tablet\n',
  'cuid.key': '0123456789abcdef0123456789abcdef\n',
  'users.ndjson': '{"type":"profile","identity":"c4","profileData":{}}\n',
  'cuids.csv': 'cuid\nann_1\nbob_1\n',
  passcode: `${account.passcode}\n`,
  'passcode.txt': `${account.passcode}\n`,
};

const pages = await Promise.all((await helpPages()).map((names) => helpText(names, 80)));
// Those of `fleet` need a queue: test/fleet/examples.long.test.ts.
const isLong = process.env['ENGAGECTL_LONG'] === '1';
const examples = [...new Set(pages.flatMap(examplesIn))]
  .filter((line) => !line.startsWith('engagectl fleet '))
  .filter((_, at) => isLong || at % 4 === 0);

let service: TestService;
/** The config file that every example finds, once it was made. */
let configuration: Buffer | undefined;

beforeAll(async () => {
  service = await startService({ ...account, calls: { ...calls, timers: { ringing: 300 } } });
});
afterAll(async () => service.close());

it.each(examples)('runs the example: %s', async (example) => {
  const world = makeWorld();
  await prepare(world, example);
  const line = await withMissedCall(await withUnfinishedRun(example, world), world);
  const words = wordsOf(line);
  const { code, stderr } = words ? await runWords(words, world) : await runInShell(line, world);
  expect(code, stderr).toBe(0);
});

/** Files, config profiles whose regions are all at the running service, and what was sent before. */
async function prepare(world: World, example: string): Promise<void> {
  for (const [name, content] of Object.entries(files)) writeFileSync(world.path(name), content);
  configuration ??= await configure(world);
  mkdirSync(world.configDir, { recursive: true, mode: 0o700 });
  writeFileSync(path.join(world.configDir, 'config.json'), configuration, { mode: 0o600 });
  const region = example.includes('--region local') ? ['--region', 'local'] : [];
  await world.run(['upload', 'users.csv', ...region]);
  // What is to be read back was sent.
  if (example.includes('verify events.ndjson ')) await world.run(['upload', 'events.ndjson']);
  if (example.includes('--subscriptions')) await world.run(['subscribe', 'opt-outs.csv']);
}

async function configure(world: World): Promise<Buffer> {
  await saveRegion(world, 'us1');
  await saveRegion(world, 'eu1');
  await saveRegion(world, 'us1', ['--profile', 'staging']);
  await world.run(['config', 'use', 'default', '--region', 'eu1']);
  return readFileSync(path.join(world.configDir, 'config.json'));
}

async function saveRegion(
  world: World,
  region: string,
  more: readonly string[] = [],
  url = service.url,
) {
  const calling = ['--call-account-id', calls.accountId, '--call-api-key-file', 'call.key'];
  const own = ['--base-url', url, '--account-id', account.accountId, '--passcode-stdin'];
  const at = [...own, ...calling];
  const argv = ['config', 'set', '--no-check', '--region', region, ...at, ...more];
  const { code, stderr } = await world.run(argv, { stdin: `${account.passcode}\n` });
  expect(code, stderr).toBe(0);
}

/** In the place of the example's run id, that of a run which the service stopped by a 401. */
async function withUnfinishedRun(example: string, world: World): Promise<string> {
  const id = /\b\d{8}-\d{6}-\w{4}\b/;
  if (!id.test(example)) return example;
  const refusing = await startService(account);
  onTestFinished(() => refusing.close());
  await refusing.fault({ after: 1, times: 1, answer: { status: 401 } });
  await saveRegion(world, 'eu1', [], refusing.url);
  const { code, stdout } = await world.run([
    'upload',
    'identities.csv',
    '--chunk-size',
    '1',
    '--concurrency',
    '1',
    '--json',
  ]);
  expect(code).toBe(4);
  return example.replace(id, (JSON.parse(stdout) as { run: string }).run);
}

/** In the place of the example's call, one that was missed. */
async function withMissedCall(example: string, world: World): Promise<string> {
  const id = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/;
  if (!id.test(example)) return example;
  const receiver = 'call listen --cuid ann_1 --answer ignore --once --missed-actions actions.json';
  const stop = new AbortController();
  const runtime = world.runtime({ signal: stop.signal, sleep: 'real' });
  const { main } = await import('../../src/main.js');
  const listened = main(receiver.split(' '), runtime);
  await expect
    .poll(() => runtime.output().stderr, { timeout: 20_000 })
    .toContain('is waiting for calls');
  const caller = 'call place --cuid bob_1 --to ann_1 --context x --json';
  const { stdout } = await world.run(caller.split(' '), { sleep: 'real' });
  await listened;
  return example.replace(id, (JSON.parse(stdout) as { callId: string }).callId);
}

/** The arguments of a line that is nothing but one command; undefined for what only a shell reads. */
function wordsOf(line: string): string[] | undefined {
  if (!line.startsWith('engagectl ') || /[|>$]/.test(line)) return undefined;
  const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)];
  return words.slice(1).map(([, double, single, plain]) => double ?? single ?? plain ?? '');
}

/** At a terminal, where the right answer is typed to whatever may be asked. */
async function runWords(words: readonly string[], world: World) {
  if (words[0] === 'serve') return serve(words, world);
  if (words[1] === 'listen') return talk(words, placing, world);
  if (words[1] === 'place') return talk(listening, words, world);
  const [name = ''] = words;
  const confirms = isWrite(name) && writeEndpoints[name].irreversible !== undefined;
  const answer = confirms ? `${users.length}\n` : `${account.passcode}\r`;
  const sleep = words[0] === 'call' ? 'real' : 'instant';
  return world.run(words, { tty: true, stdin: answer, sleep });
}

/** On any port, and stopped when it has said where it listens. */
async function serve(words: readonly string[], world: World) {
  const stop = new AbortController();
  const runtime = world.runtime({ signal: stop.signal });
  const { main } = await import('../../src/main.js');
  const running = main([...words, ...(words.includes('--port') ? [] : ['--port', '0'])], runtime);
  await expect.poll(() => runtime.output().stdout, { timeout: 30_000 }).toMatch(/^https?:/);
  stop.abort();
  return { code: await running, stderr: runtime.output().stderr };
}

const listening = 'call listen --cuid ann_1 --hangup-after 10ms --region local'.split(' ');
const placing =
  'call place --cuid bob_1 --to ann_1 --context x --hangup-after 10ms --region local'.split(' ');

/** A call between two commands; the outcome of the one that is an example. */
async function talk(listener: readonly string[], caller: readonly string[], world: World) {
  const stop = new AbortController();
  const runtime = world.runtime({ signal: stop.signal, sleep: 'real' });
  const { main } = await import('../../src/main.js');
  const listened = main(listener, runtime);
  await expect
    .poll(() => runtime.output().stderr, { timeout: 20_000 })
    .toContain('is waiting for calls');
  const { code, stderr } = await world.run(caller, { sleep: 'real' });
  stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped'));
  await listened;
  if (caller !== placing) return { code, stderr };
  const { stdout } = runtime.output();
  return { code: /"(Ended|Declined)"/.test(stdout) ? 0 : 1, stderr: runtime.output().stderr };
}

async function runInShell(line: string, world: World) {
  mkdirSync(world.path('bin'));
  writeFileSync(
    world.path('bin/engagectl'),
    `#!/bin/sh\nexec "${process.execPath}" "${binPath}" "$@"\n`,
  );
  chmodSync(world.path('bin/engagectl'), 0o700);
  mkdirSync(world.path('.config/fish/completions'), { recursive: true });
  const env = {
    HOME: world.cwd,
    PATH: `${world.path('bin')}:${process.env['PATH']}`,
    ENGAGECTL_CONFIG_DIR: world.configDir,
    ENGAGECTL_STATE_DIR: world.stateDir,
  };
  const shell = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', line], {
    cwd: world.cwd,
    env,
  });
  return shell.then(
    ({ stderr }) => ({ code: 0, stderr }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
  );
}
