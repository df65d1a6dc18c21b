import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { redactor, typedSecretsRemover } from '../../src/redact.js';
import { plain, startRawServer } from '../chaos/malformed-http.js';
import { makeWorld, type World } from '../support/test-environment.js';

// A secret may be typed wherever a value can be: as a flag, as a variable, as a part of a URL. Nothing that a command writes
// holds it, in plain or encoded, but the config file in which it is saved.

const secret = 'S3cr-t/77+Password';
const inUrl = encodeURIComponent(secret);

interface Typed {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const account = { ENGAGECTL_ACCOUNT_ID: 'ACCOUNT-1', ENGAGECTL_PASSCODE: 'another-77' };
const at = { ...account, ENGAGECTL_BASE_URL: 'http://127.0.0.1:9' };
const upload = ['upload', 'users.csv', '--max-attempts', '1'];

const places: Readonly<Record<string, Typed>> = {
  '--passcode': { argv: [...upload, '--passcode', secret] },
  '--passcode=': { argv: [...upload, `--passcode=${secret}`] },
  '-passcode': { argv: [...upload, '-passcode', secret] },
  '-passcode=': { argv: [...upload, `-passcode=${secret}`] },
  '--pass-code': { argv: [...upload, '--pass-code', secret] },
  '--passcode-stdin': { argv: ['config', 'set', '--region', 'x', '--passcode-stdin', secret] },
  'a variable behind the name of the command': {
    argv: [`ENGAGECTL_PASSCODE=${secret}`, ...upload],
    env: account,
  },
  'a variable, with spaces and marks': {
    argv: ['upload', `ENGAGECTL_PASSCODE=x&'${secret} y<"${secret}`],
    env: at,
  },
  'a variable as an input': { argv: ['upload', `ENGAGECTL_PASSCODE=${secret}`], env: at },
  '--api-key': { argv: [...upload, '--api-key', secret] },
  '--token': { argv: [...upload, '--token', secret] },
  '--passcode-command': {
    argv: ['config', 'set', '--region', 'x', '--passcode-command', `echo ${secret}`],
  },
  '--passcode-command=': {
    argv: ['config', 'set', '--region', 'x', `--passcode-command=echo ${secret}`],
  },
  '--push-hook': { argv: ['serve', '--port', 'none', '--push-hook', `curl -H '${secret}'`] },
  'the password of a queue': {
    argv: ['fleet', 'status', '--queue', `redis://user:${inUrl}@127.0.0.1:1`],
  },
  'the password of a queue in a query': {
    argv: ['fleet', 'status', '--queue', `postgres://127.0.0.1:1/x?password=${inUrl}`],
  },
  'the password of a queue that is no URL': {
    argv: ['fleet', 'status', '--queue', `user:${secret}@127.0.0.1:1`],
  },
  'the password of a queue, with a space': {
    argv: ['fleet', 'status', '--queue', `redis://user:${secret} x@127.0.0.1:1`],
  },
  'the password of a queue, behind one slash': {
    argv: ['fleet', 'status', '--queue', `rediss:/:${secret}@127.0.0.1:1/0`],
  },
  'the password of a queue, with an @ and a slash': {
    argv: ['fleet', 'status', '--queue', `redis://:x@${secret}/y@127.0.0.1:1`],
  },
  ENGAGECTL_QUEUE: {
    argv: ['fleet', 'status'],
    env: { ENGAGECTL_QUEUE: `redis://:${inUrl}@127.0.0.1:1` },
  },
  'ENGAGECTL_QUEUE, with an @ in the user': {
    argv: ['fleet', 'status', secret, inUrl],
    env: { ENGAGECTL_QUEUE: `redis://fleet@srv:${inUrl}@127.0.0.1:1` },
  },
  'user info of a base URL': { argv: ['doctor', '--base-url', `https://user:${inUrl}@a.example`] },
  'the query of a base URL': { argv: ['doctor', '--base-url', `https://a.example/?key=${inUrl}`] },
  'a query that looks like user info': {
    argv: ['doctor', '--base-url', `https://a.example/?key=x@${secret}`],
  },
  'a password with a hash mark': {
    argv: ['fleet', 'status', '--queue', `redis://user:x#${secret}@127.0.0.1:1`],
  },
  'the fragment of a base URL': { argv: ['doctor', '--base-url', `https://a.example/#${inUrl}`] },
  ENGAGECTL_BASE_URL: {
    argv: upload,
    env: { ...account, ENGAGECTL_BASE_URL: `https://a.example?token=${inUrl}` },
  },
  'the base URL of a config profile': {
    argv: ['config', 'set', '--region', 'x', '--base-url', `https://a.example?x=${inUrl}`],
  },
  ENGAGECTL_PASSCODE: { argv: upload, env: { ...at, ENGAGECTL_PASSCODE: secret } },
  'ENGAGECTL_PASSCODE as a value of others': {
    argv: [...upload, '--region', secret, '--map', `x=${secret}`, secret],
    env: { ...at, ENGAGECTL_PASSCODE: secret },
  },
  ENGAGECTL_CALL_API_KEY: {
    argv: ['call', 'place', '--to', secret],
    env: { ...at, ENGAGECTL_CALL_ACCOUNT_ID: 'C', ENGAGECTL_CALL_API_KEY: secret },
  },
  'a proxy': {
    argv: ['doctor', '--timeout', '1s', '--max-attempts', '1'],
    env: { ...at, HTTPS_PROXY: `http://user:${inUrl}@127.0.0.1:1` },
  },
  'a proxy, with a percent sign': {
    argv: ['get-profile', 'ann'],
    env: {
      ...account,
      ENGAGECTL_BASE_URL: 'https://a.example',
      HTTPS_PROXY: `http://user:%${secret}@127.0.0.1:1`,
    },
  },
  'the query of a proxy': {
    argv: ['doctor', '--timeout', '1s', '--max-attempts', '1'],
    env: { ...at, HTTPS_PROXY: `http://127.0.0.1:1/?x=${secret}` },
  },
  'a proxy without a scheme': {
    argv: ['doctor', '--timeout', '1s', '--max-attempts', '1'],
    env: { ...at, HTTPS_PROXY: `user:${secret}@127.0.0.1:1` },
  },
};

const ways = [
  ['--log-file', 'run.log', '-vv'],
  ['--log-file', 'run.log', '--log-format', 'json', '--json'],
];

describe.each(ways.map((way) => [way.join(' '), way] as const))('with %s', (_, way) => {
  it.each(Object.keys(places))('%s', { timeout: 30_000 }, async (name) => {
    const { argv, env = {} } = places[name]!;
    const world = makeWorld();
    writeFileSync(world.path('users.csv'), 'identity\nann\n');
    const isReported = argv[0] === 'upload';
    const more = isReported ? ['--report', 'run.html'] : [];
    const files = { GITHUB_STEP_SUMMARY: world.path('summary.md') };
    const { code, stdout, stderr } = await world.run([...argv, ...way, ...more], {
      env: { ...env, ...files },
    });
    expect(stdout + stderr).not.toBe('');
    const written = new Map([['stdout', stdout], ['stderr', stderr], ...filesOf(world)]);
    for (const [where, text] of written)
      for (const spelling of spellings)
        expect(text, `${where}, exit code ${code}`).not.toContain(spelling);
    expect(written.has('run.log')).toBe(true);
  });
});

const spellings = [
  secret,
  inUrl,
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString('base64').slice(0, 14),
  Buffer.from(secret).toString('hex'),
];

/** All files of a world; those of its config folder are where secrets are kept. */
function filesOf({ cwd, configDir }: World): (readonly [string, string])[] {
  const root = path.dirname(cwd);
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(root, name))
    .filter((file) => statSync(file).isFile() && !file.startsWith(configDir))
    .map((file) => [path.relative(cwd, file), readFileSync(file, 'utf8')]);
}

it.each(['?a=b@', '?@', '?a=b&c=d#@', '#a=b@', '/a=b?c=d@'])(
  'refuses the address of a queue whose password ends in %s, and does not show it',
  async (end) => {
    const env = { ...at, ENGAGECTL_QUEUE: `redis://admin:4711${end}127.0.0.1:1` };
    const { code, stdout, stderr } = await makeWorld().run(['fleet', 'status', '-vv'], { env });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('the address of the queue has an @ behind its host');
    expect(stderr).not.toContain('4711');
  },
);

it('redacts the step summary of GitHub', async () => {
  const world = makeWorld();
  writeFileSync(world.path('users.csv'), 'identity\nann\n');
  const env = { ...at, ENGAGECTL_PASSCODE: secret, GITHUB_STEP_SUMMARY: world.path('summary.md') };
  expect((await world.run([...upload, '--region', secret], { env })).code).toBe(5);
  const summary = readFileSync(world.path('summary.md'), 'utf8');
  expect(summary).toContain('(region [');
  expect(summary).not.toContain(secret);
});

it('redacts a passcode of 4,096 characters that the service echoes', async () => {
  const length = 4096;
  const long = Array.from({ length }, (_, at) => (at * at * 31).toString(36).at(-2) ?? 'x').join(
    '',
  );
  for (const note of ['', 'café %41 ']) {
    const error = JSON.stringify({ status: 'fail', code: 400, error: `${note}no key ${long}` });
    await using server = await startRawServer(() => ({ pieces: [plain(error)], end: 'close' }));
    const world = makeWorld();
    writeFileSync(world.path('users.csv'), 'identity\nann\n');
    const env = { ...account, ENGAGECTL_BASE_URL: server.url, ENGAGECTL_PASSCODE: long };
    const { code, stderr, stdout } = await world.run([...upload, ...ways[0]!], { env });
    expect(code, stderr).not.toBe(1);
    expect(stderr).toContain('no key [passcode]');
    const written = [stdout, stderr, ...filesOf(world).map(([, text]) => text)].join('\n');
    const parts = Array.from({ length: length / 20 }, (_, at) => long.slice(20 * at, 20 * at + 16));
    expect(parts.filter((part) => written.includes(part))).toEqual([]);
  }
});

it('finds a typed secret of at least six characters within words', () => {
  const removerOf = (secret: string) => typedSecretsRemover(['--passcode', secret], {});
  expect(removerOf('Kq7xZ')).toBeUndefined();
  expect(removerOf('Kq7xZ2')?.('no Kq7xZ2s')).toMatch(/^no .*s$/);
  expect(removerOf('Kq7xZ2')?.('no Kq7xZ2s')).not.toContain('Kq7');
});

describe('a short passcode', () => {
  it('is masked once, where it stands alone', () => {
    const shown = redactor('P');
    expect(shown('HTTP 400: P is no Passcode, "P"')).toBe(
      'HTTP 400: [passcode] is no Passcode, "[passcode]"',
    );
    expect(redactor('pass')(redactor('pass')('pass'))).toBe('[passcode]');
  });

  it('is not searched within an existing mask', () => {
    const shown = redactor('passcode');
    expect(shown(shown('passcode 1'))).toBe('[passcode] 1');
  });
});

it.each([
  '\u200B',
  '\u3164',
  '\u{E0041}',
  '\u2060',
  '\uFEFF',
  '\u00AD',
  '\\u200b',
  '%E2%80%8B',
  '&#8203;',
  '\u200B\u200D\u2060',
  '\u001B[1;31m',
  '\\u001b[0m',
  '\u001B[K',
  '\u0000',
  '\\u0000',
  '%00',
  '\b',
  '\u007F\u0080',
  '\n',
  '\r\n',
  String.raw`\n`,
  '\n\u200B',
])('masks a passcode with %j between its letters', (between) => {
  const text = redactor('s3cret-77Q')(`no ${Array.from('s3cret-77Q').join(between)} here`);
  expect(text).toBe('no [passcode] here');
});
