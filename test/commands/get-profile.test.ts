import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { EngagectlError } from '../../src/errors.js';
import {
  after,
  answer,
  hang,
  startFaultServer,
  throttle,
  type FaultServer,
  type Received,
  type Step,
} from '../support/servers/fault-server.js';
import { accountAt } from '../support/account-environment.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { until } from '../support/until.js';

const passcode = 'seeded-pass-7Q';
let world: World;
let server: FaultServer;

/** Users a to z exist; their records hold what JSON.parse would change. */
const recordOf = (name: string): string =>
  `{"identity":"${name}","big":12345678901234567890,"price":1.00,"profileData":{}}`;
const answerTo = ({ url }: Received): Step => {
  const name = decodeURIComponent(new URL(url, 'http://x').search.split('=')[1] ?? '');
  return /^[a-z]$/.test(name)
    ? answer(200, `{"status":"success","record":${recordOf(name)}}`)
    : answer(200, { status: 'success' });
};

beforeEach(() => {
  world = makeWorld();
});

async function serve(script: (received: Received, index: number) => Step = answerTo) {
  server = await startFaultServer(script);
  onTestFinished(() => server[Symbol.asyncDispose]());
}

const run = (argv: readonly string[], options: Parameters<World['run']>[1] = {}) =>
  world.run(['get-profile', ...argv], {
    ...options,
    env: { ...accountAt(server.url, passcode, 'ACC-1'), ...options.env },
  });
const lines = (...names: string[]) => names.map((name) => `${recordOf(name)}\n`).join('');
const asked = () => server.received.map(({ url }) => url.replace('/1/profile.json?', ''));
const rejects = (file: string) =>
  readFileSync(world.path(file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('one user', () => {
  it.each([
    [['a'], 'identity=a'],
    [['--identity', 'a'], 'identity=a'],
    [['--email', 'a'], 'email=a'],
    [['--object-id', 'a'], 'objectId=a'],
  ])('%j is one line, byte for byte', async (argv, query) => {
    await serve();
    expect(await run(argv)).toEqual({ code: 0, stdout: lines('a'), stderr: '' });
    expect(asked()).toEqual([query]);
  });

  it('is indented on a terminal, with numbers and spellings kept', async () => {
    await serve(() =>
      answer(
        200,
        '{"status":"success","record":{"n":1.00,"a":[ ],"o":{"x":[1,2e5]},"s":"\\u00e9\u202e\\"{"}}',
      ),
    );
    const { stdout } = await run(['a'], { tty: { stdout: true } });
    expect(stdout).toBe(
      [
        '{',
        '  "n": 1.00,',
        '  "a": [],',
        '  "o": {',
        '    "x": [',
        '      1,',
        '      2e5',
        '    ]',
        '  },',
        '  "s": "\\u00e9\\u202e\\"{"',
        '}',
        '',
      ].join('\n'),
    );
  });

  it('whose record is not UTF-8 is refused, as in exports', async () => {
    const body = Buffer.from('{"status":"success","record":{"name":"M\xfcller"}}', 'latin1');
    await serve(() => async ({ read, response }) => {
      await read();
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
    });
    const { code, stdout, stderr } = await run(['a', '--max-attempts', '2']);
    expect([code, stdout]).toEqual([7, '']);
    expect(stderr).toContain('not UTF-8');
  });

  it.each([
    [
      'lists identities of another user',
      '"success","record":{"all_identities":["b","c"],"name":"Zed"}',
      'another user',
    ],
    ['is that of another endpoint', '"success","cursor":"C0"', 'unknown shape'],
    [
      'has two identities',
      '"success","record":{"identity":"a","identity":"Zed","all_identities":["a"]}',
      'a profile that repeats a member',
    ],
    [
      'says that there is no such user, with a profile',
      '"fail","error":"No user","record":{"name":"Zed"}',
      'a profile beside a failure',
    ],
    [
      'repeats its record',
      '"success","record":{"a":1},"r\\u0065cord":{"b":2}',
      'JSON that repeats record',
    ],
  ])('is not taken from a response that %s', async (_what, members, why) => {
    await serve(() => answer(200, `{"status":${members}}`));
    const { code, stdout, stderr } = await run(['a', '--max-attempts', '2']);
    expect([code, stdout]).toEqual([7, '']);
    expect(stderr).toContain(why);
    expect(stderr).not.toContain('Zed');
    expect(asked()).toHaveLength(2);
  });

  it.each([
    ['--email', '"email":"zed@x.test"'],
    ['--email', '"profileData":{"Email":"zed@x.test"}'],
    ['--object-id', '"platformInfo":[{"platform":"Web"},{"objectId":"zed"}]'],
  ])('looked up by %s is not taken from a response with %s', async (by, members) => {
    await serve(() => answer(200, `{"status":"success","record":{${members}}}`));
    const { code, stdout, stderr } = await run([by, 'Ann', '--max-attempts', '1']);
    expect([code, stdout]).toEqual([7, '']);
    expect(stderr).toContain('the profile of another user');
    expect(stderr).not.toContain('zed');
  });

  it.each([
    ['--email', 'Ann@x.test', '"email":"ann@X.test ","profileData":{"Email":"old@x.test"}'],
    ['--email', 'ann@x.test', '"email":"","profileData":{"Email":null}'],
    ['--email', 'ann@x.test', '"all_identities":["zed"],"platformInfo":[{"objectId":"zed"}]'],
    ['--object-id', 'O1', '"platformInfo":[{"objectId":"zed"},{"objectId":"O1"}]'],
    ['--object-id', '77', '"platformInfo":[{"objectId":77}]'],
    ['--object-id', 'O1', '"email":"zed@x.test","platformInfo":[]'],
  ])('looked up by %s %j is taken from a response with %s', async (by, value, members) => {
    await serve(() => answer(200, `{"status":"success","record":{${members}}}`));
    expect(await run([by, value])).toMatchObject({ code: 0, stdout: `{${members}}\n` });
  });

  it('is found by one of several identities, in any case', async () => {
    await serve(() => answer(200, '{"status":"success","record":{"all_identities":["b","Ann"]}}'));
    expect(await run(['ANN'])).toMatchObject({ code: 0 });
  });

  it('that does not exist is exit 3, by name, without a file', async () => {
    await serve();
    const { code, stdout, stderr } = await run(['--email', 'nobody@example.test']);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain('E-NOT-FOUND: no user has email "nobody@example.test"');
    expect(existsSync(world.path('engagectl-get-profile.rejects.ndjson'))).toBe(false);
  });

  it.each(['', ',"record":null', ',"record":{}'])(
    'that a failure denies, does not exist: %s',
    async (record) => {
      await serve(() => answer(200, `{"status":"fail","error":"No user"${record}}`));
      const { code, stderr } = await run(['a', '--max-attempts', '2']);
      expect([code, stderr]).toEqual([3, expect.stringContaining('E-NOT-FOUND')]);
    },
  );

  it('with --json puts the summary on stderr, beside the record on stdout', async () => {
    await serve();
    const { stdout, stderr } = await run(['a', '--json']);
    expect(stdout).toBe(lines('a'));
    expect(JSON.parse(stderr)).toMatchObject({
      schemaVersion: 1,
      command: 'get-profile',
      accountId: 'ACC-1',
      read: 1,
      accepted: 1,
      requests: 1,
      bytes: lines('a').length,
      output: null,
      exitCode: 0,
    });
  });
});

describe('many users', () => {
  it('of the command line are printed in order; missing ones go to a file that is named', async () => {
    await serve();
    const quiet = await run(['b', 'nobody', 'a']);
    expect([quiet.code, quiet.stderr]).toEqual([
      3,
      expect.stringContaining('argument 2: service: no user has identity "nobody"\n'),
    ]);
    expect(readdirSync(world.path('.')).filter((name) => name.includes('rejects'))).toEqual([]);
    const argv = ['b', 'nobody', 'a', '--rejects', 'r.ndjson'];
    const { code, stdout, stderr } = await run(argv);
    expect([code, stdout]).toEqual([3, lines('b', 'a')]);
    expect(stderr).toContain('1 of 3 users was not found');
    expect(stderr).toContain('argument 2: service: no user has identity "nobody"\n');
    expect(rejects('r.ndjson')).toEqual([
      {
        source: 'arguments',
        line: 2,
        stage: 'service',
        error: 'no user has identity "nobody"',
        record: { identity: 'nobody' },
      },
    ]);
  });

  it('named twice: sends one request, and prints a line for each', async () => {
    await serve();
    const { code, stdout, stderr } = await run(['a', 'b', 'a', '--json']);
    expect([code, stdout]).toEqual([0, lines('a', 'b', 'a')]);
    expect(JSON.parse(stderr)).toMatchObject({ read: 3, accepted: 3, requests: 2 });
  });

  it.each([
    ['CSV identity', 'users.csv', 'Name,identity\nx,a\ny,b\n', [], ['identity=a', 'identity=b']],
    ['CSV email', 'users.csv', 'email,Name\na,x\n', [], ['email=a']],
    ['CSV objectId', 'users.csv', 'objectId\n"a"\n', [], ['objectId=a']],
    ['CSV of several, the first', 'u.csv', 'email,identity\nb,a\n', [], ['identity=a']],
    ['CSV of several, chosen', 'u.csv', 'email,identity\nb,a\n', ['--by', 'email'], ['email=b']],
    [
      'NDJSON objects',
      'u.ndjson',
      '{"email":"a"}\n{"identity":"b"}\n',
      [],
      ['email=a', 'identity=b'],
    ],
    [
      'NDJSON strings',
      'u.ndjson',
      '"a"\n"b"\n',
      ['--by', 'objectId'],
      ['objectId=a', 'objectId=b'],
    ],
    ['a bare list', 'u.txt', 'a\nb\n', ['--by', 'email'], ['email=a', 'email=b']],
    ['a list with its header', 'u.txt', 'email\na\n', ['--by', 'email'], ['email=a']],
  ])('can be read from %s', async (_, name, text, flags, queries) => {
    await serve();
    writeFileSync(world.path(name), text);
    const { code, stderr } = await run(['--input', name, ...flags]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('found ')]);
    expect(asked()).toEqual(queries);
  });

  it.each([
    ['crm.csv', 'No,Mail\n1,A\n2,b\n', ['--email', 'Mail', '--lowercase', 'Mail'], 'email'],
    [
      'crm.ndjson',
      '{"Mail":"A"}\n{"Mail":"b"}\n',
      ['--email', 'Mail', '--lowercase', 'Mail'],
      'email',
    ],
    ['ids.ndjson', '{"id":"a"}\n{"id":"b"}\n', ['--identity', 'id'], 'identity'],
  ])('of a column of %s with another name', async (name, text, flags, by) => {
    await serve();
    writeFileSync(world.path(name), text);
    const { code, stdout } = await run(['--input', name, ...flags]);
    expect([code, stdout]).toEqual([0, lines('a', 'b')]);
    expect(asked().toSorted()).toEqual([`${by}=a`, `${by}=b`]);
  });

  it('with numeric ids are looked up with the type string', async () => {
    await serve();
    writeFileSync(world.path('ids.ndjson'), '{"id":12345678901234567890}\n');
    const argv = ['--input', 'ids.ndjson', '--identity', 'id', '--types', 'id:string'];
    expect((await run(argv)).code).toBe(3);
    expect(asked()).toEqual(['identity=12345678901234567890']);
  });

  it('of a column that is missing are refused', async () => {
    await serve();
    writeFileSync(world.path('crm.csv'), 'No,Mail\n1,a\n');
    const { code, stderr } = await run(['--input', 'crm.csv', '--email', 'Email']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('column "Email" missing')]);
    expect(asked()).toEqual([]);
  });

  it('can be read from stdin, gzip too', async () => {
    await serve();
    const { code, stdout } = await run(['--input', '-', '--by', 'identity'], {
      stdin: gzipSync('a\nc\nb\n'),
    });
    expect([code, stdout]).toEqual([0, lines('a', 'c', 'b')]);
  });

  it('keep their order if responses do not, with at most three in flight', async () => {
    const names = 'abcdefghijklmnopqrst'.split('');
    await serve((received, index) => after(index % 3 === 0 ? 40 : 1, answerTo(received)));
    writeFileSync(world.path('u.txt'), names.join('\n'));
    const { stdout } = await run(['--input', 'u.txt', '--by', 'identity']);
    expect(stdout).toBe(lines(...names));
    expect(server.mostInFlight).toBe(3);
    expect((await run(['--input', 'u.txt', '--concurrency', '1'])).stdout).toBe(lines(...names));
    expect(server.mostInFlight).toBe(3);
  });

  it('that are refused or unreadable go to the rejects file with their line', async () => {
    await serve();
    writeFileSync(
      world.path('u.ndjson'),
      '{"identity":"a"}\n{"identity":7}\n{"identity":\n{}\n"zz"\n',
    );
    const { code, stdout, stderr } = await run(['--input', 'u.ndjson', '--json']);
    expect([code, stdout]).toEqual([3, lines('a')]);
    expect(
      rejects('u.ndjson.rejects.ndjson')
        .map(({ line, stage }) => `${String(line)} ${String(stage)}`)
        .sort(),
    ).toEqual(['2 validate', '3 parse', '4 validate', '5 service']);
    const [summary] = stderr
      .split('\n')
      .flatMap((line) => (line.includes('schemaVersion') ? [JSON.parse(line) as object] : []));
    expect(summary).toMatchObject({ read: 5, accepted: 1, rejected: 4, exitCode: 3 });
  });

  it('of a rejects file can be requested again', async () => {
    await serve();
    writeFileSync(world.path('u.txt'), 'a\nnobody\n');
    await run(['--input', 'u.txt', '--by', 'email']);
    await run(['--input', 'u.txt.rejects.ndjson', '--rejects', 'again.ndjson']);
    expect(asked()).toEqual(['email=a', 'email=nobody', 'email=nobody']);
  });

  it.each([
    ['out.ndjson', (bytes: Buffer) => bytes.toString(), lines('a', 'b')],
    ['out.ndjson.gz', (bytes: Buffer) => gunzipSync(bytes).toString(), lines('a', 'b')],
    [
      'out.csv',
      (bytes: Buffer) => bytes.toString(),
      'identity,big,price\na,12345678901234567890,1.00\nb,12345678901234567890,1.00\n',
    ],
    [
      'out.json',
      (bytes: Buffer) => JSON.stringify(JSON.parse(bytes.toString())),
      JSON.stringify(['a', 'b'].map((name) => JSON.parse(recordOf(name)) as object)),
    ],
  ])('go to %s', async (name, read, expected) => {
    await serve();
    const { code, stdout } = await run(['a', 'b', '-o', name, '--json']);
    expect(code).toBe(0);
    expect(read(readFileSync(world.path(name)))).toBe(expected);
    expect(statSync(world.path(name)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 2, output: name });
    expect((await run(['a', '-o', name])).code).toBe(8);
  });

  it.each([
    ['--delimiter', ';'],
    ['--quote', "'"],
    ['--escape', '!'],
    ['--comment', '#'],
    ['--encoding', 'latin1'],
    ['--input-format', 'csv'],
    ['--max-record-bytes', '1MiB'],
  ])('cannot be given as operands together with the input flag %s', async (flag, value) => {
    await serve();
    const { code, stderr } = await run(['a', flag, value]);
    expect(code).toBe(2);
    expect(stderr).toContain(`${flag} needs --input`);
    expect(stderr).toContain('these flags say how to read an input, and no input is read');
    expect(asked()).toEqual([]);
  });

  it('accept --limit without an input', async () => {
    await serve();
    expect((await run(['a', 'b', '--limit', '1'])).stdout).toBe(lines('a'));
  });

  it('accept --limit', async () => {
    await serve();
    writeFileSync(world.path('u.txt'), 'a\nb\nc\n');
    const { stdout } = await run(['--input', 'u.txt', '--limit', '2']);
    expect(stdout).toBe(lines('a', 'b'));
  });

  it('of an empty input print nothing', async () => {
    await serve();
    const { code, stdout } = await run(['--input', '-'], { stdin: '' });
    expect([code, stdout]).toEqual([0, '']);
  });
});

describe('D failures', () => {
  const failing = (at: number, step: Step) => (received: Received, index: number) =>
    index >= at ? step : answerTo(received);

  it('refused credentials stop the command at once, with exit 4', async () => {
    await serve(failing(2, answer(401, { status: 'fail', error: 'Passcode Invalid', code: 401 })));
    writeFileSync(world.path('u.txt'), 'a\nb\nc\nd\ne\nf\ng\nh\n');
    const { code, stdout, stderr } = await run(['--input', 'u.txt', '--concurrency', '1']);
    expect([code, stdout]).toEqual([4, lines('a', 'b')]);
    expect(stderr).toContain('Passcode Invalid');
    expect(stderr).toContain('--region');
    expect(server.received).toHaveLength(3);
  });

  it('unread records of a pipe are listed', async () => {
    await serve(failing(1, answer(404, 'no such path')));
    const { code } = await run(['--input', '-', '--concurrency', '1'], { stdin: 'a\nb\nc\n' });
    expect(code).toBe(7);
    expect(
      rejects('engagectl-get-profile.rejects.ndjson').map(({ line, stage }) => [line, stage]),
    ).toEqual([
      [2, 'notSent'],
      [3, 'notSent'],
    ]);
  });

  it('publish no file that a later run with --fresh writes under the same name', async () => {
    const slow: Readonly<Record<string, number>> = { y: 300, z: 1000 };
    await serve((received) => after(slow[received.url.slice(-1)] ?? 1, answerTo(received)));
    const toFile = ['--by', 'identity', '-o', 'out.ndjson', '--overwrite', '--fresh', '--input'];
    writeFileSync(world.path('first.txt'), 'a\ny\n');
    writeFileSync(world.path('second.txt'), 'b\nz\n');
    const first = run([...toFile, 'first.txt']);
    await until(() => asked().includes('identity=y'));
    const second = run([...toFile, 'second.txt']);
    const { code, stderr } = await first;
    expect(code, stderr).toBe(9);
    expect(stderr).toMatch(/disappeared during the run[^]*--fresh/);
    expect(existsSync(world.path('out.ndjson'))).toBe(false);
    expect((await second).code).toBe(0);
    expect(readFileSync(world.path('out.ndjson'), 'utf8')).toBe(lines('b', 'z'));
  });

  it('requests are retried, as --verbose reports, and adapt to 429s', async () => {
    await serve((received, index) => (index % 2 === 0 ? throttle() : answerTo(received)));
    const { code, stdout, stderr } = await run(['a', 'b', 'c', '--verbose']);
    expect([code, stdout]).toEqual([0, lines('a', 'b', 'c')]);
    expect(stderr).toContain('HTTP 429: Too many concurrent requests; retrying in');
    expect(stderr).not.toContain(passcode);
  });

  it.each([
    ['for more input', answerTo],
    ['for an answer', () => hang()],
  ])('Ctrl-C ends the waiting %s', async (_, script) => {
    await serve(script);
    const stdin = new Readable({ read: () => undefined });
    stdin.push('a\nb\n'.repeat(150_000));
    const stop = new AbortController();
    const outcome = run(['--input', '-', '--by', 'identity'], { stdin, signal: stop.signal });
    await until(() => server.received.length >= 2);
    stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
    expect((await outcome).code).toBe(130);
  });

  it.each([
    [[], 'nothing says'],
    [['a', '--email', 'b'], 'more than one way'],
    [['--identity', 'a', '--email', 'b', '--input', 'x.csv'], 'more than one way'],
    [['a', '--input', 'x.csv'], 'more than one way'],
    [['a', '--lowercase', 'x'], '--lowercase needs --input'],
    [['a', '--by', 'email'], '--by is for --input'],
    [[''], 'empty'],
    [['--email', ''], 'empty'],
    [['a', '--concurrency', '0'], 'whole number'],
    [['--input', 'u.csv', '--by', 'phone'], 'identity, email, objectId'],
    [['a', '--columns', 'x'], '--columns requires CSV output'],
  ])('%j is a usage error', async (argv, words) => {
    await serve();
    const { code, stderr } = await run(argv);
    expect(code).toBe(2);
    expect(stderr).toContain(words);
    expect(server.received).toEqual([]);
  });

  it('a CSV without a usable column is refused before any request', async () => {
    await serve();
    writeFileSync(world.path('u.csv'), 'Name,Phone\nx,1\n');
    const { code, stderr } = await run(['--input', 'u.csv']);
    expect(code).toBe(8);
    expect(stderr).toContain('"Name", "Phone"');
    expect(server.received).toEqual([]);
  });
});

describe('--reachability', () => {
  const all = (sms: string | null, whatsapp: string | null, email: string | null) => ({
    sms,
    whatsapp,
    email,
  });
  it.each([
    [{}, all(null, null, null)],
    [{ 'MSG-dndPhone': false, 'MSG-sms': true }, all('reachable', null, null)],
    [{ 'MSG-dndPhone': true, 'MSG-sms': true }, all('unreachable', null, null)],
    [{ 'MSG-dndPhone': false, 'MSG-sms': false }, all('unreachable', null, null)],
    [{ 'MSG-dndPhone': true }, all('unreachable', null, null)],
    [{ 'MSG-sms': false }, all('unreachable', null, null)],
    [{ 'MSG-sms': true }, all(null, null, null)],
    [{ 'MSG-dndEmail': false }, all(null, null, null)],
    [{ 'MSG-dndWhatsApp': false, 'MSG-whatsapp': true }, all(null, 'reachable', null)],
    [{ 'MSG-dndWhatsapp': false, 'MSG-Whatsapp': true }, all(null, 'reachable', null)],
    [{ 'MSG-dndWhatsapp': false, 'MSG-dndWhatsApp': true }, all(null, 'unreachable', null)],
    [{ 'msg-dndemail': 'false', 'msg-email': 'true' }, all(null, null, 'reachable')],
    [{ 'MSG-dndEmail': 'Subscribed', 'MSG-email': 'Unsubscribed' }, all(null, null, 'unreachable')],
    [{ 'MSG-dndEmail': 'Unsubscribed', 'MSG-email': 'Subscribed' }, all(null, null, 'unreachable')],
    [{ 'MSG-dndEmail': 'Subscribed', 'MSG-email': 'Subscribed' }, all(null, null, 'reachable')],
    [{ 'MSG-dndEmail': 'perhaps', 'MSG-email': 1 }, all(null, null, null)],
  ])('is added to %j', async (profileData, expected) => {
    await serve(() => answer(200, { status: 'success', record: { profileData } }));
    const { stdout } = await run(['a', '--reachability']);
    expect(JSON.parse(stdout)).toEqual({ profileData, reachability: expected });
  });

  it.each(['{}', '{ }', '{"profileData":null}', '{"n":1.00,"profileData":[] }'])(
    'keeps the rest of %s unchanged',
    async (record) => {
      await serve(() => answer(200, `{"status":"success","record":${record}}`));
      const { stdout } = await run(['a', '--reachability']);
      expect(stdout.startsWith(record.slice(0, -1))).toBe(true);
      expect(JSON.parse(stdout)).toMatchObject({ reachability: all(null, null, null) });
    },
  );
});
