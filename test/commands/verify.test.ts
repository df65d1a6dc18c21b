import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, type VerifyResult } from '../../src/index.js';
import { startService, type TestServiceOptions } from '../../src/testing.js';
import { serve, written } from '../support/serve.js';
import { accountAt } from '../support/account-environment.js';
import { startLoopbackServer } from '../support/servers/loopback-server.js';
import { nextMember, recordsPage, startPageServer } from '../support/servers/page-server.js';
import { startLyingService, type LyingRecord } from '../support/servers/tampering-proxy.js';
import { makeWorld, type World } from '../support/test-environment.js';

const account = { accountId: 'PROOF', passcode: 'passcode-of-the-proof' };

async function serviceOf(options: TestServiceOptions = {}) {
  const service = await startService({ ...account, ...options });
  onTestFinished(() => service.close());
  return { service, env: service.env };
}

/** Reads see a write late, by a clock that goes on for a second with each request. */
async function lagging(lagSeconds: number) {
  const found = await serviceOf({
    lagSeconds,
    onRequest: () => found.service.clock.advance(1),
  });
  return found;
}

interface Difference {
  readonly line: number;
  readonly identity: string;
  readonly key: string | null;
  readonly sent: unknown;
  readonly found: unknown;
  readonly verdict: string;
}

/** Runs verify and gives its lines and its summary. */
async function verified(
  world: World,
  argv: readonly string[],
  env?: Readonly<Record<string, string>>,
) {
  const run = await world.run(['verify', ...argv, '--json'], env ? { env } : {});
  const isSummary = (line: string) => line.includes('"schemaVersion"');
  const lines = run.stdout.split('\n').filter((line) => line !== '' && !isSummary(line));
  // It stands on stdout where the lines go to a file.
  const summary = `${run.stdout}\n${run.stderr}`.split('\n').find(isSummary);
  return {
    ...run,
    lines: lines.map((line) => JSON.parse(line) as Difference),
    summary: JSON.parse(summary ?? '{}') as VerifyResult,
  };
}

async function uploaded(world: World, argv: readonly string[], env?: Record<string, string>) {
  const { code, stderr } = await world.run(['upload', ...argv], env ? { env } : {});
  expect(code, stderr).toBe(0);
}

const users = `CustomerId,mail,Mobile,Full Name,City,Age,Since,MSG-email,Tags,Score
u1,u1@example.test,+447700900001,Ann,Oslo,41,2024-03-01,true,"[""a"",""b""]",1.50
u2,u2@example.test,+447700900002,Bob,Rome,17,2023-12-31T23:00:00Z,no,"[""c"",""c""]",-0.0
u3,,,,Bern,,,,,12345678901234567890
`;
const mapping = [
  '--identity=CustomerId',
  '--map=mail=Email',
  '--map=Mobile=Phone',
  '--types=Age:integer,Since:date,Tags:json,Score:number',
];

describe('verify of profiles', () => {
  it.each(['verbatim', 'folded'] as const)(
    'finds all records unchanged if keys come back %s',
    async (keyStyle) => {
      const { env } = await serviceOf({ variants: { keyStyle } });
      const world = makeWorld({ env });
      writeFileSync(world.path('crm.csv'), users);
      await uploaded(world, ['crm.csv', ...mapping]);
      const { code, lines, summary, stderr } = await verified(world, ['crm.csv', ...mapping]);
      expect(lines).toEqual([]);
      expect(code, stderr).toBe(0);
      expect(summary).toMatchObject({ read: 3, checked: 3, same: 3, different: 0, missing: 0 });
      expect(summary.proof).toBe('0 of 3 users differ: all were compared');
      expect(summary.foldedKeys > 0).toBe(keyStyle === 'folded');
      expect(stderr.includes('in another spelling')).toBe(keyStyle === 'folded');
    },
  );

  it('reports which value differs, its line, and missing users', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    writeFileSync(world.path('crm.csv'), users);
    await uploaded(world, ['crm.csv', ...mapping]);
    const changed = users.replace('Oslo', 'Bergen').replace('true', 'false').replace('u3', 'u4');
    writeFileSync(
      world.path('new.csv'),
      `${changed.replace('567890', '567891')}u3,,,,,,,,,12345678901234567891\n`,
    );
    const { code, lines, summary } = await verified(world, ['new.csv', ...mapping]);
    expect(code).toBe(3);
    expect(summary).toMatchObject({ checked: 4, same: 1, different: 2, missing: 1 });
    expect(lines.toSorted((a, b) => a.line - b.line)).toEqual([
      {
        source: 'new.csv',
        line: 2,
        identity: 'u1',
        key: 'City',
        sent: 'Bergen',
        found: 'Oslo',
        verdict: 'different',
      },
      expect.objectContaining({ line: 2, key: 'MSG-email', sent: false, found: true }),
      expect.objectContaining({ line: 4, identity: 'u4', key: null, verdict: 'missing' }),
      // one digit of twenty, which JSON.parse would not see
      expect.objectContaining({ line: 5, identity: 'u3', key: 'Score', verdict: 'different' }),
    ]);
  });

  it('names an upload that ended before it sent all as a cause of missing records, not of differences', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    writeFileSync(world.path('crm.csv'), 'identity,Age\nu1,1\nu2,2\n');
    await uploaded(world, ['crm.csv', '--limit', '1']);
    const whole = await verified(world, ['crm.csv']);
    expect([whole.code, whole.stderr]).toEqual([3, expect.stringContaining('1 missing')]);
    expect(whole.stderr).toContain('or ended before it sent all (engagectl runs list)');
    writeFileSync(world.path('crm.csv'), 'identity,Age\nu1,3\n');
    const changed = await verified(world, ['crm.csv']);
    expect([changed.code, changed.stderr]).toEqual([3, expect.stringContaining('1 different')]);
    expect(changed.stderr).not.toContain('runs list');
  });

  it('prints no commands to CI runners', async () => {
    const world = makeWorld();
    const { env } = await serviceOf();
    const command = '##vso[task.prependpath]/evil ##[error]x ##teamcity[x] ::add-mask::x';
    const name = '##vso[task.x]';
    writeFileSync(world.path('sent.csv'), `identity,Note,${name}\nann,a ${command},${command}\n`);
    await uploaded(world, ['sent.csv'], env);
    writeFileSync(world.path('other.csv'), `identity,Note,${name}\nann,b ${command},c\n`);
    const { code, stdout, lines } = await verified(world, ['other.csv'], env);
    expect(code).toBe(3);
    expect(stdout).not.toMatch(/##(?:vso|teamcity)?\[|::/);
    expect(lines.map(({ key, sent, found }) => [key, sent, found])).toEqual([
      ['Note', `b ${command}`, `a ${command}`],
      [name, 'c', command],
    ]);
  });

  it('uses the last record of a key', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const lines = ['u1,A,x', 'u2,B,', 'u1,C,', 'u1,A,', 'u2,,y'];
    writeFileSync(world.path('u.csv'), `identity,City,Plan\n${lines.join('\n')}\n`);
    await uploaded(world, ['u.csv']);
    expect(await verified(world, ['u.csv'])).toMatchObject({
      code: 0,
      lines: [],
      summary: { read: 5, checked: 2, same: 2 },
    });
    const after = await world.run(['upload', '-'], { stdin: 'identity,Plan\nu1,z\n' });
    expect(after.code).toBe(0);
    const { lines: found } = await verified(world, ['u.csv']);
    expect(found).toEqual([
      expect.objectContaining({ line: 2, key: 'Plan', sent: 'x', found: 'z' }),
    ]);
  });

  it('compares operators where possible, and reports the others', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const records = [
      { City: 'Oslo', Plan: 'x', Visits: 1, Tags: ['a'] },
      { Plan: { $delete: 1 }, Visits: { $incr: 2 }, Tags: { $set: ['b', 'c'] } },
    ].map((profileData) => JSON.stringify({ identity: 'u', type: 'profile', profileData }));
    writeFileSync(world.path('u.ndjson'), records.join('\n'));
    await uploaded(world, ['u.ndjson']);
    const { code, lines, stderr } = await verified(world, ['u.ndjson']);
    expect(lines).toEqual([]);
    expect(code).toBe(0);
    expect(stderr).toContain('operators such as $incr and $add');
    await world.run(['upload', '-'], { stdin: 'identity,Plan\nu,back\n' });
    const { lines: again } = await verified(world, ['u.ndjson']);
    expect(again).toEqual([
      expect.objectContaining({ key: 'Plan', sent: { $delete: 1 }, found: 'back' }),
    ]);
  });

  it('detects what was dropped after success: a property, and one user in twenty', async () => {
    const lying = await startLyingService((records) =>
      records
        .filter(({ identity }) => identity !== 'u7')
        .map((record) => {
          const { Plan: _, ...profileData } = record['profileData'] as LyingRecord;
          return { ...record, profileData };
        }),
    );
    const world = makeWorld({ env: lying.env });
    const rows = Array.from({ length: 20 }, (_, at) => `u${at},Oslo,${at % 2 ? 'pro' : ''}`);
    writeFileSync(world.path('u.csv'), `identity,City,Plan\n${rows.join('\n')}\n`);
    await uploaded(world, ['u.csv']);
    const { code, lines, summary } = await verified(world, ['u.csv'], lying.honest);
    expect(code).toBe(3);
    expect(summary).toMatchObject({ checked: 20, same: 10, different: 9, missing: 1 });
    expect(lines).toHaveLength(10);
    expect(lines.filter(({ key }) => key === 'Plan')).toHaveLength(9);
  });

  it('detects an error of one in twenty in a sample of 100 of 600, and states what it proves', async () => {
    const lying = await startLyingService((records) =>
      records.map((record) => {
        const { N, ...rest } = record['profileData'] as LyingRecord;
        return { ...record, profileData: Number(N) % 20 === 0 ? rest : { ...rest, N } };
      }),
    );
    const world = makeWorld({ env: lying.env });
    const rows = Array.from({ length: 600 }, (_, at) => `u${at},${at}`);
    writeFileSync(world.path('u.csv'), `identity,N\n${rows.join('\n')}\n`);
    await uploaded(world, ['u.csv']);
    const flags = ['u.csv', '--sample', '100', '--seed', '20261122'];
    const { code, summary, lines } = await verified(world, flags, lying.honest);
    expect(code).toBe(3);
    expect(summary).toMatchObject({ read: 600, checked: 100, missing: 0, seed: 20_261_122 });
    expect(lines).toHaveLength(summary.different);
    expect(summary.mostDiffer).toBeGreaterThan(0.05);
    expect(summary.proof).toMatch(
      /^\d+ of 100 users differ: with 95 % confidence, fewer than [\d.]+ % of all differ$/,
    );
    const again = await verified(world, flags, lying.honest);
    expect(again.lines).toEqual(lines);
    const all = await verified(world, ['u.csv', '--all', '--limit', '61'], lying.honest);
    expect(all.summary).toMatchObject({ checked: 61, different: 4, mostDiffer: null });
  });

  it('refuses the partial file of a killed verify, and sets it aside with --fresh', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
    await uploaded(world, ['u.csv']);
    writeFileSync(world.path('out.ndjson.partial'), 'earlier');
    const argv = ['verify', 'u.csv', '-o', 'out.ndjson'];
    const { code, stderr } = await world.run(argv);
    expect([code, stderr]).toEqual([8, expect.stringContaining('restart with --fresh')]);
    expect((await world.run([...argv, '--fresh'])).code).toBe(0);
    expect(readFileSync(world.path('out.ndjson.partial.1'), 'utf8')).toBe('earlier');
  });

  it('waits for lagging reads, at most --within, and rereads only those', async () => {
    const { env } = await lagging(60);
    const world = makeWorld({ env });
    writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\nu2,Rome\n');
    await uploaded(world, ['u.csv']);
    const at = await verified(world, ['u.csv']);
    expect(at).toMatchObject({ code: 3, summary: { missing: 2, requests: 2 } });
    const short = await verified(world, ['u.csv', '--within', '2s']);
    expect(short.code).toBe(3);
    const long = await verified(world, ['u.csv', '--within', '24h']);
    expect(long).toMatchObject({ code: 0, lines: [], summary: { same: 2 } });
  });

  it('reports a phone number that profiles do not show as not comparable, not as missing', async () => {
    const lying = await startLyingService((records) =>
      records.map((record) => {
        const { Phone: _, ...profileData } = record['profileData'] as LyingRecord;
        return { ...record, profileData };
      }),
    );
    const world = makeWorld({ env: lying.env });
    writeFileSync(world.path('u.csv'), 'identity,Phone,City\nu1,+447700900001,Oslo\n');
    await uploaded(world, ['u.csv']);
    const { code, lines, stderr } = await verified(world, ['u.csv']);
    expect([code, lines]).toEqual([0, []]);
    expect(stderr).toContain('phone numbers, which the profiles do not show');
  });

  it('skips records that the upload would not send, and unknown keys', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const good = { identity: 'u1', type: 'profile', profileData: { City: 'Oslo' } };
    const social = { FBID: '77', type: 'profile', profileData: { City: 'Rome' } };
    const lines = [JSON.stringify(good), '{"identity":1}', 'no json', JSON.stringify(social)];
    writeFileSync(world.path('u.ndjson'), lines.join('\n'));
    await world.run(['upload', 'u.ndjson']);
    const { code, summary, stderr } = await verified(world, ['u.ndjson']);
    expect(code).toBe(0);
    expect(summary).toMatchObject({ read: 4, rejected: 2, checked: 1, same: 1, untold: 1 });
    expect(stderr).toContain('another key than identity or objectId');
    expect(stderr).toContain('2 not compared: not sent, because a write rejects them');
  });

  it.each([
    [4, { ENGAGECTL_PASSCODE: 'wrong' }],
    [5, { ENGAGECTL_BASE_URL: 'http://127.0.0.1:9', ENGAGECTL_MAX_ATTEMPTS: '1' }],
  ])('exits with %d if it cannot ask', async (exitCode, env) => {
    const service = await serviceOf();
    const world = makeWorld({ env: { ...service.env, ...env } });
    writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
    const { code, summary } = await verified(world, ['u.csv']);
    expect(code).toBe(exitCode);
    expect(summary).toMatchObject({
      checked: 0,
      proof: 'nothing was compared, so nothing is proved',
    });
  });

  it.each([
    [['u.csv', '--type', 'phone'], '--type phone is for subscriptions'],
    [['u.csv', '--status', 'Unsubscribe'], '--status is for subscriptions'],
    [['u.csv', '--subscriptions', '--type', 'event'], 'not a type of subscription'],
    [['u.csv', '--sample', '0'], 'from 1 to'],
    [['--settle'], '--settle needs a rejects file'],
  ])('%j is a usage error', async (argv, message) => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    writeFileSync(world.path('u.csv'), 'identity\nu1\n');
    const { code, stderr } = await world.run(['verify', ...argv]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('the library returns differences one by one, and the result', async () => {
    const { service } = await serviceOf();
    await using library = connect({ baseUrl: service.url, ...account });
    await library.upload([{ identity: 'u1', City: 'Oslo' }]).result;
    const run = library.verify([
      { identity: 'u1', City: 'Rome' },
      { identity: 'u2', City: 'Bern' },
    ]);
    const found: unknown[] = [];
    for await (const one of run.differences()) found.push(one);
    expect(found).toHaveLength(2);
    expect(found).toContainEqual({
      source: 'stdin',
      line: 1,
      identity: 'u1',
      key: 'City',
      sent: 'Rome',
      found: 'Oslo',
      verdict: 'different',
    });
    expect(await run.result).toMatchObject({ exitCode: 3, checked: 2, different: 1, missing: 1 });
  });
});

const eventOf = (identity: string, n: number, ts: number, evtName = 'Charged') =>
  JSON.stringify({ identity, type: 'event', evtName, evtData: { n, 'Paid On': '$D_170' }, ts });
const noon = Date.parse('2026-10-24T12:00:00Z') / 1000;

/** A profile; the service merges those of one device. */
const userOfDevice = (identity: string) =>
  JSON.stringify({ type: 'profile', identity, objectId: 'device', profileData: { City: 'Oslo' } });

describe('verify of events', () => {
  it.each([
    ['UTC', 'verbatim'],
    ['Asia/Kolkata', 'folded'],
    ['Europe/Berlin', 'verbatim'],
  ] as const)('finds each once, in %s, keys %s', async (timezone, keyStyle) => {
    const { env } = await serviceOf({ timezone, variants: { keyStyle } });
    const world = makeWorld({ env: { ...env, ENGAGECTL_TIMEZONE: timezone } });
    // Four days around the night in which Berlin's clocks go back, every three hours.
    const lines = Array.from({ length: 32 }, (_, n) => eventOf(`u${n % 3}`, n, noon + n * 10_800));
    const same = Array.from({ length: 3 }, () => eventOf('u0', 99, noon));
    writeFileSync(world.path('e.ndjson'), [...lines, ...same].join('\n'));
    await uploaded(world, ['e.ndjson']);
    // What others sent on these days is not ours.
    await world.run(['upload', '-'], { stdin: eventOf('u9', 1, noon) });
    const { code, summary, lines: found, stderr } = await verified(world, ['e.ndjson']);
    expect(found).toEqual([]);
    expect(code, stderr).toBe(0);
    expect(summary).toMatchObject({ read: 35, checked: 35, same: 35 });
    expect(summary.proof).toBe('0 of 35 events differ: all were compared');
  });

  it('reads a CSV as the upload does', async () => {
    const { env } = await serviceOf({ timezone: 'Asia/Kolkata' });
    const world = makeWorld({ env: { ...env, ENGAGECTL_TIMEZONE: 'Asia/Kolkata' } });
    writeFileSync(
      world.path('e.csv'),
      'identity,ts,Amount\nu1,2026-10-24T23:59:59,1.0\nu2,2026-10-25,2\n',
    );
    const flags = [
      'e.csv',
      '--type',
      'event',
      '--event-name',
      'Charged',
      '--types',
      'Amount:number',
    ];
    await uploaded(world, flags);
    expect(await verified(world, flags)).toMatchObject({ code: 0, summary: { same: 2 } });
  });

  it('detects one of three that is stored twice, dropped or altered, and an unknown name', async () => {
    const lying = await startLyingService((records) =>
      records.flatMap((record, at) => {
        if (record['evtName'] === 'Never') return [];
        if (at % 3 === 0) return [record, record];
        if (at === 1) return [];
        return at === 2 ? [{ ...record, evtData: { n: 'altered' } }] : [record];
      }),
    );
    const world = makeWorld({ env: lying.env });
    const lines = Array.from({ length: 6 }, (_, n) => eventOf('u', n, noon + n));
    writeFileSync(
      world.path('e.ndjson'),
      [...lines, 'x', eventOf('u', 1, noon, 'Never')].join('\n'),
    );
    await world.run(['upload', 'e.ndjson', '--chunk-size', '1000']);
    const { code, lines: found, summary } = await verified(world, ['e.ndjson'], lying.honest);
    expect(code).toBe(3);
    expect(summary).toMatchObject({ read: 8, rejected: 1, checked: 7, same: 2 });
    expect(found.toSorted((a, b) => a.line - b.line)).toMatchObject([
      { line: 1, key: 'Charged', sent: { times: 1 }, found: { times: 2 }, verdict: 'extra' },
      { line: 2, sent: { evtData: { n: 1 }, ts: noon + 1 }, found: null, verdict: 'missing' },
      { line: 3, found: { n: 'altered' }, verdict: 'different' },
      { line: 4, found: { times: 2 } },
      { line: 8, key: 'Never', verdict: 'missing' },
    ]);
  });

  it('rereads the days that lag', async () => {
    const { env } = await lagging(120);
    const world = makeWorld({ env });
    writeFileSync(world.path('e.ndjson'), eventOf('u', 1, noon));
    await uploaded(world, ['e.ndjson']);
    expect((await verified(world, ['e.ndjson'])).code).toBe(3);
    expect((await verified(world, ['e.ndjson', '--within', '24h'])).code).toBe(0);
  });

  it('waits for a pending day as long as an export does, and names the flag to wait longer', async () => {
    const { env } = await serviceOf({ pendingPolls: 1000 });
    const world = makeWorld({ env });
    writeFileSync(world.path('e.ndjson'), eventOf('u', 1, noon));
    await uploaded(world, ['e.ndjson']);
    const slow = await verified(world, ['e.ndjson', '--pending-timeout', '10s']);
    expect(slow.code, slow.stderr).toBe(5);
    expect(slow.stderr).toContain('E-PENDING');
    expect(slow.stderr).toContain('after 10 s');
    expect(slow.stderr).toContain('--pending-timeout');
  });

  it('reports events without a time as not comparable; users and events may be mixed', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const noTime = '{"identity":"u","type":"event","evtName":"Charged","evtData":{}}';
    const user = '{"identity":"u","type":"profile","profileData":{"City":"Oslo"}}';
    writeFileSync(world.path('m.ndjson'), [noTime, user, eventOf('u', 1, noon)].join('\n'));
    await uploaded(world, ['m.ndjson']);
    const { code, summary, stderr } = await verified(world, ['m.ndjson']);
    expect(code).toBe(0);
    expect(summary).toMatchObject({ checked: 2, same: 2, untold: 1 });
    expect(summary.proof).toContain('user differs');
    expect(summary.proof).toContain('event differs');
    expect(stderr).toContain('events without ts');
  });
});

describe('verify of subscriptions', () => {
  it('compares flags of addresses, and reports those that cannot be read', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const users =
      'identity,Email,Phone\nu1,u1@example.test,+447700900001\nu2,u2@example.test,+447700900002\n';
    writeFileSync(world.path('u.csv'), users);
    await uploaded(world, ['u.csv']);
    const rows = [
      'email,u1@example.test,Unsubscribe,',
      'email,u1@example.test,Resubscribe,',
      'email,u2@example.test,Unsubscribe,',
      'email,nobody@example.test,Unsubscribe,',
      'phone,+447700900001,Unsubscribe,u1',
      'phone,+447700900002,Unsubscribe,',
      'whatsapp,+447700900002,Unsubscribe,u2',
    ];
    writeFileSync(world.path('s.csv'), `type,value,status,identity\n${rows.join('\n')}\n`);
    expect((await world.run(['subscribe', 's.csv'])).code).toBe(0);
    const good = await verified(world, ['s.csv', '--subscriptions']);
    expect(good).toMatchObject({ code: 0, lines: [], summary: { checked: 4, same: 4, untold: 2 } });
    expect(good.stderr).toContain('cannot be looked up by number');
    expect(good.stderr).toContain('addresses that no user shows');

    writeFileSync(world.path('list.txt'), 'u1@example.test\nu2@example.test\n');
    const flags = ['--subscriptions', '--type', 'email', '--status', 'unsubscribe'];
    const { code, lines, summary } = await verified(world, ['list.txt', ...flags]);
    expect(code).toBe(3);
    expect(summary.proof).toBe('1 of 2 addresses differ: all were compared');
    expect(lines).toEqual([
      {
        source: 'list.txt',
        line: 1,
        identity: 'u1@example.test',
        key: 'email',
        sent: 'Unsubscribe',
        found: 'Resubscribe',
        verdict: 'different',
      },
    ]);
  });
});

it('verify of subscriptions finds an address by its email, whomever its rows name', async () => {
  const { env } = await serviceOf();
  const world = makeWorld({ env });
  writeFileSync(world.path('u.csv'), 'identity,Email\nu1,u1@example.test\nu2,u2@example.test\n');
  await uploaded(world, ['u.csv']);
  const rows = 'u1@example.test,u1\nu1@example.test,u2\nu2@example.test,nobody\n';
  writeFileSync(world.path('s.csv'), `value,identity\n${rows}`);
  const flags = ['--subscriptions', '--type', 'email', '--status', 'Unsubscribe'];
  const { code, summary } = await verified(world, ['s.csv', ...flags]);
  expect(summary).toMatchObject({ checked: 2, different: 2, untold: 0 });
  expect(code).toBe(3);
});

it('verify of subscriptions knows an address in another spelling', async () => {
  const { env } = await serviceOf();
  const world = makeWorld({ env });
  writeFileSync(world.path('u.csv'), 'identity,Email\nu1,U1@Example.test\nu2,u2@example.test\n');
  await uploaded(world, ['u.csv']);
  writeFileSync(world.path('list.txt'), 'u1@example.test\nU2@EXAMPLE.TEST\n');
  const flags = ['--type', 'email', '--status', 'Unsubscribe'];
  const before = await verified(world, ['list.txt', '--subscriptions', ...flags]);
  expect(before).toMatchObject({ code: 3, summary: { checked: 2, different: 2, untold: 0 } });
  expect((await world.run(['subscribe', 'list.txt', ...flags])).code).toBe(0);
  const after = await verified(world, ['list.txt', '--subscriptions', ...flags]);
  expect(after).toMatchObject({ code: 0, summary: { checked: 2, same: 2, untold: 0 } });

  const rows = 'value,status\nU2@Example.test,Resubscribe\nu2@example.test,Unsubscribe\n';
  writeFileSync(world.path('s.csv'), rows);
  expect((await world.run(['subscribe', 's.csv', '--type', 'email'])).code).toBe(0);
  const last = await verified(world, ['s.csv', '--subscriptions', '--type', 'email']);
  expect(last).toMatchObject({ code: 0, summary: { checked: 1, same: 1, untold: 0 } });
});

describe('--settle', () => {
  const rejected = (line: number, stage: string, record: string) =>
    `{"source":"e.ndjson","line":${line},"stage":"${stage}","error":"it was","record":${record}}`;

  it.each(['e.rejects.ndjson', 'e.rejects.json'])(
    'writes the same text for the same records of %s, whichever answer comes first',
    async (name) => {
      const { service, env } = await serviceOf();
      const world = makeWorld({ env });
      const records = ['b', 'a', 'c'].map(
        (identity) => `{"identity":"${identity}","profileData":{"Visits":{"$incr":1}}}`,
      );
      const lines = records.map((record, at) => rejected(at + 1, 'unknown', record));
      const isArray = name.endsWith('.json');
      writeFileSync(world.path(name), isArray ? `[${lines.join()}]` : lines.join('\n'));
      for (const after of [0, 1]) {
        service.clearFaults();
        await service.fault({ endpoint: 'profile', after, times: 1, delayMs: 100 });
        const { lines: open } = await verified(world, [name, '--settle']);
        expect(open.map(({ line }) => line)).toEqual([1, 2, 3]);
      }
    },
  );

  it('shows no passcode that the service has as a value', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const passcode = env['ENGAGECTL_PASSCODE']!;
    writeFileSync(world.path('is.csv'), `identity,City\nann,${passcode}\n`);
    expect((await world.run(['upload', 'is.csv'])).code).toBe(0);
    writeFileSync(world.path('was.csv'), 'identity,City\nann,Oslo\n');
    const { code, stdout, stderr } = await world.run(['verify', 'was.csv']);
    expect([code, stdout]).toEqual([3, expect.stringContaining('"found":"[passcode]"')]);
    expect(stdout + stderr).not.toContain(passcode);
  });

  it('returns an event that did not arrive, whose name resembles a known one', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    writeFileSync(world.path('arrived.ndjson'), eventOf('u', 1, noon));
    await uploaded(world, ['arrived.ndjson']);
    writeFileSync(
      world.path('e.rejects.ndjson'),
      rejected(1, 'unknown', eventOf('u', 1, noon, 'Charge')),
    );
    const { code, summary } = await verified(world, ['e.rejects.ndjson', '--settle']);
    expect([code, summary.settled]).toEqual([3, { accepted: 0, absent: 1, unknown: 0 }]);
  });

  it('accepts what arrived, returns what did not, and keeps what cannot be determined', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const events = Array.from({ length: 6 }, (_, n) => eventOf('u', n, noon + n));
    const twice = eventOf('u', 50, noon);
    const arrived = [events[0]!, events[2]!, events[4]!, twice];
    writeFileSync(world.path('arrived.ndjson'), arrived.join('\n'));
    await uploaded(world, ['arrived.ndjson']);
    const incr = '{"identity":"u","type":"profile","profileData":{"Visits":{"$incr":1}}}';
    const nobody = '{"identity":"new","type":"profile","profileData":{"Visits":{"$incr":1}}}';
    const lines = [
      ...events.map((event, at) => rejected(at + 1, 'unknown', event)),
      rejected(7, 'unknown', twice),
      rejected(8, 'unknown', twice),
      rejected(9, 'unknown', incr),
      rejected(10, 'unknown', nobody),
      rejected(11, 'service', events[1]!),
    ];
    writeFileSync(world.path('e.rejects.ndjson'), `${lines.join('\n')}\n`);
    const flags = ['e.rejects.ndjson', '--settle', '-o', 'open.ndjson'];
    const { code, summary } = await verified(world, flags);
    expect(code).toBe(6);
    expect(summary.settled).toEqual({ accepted: 4, absent: 5, unknown: 1 });
    expect(summary.read).toBe(10);
    const open = readFileSync(world.path('open.ndjson'), 'utf8').trim().split('\n');
    const parsed = open.map((line) => JSON.parse(line) as { line: number; stage: string });
    expect(parsed.toSorted((a, b) => a.line - b.line)).toMatchObject([
      { source: 'e.ndjson', line: 2, stage: 'notSent', record: JSON.parse(events[1]!) as object },
      { line: 4, stage: 'notSent' },
      { line: 6, stage: 'notSent' },
      { line: 8, stage: 'notSent' },
      { line: 9, stage: 'unknown', error: expect.stringContaining('$incr') as string },
      { line: 10, stage: 'notSent' },
    ]);

    // The file goes to the same command as before; its unknown record is passed over.
    // One of two equal events has arrived, so the other one needs --again.
    expect((await world.run(['upload', 'open.ndjson'])).code).toBe(8);
    expect((await world.run(['upload', 'open.ndjson', '--again'])).code).toBe(6);
    writeFileSync(world.path('e.ndjson'), [...events, twice, twice].join('\n'));
    expect(await verified(world, ['e.ndjson'])).toMatchObject({ code: 0, summary: { same: 8 } });
  });

  it('keeps a demerge, after which nobody may be found', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const lines = [rejected(1, 'unknown', '{"identity":"new"}')];
    writeFileSync(world.path('e.rejects.ndjson'), `${lines.join('\n')}\n`);
    const flags = ['e.rejects.ndjson', '--settle', '-o', 'open.ndjson'];
    const { code, summary } = await verified(world, flags);
    expect([code, summary.settled]).toEqual([6, { accepted: 0, absent: 0, unknown: 1 }]);
    expect(readFileSync(world.path('open.ndjson'), 'utf8')).toContain('such as demerges');
    const again = await world.run(['demerge', 'open.ndjson', '--yes']);
    expect([again.code, again.stderr]).toEqual([6, expect.stringContaining('--retry-unknown')]);
  });

  it('cannot tell what an operator did, wherever in a value it is', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const values = ['{"a":{"$incr":1}}', '{"$set":1,"$incr":1}', '{"$delete":1,"$add":["x"]}', '[{"$decr":1}]']; // prettier-ignore
    const lines = values.map((value, n) => {
      const record = `{"identity":"u${n}","type":"profile","profileData":{"Visits":${value}}}`;
      return rejected(n + 1, 'unknown', record);
    });
    writeFileSync(world.path('e.rejects.ndjson'), `${lines.join('\n')}\n`);
    writeFileSync(world.path('u.csv'), 'identity,Visits\nu0,x\nu1,x\nu2,x\nu3,x\n');
    await uploaded(world, ['u.csv']);
    const { code, summary } = await verified(world, ['e.rejects.ndjson', '--settle']);
    expect([code, summary.settled]).toEqual([6, { accepted: 0, absent: 0, unknown: 4 }]);
  });

  it('counts an event as arrived that the account holds more often than the file', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const event = eventOf('u', 1, noon);
    writeFileSync(world.path('e.ndjson'), `${event}\n${event}\n`);
    await uploaded(world, ['e.ndjson']);
    writeFileSync(world.path('e.rejects.ndjson'), rejected(2, 'unknown', event));
    const { code, lines, summary } = await verified(world, ['e.rejects.ndjson', '--settle']);
    expect([code, lines]).toEqual([0, []]);
    expect(summary.settled).toEqual({ accepted: 1, absent: 0, unknown: 0 });
  });

  it('returns a record once that several lines of a rejects file report', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const incr = '{"identity":"new","type":"profile","profileData":{"Visits":{"$incr":1}}}';
    const [lost, equal] = [eventOf('u', 1, noon), eventOf('u', 2, noon)];
    const places = [
      [7, lost],
      [7, lost],
      [8, incr],
      [8, incr],
      [9, equal],
      [10, equal],
    ] as const;
    const lines = places.map(([line, record]) => rejected(line, 'unknown', record));
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const { code, summary } = await verified(world, ['e.rejects.ndjson', '--settle']);
    expect([code, summary.settled]).toEqual([6, { accepted: 0, absent: 4, unknown: 2 }]);
  });

  it('returns an event once that two rejects files have, since the second may report it again', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const [there, lost, twice] = [1, 2, 3].map((n) => eventOf('u', n, noon));
    writeFileSync(world.path('e.ndjson'), `${there!}\n`);
    await uploaded(world, ['e.ndjson']);
    const lines = [there, lost, twice, twice].map((event, at) => rejected(at, 'unknown', event!));
    writeFileSync(world.path('a.rejects.ndjson'), lines.join('\n'));
    writeFileSync(world.path('b.rejects.ndjson'), lines.slice(0, 3).join('\n'));
    const files = ['a.rejects.ndjson', 'b.rejects.ndjson'];
    const both = await verified(world, [...files, '--settle', '-o', 'open.ndjson']);
    expect([both.code, both.summary.settled]).toEqual([3, { accepted: 1, absent: 3, unknown: 0 }]);
    await world.run(['upload', 'open.ndjson']);
    const { code, summary } = await verified(world, [...files, '--settle']);
    expect([code, summary.settled]).toEqual([0, { accepted: 4, absent: 0, unknown: 0 }]);
    writeFileSync(world.path('all.ndjson'), [there, lost, twice, twice].join('\n'));
    expect((await verified(world, ['all.ndjson'])).code).toBe(0);
  });

  it('returns a profile with $incr once that two rejects files have', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const profile = '{"identity":"u","type":"profile","profileData":{"Visits":{"$incr":1}}}';
    writeFileSync(world.path('a.rejects.ndjson'), rejected(1, 'unknown', profile));
    writeFileSync(world.path('b.rejects.ndjson'), rejected(1, 'unknown', profile));
    const files = ['a.rejects.ndjson', 'b.rejects.ndjson'];
    const { code, lines, summary } = await verified(world, [...files, '--settle']);
    expect([code, summary.settled]).toEqual([3, { accepted: 0, absent: 1, unknown: 0 }]);
    expect(lines).toMatchObject([{ stage: 'notSent' }]);
    const twice = [rejected(1, 'unknown', profile), rejected(2, 'unknown', profile)].join('\n');
    writeFileSync(world.path('a.rejects.ndjson'), twice);
    const both = await verified(world, [...files, '--settle']);
    expect(both.summary.settled).toEqual({ accepted: 0, absent: 2, unknown: 0 });
  });

  it('does not return an event that the service may have stored with other properties', async () => {
    const lying = await startLyingService((records) =>
      records.map((record) => ({ ...record, evtData: { n: 'altered' } })),
    );
    const world = makeWorld({ env: lying.env });
    const events = [eventOf('u', 1, noon), eventOf('u', 2, noon), eventOf('u', 3, noon + 1)];
    writeFileSync(world.path('e.ndjson'), `${events[0]!}\n`);
    await uploaded(world, ['e.ndjson']);
    const lines = events.map((event, at) => rejected(at + 1, 'unknown', event));
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const settling = ['e.rejects.ndjson', '--settle'];
    const { code, lines: open, summary } = await verified(world, settling, lying.honest);
    expect([code, summary.settled]).toEqual([6, { accepted: 0, absent: 1, unknown: 2 }]);
    const why = expect.stringContaining('with other properties') as string;
    expect(open).toMatchObject([
      { line: 1, stage: 'unknown', error: why },
      { line: 2, stage: 'unknown', error: why },
      { line: 3, stage: 'notSent' },
    ]);
  });

  it('returns no event if a page failed that should have had it', async () => {
    const page = (next?: string) =>
      `{"status":"success","records":[],"code":503,"error":"down"${nextMember(next)}}`;
    await using server = await startPageServer(() => [page, recordsPage()]);
    const world = makeWorld({ env: server.env });
    writeFileSync(world.path('e.rejects.ndjson'), rejected(1, 'unknown', eventOf('u', 1, noon)));
    const settling = ['e.rejects.ndjson', '--settle', '--max-attempts', '2'];
    const { code, lines, summary } = await verified(world, settling);
    expect([code, summary.settled?.absent ?? 0]).toEqual([5, 0]);
    expect(lines.filter(({ verdict }) => verdict === 'missing')).toEqual([]);
    expect(lines).not.toContainEqual(expect.objectContaining({ stage: 'notSent' }));
  });

  it.each([
    '"cursor":"c1%2Fp0%3D"',
    '"data":{"records":[]}',
    '"errors":["backend timeout"]',
    '"processed":0,"unprocessed":[]',
    '"records":[],"has_more":true',
  ])('returns no event after an answer that is not the end: %s', async (members) => {
    await using server = await startPageServer(() => [() => `{"status":"success",${members}}`]);
    const world = makeWorld({ env: server.env });
    writeFileSync(world.path('e.rejects.ndjson'), rejected(1, 'unknown', eventOf('u', 1, noon)));
    const { code, lines, summary } = await verified(world, ['e.rejects.ndjson', '--settle']);
    expect([code, summary.settled?.absent ?? 0]).toEqual([7, 0]);
    expect(lines.filter(({ verdict }) => verdict === 'missing')).toEqual([]);
    expect(lines).not.toContainEqual(expect.objectContaining({ stage: 'notSent' }));
  });

  it('returns no event if another event had the same cursor', async () => {
    await using server = await startLoopbackServer((request, response) => {
      const isOpening = request.method === 'POST';
      response.end(isOpening ? '{"status":"success","cursor":"c"}' : '{"status":"success"}');
    });
    const world = makeWorld({ env: accountAt(server.url, 'p-4471-x') });
    const lines = ['A', 'B'].map((name) => rejected(1, 'unknown', eventOf('u', 1, noon, name)));
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    // No time zone has begun the next day.
    const now = () => (noon - 3 * 3600) * 1000;
    const argv = ['verify', 'e.rejects.ndjson', '--settle'];
    const { code, stdout, stderr } = await world.run(argv, { now });
    expect(stderr).toContain('the same cursor for A of 2026-10-24 and for B of 2026-10-24');
    expect([code, stdout.includes('notSent')]).toEqual([7, false]);
  });

  it('returns no event that is in the account at another hour, as with a wrong time zone', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const events = [eventOf('u', 1, noon), eventOf('u', 2, noon + 1)];
    writeFileSync(world.path('e.ndjson'), events[0]!);
    await uploaded(world, ['e.ndjson']);
    const lines = events.map((event, at) => rejected(at + 1, 'unknown', event));
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const settling = ['e.rejects.ndjson', '--settle'];
    const wrong = await verified(world, [...settling, '--timezone', 'Asia/Kolkata']);
    expect([wrong.code, wrong.summary.settled]).toEqual([
      6,
      { accepted: 0, absent: 0, unknown: 2 },
    ]);
    expect(wrong.stderr).toContain("is the account's time zone set?");
    const right = await verified(world, settling);
    expect([right.code, right.summary.settled]).toEqual([
      3,
      { accepted: 1, absent: 1, unknown: 0 },
    ]);
  });

  it('returns no event that was sent with other options, which its upload would skip', async () => {
    const { service, world } = await serve();
    writeFileSync(world.path('e.csv'), 'identity,evtName,ts\nu1,Visit,2025-03-10T12:00:00\n');
    const berlin = ['--timezone', 'Europe/Berlin'];
    const upload = ['upload', '--type', 'event', ...berlin];
    await service.fault({ times: 1, action: 'reset-before' });
    expect((await world.run([...upload, 'e.csv'])).code).toBe(6);
    const nobody = rejected(9, 'unknown', '{"identity":"new","profileData":{"V":{"$incr":1}}}');
    writeFileSync(world.path('p.rejects.ndjson'), nobody);
    const profile = await verified(world, ['p.rejects.ndjson', '--settle']);
    expect([profile.code, profile.summary.settled?.absent]).toEqual([3, 1]);
    const settling = ['e.csv.rejects.ndjson', '--type', 'event', '--settle', '-o', 'open.ndjson'];
    const wrong = await verified(world, settling);
    expect([wrong.code, wrong.summary.settled]).toEqual([
      6,
      { accepted: 0, absent: 0, unknown: 1 },
    ]);
    expect(readFileSync(world.path('open.ndjson'), 'utf8')).toContain('options of its upload');
    for (const _ of ['first', 'again']) {
      const right = await verified(world, [...settling, ...berlin, '--overwrite']);
      expect([right.code, right.summary.settled?.absent]).toEqual([3, 1]);
    }
    expect((await world.run([...upload, 'open.ndjson'])).code).toBe(0);
    const arrived = written<{ ts: number }>(service).at(-1);
    expect(arrived).toMatchObject([{ ts: 1_741_604_400 }]);
  });

  it.each([
    {
      what: 'does not take both of two equal events on one line for arrived if the account has one',
      name: 'e.json',
      textOf: (event: string) => `[${event},${event}]`,
      why: 'of the same line',
    },
    {
      what: 'leaves one of two equal events unknown that did not arrive, which its upload would skip',
      name: 'e.ndjson',
      textOf: (event: string) => `${event}\n`.repeat(2),
      why: '--retry-unknown',
    },
  ])('$what', async ({ name, textOf, why }) => {
    const { service, world } = await serve();
    writeFileSync(world.path(name), textOf(eventOf('u', 1, noon)));
    await service.fault({ times: 1, action: 'reset-after' });
    await service.fault({ after: 1, times: 1, action: 'reset-before' });
    const upload = ['upload', '--chunk-size', '1', '--concurrency', '1'];
    expect((await world.run([...upload, name])).code).toBe(6);
    const settling = [`${name}.rejects.ndjson`, '--settle', '-o', 'open.ndjson'];
    const { code, summary } = await verified(world, settling);
    expect([code, summary.settled]).toEqual([6, { accepted: 1, absent: 0, unknown: 1 }]);
    expect(readFileSync(world.path('open.ndjson'), 'utf8')).toContain(why);
    expect((await world.run([...upload, 'open.ndjson', '--retry-unknown'])).code).toBe(0);
    const all = await verified(world, [name, '--all']);
    expect([all.code, all.summary.same]).toEqual([0, 2]);
  });

  it('returns an event whose second attempt failed, too, so that its upload sends it', async () => {
    const { service, world } = await serve();
    writeFileSync(world.path('e.ndjson'), eventOf('u', 1, noon));
    const attempts = [['e.ndjson'], ['e.ndjson.rejects.ndjson', '--retry-unknown']];
    for (const input of attempts) {
      await service.fault({ times: 1, action: 'reset-before' });
      expect((await world.run(['upload', ...input])).code).toBe(6);
    }
    const rejects = 'e.ndjson.rejects.ndjson.rejects.ndjson';
    const { code } = await verified(world, [rejects, '--settle', '-o', 'open.ndjson']);
    expect(code).toBe(3);
    expect((await world.run(['upload', 'open.ndjson'])).code).toBe(0);
  });

  it.each([
    ['Asia/Kolkata', '2025-03-10T20:00:00Z'],
    ['America/New_York', '2025-03-10T02:00:00Z'],
  ])(
    'returns no event that is in the account on the day beside, as in %s with UTC',
    async (zone, time) => {
      const { env } = await serviceOf({ timezone: zone });
      const world = makeWorld({ env });
      const event = eventOf('u', 1, Date.parse(time) / 1000);
      const recurring = eventOf('daily', 1, Date.parse(time) / 1000 - 86_400);
      writeFileSync(world.path('e.ndjson'), `${event}\n${recurring}\n`);
      await uploaded(world, ['e.ndjson']);
      writeFileSync(world.path('e.rejects.ndjson'), rejected(1, 'unknown', event));
      const settling = ['e.rejects.ndjson', '--settle'];
      const wrong = await verified(world, settling);
      expect([wrong.code, wrong.summary.settled]).toEqual([
        6,
        { accepted: 0, absent: 0, unknown: 1 },
      ]);
      expect(wrong.stderr).toContain("is the account's time zone set?");
      const right = await verified(world, [...settling, '--timezone', zone]);
      expect([right.code, right.summary.settled?.accepted]).toEqual([0, 1]);
      const daily = eventOf('daily', 1, Date.parse(time) / 1000);
      writeFileSync(world.path('d.rejects.ndjson'), rejected(1, 'unknown', daily));
      const absent = await verified(world, ['d.rejects.ndjson', '--settle', '--timezone', zone]);
      expect([absent.code, absent.summary.settled?.absent]).toEqual([3, 1]);
    },
  );

  it('returns no event of days on which the time zone is wrong, as London in summer with UTC', async () => {
    const { env } = await serviceOf({ timezone: 'Europe/London' });
    const world = makeWorld({ env });
    const times = ['2025-01-10T12:00:00Z', '2025-07-10T12:00:00Z', '2025-07-20T23:30:00Z'];
    const events = times.map((time, n) => eventOf('u', n, Date.parse(time) / 1000));
    writeFileSync(world.path('e.ndjson'), events.join('\n'));
    await uploaded(world, ['e.ndjson']);
    const lines = events.map((event, at) => rejected(at + 1, 'unknown', event));
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const settling = ['e.rejects.ndjson', '--settle'];
    const wrong = await verified(world, settling);
    expect([wrong.code, wrong.summary.settled]).toEqual([
      6,
      { accepted: 1, absent: 0, unknown: 2 },
    ]);
    const right = await verified(world, [...settling, '--timezone', 'Europe/London']);
    expect([right.code, right.summary.settled?.accepted]).toEqual([0, 3]);
  });

  it('returns no event at another hour among others that are found, as local times and epochs with a wrong time zone', async () => {
    const { world } = await serve({ timezone: 'Europe/Berlin' });
    const rows = ['u,Visit,2023-11-14 22:13:20', 'v,Visit,1700000000', 'w,Visit,1700004000'];
    writeFileSync(world.path('e.csv'), ['identity,evtName,ts', ...rows].join('\n'));
    const upload = ['upload', 'e.csv', '--type', 'event', '--timezone', 'Europe/Berlin'];
    expect((await world.run(upload)).code).toBe(0);
    const lines = rows.map((row, at) => {
      const [identity, evtName, ts] = row.split(',');
      return rejected(at + 1, 'unknown', JSON.stringify({ identity, evtName, ts }));
    });
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const settling = ['e.rejects.ndjson', '--type', 'event', '--settle'];
    for (const zone of ['UTC', 'Asia/Tokyo']) {
      const wrong = await verified(world, [...settling, '--timezone', zone]);
      expect([wrong.code, wrong.summary.settled]).toEqual([
        6,
        { accepted: 1, absent: 0, unknown: 2 },
      ]);
    }
    const right = await verified(world, [...settling, '--timezone', 'Europe/Berlin']);
    expect([right.code, right.summary.settled?.accepted]).toEqual([0, 3]);
  });

  it('does not look for rows of events among profiles, where none would be found', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    writeFileSync(world.path('e.csv'), `identity,ts,evtName\nu,${noon},Seen\n`);
    await uploaded(world, ['e.csv', '--type', 'event']);
    const row = rejected(2, 'unknown', `{"identity":"u","ts":"${noon}","evtName":"Seen"}`);
    writeFileSync(world.path('e.rejects.ndjson'), row);
    const argv = ['e.rejects.ndjson', '--settle', '-o', 'open.ndjson'];
    const wrong = await world.run(['verify', ...argv]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('add --type event')]);
    expect(existsSync(world.path('open.ndjson'))).toBe(false);
    const right = await verified(world, [...argv, '--type', 'event']);
    expect(right.summary.settled).toEqual({ accepted: 1, absent: 0, unknown: 0 });
  });

  it('settles the rows of a rejects file that is a CSV', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const header = 'identity,ts,evtName,n';
    await world.run(['upload', '-', '--type=event'], { stdin: `${header}\nu1,${noon},Seen,1\n` });
    const rows = [
      `u1,${noon},Seen,1,2,unknown: read ECONNRESET`,
      `u2,${noon},Seen,"two\nlines",3,unknown: read ECONNRESET`,
      `u3,bad,Seen,3,4,validate: not a time`,
    ];
    const rejects = [`${header},engagectl_line,engagectl_error`, ...rows, ''].join('\n');
    writeFileSync(world.path('bad.csv'), rejects);
    const settling = ['bad.csv', '--type', 'event', '--settle', '-o', 'open.ndjson'];
    const { code, summary } = await verified(world, settling);
    expect([code, summary.settled]).toEqual([3, { accepted: 1, absent: 1, unknown: 0 }]);
    const again = await world.run(['upload', 'open.ndjson', '--type', 'event', '--json']);
    expect([again.code, JSON.parse(again.stdout)]).toMatchObject([0, { accepted: 1 }]);
    const all = `${header}\nu1,${noon},Seen,1\nu2,${noon},Seen,"two\nlines"\n`;
    writeFileSync(world.path('all.csv'), all);
    expect((await verified(world, ['all.csv', '--type', 'event'])).code).toBe(0);
  });

  it('warns of records that were not sent, which its output lacks', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const events = [eventOf('u', 1, noon), eventOf('u', 2, noon), eventOf('u', 3, noon)];
    const stages = ['unknown', 'notSent', 'service'] as const;
    const lines = stages.map((stage, index) => rejected(index + 1, stage, events[index]!));
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const { code, stderr } = await verified(world, ['e.rejects.ndjson', '--settle']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('1 record of e.rejects.ndjson')]);
    expect(stderr).toContain('run the original command with that file, too');
  });

  it('reports an input without records of unknown outcome', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    writeFileSync(world.path('u.csv'), 'identity\nu1\n');
    const { code, stderr } = await verified(world, ['u.csv', '--settle']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('no record of unknown outcome')]);
  });

  it.each([
    ['cut off', (line: string) => line.slice(0, 60)],
    ['longer than --max-record-bytes', (line: string) => `${line}${' '.repeat(2000)}x`],
  ])('keeps a line unknown that is %s', async (_, damage) => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const events = [eventOf('u', 1, noon), eventOf('u', 2, noon + 1)];
    writeFileSync(world.path('e.ndjson'), `${events[0]!}\n`);
    await uploaded(world, ['e.ndjson']);
    const lines = events.map((event, at) => rejected(at + 1, 'unknown', event));
    const damaged = damage(lines[1]!);
    writeFileSync(world.path('e.rejects.ndjson'), `${lines[0]!}\n${damaged}\n`);
    const settling = ['e.rejects.ndjson', '--settle', '--max-record-bytes', '1000'];
    const { code, lines: open, summary } = await verified(world, settling);
    expect([code, summary.read]).toEqual([6, 2]);
    expect(summary.settled).toEqual({ accepted: 1, absent: 0, unknown: 1 });
    expect(open).toMatchObject([
      {
        source: 'e.rejects.ndjson',
        line: 2,
        stage: 'unknown',
        error: expect.stringContaining('its line cannot be read: ') as string,
        record: expect.stringContaining('"stage":"unknown"') as string,
      },
    ]);
  });

  it('keeps everything unknown if it cannot ask', async () => {
    const service = await serviceOf();
    const env = { ...service.env, ENGAGECTL_PASSCODE: 'wrong' };
    const world = makeWorld({ env });
    const lines = [rejected(1, 'unknown', eventOf('u', 1, noon)), rejected(2, 'unknown', '"text"')];
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const { code, summary } = await verified(world, ['e.rejects.ndjson', '--settle']);
    expect(code).toBe(4);
    expect(summary.settled).toEqual({ accepted: 0, absent: 0, unknown: 2 });
  });

  it('returns no event of which the account has an equal one without a user', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    // The service shows no identity of users of social networks.
    const shown = eventOf('77', 1, noon).replace('"identity"', '"FBID"');
    writeFileSync(world.path('e.ndjson'), `${shown}\n`);
    await uploaded(world, ['e.ndjson']);
    const lines = [eventOf('77', 1, noon), eventOf('77', 2, noon)];
    writeFileSync(
      world.path('e.rejects.ndjson'),
      lines.map((line, at) => rejected(at + 1, 'unknown', line)).join('\n'),
    );
    const { code, lines: open, summary } = await verified(world, ['e.rejects.ndjson', '--settle']);
    expect([code, summary.settled]).toEqual([6, { accepted: 0, absent: 1, unknown: 1 }]);
    expect(open.find(({ line }) => line === 1)).toMatchObject({
      stage: 'unknown',
      error: expect.stringContaining('does not show the user') as string,
    });
  });

  it('returns no event that the account shows under another identity of the user', async () => {
    const lying = await startLyingService((records) =>
      records.map((record) => ({ ...record, identity: String(record['identity']).toUpperCase() })),
    );
    const world = makeWorld({ env: lying.env });
    const [kept, never] = [eventOf('Ann', 1, noon), eventOf('bob', 2, noon)];
    writeFileSync(world.path('e.ndjson'), `${kept}\n`);
    await world.run(['upload', 'e.ndjson']);
    const lines = [rejected(1, 'unknown', kept), rejected(2, 'unknown', never)];
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const settling = ['e.rejects.ndjson', '--settle'];
    const { code, lines: open, summary } = await verified(world, settling, lying.honest);
    expect([code, summary.settled]).toEqual([6, { accepted: 0, absent: 1, unknown: 1 }]);
    expect(open.toSorted((a, b) => a.line - b.line)).toMatchObject([
      { line: 1, stage: 'unknown', error: expect.stringContaining('another identity') as string },
      { line: 2, stage: 'notSent' },
    ]);
  });

  it.each<[string, (n: number) => object, object]>([
    [
      'two identities of one user',
      (n) => ({ identity: `m${n}` }),
      { accepted: 1, absent: 0, unknown: 1 },
    ],
    [
      'identity and device of one user',
      (n) => (n === 1 ? { identity: 'm1' } : { objectId: 'device' }),
      { accepted: 2, absent: 0, unknown: 0 },
    ],
    [
      'properties that the service stores alike',
      (n) => ({ identity: 'm1', evtData: n === 1 ? {} : { Note: null } }),
      { accepted: 1, absent: 0, unknown: 1 },
    ],
  ])(
    'returns none of two events that both arrived and look alike in the account: %s',
    async (_what, part, settled) => {
      const lying = await startLyingService((records) =>
        records.map((record) => ('evtName' in record ? { ...record, evtData: {} } : record)),
      );
      const world = makeWorld({ env: lying.env });
      const users = ['m1', 'm2'].map(userOfDevice);
      const events = [1, 2].map((n) =>
        JSON.stringify({
          ...(JSON.parse(eventOf('', 1, noon)) as object),
          evtData: {},
          identity: undefined,
          ...part(n),
        }),
      );
      for (const record of [...users, ...events]) {
        writeFileSync(world.path('e.ndjson'), `${record}\n`);
        await uploaded(world, ['e.ndjson']);
      }
      const lines = events.map((event, at) => rejected(at + 1, 'unknown', event));
      writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
      const { summary } = await verified(world, ['e.rejects.ndjson', '--settle'], lying.honest);
      expect(summary.settled).toEqual(settled);
    },
  );

  it.each(['letters', 'identity'])(
    'returns no event whose user has other %s in the account, and that has other properties',
    async (what) => {
      const lying = await startLyingService((records) =>
        records.map((record) =>
          'evtName' in record
            ? { ...record, evtData: { n: 'cut' }, ...(what === 'letters' && { identity: 'ANN' }) }
            : record,
        ),
      );
      const world = makeWorld({ env: lying.env });
      const [kept, never] = [eventOf('Ann', 1, noon), eventOf('bob', 1, noon)];
      for (const record of [
        ...(what === 'identity' ? ['m1', 'Ann'].map(userOfDevice) : []),
        kept,
      ]) {
        writeFileSync(world.path('e.ndjson'), `${record}\n`);
        await world.run(['upload', 'e.ndjson']);
      }
      const lines = [rejected(1, 'unknown', kept), rejected(2, 'unknown', never)];
      writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
      const settling = ['e.rejects.ndjson', '--settle'];
      const { lines: open, summary } = await verified(world, settling, lying.honest);
      expect(summary.settled).toEqual({ accepted: 0, absent: 1, unknown: 1 });
      expect(open.find(({ line }) => line === 2)).toMatchObject({ stage: 'notSent' });
    },
  );

  it('returns no event of a user whom the account shows by another of its identities', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const [kept, never] = [eventOf('m2', 1, noon), eventOf('m3', 2, noon)];
    for (const record of [...['m1', 'm2'].map(userOfDevice), kept, eventOf('other', 1, noon)]) {
      writeFileSync(world.path('e.ndjson'), `${record}\n`);
      await uploaded(world, ['e.ndjson']);
    }
    const lines = [kept, never].map((event, at) => rejected(at + 1, 'unknown', event));
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const { code, lines: open, summary } = await verified(world, ['e.rejects.ndjson', '--settle']);
    expect([code, summary.settled]).toEqual([6, { accepted: 0, absent: 1, unknown: 1 }]);
    expect(open.toSorted((a, b) => a.line - b.line)).toMatchObject([
      { line: 1, stage: 'unknown', error: expect.stringContaining('another identity') as string },
      { line: 2, stage: 'notSent' },
    ]);
  });

  it('returns no event whose user is unknown, and which the account shows of somebody else', async () => {
    const lying = await startLyingService((records) =>
      records.map((record) => ({
        ...record,
        identity: String(record['identity']).normalize('NFC'),
      })),
    );
    const world = makeWorld({ env: lying.env });
    const decomposed = 'jose\u0301';
    const kept = eventOf(decomposed, 1, noon);
    writeFileSync(world.path('e.ndjson'), `${kept}\n`);
    await world.run(['upload', 'e.ndjson']);
    const never = [eventOf(decomposed, 2, noon), eventOf(decomposed, 1, noon + 1)];
    const lines = [kept, ...never].map((event, at) => rejected(at + 1, 'unknown', event));
    writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
    const settling = ['e.rejects.ndjson', '--settle'];
    const { code, lines: open, summary } = await verified(world, settling, lying.honest);
    expect([code, summary.settled]).toEqual([6, { accepted: 0, absent: 2, unknown: 1 }]);
    expect(open.find(({ line }) => line === 1)).toMatchObject({
      stage: 'unknown',
      error: expect.stringContaining('does not have the user') as string,
    });
  });

  it.each([
    [400, 2, 'Invalid event date range'],
    [400, 2, 'Invalid event : Charged date range'],
    [400, 2, 'Invalid event Charged: range too old'],
    [400, 2, 'Invalid event "Charged" for the range'],
    [400, 2, 'Invalid event Charged (service busy)'],
    [401, 4, 'Invalid event token'],
    [502, 5, '<h1>invalid event frame</h1>'],
  ])(
    'takes no failure that mentions an invalid event for an unknown event: HTTP %i',
    async (status, exit, words) => {
      const { service, env } = await serviceOf();
      const world = makeWorld({ env });
      const event = eventOf('u', 1, noon);
      writeFileSync(world.path('e.ndjson'), `${event}\n`);
      await uploaded(world, ['e.ndjson']);
      writeFileSync(world.path('e.rejects.ndjson'), rejected(1, 'unknown', event));
      await service.fault({ answer: { status, body: words } });
      const argv = ['e.rejects.ndjson', '--settle', '--max-attempts', '1'];
      const { code, lines, summary } = await verified(world, argv);
      expect([code, lines]).toMatchObject([exit, [{ stage: 'unknown' }]]);
      expect(summary.settled).toEqual({ accepted: 0, absent: 0, unknown: 1 });
      // It is still remembered as sent.
      const { stderr } = await world.run(['upload', 'e.ndjson', '--resume']);
      expect(stderr).toContain('1 already sent before');
    },
  );

  it.each([
    ['another year', [20260101], 7, 'E-ANSWER'],
    ['another year between two of the day', [20261024, 20260101, 20261024], 7, 'E-ANSWER'],
    ['the next day', [20261024, 20261025, 20261024], 6, 'events of other days'],
    ['no day that can be read', [0], 6, 'events of other days'],
  ] as const)(
    'takes no answer with an event of %s for a proof that others are missing',
    async (_name, days, exit, words) => {
      const { service, env } = await serviceOf();
      const world = makeWorld({ env });
      const event = eventOf('u', 1, noon);
      writeFileSync(world.path('e.ndjson'), `${event}\n`);
      await uploaded(world, ['e.ndjson']);
      const other = eventOf('u', 1, noon, 'Other');
      const lines = [rejected(1, 'unknown', event), rejected(2, 'unknown', other)];
      writeFileSync(world.path('e.rejects.ndjson'), lines.join('\n'));
      const records = days.map((day, n) => ({
        profile: { identity: `other${n}` },
        ...(day > 0 && { ts: Number(`${day}120000`) }),
      }));
      const answer = { body: { status: 'success', records } };
      await service.fault({ endpoint: 'events', times: 1, answer });
      const settling = ['e.rejects.ndjson', '--settle'];
      const { code, lines: open, summary, stderr } = await verified(world, settling);
      expect([code, summary.settled?.absent ?? 0], stderr).toEqual([exit, exit === 7 ? 0 : 1]);
      expect(open.filter(({ line }) => line === 1)).toMatchObject([{ stage: 'unknown' }]);
      expect(`${stderr}${JSON.stringify(open)}`).toContain(words);
      const again = await verified(world, settling);
      expect(again.summary.settled).toEqual({ accepted: 1, absent: 1, unknown: 0 });
    },
  );

  it('does not count a demerge, or a record without a value, as accepted', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    await world.run(['upload', '-'], { stdin: 'identity,City\nu1,Oslo\n' });
    writeFileSync(world.path('d.rejects.ndjson'), rejected(1, 'unknown', '{"identity":"u1"}'));
    const { code, lines } = await verified(world, ['d.rejects.ndjson', '--settle']);
    expect(code).toBe(6);
    expect(lines).toMatchObject([{ stage: 'unknown' }]);
  });

  it('leaves an event unknown whose time was that of its upload', async () => {
    const { service, world } = await serve();
    writeFileSync(world.path('e.csv'), 'identity,evtName\nu1,Charged\n');
    await service.fault({ times: 1, action: 'reset-after' });
    const flags = ['--type=event', '--ts=now'];
    expect((await world.run(['upload', 'e.csv', ...flags])).code).toBe(6);
    const settling = ['e.csv.rejects.ndjson', '--settle', '-o', 'open.ndjson', ...flags];
    const { code, summary } = await verified(world, settling);
    expect([code, summary.settled]).toEqual([6, { accepted: 0, absent: 0, unknown: 1 }]);
    expect((await world.run(['upload', 'open.ndjson', ...flags])).code).toBe(6);
    expect(written(service)).toHaveLength(1);
  });

  it('requires the mapping flags of the upload for CSV rows', async () => {
    const { env } = await serviceOf();
    const world = makeWorld({ env });
    const row = '{"Id":"u1","When":"2026-10-24T12:00:00Z","n":"1"}';
    writeFileSync(world.path('e.rejects.ndjson'), rejected(2, 'unknown', row));
    const flags = ['--type=event', '--identity=Id', '--map=When=ts', '--event-name=Charged'];
    await world.run(['upload', '-', ...flags], { stdin: 'Id,When,n\nu1,2026-10-24T12:00:00Z,1\n' });
    const { code, summary } = await verified(world, ['e.rejects.ndjson', '--settle', ...flags]);
    expect([code, summary.settled]).toEqual([0, { accepted: 1, absent: 0, unknown: 0 }]);
  });

  it('returns rows of a CSV export as such, so that their properties are sent', async () => {
    const { service, world } = await serve();
    const rows = 'ann,"[""ann""]",Oslo,5\nbob,,Rome,1\n';
    const header = 'identity,all_identities,profileData.City,profileData.Count.$incr\n';
    writeFileSync(world.path('x.csv'), `${header}${rows}`);
    await service.fault({ times: 1, action: 'reset-before' });
    expect((await world.run(['upload', 'x.csv', '--max-attempts', '1'])).code).toBe(6);
    const settle = ['verify', 'x.csv.rejects.ndjson', '--settle', '-o', 'open.ndjson'];
    expect((await world.run(settle)).code).toBe(3);
    expect((await world.run(['upload', 'open.ndjson'])).code).toBe(0);
    const sent = written<{ identity: string }>(service).at(-1)!;
    expect(sent.toSorted((a, b) => (a.identity < b.identity ? -1 : 1))).toMatchObject([
      { identity: 'ann', profileData: { City: 'Oslo', Count: { $incr: 5 } } },
      { identity: 'bob', profileData: { City: 'Rome', Count: { $incr: 1 } } },
    ]);
  });
});
