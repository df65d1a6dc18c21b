import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { EngagectlError } from '../../../src/errors.js';
import {
  inTurn,
  nextMember,
  pendingBody,
  recordsPage,
  startPageServer,
  type Page,
  type PageReply,
} from '../../support/servers/page-server.js';
import { BinProcess } from '../../support/processes/bin-process.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { until } from '../../support/until.js';

const range = ['--event', 'App Launched', '--from', '2024-01-01', '--to', '20240131'];
const command = ['export-profiles', ...range];
const toFile = [...command, '-o', 'out.ndjson'];

/** Runs the built program, whose standard error is a socket. */
async function ended(world: World, argv: readonly string[], env: Readonly<Record<string, string>>) {
  const child = new BinProcess(world, argv, env);
  return { code: await child.ended(), stderr: child.stderr };
}

/** Every one of these would change in JSON.parse and JSON.stringify. */
const awkward = [
  '{"id":9007199254740993123,"price":1387.00,"huge":1e400,"zero":-0}',
  '{"text":"\\u00e9\\/\\ud83d\\ude00","emoji":"😀","10":1,"2":2,"a":1,"a":2}',
  '{ "spaced" : [ 1 , 2 ],\t"lone":"\\ud800" }',
] as const;
const lines = `${awkward.join('\n')}\n`;
const twoPages: Page[] = [recordsPage(awkward[0], awkward[1]), recordsPage(awkward[2])];

describe('engagectl export-profiles', () => {
  it('writes every record byte for byte as a line on stdout', async () => {
    await using server = await startPageServer(() => twoPages);
    const { code, stdout, stderr } = await makeWorld({ env: server.env }).run(command);
    expect(stderr).toContain('2024-01-01 to 2024-01-31, UTC');
    expect(stdout).toBe(lines);
    expect(code).toBe(0);
    expect(server.asked).toEqual([
      '/1/profiles.json?cursor=c1%2Fp0%3D',
      '/1/profiles.json?cursor=c1%2Fp1%3D',
    ]);
    expect(server.openings).toMatchObject([
      {
        event_name: 'App Launched',
        from: 20240101,
        to: 20240131,
        parameters: { batch_size: '4991' },
      },
    ]);
  });

  it('writes a file of mode 0600 under its final name and the summary on stdout', async () => {
    await using server = await startPageServer(() => [
      inTurn([pendingBody, pendingBody.replace('fail', 'success')], twoPages[0]!),
      twoPages[1]!,
    ]);
    const world = makeWorld({ env: server.env });
    const { code, stdout } = await world.run([...toFile, '--json']);
    expect(code).toBe(0);
    expect(readFileSync(world.path('out.ndjson'), 'utf8')).toBe(lines);
    expect(statSync(world.path('out.ndjson')).mode & 0o777).toBe(0o600);
    expect(readdirSync(world.cwd)).toEqual(['out.ndjson']);
    expect(JSON.parse(stdout)).toMatchObject({
      command: 'export-profiles',
      accountId: 'TEST-ACCOUNT',
      records: 3,
      pages: 2,
      requests: 5,
      retries: 0,
      pendingSeconds: 5,
      bytes: lines.length + 2,
      output: 'out.ndjson',
      exitCode: 0,
    });
  });

  it('sends optional parameters only if they are given', async () => {
    await using server = await startPageServer(() => twoPages);
    const world = makeWorld({ env: server.env });
    const flags = [
      '--app',
      '--no-event-summaries',
      '--no-profile-properties',
      '--batch-size',
      '46',
    ];
    await world.run([...command, ...flags]);
    expect(server.openings[0]?.path).toBe('/1/profiles.json');
    expect(server.openings[0]?.parameters).toEqual({
      batch_size: '46',
      app: 'true',
      events: 'false',
      profile: 'false',
    });
  });

  it.each<[string, PageReply[]]>([
    [
      'a body that is cut',
      [{ body: '{"status":"success","records":[{"a":1},{"b":2}]}', cutAfter: 30 }],
    ],
    [
      'a complete answer that is no complete JSON',
      [{ body: '{"status":"success","records":[{"a":1}' }],
    ],
    ['an empty body, then HTML', [{ body: '' }, { body: '<html>busy</html>' }]],
    [
      '429, 503 and 500 in the body',
      [
        {
          status: 429,
          body: '{"status":"fail","error":"Too many concurrent requests","code":429}',
        },
        { status: 503, body: 'busy' },
        { body: '{"status":"fail","error":"An unknown error occurred","code":500}' },
      ],
    ],
  ])('retries a page after %s', async (_what, failures) => {
    await using server = await startPageServer(() => [
      twoPages[0]!,
      inTurn(failures, twoPages[1]!),
    ]);
    const { code, stdout } = await makeWorld({ env: server.env }).run(command);
    expect(code).toBe(0);
    expect(stdout).toBe(lines);
    expect(new Set(server.asked.slice(1)).size).toBe(1);
    expect(server.asked).toHaveLength(2 + failures.length);
  });

  it.each<[string, Page]>([
    [
      'members in another order',
      (next) => `{"next_cursor":"${next ?? ''}","records":[${awkward.join()}],"status":"success"}`,
    ],
    [
      'an empty next_cursor and a previous one',
      () =>
        `{"previous_cursor":"x/y=","status":"success","records":[${awkward.join()}],"next_cursor":""}`,
    ],
    [
      'null as the end',
      () => `{"status":"success","records":[${awkward.join()}],"next_cursor":null}`,
    ],
    [
      'wire whitespace',
      () => `\n{ "status" : "success" ,\r\n "records" : [ ${awkward.join(' ,\n ')} ] }\n`,
    ],
    [
      'three bytes at a time',
      () => ({ chunk: 3, body: `{"status":"success","records":[${awkward.join()}]}` }),
    ],
  ])('reads a page with %s', async (_what, page) => {
    await using server = await startPageServer(() => [page]);
    const { code, stdout } = await makeWorld({ env: server.env }).run(command);
    expect(stdout).toBe(lines);
    expect(code).toBe(0);
  });

  it.each<[string, Page, string]>([
    [
      'neither records nor the end',
      (next) => `{"status":"success","next_cursor":"${next ?? 'x'}"}`,
      'E-ANSWER',
    ],
    ['records that are no array', () => '{"status":"success","records":null}', 'E-ANSWER'],
    ['no status', () => '{"records":[{}]}', 'E-ANSWER'],
    ['a failure without a code', () => '{"status":"fail","error":"no"}', 'E-ANSWER'],
    ...[
      '"cursor":"c1%2Fp0%3D"',
      '"nextCursor":"c1%2Fp1%3D"',
      '"records":[],"next":"/1/profiles.json?cursor=c1"',
      '"data":{"records":[{"a":1}]}',
      '"Records" : [ {"a":1} ]',
      '"errors":["backend timeout"]',
      '"records":[],"errors":{"shard":2}',
      '"processed":0,"unprocessed":[]',
      '"record":null',
      '"records":[],"has_more":true',
      '"total":2',
      '"records":[{"a":1}],"has_more":true',
      '"has_more":true,"records":[{"a":1},{"b":2}]',
      '"records":[{"a":1}],"cursor":"c1%2Fp0%3D"',
      '"records":[{"a":1}],"errors":["backend timeout"]',
    ].map((members): [string, Page, string] => [
      `an end that is contradicted by ${members}`,
      () => `{"status":"success",${members}}`,
      'E-ANSWER',
    ]),
    [
      'an end with more than 64 KiB of members',
      () =>
        `{"status":"success",${Array.from({ length: 9000 }, (_, n) => `"a${n}":""`).join(',')}}`,
      'E-ANSWER',
    ],
    [
      'a cursor that is no text',
      () => '{"status":"success","records":[{}],"next_cursor":5}',
      'E-ANSWER',
    ],
    [
      'a cursor that is invalid in a URL',
      () => '{"status":"success","records":[{}],"next_cursor":"a&b c"}',
      'E-ANSWER',
    ],
    [
      'a cursor seen before',
      () => '{"status":"success","records":[{}],"next_cursor":"c1%2Fp0%3D"}',
      'E-CURSOR',
    ],
    ['code 3', () => '{"status":"fail","error":"Incorrect Usage","code":3}', 'E-CURSOR'],
    [
      'an invalid cursor',
      () => ({ status: 400, body: '{"status":"fail","error":"invalid cursor","code":400}' }),
      'E-CURSOR',
    ],
    [
      'a code that is a word',
      () => '{"status":"fail","error":"gone","code":"EXPIRED"}',
      'E-CURSOR',
    ],
  ])('stops with exit 7 at %s, and keeps the partial file', async (_what, page, id) => {
    await using server = await startPageServer(() => [twoPages[0]!, page]);
    const world = makeWorld({ env: server.env });
    const { code, stdout, stderr } = await world.run([...toFile, '--json']);
    expect(code).toBe(7);
    const last = stderr.trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).toMatchObject({ error: { id, exitCode: 7 } });
    if (id === 'E-CURSOR') expect(last).toContain('--fresh');
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 7 });
    expect(readdirSync(world.cwd)).toEqual(['out.ndjson.partial']);
  });

  it('detects a cursor loop longer than one page', async () => {
    await using server = await startPageServer(() => [
      ...twoPages.slice(0, 1),
      recordsPage('{}'),
      () => `{"status":"success","records":[]${nextMember('c1%2Fp1%3D')}}`,
    ]);
    const { code, stderr } = await makeWorld({ env: server.env }).run(command);
    expect(code).toBe(7);
    expect(stderr).toContain('had sent before');
    expect(server.asked).toHaveLength(3);
  });

  it('requests the next page while the current one arrives, and each page once', async () => {
    const cursorFirst =
      (...records: readonly string[]): Page =>
      (next) => ({
        body: `{"status":"success"${nextMember(next)},"records":[${records.join(',')}]}`,
        until: (asked) => asked.length >= 2,
      });
    await using server = await startPageServer(() => [
      cursorFirst(awkward[0]),
      cursorFirst(awkward[1], awkward[0], awkward[1]),
      twoPages[1]!,
    ]);
    const { code, stdout } = await makeWorld({ env: server.env }).run(command);
    expect(code).toBe(0);
    expect(stdout).toBe(`${awkward[0]}\n${awkward[1]}\n${lines}`);
    expect(new Set(server.asked).size).toBe(3);
    expect(server.asked).toHaveLength(3);
    expect(server.mostInFlight).toBe(2);
  });

  it('retries a truncated page after the next one was requested', async () => {
    const cut =
      (...records: readonly string[]): Page =>
      (next) => {
        const body = `{"status":"success"${nextMember(next)},"records":[${records.join(',')}]}`;
        return [{ body, cutAfter: body.length - 5 }, { body }];
      };
    await using server = await startPageServer(() => [
      cut(awkward[0]),
      cut(awkward[1], awkward[0], awkward[1]),
      twoPages[1]!,
    ]);
    const { code, stdout } = await makeWorld({ env: server.env }).run(command);
    expect(stdout).toBe(`${awkward[0]}\n${awkward[1]}\n${lines}`);
    expect(code).toBe(0);
  });

  it.each([
    '{"status":"success","error":"Too many concurrent requests","code":429}',
    '{"status":"success","records":[],"code":"503"}',
    '{"status":"success","records":[],"next_cursor":"","code":2}',
  ])('takes no answer with the code of an error for the end: %s', async (body) => {
    await using server = await startPageServer(() => [
      inTurn([body], twoPages[0]!),
      inTurn([body], twoPages[1]!),
    ]);
    const { code, stdout } = await makeWorld({ env: server.env }).run(command);
    expect([code, stdout]).toEqual([0, lines]);
  });

  it.each(['"records":[],', '"records":null,', ''])(
    'takes no answer with the code of an error for a page without records: %s',
    async (records) => {
      const failing: Page = (next) =>
        `{"status":"success",${records}"code":503,"error":"index unavailable"${nextMember(next)}}`;
      const passing: Page = (next) => inTurn([failing(next) as string], twoPages[0]!)(next);
      await using server = await startPageServer(() => [passing, twoPages[1]!]);
      const { code, stdout } = await makeWorld({ env: server.env }).run(command);
      expect([code, stdout]).toEqual([0, lines]);
      await using lasting = await startPageServer(() => [failing, twoPages[1]!]);
      const tries = [...command, '--max-attempts', '2'];
      const outcome = await makeWorld({ env: lasting.env }).run(tries);
      expect(outcome).toMatchObject({ code: 5, stdout: '' });
      expect(outcome.stderr).toContain('HTTP 200, code 503: index unavailable');
    },
  );

  it.each([
    ['no records and no error', '"records":[],"code":0,"error":null'],
    ['no records and an empty list of errors', '"records":[],"error":[]'],
    ['records and a remark', `"records":[${awkward[0]}],"error":"deprecated"`],
  ])('takes a page with %s for what it is', async (_what, members) => {
    const page: Page = (next) => `{"status":"success",${members}${nextMember(next)}}`;
    await using server = await startPageServer(() => [page, ...twoPages]);
    const { code, stdout } = await makeWorld({ env: server.env }).run(command);
    expect([code, stdout.endsWith(lines)]).toEqual([0, true]);
  });

  it.each(['0', '200', '"success"', 'null', '""'])(
    'takes an answer without records and with the code %s for the end',
    async (code) => {
      const end = `{"status":"success","code":${code}}`;
      await using server = await startPageServer(() => [twoPages[0]!, twoPages[1]!, () => end]);
      const outcome = await makeWorld({ env: server.env }).run(command);
      expect(outcome).toMatchObject({ code: 0, stdout: lines });
    },
  );

  it.each([
    '"message":"no more profiles, next to none","request_id":"a-1"',
    '"previous_cursor":"x/y=","next_cursor":null',
    '"cursor":"","nextCursor":null,"errors":[ ],"data":{},"has_more":false,"total":0',
    '"code":200,"records":[ ]',
    '"records":[{"a":1}],"total":2,"message":"last page"',
  ])('takes an answer with harmless members for the end: %s', async (members) => {
    const end = `{"status":"success",${members}}`;
    await using server = await startPageServer(() => [twoPages[0]!, twoPages[1]!, () => end]);
    const { code, stdout, stderr } = await makeWorld({ env: server.env }).run(command);
    expect([code, stdout.startsWith(lines)], stderr).toEqual([0, true]);
  });

  it.each(['', '"records":[],', '"next_cursor":"","code":null,'])(
    'stops at an answer with status success, an error and no code: %s',
    async (members) => {
      const answer = (error: string) => `{"status":"success",${members}"error":${error}}`;
      const pages = (error: string) => startPageServer(() => [...twoPages, () => answer(error)]);
      await using failing = await pages('"Too many requests"');
      const { code, stderr } = await makeWorld({ env: failing.env }).run(command);
      expect([code, stderr]).toEqual([7, expect.stringContaining('Too many requests')]);
      await using ending = await pages('""');
      expect((await makeWorld({ env: ending.env }).run(command)).code).toBe(0);
    },
  );

  it('stops at an answer with status success and the code of a refusal: exit 4', async () => {
    const refusal = '{"status":"success","error":"Unauthorized","code":401}';
    await using server = await startPageServer(() => [twoPages[0]!, () => refusal]);
    const { code, stderr } = await makeWorld({ env: server.env }).run(command);
    expect([code, stderr]).toEqual([4, expect.stringContaining('Unauthorized')]);
  });

  it('gives up on a cursor that stays pending: exit 5', async () => {
    await using server = await startPageServer(() => [() => pendingBody]);
    const world = makeWorld({ env: server.env });
    const { code, stderr } = await world.run([...command, '--pending-timeout', '10s', '-v']);
    expect(code).toBe(5);
    expect(stderr).toContain('E-PENDING');
    expect(stderr).toContain('pending for 0 s, asked 1 time, next in 2 s');
    expect(stderr).toContain('pending for 2 s, asked 2 times, next in 3 s');
    expect(stderr).toContain('pending for 9.5 s, asked 4 times, next in 0.5 s');
    expect(stderr).toContain('still not ready after 10 s (asked 5 times)');
    expect(stderr).toContain('fix: rerun the same command later, or wait longer');
    expect(server.asked).toHaveLength(5); // after 0, 2, 5, 9.5 and 10 seconds
  });

  it('waits exactly as long as the time limit', async () => {
    await using server = await startPageServer(() => [() => pendingBody]);
    const world = makeWorld({ env: server.env });
    const { stderr } = await world.run([...command, '--pending-timeout', '9.75s', '-v']);
    expect(stderr).toContain('pending for 9.5 s, asked 4 times, next in 0.3 s');
  });

  it('names the command that resumes it if it is pending in the middle of a file', async () => {
    const second = inTurn(Array<string>(5).fill(pendingBody), twoPages[1]!);
    await using server = await startPageServer(() => [twoPages[0]!, second]);
    const world = makeWorld({ env: server.env });
    const { code, stderr } = await world.run([...toFile, '--pending-timeout', '10s']);
    const fix = 'fix: later, rerun the same command with --resume; --pending-timeout waits longer';
    expect([code, stderr]).toEqual([5, expect.stringContaining(fix)]);
    expect(await world.run([...toFile, '--resume'])).toMatchObject({ code: 0 });
    expect(readFileSync(world.path('out.ndjson'), 'utf8')).toBe(lines);
  });

  it.each([
    ['E-INTERRUPTED', 130],
    ['E-TERMINATED', 143],
  ] as const)('stops at once, even while it waits: %s', async (id, exitCode) => {
    const stop = new AbortController();
    await using server = await startPageServer(() => [twoPages[0]!, () => pendingBody]);
    const world = makeWorld({ env: server.env, sleep: 'real', signal: stop.signal });
    const running = world.run([...toFile, '--poll-interval', '1h']);
    await until(() => server.asked.length >= 2);
    stop.abort(new EngagectlError(id, 'stopped'));
    expect((await running).code).toBe(exitCode);
    expect(readdirSync(world.cwd)).toEqual(['out.ndjson.partial']);
  });

  it('stops at wrong credentials: exit 4', async () => {
    await using server = await startPageServer(() => [
      () => ({ status: 401, body: '{"status":"fail","error":"Invalid Credentials","code":401}' }),
    ]);
    const { code, stderr } = await makeWorld({ env: server.env }).run(command);
    expect(code).toBe(4);
    expect(stderr).not.toContain('test-passcode');
  });

  it('writes an empty document if there are no records', async () => {
    await using server = await startPageServer(() => [() => '{"status":"success"}']);
    const world = makeWorld({ env: server.env });
    for (const [file, text] of [
      ['a.ndjson', ''],
      ['a.json', '[]\n'],
      ['a.csv', ''],
    ] as const) {
      expect((await world.run([...command, '-o', file])).code).toBe(0);
      expect(readFileSync(world.path(file), 'utf8')).toBe(text);
    }
  });

  it('writes one JSON array, with the bytes of the records', async () => {
    await using server = await startPageServer(() => twoPages);
    const world = makeWorld({ env: server.env });
    await world.run([...command, '-o', 'out.json']);
    expect(readFileSync(world.path('out.json'), 'utf8')).toBe(`[\n${awkward.join(',\n')}\n]\n`);
  });

  it('compresses by the name, in every format', async () => {
    await using server = await startPageServer(() => twoPages);
    const world = makeWorld({ env: server.env });
    for (const name of ['out.ndjson', 'out.json', 'out.csv']) {
      await world.run([...command, '-o', name]);
      await world.run([...command, '-o', `${name}.gz`]);
      expect(gunzipSync(readFileSync(world.path(`${name}.gz`)))).toEqual(
        readFileSync(world.path(name)),
      );
    }
  });

  it('writes CSV to stdout, and leaves no temporary files', async () => {
    await using server = await startPageServer(() => [
      recordsPage('{"a":1}'),
      recordsPage('{"b":2.50}'),
    ]);
    const world = makeWorld({ env: server.env });
    const { stdout } = await world.run([...command, '--format', 'csv'], {
      env: { TMPDIR: world.cwd },
    });
    expect(stdout).toBe('a,b\n1,\n,2.50\n');
    expect(readdirSync(world.cwd)).toEqual([]);
  });

  it.each([[], ['--columns', 'é,b']])(
    'starts a CSV with a byte order mark on request: %j',
    async (...columns) => {
      await using server = await startPageServer(() => [
        recordsPage('{"é":1}'),
        recordsPage('{"b":2}'),
      ]);
      const world = makeWorld({ env: server.env });
      await world.run([...command, '-o', 'out.csv', '--bom', ...columns]);
      expect(readFileSync(world.path('out.csv'), 'utf8')).toBe('\uFEFFé,b\n1,\n,2\n');
    },
  );

  it('warns about formulas, except if they are escaped', async () => {
    await using server = await startPageServer(() => [recordsPage('{"a":"=HYPERLINK(1)"}')]);
    const world = makeWorld({ env: server.env });
    const { stderr } = await world.run([...command, '-o', 'out.csv']);
    expect(stderr).toMatch(/warning: 1 cell .*--csv-formulas escape/);
    await world.run([...command, '-o', 'b.csv', '--csv-formulas', 'escape', '--columns', 'a']);
    expect(readFileSync(world.path('b.csv'), 'utf8')).toBe("a\n'=HYPERLINK(1)\n");
  });

  describe('output files', () => {
    it('refuses an existing target before anything is sent; --overwrite replaces it', async () => {
      await using server = await startPageServer(() => twoPages);
      const world = makeWorld({ env: server.env });
      writeFileSync(world.path('out.ndjson'), 'old');
      const refused = await world.run(toFile);
      expect(refused.code).toBe(8);
      expect(refused.stderr).toContain('--overwrite');
      expect(server.openings).toEqual([]);
      expect((await world.run([...toFile, '--overwrite'])).code).toBe(0);
      expect(readFileSync(world.path('out.ndjson'), 'utf8')).toBe(lines);
    });

    it('refuses an existing partial file, naming both choices; --fresh moves it aside', async () => {
      await using server = await startPageServer(() => twoPages);
      const world = makeWorld({ env: server.env });
      writeFileSync(world.path('out.ndjson.partial'), 'old');
      const refused = await world.run(toFile);
      expect(refused.code).toBe(8);
      expect(refused.stderr).toMatch(/--fresh.*another --output/);
      expect(server.openings).toEqual([]);
      expect((await world.run([...toFile, '--fresh'])).code).toBe(0);
      expect(readFileSync(world.path('out.ndjson.partial.1'), 'utf8')).toBe('old');
      expect(readFileSync(world.path('out.ndjson'), 'utf8')).toBe(lines);
    });

    it('keeps the partial file if a target appears during the run', async () => {
      const world = makeWorld();
      await using server = await startPageServer(() => [
        twoPages[0]!,
        (next) => {
          writeFileSync(world.path('out.ndjson'), 'theirs');
          return twoPages[1]!(next);
        },
      ]);
      const { code, stderr } = await world.run(toFile, { env: server.env });
      // The page script runs when the cursor is opened: after the check, before the end.
      expect(code).toBe(8);
      expect(stderr).toContain('out.ndjson.partial');
      expect(readFileSync(world.path('out.ndjson'), 'utf8')).toBe('theirs');
      expect(readFileSync(world.path('out.ndjson.partial'), 'utf8')).toBe(lines);
    });

    it('follows a symbolic link to the file it names', async () => {
      await using server = await startPageServer(() => twoPages);
      const world = makeWorld({ env: server.env });
      writeFileSync(world.path('real.ndjson'), 'old');
      symlinkSync('real.ndjson', world.path('out.ndjson'));
      expect((await world.run(toFile)).code).toBe(8);
      expect((await world.run([...toFile, '--overwrite'])).code).toBe(0);
      expect(readFileSync(world.path('real.ndjson'), 'utf8')).toBe(lines);
      expect(readdirSync(world.cwd).toSorted()).toEqual(['out.ndjson', 'real.ndjson']);
    });

    it('writes directly to a FIFO and to a device', async () => {
      await using server = await startPageServer(() => twoPages);
      const world = makeWorld({ env: server.env });
      execFileSync('mkfifo', [world.path('pipe')]);
      const { open } = await import('node:fs/promises');
      const reading = open(world.path('pipe'), 'r').then(async (file) => {
        const text = await file.readFile('utf8');
        await file.close();
        return text;
      });
      expect((await world.run([...command, '-o', 'pipe'])).code).toBe(0);
      expect(await reading).toBe(lines);
      expect((await world.run([...command, '-o', '/dev/null'])).code).toBe(0);
      expect(readdirSync(world.cwd)).toEqual(['pipe']);
    });

    it('refuses a socket, also one that is open, before the first request: exit 9', async () => {
      await using server = await startPageServer(() => twoPages);
      const world = makeWorld({ env: server.env });
      const listener = createServer().listen(world.path('socket'));
      await once(listener, 'listening');
      for (const file of ['socket', '/dev/stderr']) {
        const { code, stderr } = await ended(world, [...command, '-o', file], server.env);
        expect([code, stderr]).toEqual([9, expect.stringContaining(`${file} is a socket`)]);
      }
      await promisify(listener.close.bind(listener))();
      expect(server.openings).toEqual([]);
    });

    it('reports a closed reader of a FIFO: exit 9', async () => {
      const world = makeWorld();
      execFileSync('mkfifo', [world.path('pipe')]);
      const reader = openSync(world.path('pipe'), constants.O_RDONLY | constants.O_NONBLOCK);
      await using server = await startPageServer(() => [
        (next) => {
          closeSync(reader); // the export has opened its end by now
          return twoPages[1]!(next);
        },
      ]);
      const argv = [...command, '-o', 'pipe'];
      const { code, stderr } = await world.run(argv, { env: server.env });
      expect([code, stderr]).toEqual([9, expect.stringContaining('what read it is gone')]);
    });

    it.runIf(existsSync('/dev/full'))('reports a full disk: exit 9', async () => {
      await using server = await startPageServer(() => twoPages);
      const { code, stderr } = await makeWorld({ env: server.env }).run([
        ...command,
        '-o',
        '/dev/full',
      ]);
      expect(code).toBe(9);
      expect(stderr).toContain('the disk is full');
    });

    it.each([
      ['nowhere/out.ndjson', 'there is no folder'],
      ['.', 'it is a folder'],
      ['new/', 'it is a folder'],
    ])('reports that it cannot write to %s: exit 9', async (file, why) => {
      await using server = await startPageServer(() => twoPages);
      const { code, stderr } = await makeWorld({ env: server.env }).run([...command, '-o', file]);
      expect(code).toBe(9);
      expect(stderr).toContain(why);
      expect(server.openings).toEqual([]);
    });

    it('accept - and /dev/stdout as stdout, with the summary on stderr', async () => {
      await using server = await startPageServer(() => twoPages);
      const world = makeWorld({ env: server.env });
      for (const file of ['-', '/dev/stdout']) {
        const { stdout, stderr } = await world.run([...command, '-o', file, '--json']);
        expect(stdout).toBe(lines);
        const objects = stderr
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as object);
        expect(objects.at(-1)).toMatchObject({ records: 3, output: null, exitCode: 0 });
      }
    });
  });

  it.each([
    [['--from', '2024-02-30', '--to', 'today'], 'does not exist'],
    [['--from', '2024-13-01', '--to', 'today'], 'does not exist'],
    [['--from', 'soon', '--to', 'today'], 'YYYY-MM-DD'],
    [['--from', '2024-01-02', '--to', '20240101'], 'is after'],
    [['--from', 'today', '--to', 'yesterday'], 'is after'],
    [['--from', '2024-01-01', '--to', 'today', '--batch-size', '5000'], 'the nearest is 4991'],
    [['--from', '2024-01-01', '--to', 'today', '--batch-size', '50'], 'the nearest is 46'],
    [['--from', '2024-01-01', '--to', 'today', '--batch-size', '0'], 'the nearest is 23'],
    [['--from', '2024-01-01', '--to', 'today', '--columns', 'a,b'], '--format csv'],
    [['--from', '2024-01-01', '--to', 'today', '--bom', '-o', 'a.json'], '--format csv'],
    [['--from', '2024-01-01'], '--to'],
    [['--from', '2024-01-01', '--to', 'today', '--event', ''], 'It is empty'],
    [['--from', '2024-01-01', '--to', 'today', '-o', ''], 'It is empty'],
  ])('refuse %j: exit 2, nothing sent', async (flags, message) => {
    await using server = await startPageServer(() => twoPages);
    const event = flags.includes('--event') ? [] : ['--event', 'A'];
    const argv = ['export-profiles', ...event, ...flags];
    const { code, stderr } = await makeWorld({ env: server.env }).run(argv);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
    expect(server.openings).toEqual([]);
  });
});
