import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { accountAt } from '../support/account-environment.js';
import { makeWorld } from '../support/test-environment.js';
import { plain, startRawServer, type Answering, type RawAnswer } from './malformed-http.js';

// Oddities that were met one by one; test/chaos/malformed-http-random.test.ts draws others of their kind.

const event = (id: number) => `{"identity":"u${id}","ts":1700000000,"evtName":"Seen"}`;
const events = (count: number) =>
  Array.from({ length: count }, (_, id) => `${event(id)}\n`).join('');
const identities = (count: number) =>
  Array.from({ length: count }, (_, id) => `{"identity":"u${id}"}\n`).join('');
const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

const uploadEvents = ['upload', '--type', 'event', '--chunk-size', '3'];
const uploadProfiles = ['upload', '--chunk-size', '3'];
const demerge = ['demerge', '--yes', '--chunk-size', '3'];
const exportEvents = 'export-events --event Seen --from 20240101 --to 20240101'.split(' ');
const exportProfiles = 'export-profiles --event Seen --from 20240101 --to 20240101'.split(' ');

/** A command against a service that answers whole requests like this. */
async function against(
  answer: (target: string, body: Buffer, index: number) => RawAnswer | undefined,
  argv: readonly string[],
  stdin = '',
) {
  const asked: string[] = [];
  const whole: Answering = ({ target, body, index }) => {
    if (body) asked.push(target);
    return body && answer(target, body, index);
  };
  await using server = await startRawServer(whole);
  const world = makeWorld();
  const limit = argv.includes('--timeout') ? [] : ['--timeout', '300ms'];
  const more = ['--json', ...limit, '--max-attempts', '3'];
  const outcome = await world.run([...argv, ...more], {
    env: accountAt(server.url, 'p-4471-x'),
    stdin,
  });
  const rejects = world.path(`engagectl-${argv[0]}.rejects.ndjson`);
  const listed = existsSync(rejects)
    ? readFileSync(rejects, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Listed)
    : [];
  return { ...outcome, asked, listed, world };
}
/** For what must end well, however busy the machine is. */
const inTime = ['--timeout', '30s'];

interface Listed {
  readonly stage: string;
  readonly error: string;
}

/** Says that all was done; of an export, that there is nothing. */
function success(target: string, body: Buffer): string {
  if (target.includes('batch_size')) return '{"status":"success","cursor":"c0"}';
  if (target.includes('cursor')) return '{"status":"success","records":[{"a":1}]}';
  const { d } = JSON.parse(body.toString()) as { d?: unknown[] };
  return JSON.stringify({ status: 'success', ...(d && { processed: d.length, unprocessed: [] }) });
}

describe('D malformed HTTP is a connection error', () => {
  const broken: readonly (readonly [string, string])[] = [
    ['a bad status line', 'HTTP/1.1 2OO OK\r\n\r\n'],
    ['a bad header', 'HTTP/1.1 200 OK\r\nX\u0000: y\r\n\r\n'],
    ['a bad chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n'],
    ['line feeds alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\n{}'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}'],
    ['the banner of SSH', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['an alert of TLS', '\u0015\u0003\u0001\u0000\u0002\u0002\u0046'],
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'],
  ];
  const answering = (bytes: string) => () => ({ pieces: [Buffer.from(bytes, 'latin1')] });

  it.each(broken)('%s: events from a pipe are unknown, and listed', async (_, bytes) => {
    const { code, stdout, listed } = await against(answering(bytes), uploadEvents, events(6));
    expect(code).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({ read: 6, accepted: 0, unknown: 6, exitCode: 6 });
    expect(listed.map(({ stage }) => stage)).toEqual(Array.from({ length: 6 }, () => 'unknown'));
  });

  it.each(broken)('%s: idempotent requests are retried, then exit 5', async (_, bytes) => {
    for (const [argv, stdin] of [
      [uploadProfiles, identities(2)],
      [exportEvents, ''],
      [exportProfiles, ''],
      [['get-profile', 'u1'], ''],
    ] as const) {
      const { code, asked, stderr } = await against(answering(bytes), argv, stdin);
      expect(code, stderr).toBe(5);
      expect(asked).toHaveLength(3);
    }
  });
});

describe('an error that is nested 5,000 deep', () => {
  const error = deep(5000);
  it.each([
    ['with a code', `{"status":"fail","code":400,"error":${error}}`],
    ['without a code', `{"status":"fail","error":${error}}`],
    ['as the status', `{"status":${error},"error":1}`],
    [
      'of a record',
      `{"status":"partial","processed":0,"unprocessed":[{"code":5,"error":${error},"record":${error}}]}`,
    ],
  ])('%s is handled like any other', async (_, body) => {
    for (const [argv, stdin] of [
      [uploadProfiles, identities(1)],
      [uploadEvents, events(1)],
      [demerge, identities(1)],
      [exportEvents, ''],
      [['get-profile', 'u1'], ''],
    ] as const) {
      const { code, stderr } = await against(() => ({ pieces: [plain(body)] }), argv, stdin);
      expect([3, 5, 6, 7], stderr).toContain(code);
      expect(stderr.length).toBeLessThan(10_000);
    }
  });

  it('ends an export if it occurs on a page', async () => {
    const page = (target: string, body: Buffer) =>
      target.includes('cursor=')
        ? `{"status":"fail","code":503,"error":${error}}`
        : success(target, body);
    const { code } = await against(
      (target, body) => ({ pieces: [plain(page(target, body))] }),
      exportEvents,
    );
    expect(code).toBe(5);
  });
});

describe('D cursor loops', () => {
  it('end without records, each with a new cursor', async () => {
    const { code, stderr, asked } = await against((target, body) => {
      const page = Number(/cursor=c(\d+)/.exec(target)?.[1] ?? -1);
      const empty = `{"status":"success","records":[],"next_cursor":"c${page + 1}"}`;
      return { pieces: [plain(page < 0 ? success(target, body) : empty)] };
    }, exportProfiles);
    expect(code).toBe(7);
    expect(stderr).toContain('1000 pages in a row without new records');
    expect(asked.length).toBeLessThan(1010);
  });

  it('end with the same records under six cursors', async () => {
    const { code, stderr, world } = await against(
      (target, body) => {
        const page = Number(/cursor=c(\d+)/.exec(target)?.[1] ?? -1);
        const next = page < 6 ? `,"next_cursor":"c${page + 1}"` : '';
        const same = `{"status":"success","records":[{"a":1},{"a":2}]${next}}`;
        return { pieces: [plain(page < 0 ? success(target, body) : same)] };
      },
      [...exportProfiles, '-o', 'out.ndjson'],
    );
    expect(code).toBe(7);
    expect(stderr).toContain('the same 2 records under two cursors');
    expect(existsSync(world.path('out.ndjson'))).toBe(false);
  });

  it('end again with the same records if the export is resumed', async () => {
    const page = (next: string) =>
      `{"status":"success","records":[{"ts":20240101000000},{"ts":20240101000001}]${next}}`;
    await using server = await startRawServer(({ target, body }) => {
      if (!body) return undefined;
      if (!target.includes('cursor=')) return { pieces: [plain(success(target, body))] };
      return { pieces: [plain(page(target.includes('c0') ? ',"next_cursor":"c1"' : ''))] };
    });
    const world = makeWorld({ env: accountAt(server.url, 'p-4471-x') });
    const first = await world.run([...exportEvents, '-o', 'out.ndjson']);
    expect(first.stderr).toContain('the same 2 records under two cursors');
    const { code, stderr } = await world.run([...exportEvents, '-o', 'out.ndjson', '--resume']);
    expect(code, stderr).toBe(7);
    expect(stderr).toContain('the same 2 records under two cursors');
    expect(existsSync(world.path('out.ndjson'))).toBe(false);
  });

  // A cache that knows the address of an opening only gives each range the answer to the first one. Of days side by
  // side, since a page of another day is refused for its times.
  it.each([
    ['one cursor for all days', () => 'c0', 7, 'the same cursor'],
    ['new cursors for the same records', (opened: number) => `c${opened}`, 7],
    ['other records for each day', (opened: number) => `d${opened}`, 0],
  ])('end with %s only if the records differ', async (_, cursorOf, expected, same?: string) => {
    let opened = 0;
    const page = (day: string) =>
      `{"status":"success","records":[{"ts":202401${day}000000,"a":1},{"ts":202401${day}000001}]}`;
    await using server = await startRawServer(({ target, body }) => {
      const day = /cursor=d(\d)/.exec(target)?.[1] ?? '1';
      const opening = () => `{"status":"success","cursor":"${cursorOf((opened += 1))}"}`;
      if (!body) return undefined;
      return { pieces: [plain(target.includes('cursor=') ? page(`0${day}`) : opening())] };
    });
    const world = makeWorld({ env: accountAt(server.url, 'p-4471-x') });
    const argv = 'export-events --event Seen --from 20240101 --to 20240102 -o out.ndjson'.split(
      ' ',
    );
    for (const resumed of expected === 0 ? [[]] : [[], ['--resume']]) {
      const { code, stderr } = await world.run([...argv, ...resumed]);
      expect(code, stderr).toBe(expected);
      expect(existsSync(world.path('out.ndjson'))).toBe(expected === 0);
      const what = same ?? 'the same 2 records';
      if (expected === 7) expect(stderr).toContain(`${what} for Seen of 2024-01-0`);
    }
  });

  it.each([[[]], [['--no-split']], [['--concurrency=1']]])(
    'end with one cursor for two events, also if the export is resumed: %j',
    async (flags) => {
      const page =
        '{"status":"success","records":[{"ts":20240101000000},{"ts":20240101000001},{"ts":20240101000002}]}';
      await using server = await startRawServer(({ target, body }) => {
        if (!body) return undefined;
        return { pieces: [plain(target.includes('cursor=') ? page : success(target, body))] };
      });
      const world = makeWorld({ env: accountAt(server.url, 'p-4471-x') });
      const days = ['--from=20240101', '--to=20240101'];
      const argv = ['export-events', '--event=A', '--event=B', ...days, ...flags, '-o=out.ndjson'];
      for (const resumed of [[], ['--resume']]) {
        const { code, stderr } = await world.run([...argv, ...resumed]);
        expect(code, stderr).toBe(7);
        expect(stderr).toMatch(
          /E-CURSOR: .*the same cursor for [AB] of 2024-01-01 and for [AB] of/,
        );
      }
      expect(existsSync(world.path('out.ndjson'))).toBe(false);
    },
  );

  it('do not include the cursor of a range that is opened again, also by a resumed run', async () => {
    const replies = [
      '{"status":"fail","error":"Incorrect Usage","code":3}',
      '{"status":"fail","code":500}',
    ];
    await using server = await startRawServer(({ target, body }) => {
      if (!body) return undefined;
      const { event_name: cursor } = JSON.parse(body.toString() || '{}') as { event_name?: string };
      const opened = JSON.stringify({ status: 'success', cursor });
      const page = '{"status":"success","records":[{"a":1}]}';
      const reply = target.includes('cursor=A') ? replies.shift() : undefined;
      return { pieces: [plain(target.includes('cursor=') ? (reply ?? page) : opened)] };
    });
    const world = makeWorld({ env: accountAt(server.url, 'p-4471-x') });
    const events = ['--event=A', '--event=B', '--from=20240101', '--to=20240101'];
    const argv = ['export-events', ...events, '--max-attempts=1', '-o=out.ndjson'];
    const codes = [await world.run(argv), await world.run([...argv, '--resume'])];
    expect(
      codes.map(({ code }) => code),
      codes[1]?.stderr,
    ).toEqual([5, 0]);
    expect(readFileSync(world.path('out.ndjson'), 'utf8').split('\n')).toHaveLength(3);
  });

  it.each([
    ['two pages', 2, 'the same 2 records under two cursors'],
    ['seven pages', 7, 'the same 2 records under two cursors'],
    ['two pages of one record', 2, '1000 pages in a row without new records', 1],
  ])('end in a circle of %s, each time with a new cursor', async (_, circle, why, records = 2) => {
    const { code, stderr, asked, world } = await against(
      (target, body) => {
        const page = Number(/cursor=c(\d+)/.exec(target)?.[1] ?? -1);
        const list = Array.from({ length: records }, (_, at) => `{"a":${page % circle},"b":${at}}`);
        const whole = `{"status":"success","records":[${list.join()}],"next_cursor":"c${page + 1}"}`;
        return { pieces: [plain(page < 0 ? success(target, body) : whole)] };
      },
      [...exportProfiles, '-o', 'out.ndjson'],
    );
    expect([code, stderr]).toEqual([7, expect.stringContaining(why)]);
    expect(asked.length).toBeLessThan(records === 1 ? 1010 : circle + 4);
    expect(existsSync(world.path('out.ndjson'))).toBe(false);
  });

  it('do not include pages that differ in one byte far from both ends', async () => {
    const { code, stdout } = await against((target, body) => {
      const page = Number(/cursor=c(\d+)/.exec(target)?.[1] ?? -1);
      const list = Array.from({ length: 2000 }, (_, at) => `{"a":${at === 999 ? page : 7}}`);
      const next = page < 5 ? `,"next_cursor":"c${page + 1}"` : '';
      const whole = `{"status":"success","records":[${list.join()}]${next}}`;
      return { pieces: [plain(page < 0 ? success(target, body) : whole)] };
    }, exportProfiles);
    expect([code, stdout.split('\n').length - 1]).toEqual([0, 12_000]);
  });

  it('do not start with a failure that names a cursor', async () => {
    const { code, asked } = await against(
      () => ({ pieces: [plain('{"status":"fail","cursor":"c0"}')] }),
      exportProfiles,
    );
    expect(code).toBe(7);
    expect(asked.join()).not.toContain('cursor=');
  });
});

it('gives up on a page that arrives a few bytes at a time', async () => {
  function* drip() {
    yield 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    for (;;) yield '1\r\n \r\n';
  }
  const { code, stderr } = await against(
    (target, body) =>
      target.includes('cursor=')
        ? { pieces: drip(), pauseMs: 50 }
        : { pieces: [plain(success(target, body))] },
    exportProfiles,
  );
  expect(code).toBe(5);
  expect(stderr).toContain('fewer than 100 bytes a second received within 0.3 s');
});

describe('D an unsolicited 100 Continue', () => {
  const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
  it.each([
    ['in one piece', (text: string) => [`${interim}${text}`]],
    ['by itself', (text: string) => [interim, text]],
    ['twice', (text: string) => [interim, `${interim}${text}`]],
    ['byte by byte', (text: string) => Array.from(`${interim}${text}`)],
  ])('%s is skipped', async (_, cut) => {
    for (const [argv, stdin] of [
      [uploadEvents, events(9)],
      [uploadProfiles, identities(9)],
      [exportProfiles, ''],
    ] as const) {
      const { code, asked, stderr } = await against(
        (target, body) => ({ pieces: cut(plain(success(target, body))), pauseMs: 1 }),
        [...argv, ...inTime, ...(stdin ? ['--concurrency', '1'] : [])],
        stdin,
      );
      expect(code, stderr).toBe(0);
      expect(asked).toHaveLength(stdin ? 3 : 2);
    }
  });

  it('within a body is data', async () => {
    const record = `{"a":"${'HTTP/1.1 100 Continue '.repeat(20)}"}`;
    const page = `{"status":"success","records":[${record}]}`;
    const { stdout } = await against(
      (target, body) => {
        if (!target.includes('cursor=')) return { pieces: [plain(success(target, body))] };
        const at = plain(page).indexOf('HTTP/1.1 100');
        return { pieces: [plain(page).slice(0, at), plain(page).slice(at)], pauseMs: 5 };
      },
      [...exportProfiles, ...inTime],
    );
    expect(stdout).toBe(`${record}\n`);
  });
});

describe('D a service that closes connections 2 to 5 ms after each response', () => {
  it.each([
    ['events', uploadEvents, events(300), 2],
    ['events', uploadEvents, events(300), 5],
    ['demerges', demerge, identities(300), 3],
  ] as const)('accepts all %s', async (_, argv, stdin, endAfterMs) => {
    const { code, stdout, asked } = await against(
      (target, body) => ({ pieces: [plain(success(target, body))], end: 'close', endAfterMs }),
      [...argv, ...inTime],
      stdin,
    );
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 300, unknown: 0 });
    expect(code).toBe(0);
    expect(asked).toHaveLength(100);
  });

  it('serves one request per connection for non-idempotent work', async () => {
    const indexes: number[] = [];
    const { code } = await against(
      (target, body, index) => {
        indexes.push(index);
        return { pieces: [plain(success(target, body))] };
      },
      [...uploadEvents, '--concurrency', '1'],
      events(9),
    );
    expect([code, ...indexes]).toEqual([0, 0, 0, 0]);
  });
});

describe.each([999, 5000, 60_000])('a record nested %i deep', (depth) => {
  const record = `{"id":1,"a":${deep(depth)},"z":2}`;
  const page = `{"status":"success","records":[{"id":0},${record},{"id":2}]}`;
  const answer = (target: string, body: Buffer) => ({
    pieces: [plain(target.includes('cursor=') ? page : success(target, body))],
  });

  it('is passed on unchanged', async () => {
    const { code, stdout } = await against(answer, exportProfiles);
    expect(code).toBe(0);
    expect(stdout).toBe(`{"id":0}\n${record}\n{"id":2}\n`);
  });

  it.each(['csv', 'json'])('is accepted by %s', async (format) => {
    const { code, world, stderr } = await against(answer, [
      ...exportProfiles,
      '-o',
      `out.${format}`,
    ]);
    expect(code, stderr).toBe(0);
    expect(readFileSync(world.path(`out.${format}`), 'utf8')).toContain(deep(depth));
  });

  it('is reported like any other event', async () => {
    const { code, stdout, stderr } = await against(answer, [...exportEvents, '--with-event-name']);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain(deep(depth));
  });

  it(`is ${depth > 250 ? 'refused' : 'printed'} by get-profile`, async () => {
    const body = `{"status":"success","record":${record}}`;
    const { code, stdout } = await against(
      () => ({ pieces: [plain(body)] }),
      ['get-profile', 'u1'],
    );
    expect([code, stdout]).toEqual(depth > 250 ? [7, ''] : [0, `${record}\n`]);
  });
});
