import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../src/testing.js';
import { startRedis, stores, type TestStore } from '../support/processes/queue-stores.js';
import { BinProcess } from '../support/processes/bin-process.js';
import { runs } from '../support/property-runs.js';
import { written } from '../support/serve.js';
import { until } from '../support/until.js';
import { changeRun, makeFleet, passcode } from './fleet.js';

// A fleet compares each event of an input with those of all runs in its work directory. Workers run in this process.

const event = (name: string, n = 0) => ({
  type: 'event',
  identity: name,
  ts: 1_700_000_000 + n,
  evtName: 'E',
  evtData: { n: 1.5 },
});
const ndjson = (events: readonly object[]): string =>
  events.map((each) => `${JSON.stringify(each)}\n`).join('');

/** Members of a line of a rejects file. */
const reject = { source: 'e.ndjson', line: 1, error: 'no' };

describe.skipIf(stores[0]?.name !== 'Redis')('with a Redis', () => {
  let store: TestStore;
  beforeAll(async () => {
    store = await startRedis();
  });
  afterAll(async () => {
    await store[Symbol.asyncDispose]();
  });

  async function fleetAt(service: TestService) {
    await store.wipe();
    await store.start();
    const fleet = await makeFleet(store, service.url);
    const submit = async (file: string, ...more: string[]) => {
      const argv = ['submit', 'upload', file, '--shards', '2', '--work-dir', fleet.workDir];
      return fleet.run(...argv, ...more);
    };
    const put = (file: string, content: string | Uint8Array) =>
      writeFileSync(fleet.world.path(file), content);
    const drain = async () => expect(await fleet.run('work', '--drain')).toMatchObject({ code: 0 });
    const collected = async (run: string) => {
      const { code, stdout } = await fleet.run('collect', run.trim(), '--json');
      return { code, summary: JSON.parse(stdout) as Record<string, number> };
    };
    return { fleet, submit, put, drain, collected };
  }

  const arrived = (service: TestService): string[] =>
    written(service)
      .flat()
      .map(({ identity, ts }) => `${String(identity)} ${String(ts)}`)
      .toSorted();

  it('the same file with options that make other events of it is refused', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { submit, put, drain } = await fleetAt(service);
    put('e.csv', 'identity,ts,evtName,n\nA,2024-01-02T10:00:00,E,1\nB,2024-01-02T11:00:00,E,2\n');
    const events = ['--type', 'event', '--timezone', 'Europe/Berlin'];
    const first = await submit('e.csv', ...events);
    expect(first.code, first.stderr).toBe(0);
    await drain();
    expect((await submit('e.csv', ...events)).code).toBe(0);
    expect((await submit('e.csv', ...events, '--pin', 'digest')).code).toBe(0);
    for (const more of [
      ['--type', 'event'],
      [...events, '--types', 'n:integer'],
      [...events, '--types', 'n:integer', '--resume'],
      [...events, '--set', 'Source=x', '--resume'],
    ]) {
      const refused = await submit('e.csv', ...more);
      expect([refused.code, refused.stdout], refused.stderr).toEqual([8, '']);
      expect(refused.stderr).toContain(`run ${first.stdout.trim()} made other events`);
    }
    await drain();
    expect(arrived(service)).toHaveLength(2);
    const again = await submit('e.csv', ...events, '--types', 'n:integer', '--again');
    expect(again.code, again.stderr).toBe(0);
    await drain();
    expect(arrived(service)).toHaveLength(4);
  });

  it('a corrected file is refused, and --resume sends only the events that were not submitted', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put, drain, collected } = await fleetAt(service);
    put('e.ndjson', `${ndjson([event('A'), event('B')])}{"bad\n${ndjson([event('D')])}`);
    const first = await submit('e.ndjson');
    expect(first.code, first.stderr).toBe(0);
    await drain();
    put('e.ndjson', ndjson(['A', 'B', 'C', 'D'].map((name) => event(name))));
    const refused = await submit('e.ndjson');
    expect([refused.code, refused.stdout]).toEqual([8, '']);
    expect(refused.stderr).toContain(
      'error E-ALREADY-SENT: 3 of 4 events of e.ndjson were already submitted',
    );
    expect(refused.stderr).toMatch(
      new RegExp(
        `run ${first.stdout.trim()} submitted them from e\\.ndjson on \\d{4}-\\d\\d-\\d\\d; nothing was`,
      ),
    );
    expect(refused.stderr).toContain(
      '--resume sends only the events that were not submitted; --again',
    );
    expect(readdirSync(fleet.workDir).toSorted()).toEqual(
      [first.stdout.trim(), 'events'].toSorted(),
    );

    const resumed = await submit('e.ndjson', '--resume');
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(resumed.stderr).toContain('3 events will not be sent again: run');
    await drain();
    const { code, summary } = await collected(resumed.stdout);
    expect(code).toBe(0);
    expect(summary).toMatchObject({
      read: 4,
      accepted: 1,
      alreadySent: 3,
      rejected: 0,
      unknown: 0,
    });
    const status = await fleet.run('status', resumed.stdout.trim(), '--json');
    expect(JSON.parse(status.stdout)).toMatchObject({
      exitCode: 0,
      figures: { read: 4, accepted: 1, alreadySent: 3 },
    });
    expect(arrived(service)).toEqual(['A', 'B', 'C', 'D'].map((name) => `${name} 1700000000`));

    const again = await submit('e.ndjson', '--again');
    expect(again.code, again.stderr).toBe(0);
    await drain();
    expect(arrived(service)).toHaveLength(8);
  });

  it('events are recognized in another format, order, encoding and notation', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { submit, put } = await fleetAt(service);
    put('e.ndjson', ndjson([event('Zoë'), event('B')]));
    expect(await submit('e.ndjson')).toMatchObject({ code: 0 });
    const rows = 'evtName,n,identity,ts\r\nE,1.50,B,1700000000\r\nE,1.5,Zo\u00eb,1700000000\r\n';
    put('e.csv', Buffer.from(rows, 'latin1'));
    const types = ['--type', 'event', '--types', 'n:number', '--encoding', 'windows-1252'];
    const csv = await submit('e.csv', ...types);
    expect(csv.stderr).toContain('2 of 2 events of e.csv were already submitted');
    put('e.json.gz', gzipSync(JSON.stringify([event('C'), event('B')], null, 2)));
    const json = await submit('e.json.gz');
    expect(json.stderr).toContain('1 of 2 events of e.json.gz was already submitted');
  });

  it('copies are counted: of three in the input, of which two were submitted, one is sent', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { submit, put, drain } = await fleetAt(service);
    put('two.ndjson', ndjson([event('A'), event('A')]));
    expect(await submit('two.ndjson')).toMatchObject({ code: 0 });
    put('three.ndjson', ndjson([event('A'), event('A'), event('A')]));
    expect(await submit('three.ndjson', '--resume')).toMatchObject({ code: 0 });
    await drain();
    expect(arrived(service)).toHaveLength(3);
    put('four.ndjson', ndjson([event('A'), event('A'), event('A'), event('A')]));
    expect((await submit('four.ndjson')).stderr).toContain('3 of 4 events of four.ndjson');
  });

  it('events after profiles are recognized, and profiles among them are sent again', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { submit, put, drain } = await fleetAt(service);
    const profile = (n: number) => ({ type: 'profile', identity: `u${n}`, profileData: { n } });
    const profiles = ndjson(Array.from({ length: 2000 }, (_, n) => profile(n)));
    put('mixed.ndjson', profiles + ndjson([event('A')]));
    expect(await submit('mixed.ndjson')).toMatchObject({ code: 0 });
    put('mixed.ndjson', profiles + ndjson([event('A'), event('B')]));
    expect((await submit('mixed.ndjson')).stderr).toContain('1 of 2 events of mixed.ndjson was');
    expect(await submit('mixed.ndjson', '--resume')).toMatchObject({ code: 0 });
    await drain();
    expect(arrived(service).filter((each) => each.includes('17000'))).toHaveLength(2);
    expect(arrived(service)).toHaveLength(4002);
  });

  it.each([
    ['NDJSON', (stage: string) => `${JSON.stringify({ ...reject, stage, record: event('A') })}\n`],
    [
      'CSV',
      (stage: string) =>
        `identity,ts,evtName,n,engagectl_error\nA,1700000000,E,1.5,${stage === 'service' ? 'service 515' : stage}: no\n`,
    ],
  ])('events of a rejects file (%s) are sent if they were not processed', async (format, text) => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { submit, put, drain } = await fleetAt(service);
    put('e.ndjson', ndjson([event('A')]));
    expect(await submit('e.ndjson')).toMatchObject({ code: 0 });
    const file = `rejects.${format.toLowerCase()}`;
    const types = format === 'CSV' ? ['--type', 'event', '--types', 'n:number'] : [];
    const drop = format === 'CSV' ? ['--drop', 'engagectl_error'] : [];
    const resend = async (stage: string, ...more: string[]) => {
      put(file, text(stage));
      return submit(file, ...types, ...drop, ...more);
    };
    expect((await resend('validate')).stderr).toContain(`1 of 1 event of ${file} was already`);
    const resent = await resend('service');
    expect(resent.code, resent.stderr).toBe(0);
    const again = await resend('service', '--yes');
    expect([again.code, again.stderr]).toEqual([8, expect.stringContaining('the same content')]);
    expect(await resend('notSent')).toMatchObject({ code: 0 });
    expect(await resend('unknown', '--retry-unknown')).toMatchObject({ code: 0 });
    await drain();
    expect(arrived(service)).toHaveLength(4);
  });

  it('of two submissions at the same moment with common events, one is refused', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { submit, put } = await fleetAt(service);
    for (let round = 0; round < 5; round += 1) {
      put('a.ndjson', ndjson([event('A', round), event('common', round)]));
      put('b.ndjson', ndjson([event('common', round), event('B', round)]));
      const both = await Promise.all([submit('a.ndjson'), submit('b.ndjson')]);
      expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 8]);
    }
  });

  it('the same command given twice at the same moment submits one run', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { submit, put, drain } = await fleetAt(service);
    const names = ['a.ndjson', 'a.ndjson', 'b.ndjson', 'a.ndjson'];
    for (let round = 0; round < 4; round += 1) {
      put('a.ndjson', ndjson([event('A', round), event('common', round)]));
      put('b.ndjson', ndjson([event('common', round), event('B', round)]));
      const all = await Promise.all(names.map(async (name) => submit(name, '--resume')));
      expect(all.map(({ code, stderr }) => (code === 0 ? '' : stderr))).toEqual(['', '', '', '']);
      expect(new Set(all.map(({ stdout }) => stdout)).size).toBe(2);
    }
    await drain();
    expect(arrived(service)).toHaveLength(4 * 3);
  });

  it('of three submissions at the same moment with --resume, each common event is sent once', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { submit, put, drain } = await fleetAt(service);
    const names = ['a', 'b', 'c'];
    for (const name of names) put(`${name}.ndjson`, ndjson([event(name), event('common')]));
    const all = await Promise.all(names.map(async (name) => submit(`${name}.ndjson`, '--resume')));
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0]);
    await drain();
    expect(arrived(service)).toEqual([...names, 'common'].map((name) => `${name} 1700000000`));
  });

  it('submitting the same command again continues its run, also when the queue and fleet.json are lost', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put, drain } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A'), event('A')]));
    put('b.ndjson', ndjson([event('A'), event('A'), event('A'), event('B')]));
    const a = await submit('a.ndjson');
    const b = await submit('b.ndjson', '--resume');
    await store.wipe();
    await store.start();
    rmSync(path.join(fleet.workDir, a.stdout.trim(), 'fleet.json'));
    writeFileSync(path.join(fleet.workDir, b.stdout.trim(), 'fleet.json'), '{"run":');
    expect(await submit('a.ndjson')).toMatchObject({ code: 0, stdout: a.stdout });
    expect(await submit('b.ndjson', '--resume')).toMatchObject({ code: 0, stdout: b.stdout });
    await drain();
    expect(arrived(service)).toHaveLength(4);
  });

  it('workers refuse a changed list of events that were submitted before', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put, drain } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A')]));
    put('b.ndjson', ndjson([event('A'), event('B')]));
    await submit('a.ndjson');
    await drain();
    const { stdout } = await submit('b.ndjson', '--resume');
    const bits = path.join(fleet.workDir, stdout.trim(), 'events', 'already-sent.bits');
    const signed = readFileSync(bits);
    const changes = [
      () => writeFileSync(bits, Buffer.alloc(signed.length, 255)),
      () => truncateSync(bits, 3 * 1024 ** 3),
      () => mkdirSync(bits),
    ];
    for (const change of changes) {
      change();
      await fleet.run('retry', stdout.trim());
      await drain();
      const status = await fleet.run('status', stdout.trim());
      expect([status.code, status.stderr]).toEqual([8, expect.stringContaining('E-UNTRUSTED')]);
      expect(status.stderr).toContain('already-sent.bits is not the file that was signed');
      expect(arrived(service)).toEqual(['A 1700000000']);
      if (change !== changes[0]) rmSync(bits, { recursive: true });
    }
    expect(await submit('b.ndjson', '--resume')).toMatchObject({ code: 0, stdout });
    await drain();
    expect(arrived(service)).toEqual(['A 1700000000', 'B 1700000000']);
  });

  /** A submission with more events than one whose shards are in no queue: that run, and how to submit again. */
  async function lost(service: TestService, ...pin: string[]) {
    const at = await fleetAt(service);
    at.put('a.ndjson', ndjson([event('A'), event('A')]));
    const run = (await at.submit('a.ndjson', ...pin)).stdout.trim();
    const empty = async () => {
      await store.wipe();
      await store.start();
    };
    at.put('b.ndjson', ndjson([event('A'), event('A'), event('B')]));
    const note = `run ${run}: 2 of 2 shards were not in the queue and are put back`;
    return { ...at, run, empty, note, resume: async () => at.submit('b.ndjson', '--resume') };
  }

  it('shards of a run that others rely on are put back when the same command is submitted again', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { resume, empty, drain, note } = await lost(service);
    const first = await resume();
    expect([first.code, first.stderr]).toEqual([0, expect.not.stringContaining('put back')]);
    await empty();
    const again = await resume();
    expect([again.code, again.stdout]).toEqual([0, first.stdout]);
    expect(again.stderr).toContain(note);
    await drain();
    expect(arrived(service)).toHaveLength(3);
    await empty();
    expect((await resume()).stderr).not.toContain('put back');
    await drain();
    expect(arrived(service)).toHaveLength(3);
  });

  it('nothing is submitted if the version of a lost run was changed', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, run, resume, empty, drain } = await lost(service);
    changeRun(fleet, run, { version: 5 });
    await empty();
    expect((await resume()).code).not.toBe(0);
    await drain();
    expect(arrived(service)).toEqual([]);
  });

  it('a canceled run stays canceled when the queue lost it, and one whose folder was removed counts no more', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, run, resume, empty, drain } = await lost(service);
    expect((await fleet.run('cancel', run)).code).toBe(0);
    await empty();
    const canceled = await resume();
    expect([canceled.code, canceled.stderr]).toEqual([0, expect.not.stringContaining('put back')]);
    await drain();
    expect(arrived(service)).toEqual(['B 1700000000']);
    rmSync(path.join(fleet.workDir, run), { recursive: true });
    expect(await resume()).toMatchObject({ code: 0, stdout: canceled.stdout });
  });

  it('a lost run is put back only with the input that was submitted', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, put, run, resume, empty, drain, note } = await lost(service, '--pin', 'digest');
    await empty();
    const damages = [
      () => put('a.ndjson', ndjson([event('C')])),
      () => rmSync(fleet.world.path('a.ndjson')),
    ];
    for (const damage of damages) {
      damage();
      const { code, stdout, stderr } = await resume();
      expect([code, stdout]).toEqual([8, '']);
      expect(stderr).toContain(`a.ndjson has changed since run ${run} was submitted`);
      expect(stderr).toMatch(new RegExp(`fleet cancel ${run} --work-dir .*${fleet.workDir}`));
    }
    put('a.ndjson', ndjson([event('A'), event('A')]));
    const restored = await resume();
    expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining(note)]);
    await drain();
    expect(arrived(service)).toHaveLength(3);
  });

  it('a run whose fleet.json is lost stops submissions that rely on it, until it is submitted again', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, run, resume, drain } = await lost(service);
    rmSync(path.join(fleet.workDir, run, 'fleet.json'));
    const { code, stdout, stderr } = await resume();
    expect([code, stdout]).toEqual([9, '']);
    expect(stderr).toContain(`submit the command of run ${run} again`);
    expect(await submit('a.ndjson')).toMatchObject({ code: 0, stdout: `${run}\n` });
    expect((await resume()).code).toBe(0);
    await drain();
    expect(arrived(service)).toHaveLength(3);
  });

  it('a submission that was stopped before it was registered blocks no other, and cannot be retried', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put, drain } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A')]));
    const { stdout } = await submit('a.ndjson');
    await store.wipe(); // as after a kill between fleet.json and the registration
    await store.start();
    const [account = ''] = readdirSync(path.join(fleet.workDir, 'events'));
    rmSync(path.join(fleet.workDir, 'events', account, '1.json'));
    const leftover = path.join(fleet.workDir, stdout.trim(), 'events', '.engagectl-0.tmp');
    mkdirSync(leftover);
    utimesSync(leftover, 0, 0);
    put('b.ndjson', ndjson([event('A'), event('B')]));
    const other = await submit('b.ndjson');
    expect(other.code, other.stderr).toBe(0);
    const retried = await fleet.run('retry', stdout.trim(), '--work-dir', fleet.workDir);
    expect([retried.code, retried.stderr]).toEqual([
      expect.any(Number),
      expect.stringContaining('was not submitted'),
    ]);
    expect(retried.code).not.toBe(0);
    expect((await submit('a.ndjson')).stderr).toContain('1 of 1 event of a.ndjson was already');
    expect(existsSync(leftover)).toBe(false);
    await drain();
    expect(arrived(service)).toHaveLength(2);
  });

  it('a run of an older version is compared by its content, and a note says so', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A')]));
    const { stdout } = await submit('a.ndjson');
    const run = stdout.trim();
    changeRun(fleet, run, { version: 3, events: undefined });
    const [account = ''] = readdirSync(path.join(fleet.workDir, 'events'));
    rmSync(path.join(fleet.workDir, 'events', account), { recursive: true });
    put('c.ndjson', ndjson([event('A'), event('C')]));
    expect((await submit('c.ndjson')).stderr).toContain('contains the first 1 line of c.ndjson');
    put('b.ndjson', ndjson([event('B'), event('A')]));
    const other = await submit('b.ndjson');
    expect([other.code, other.stderr]).toEqual([
      0,
      expect.stringContaining(
        `run ${run} is of an older version: its input is compared as a whole`,
      ),
    ]);
  });

  it('--resume is refused for profiles, on which it has no effect', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { submit, put } = await fleetAt(service);
    put('users.ndjson', '{"type":"profile","identity":"A","profileData":{"n":1}}\n');
    const { code, stderr } = await submit('users.ndjson', '--resume');
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('--resume has no effect in a fleet'),
    ]);
  });

  it('a link in place of the register of events is refused', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put } = await fleetAt(service);
    mkdirSync(fleet.workDir, { mode: 0o700 });
    mkdirSync(fleet.world.path('elsewhere'));
    symlinkSync(fleet.world.path('elsewhere'), path.join(fleet.workDir, 'events'));
    put('a.ndjson', ndjson([event('A')]));
    expect((await submit('a.ndjson')).stderr).toContain('error E-UNTRUSTED: ');
    expect(readdirSync(fleet.world.path('elsewhere'))).toEqual([]);
  });

  it('a damaged register of events stops the submission', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A')]));
    put('b.ndjson', ndjson([event('A'), event('B')]));
    await submit('a.ndjson');
    const register = path.join(fleet.workDir, 'events', readdirSync(`${fleet.workDir}/events`)[0]!);
    const entry = path.join(register, '1.json');
    const whole = JSON.parse(readFileSync(entry, 'utf8')) as { events: object };
    const damages: [file: string, content: object][] = [
      [entry, { ...whole, events: null }],
      [entry, { ...whole, events: { ...whole.events, submitted: 5 } }],
      [entry, { ...whole, events: { ...whole.events, count: '1' } }],
      [entry, { ...whole, otherFiles: undefined }],
      [entry, { ...whole, file: 5 }],
      [path.join(register, '9007199254740992.json'), whole],
      [path.join(register, 'secret.json'), { secret: 'ab' }],
    ];
    for (const [file, content] of damages) {
      const before = existsSync(file) ? readFileSync(file) : undefined;
      writeFileSync(file, JSON.stringify(content));
      const { code, stderr } = await submit('b.ndjson', '--resume');
      expect([code, stderr]).toEqual([
        9,
        expect.stringContaining(`E-FILE-READ: cannot read ${file}`),
      ]);
      if (before) writeFileSync(file, before);
      else rmSync(file);
    }
    writeFileSync(path.join(register, '999999999.json'), JSON.stringify(whole));
    const { stdout } = await submit('b.ndjson', '--resume');
    expect(await submit('b.ndjson', '--resume')).toMatchObject({ code: 0, stdout });
  });

  it('a register without its secret, as of an earlier version, stops the submission', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A')]));
    put('b.ndjson', ndjson([event('A'), event('B')]));
    await submit('a.ndjson');
    const register = path.join(fleet.workDir, 'events', readdirSync(`${fleet.workDir}/events`)[0]!);
    const secret = path.join(register, 'secret.json');
    const whole = readFileSync(secret);
    rmSync(secret);
    writeFileSync(path.join(register, 'seed.json'), '{"seed":[1,2]}');
    for (const flags of [[], ['--resume']]) {
      const { code, stderr } = await submit('b.ndjson', ...flags);
      expect([code, stderr]).toEqual([9, expect.stringContaining(`cannot read ${secret}`)]);
      expect(stderr).toContain('submit to another --work-dir');
    }
    writeFileSync(secret, whole);
    expect(await submit('b.ndjson', '--resume')).toMatchObject({ code: 0 });
  });

  it('no event is left out because of a run that somebody without the passcode registered', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put, drain } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A')]));
    put('b.ndjson', ndjson([event('A'), event('B')]));
    const { stdout: a } = await submit('a.ndjson');
    await drain();
    const register = path.join(fleet.workDir, 'events', readdirSync(`${fleet.workDir}/events`)[0]!);
    const entry = path.join(register, '1.json');
    const whole = JSON.parse(readFileSync(entry, 'utf8')) as { events: object };
    const forge = (run: string, events: object, name = '1.json') =>
      writeFileSync(path.join(register, name), JSON.stringify({ ...whole, run, events }));
    const refusal = async () => {
      const { code, stderr } = await submit('b.ndjson', '--resume');
      expect([code, stderr]).toEqual([8, expect.stringContaining('E-UNTRUSTED')]);
      expect(stderr).toContain(`1.json is not signed by this account's passcode`);
      expect((await submit('b.ndjson')).stderr).toContain('1 of 2 events of b.ndjson was already');
    };
    // The archive of all events of the input, as that of a run that nobody submitted.
    forge(a.trim(), { ...whole.events, count: 2 });
    await refusal();
    mkdirSync(path.join(fleet.workDir, '0123456789ab', 'events'), { recursive: true });
    cpSync(
      path.join(fleet.workDir, a.trim(), 'events', 'sent.archive'),
      path.join(fleet.workDir, '0123456789ab', 'events', 'sent.archive'),
    );
    forge('0123456789ab', whole.events);
    await refusal();
    writeFileSync(entry, JSON.stringify(whole));
    // An entry of the input's own run, before all others, is not believed either.
    const { stdout: b } = await submit('b.ndjson', '--resume');
    rmSync(path.join(fleet.workDir, b.trim()), { recursive: true });
    rmSync(path.join(register, '2.json'));
    forge(b.trim(), whole.events, '0.json');
    await store.wipe();
    await store.start();
    expect((await submit('b.ndjson')).stderr).toContain('1 of 2 events of b.ndjson was already');
    // With another secret, the fingerprints are others.
    const secret = path.join(register, 'secret.json');
    const signed = readFileSync(secret);
    writeFileSync(secret, '{"secret":[1,2,3,4]}');
    put('c.ndjson', ndjson([event('C')]));
    expect(await submit('c.ndjson', '--resume')).toMatchObject({ code: 0 });
    writeFileSync(secret, signed);
    put('d.ndjson', ndjson([event('C'), event('D')]));
    expect(await submit('d.ndjson', '--resume')).toMatchObject({ code: 0 });
    await drain();
    expect(arrived(service).filter((each) => each.startsWith('A'))).toHaveLength(1);
  });

  it('no event is left out because of an archive that was replaced', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A')]));
    put('b.ndjson', ndjson([event('B')]));
    const runs = [];
    for (const file of ['a.ndjson', 'b.ndjson']) runs.push((await submit(file)).stdout.trim());
    const [a, b] = runs.map((run) => path.join(fleet.workDir, run, 'events', 'sent.archive'));
    cpSync(b!, a!);
    put('c.ndjson', ndjson([event('B'), event('C')]));
    const { code, stderr } = await submit('c.ndjson', '--resume');
    expect([code, stderr]).toEqual([8, expect.stringContaining('error E-LEDGER: the events of')]);
    expect(stderr).toContain('somebody else wrote or changed it');
  });

  it('after a change of the passcode, runs are compared again when their commands were submitted again', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A')]));
    put('b.ndjson', ndjson([event('A'), event('B')]));
    const first = await submit('a.ndjson');
    const second = await submit('b.ndjson', '--resume');
    await service.close();
    const port = Number(new URL(service.url).port);
    const rotated = 'another-secret-of-the-fleet';
    await using renewed = await startService({ accountId: 'ACCOUNT-1', passcode: rotated, port });
    const later = async (...argv: string[]) =>
      fleet.world.run(['fleet', ...argv], { env: { ENGAGECTL_PASSCODE: rotated } });
    const options = ['--shards', '2', '--work-dir', fleet.workDir];
    const b = ['submit', 'upload', 'b.ndjson', ...options, '--resume'];
    expect((await later(...b)).stderr).toContain('error E-UNTRUSTED: ');
    const a = await later('submit', 'upload', 'a.ndjson', ...options);
    expect([a.code, a.stdout]).toEqual([0, first.stdout]);
    expect(await later(...b)).toMatchObject({ code: 0, stdout: second.stdout });
    expect(await later('work', '--drain')).toMatchObject({ code: 0 });
    expect(arrived(renewed)).toEqual(['A 1700000000', 'B 1700000000']);
  });

  it('a damaged archive of another run stops the submission, and --again does not need it', async () => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A')]));
    const { stdout } = await submit('a.ndjson');
    writeFileSync(path.join(fleet.workDir, stdout.trim(), 'events', 'sent.archive'), 'x');
    put('b.ndjson', ndjson([event('B')]));
    const { stderr } = await submit('b.ndjson');
    expect(stderr).toContain(`error E-LEDGER: the events of run ${stdout.trim()} cannot be read`);
    expect(await submit('b.ndjson', '--again')).toMatchObject({ code: 0 });
  });

  it.each([
    ['its events are sorted', /\/events\/\.engagectl-/],
    ['its events are in place', /\/events\/sent\.archive$/],
    ['the run is written', /\/fleet\.json$/],
    ['the run is registered', /\/events\/[0-9a-f]{12}\/1\.json$/],
  ])('a submission that is killed when %s blocks nothing for good', async (_, made) => {
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, submit, put, drain } = await fleetAt(service);
    put('a.ndjson', ndjson([event('A'), event('common')]));
    put('b.ndjson', ndjson([event('common'), event('B')]));
    const argv = ['upload', 'a.ndjson', '--shards', '2', '--work-dir', fleet.workDir];
    const killed = new BinProcess(fleet.world, ['fleet', 'submit', ...argv], fleet.env);
    const isMade = () => {
      const names = existsSync(fleet.workDir)
        ? readdirSync(fleet.workDir, { recursive: true, encoding: 'utf8' })
        : [];
      return names.some((name) => made.test(`/${name}`)) || killed.child.exitCode !== null;
    };
    await until(isMade, { message: 'the submission comes so far' });
    killed.signal('SIGKILL');
    await killed.ended();
    const other = await submit('b.ndjson', '--resume');
    expect(other.code, other.stderr).toBe(0);
    const again = await submit('a.ndjson');
    if (again.code !== 0) {
      expect([again.code, again.stderr]).toEqual([
        8,
        expect.stringContaining('1 of 2 events of a'),
      ]);
      expect(await submit('a.ndjson', '--resume')).toMatchObject({ code: 0 });
    }
    await drain();
    expect(arrived(service)).toEqual(['A', 'B', 'common'].map((name) => `${name} 1700000000`));
  });

  const numbers = fc.array(fc.nat(12), { minLength: 1, maxLength: 10 });
  const action = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('append' as const), numbers }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cut' as const), at: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reverse' as const) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('submit' as const),
        flags: fc.constantFrom<readonly string[]>([], ['--resume'], ['--resume'], ['--again']),
        way: fc.constantFrom('plain' as const, 'crlf' as const, 'gzip' as const, 'array' as const),
        isRepeated: fc.boolean(),
      }),
    },
  );

  it('each event of a file that is edited between submissions arrives exactly once, or is refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 12 }), async (actions) => {
        await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
        const { submit, put, drain } = await fleetAt(service);
        const submitted = new Map<number, number>();
        let content = [1, 2, 2];
        for (const [step, each] of actions.entries()) {
          if (each.do === 'append') content = content.concat(each.numbers);
          if (each.do === 'cut') content = content.slice(each.at);
          if (each.do === 'reverse') content = content.toReversed();
          if (each.do !== 'submit' || content.length === 0) continue;
          const file = `e${step}.${ways[each.way].extension}`;
          put(file, ways[each.way].encode(content.map((n) => event('U', n))));
          const { code, stderr } = await submit(file, ...each.flags);
          const wanted = countsOf(content);
          const isKnown = content.some((n) => submitted.has(n));
          const isRefused = each.flags.length === 0 && isKnown;
          expect(code, stderr).toBe(isRefused ? 8 : 0);
          for (const [n, count] of isRefused ? [] : wanted) {
            const before = submitted.get(n) ?? 0;
            const isAgain = each.flags.includes('--again');
            submitted.set(n, isAgain ? before + count : Math.max(before, count));
          }
          if (each.isRepeated && !isRefused) {
            expect(await submit(file, ...each.flags)).toMatchObject({ code: 0 });
          }
        }
        await drain();
        expect(
          countsOf(arrived(service).map((each) => Number(each.slice(2)) - 1_700_000_000)),
        ).toEqual(submitted);
      }),
      { numRuns: runs(9) },
    );
  });
});

const ways = {
  plain: { extension: 'ndjson', encode: ndjson },
  crlf: { extension: 'ndjson', encode: (all: object[]) => ndjson(all).replaceAll('\n', '\r\n') },
  gzip: { extension: 'ndjson.gz', encode: (all: object[]) => gzipSync(ndjson(all)) },
  array: { extension: 'json', encode: (all: object[]) => JSON.stringify(all, null, 1) },
};

function countsOf(all: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const n of all) counts.set(n, (counts.get(n) ?? 0) + 1);
  return counts;
}
