import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Queue, type Job } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Redis } from 'ioredis';
import { startService, type TestService } from '../../src/testing.js';
import { ShardFolder } from '../../src/fleet/shard-folder.js';
import { stores, type TestStore } from '../support/processes/queue-stores.js';
import { written } from '../support/serve.js';
import { changeRun, makeFleet, passcode, type Fleet, type Status } from './fleet.js';

// Attacks by someone who can write to the queue or to the work directory, and does not have the passcode: workers, retry and
// collect refuse what the submitter did not sign, stay in their directories, follow no links, and keep running.

const redis = stores.find(({ name }) => name === 'Redis');
let store: TestStore;

beforeAll(async () => {
  if (redis) store = await redis.start();
});
afterAll(async () => store?.[Symbol.asyncDispose]());

interface Attack {
  readonly fleet: Fleet;
  readonly service: TestService;
  readonly run: string;
  /** Directory of the run. */
  readonly folder: string;
  /** Directory of the first shard. */
  readonly shard: string;
  /** Folder of the last owner of that shard. */
  readonly epoch: string;
  readonly lane: Queue;
  /** A file that the worker may read and write, and that the run has nothing to do with. */
  readonly secret: string;
  work(...argv: string[]): Promise<{ code: number; stderr: string }>;
  status(): Promise<{ code: number; stderr: string; status: Status }>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A queue, as whoever can write to the store opens it. */
function queue(name: string): Queue {
  const { hostname, port } = new URL(store.url);
  return new Queue(name, {
    connection: { host: hostname, port: Number(port) },
    prefix: 'engagectl',
  });
}

const secretText = 'identity,Name\nsecret,of the worker\n';
const inputText = 'identity,Name\nA,1\nB,2\nC,3\nD,4\n';

/** A run of an upload that waits in the queue, a worker's own file, and the attacker's connection to the queue. */
async function submitted(...argv: string[]): Promise<Attack> {
  await store.wipe();
  await store.start();
  const service = await startService({ accountId: 'ACCOUNT-1', passcode });
  const fleet = await makeFleet(store, service.url);
  const { world, workDir } = fleet;
  writeFileSync(world.path('users.csv'), inputText);
  writeFileSync(world.path('secret.csv'), secretText);
  const run = await fleet.submit('upload', 'users.csv', ...argv, '--shards', '2');
  const lanes = queue('lanes');
  const [listed] = await lanes.getJobs(['waiting']);
  await lanes.close();
  const lane = queue(listed!.id!);
  const folder = path.join(workDir, run);
  return {
    fleet,
    service,
    run,
    folder,
    shard: path.join(folder, 'shards', '1-of-2'),
    get epoch() {
      return currentEpoch(folder, '1-of-2');
    },
    lane,
    secret: world.path('secret.csv'),
    work: async (...more) => fleet.run('work', '--drain', ...more),
    status: async () => {
      const { code, stdout, stderr } = await fleet.run('status', run, '--json');
      return { code, stderr, status: JSON.parse(stdout || '{}') as Status };
    },
    async [Symbol.asyncDispose]() {
      await lane.close();
      await service.close();
    },
  };
}

const currentEpoch = (folder: string, shard: string): string =>
  new ShardFolder(path.join(folder, 'shards', shard)).current!;

const sentTo = (service: TestService): string[] =>
  written(service)
    .flat()
    .map(({ identity }) => identity as string)
    .toSorted();

type Json = Record<string, unknown>;
const readJson = (file: string): Json => JSON.parse(readFileSync(file, 'utf8')) as Json;
const writeJson = (file: string, value: unknown): void =>
  writeFileSync(file, JSON.stringify(value));

/** Plants the directory of a run whose shard is in place, as whoever can write there would. */
function plantRun(folder: string, of: Json, change: Json): void {
  mkdirSync(path.join(folder, 'shards', '1-of-1'), { recursive: true });
  writeJson(path.join(folder, 'fleet.json'), { ...of, shards: 1, ...change });
}

/** What the first shard's job of the legitimate run says. */
const jobOf = async ({ lane, run }: Attack): Promise<Job> => (await lane.getJob(`${run}-1`))!;

describe.skipIf(!redis)('a worker refuses', () => {
  it.each([
    ['outside of its work directories', 'elsewhere'],
    ['in its work directory', 'work'],
  ])('a planted run %s that names another file', async (_, place) => {
    await using attack = await submitted();
    const { fleet, service, lane, folder, secret } = attack;
    const workDir = fleet.world.path(place);
    const planted = '0123456789ab';
    const { signature: _signature, ...plain } = readJson(path.join(folder, 'fleet.json'));
    const argv = ['upload', secret];
    const files = [{ file: secret, bytes: secretText.length, digest: '0'.repeat(64) }];
    plantRun(path.join(workDir, planted), plain, { run: planted, argv, files, workDir });
    const data = { run: planted, workDir, shard: { index: 1, count: 1 } };
    await lane.add('shard', data, { jobId: `${planted}-1`, attempts: 1000 });
    const { code, stderr } = await attack.work();
    expect(code, stderr).toBe(0);
    expect(sentTo(service)).toEqual(['A', 'B', 'C', 'D']);
    expect(stderr).toMatch(new RegExp(`^warning: .*${planted}-1.*E-UNTRUSTED`, 'm'));
    const job = await lane.getJob(`${planted}-1`);
    expect(await job?.getState()).toBe('failed');
    expect(job?.failedReason).toMatch(/^E-UNTRUSTED: /);
    expect(job?.attemptsMade).toBe(1);
    expect(readdirSync(path.join(workDir, planted, 'shards', '1-of-1'))).toEqual([]);
  });

  it.each<[what: string, data: (of: Json) => unknown]>([
    ['nothing', () => null],
    ['a number', () => 7],
    ['a run that leaves the directory', (of) => ({ ...of, run: '../../x' })],
    ['a run that is a list', (of) => ({ ...of, run: [of['run']] })],
    ['a shard that leaves the directory', (of) => ({ ...of, shard: { index: '../x', count: 1 } })],
    ['a shard that is not one', (of) => ({ ...of, shard: { index: 3, count: 2 } })],
    ['a shard that is a fraction', (of) => ({ ...of, shard: { index: 1.5, count: 2 } })],
    ['shards that the run does not have', (of) => ({ ...of, shard: { index: 1, count: 1e9 } })],
    ['a work directory that is not a text', (of) => ({ ...of, workDir: {} })],
    ['a relative work directory', (of) => ({ ...of, workDir: 'work' })],
    ['a work directory with a line end', (of) => ({ ...of, workDir: '/srv/x\n  fix: x' })],
    ['a NUL in the work directory', (of) => ({ ...of, workDir: `${of['workDir'] as string}\0` })],
  ])('a job that contains %s, and continues with the next', async (_, change) => {
    await using attack = await submitted();
    const { fleet, lane, service, folder } = attack;
    const { data } = (await jobOf(attack)) as { data: Json };
    // Directories that such a job would lead to.
    const plain = readJson(path.join(folder, 'fleet.json'));
    plantRun(fleet.world.path('../x'), plain, { run: '../../x' });
    mkdirSync(path.join(folder, 'x-of-1'), { recursive: true });
    await lane.add('shard', change(data), { jobId: 'planted-1', attempts: 1000 });
    const { code, stderr } = await attack.work();
    expect(code, stderr).toBe(0);
    const job = await lane.getJob('planted-1');
    expect([await job?.getState(), job?.attemptsMade]).toEqual(['failed', 1]);
    expect(job?.failedReason).toMatch(/^E-UNTRUSTED: /);
    expect(sentTo(service)).toEqual(['A', 'B', 'C', 'D']);
    expect(readdirSync(path.join(folder, 'x-of-1'))).toEqual([]);
    rmSync(fleet.world.path('../x'), { recursive: true, force: true });
  });

  it('a job whose id has line ends, in one line', async () => {
    await using attack = await submitted();
    const { lane } = attack;
    const { data } = (await jobOf(attack)) as { data: Json };
    await lane.add('shard', data, { jobId: 'x\nuploaded 5 of 5 users', attempts: 1000 });
    const { code, stderr } = await attack.work();
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/^warning: shard x.*is refused: E-UNTRUSTED/m);
    expect(stderr).not.toMatch(/^uploaded 5 /m);
  });

  it.each<[what: string, data: (of: Json, other: Json) => Json]>([
    ['unsigned', ({ signature: _, ...of }) => of],
    ['signed wrongly', (of) => ({ ...of, signature: '0'.repeat(64) })],
    ['signed by something that is not a text', (of) => ({ ...of, signature: [of['signature']] })],
    ['signed for another shard', (of, other) => ({ ...of, signature: other['signature'] })],
  ])('a job of a known run that is %s; retry restores it', async (_, change) => {
    await using attack = await submitted();
    const { lane, run, fleet, service } = attack;
    const job = await jobOf(attack);
    const other = (await lane.getJob(`${run}-2`))!;
    await job.updateData(change(job.data as Json, other.data as Json));
    const { code, stderr } = await attack.work();
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(new RegExp(`^warning: .*${run}-1.*E-UNTRUSTED`, 'm'));
    const refused = await attack.status();
    expect(refused.code).toBe(8);
    expect(refused.status.counts).toMatchObject({ done: 1, failed: 1 });
    expect(refused.status.parts[0]?.error).toMatch(/^E-UNTRUSTED: .*not signed/);
    expect((await fleet.run('retry', run)).stderr).toContain('1 of 2 shards are tried again');
    await attack.work();
    expect((await attack.status()).code).toBe(0);
    expect(sentTo(service)).toEqual(['A', 'B', 'C', 'D']);
  });

  it('a copy of a signed job under another id: a shard never runs twice at once', async () => {
    await using attack = await submitted();
    const { lane } = attack;
    const { data } = await jobOf(attack);
    await lane.add('shard', data, { jobId: 'another-1' });
    await attack.work();
    expect((await lane.getJob('another-1'))?.failedReason).toMatch(/^E-UNTRUSTED: /);
  });

  it('a copy of a signed job in another queue', async () => {
    await using attack = await submitted();
    const { lane, run, service } = attack;
    const { data } = (await jobOf(attack)) as { data: Json };
    const [lanes, other] = [queue('lanes'), queue('000000000000-upload')];
    await lanes.add('lane', {}, { jobId: other.name });
    await other.add('shard', data, { jobId: `${run}-1` });
    await attack.work();
    expect((await other.getJob(`${run}-1`))?.failedReason).toMatch(
      /^E-UNTRUSTED: .* another queue/,
    );
    expect(await lane.getCompletedCount()).toBe(2);
    expect(sentTo(service)).toEqual(['A', 'B', 'C', 'D']);
    await Promise.all([lanes.close(), other.close()]);
  });

  it('a copy of a signed run in another place', async () => {
    await using attack = await submitted();
    const { fleet, lane, folder, run, service } = attack;
    const { data } = (await jobOf(attack)) as { data: Json };
    const place = path.join(fleet.workDir, 'copy');
    cpSync(folder, path.join(place, run), { recursive: true });
    await attack.work();
    await (await jobOf(attack)).remove();
    await lane.add('shard', { ...data, workDir: place }, { jobId: `${run}-1` });
    await attack.work();
    expect((await jobOf(attack)).failedReason).toMatch(/^E-UNTRUSTED: /);
    expect(sentTo(service)).toEqual(['A', 'B', 'C', 'D']);
  });

  it.each<[what: string, change: (header: Json, secret: string) => Json]>([
    ['argv', (_, secret) => ({ argv: ['upload', secret] })],
    ['files', (_, secret) => ({ files: [{ file: secret, bytes: 34, digest: 'x' }] })],
    ['command', () => ({ command: 'demerge', argv: ['demerge', 'users.csv'] })],
    ['cwd', () => ({ cwd: '/' })],
    ['shards', () => ({ shards: 1 })],
    ['host', () => ({ host: 'other.example.com' })],
    ['profile', () => ({ profile: '../x' })],
    ['signature', () => ({ signature: undefined })],
  ])('a run whose fleet.json has another %s, as do retry and collect', async (what, change) => {
    await using attack = await submitted();
    const { fleet, run, folder, service, secret } = attack;
    const file = path.join(folder, 'fleet.json');
    const header = readJson(file);
    writeJson(file, { ...header, ...change(header, secret) });
    const { code, stderr } = await attack.work();
    expect(code, stderr).toBe(what === 'host' ? 8 : 0); // of another account: left to other workers
    expect(stderr).toMatch(/^warning: .*E-(?:UNTRUSTED|RUN-CHANGED|CONFIG)/m);
    expect(sentTo(service)).toEqual([]);
    for (const command of ['retry', 'collect', 'status', 'cancel']) {
      const refused = await fleet.run(command, run);
      expect(refused.code, refused.stderr).not.toBe(0);
      expect(refused.stderr).toMatch(/E-(?:UNTRUSTED|RUN-CHANGED|CONFIG)/);
    }
    expect(existsSync(path.join(folder, 'cancelled'))).toBe(false);
    // Whoever submits the same has the passcode: the run is written and signed again.
    await fleet.submit('upload', 'users.csv', '--shards', '2');
    await fleet.run('retry', run);
    await attack.work();
    expect((await attack.status()).code).toBe(0);
    expect(sentTo(service)).toEqual(['A', 'B', 'C', 'D']);
  });

  it.each<[what: string, plant: (at: Attack) => void]>([
    [
      'a link at the name of a copy',
      ({ epoch, secret }) => {
        writeFileSync(path.join(epoch, 'rejects.ndjson'), 'overwritten');
        symlinkSync(secret, path.join(epoch, 'rejects.ndjson.own'));
      },
    ],
    [
      'a link at the name of the rejects file',
      ({ epoch, secret }) => symlinkSync(secret, path.join(epoch, 'rejects.ndjson')),
    ],
    [
      'a hard link at the name of the rejects file',
      ({ epoch, secret }) => linkSync(secret, path.join(epoch, 'rejects.ndjson')),
    ],
    [
      'a link at the name of the draft of the result',
      ({ epoch, secret }) => symlinkSync(secret, path.join(epoch, 'result.json.new')),
    ],
    [
      'a link in place of the result',
      ({ epoch, secret }) => symlinkSync(secret, path.join(epoch, 'result.json')),
    ],
    [
      'a link in place of the state directory',
      ({ epoch, secret }) => symlinkSync(path.dirname(secret), path.join(epoch, 'state')),
    ],
    [
      'a link in place of the shard',
      ({ shard, fleet }) => {
        rmSync(shard, { recursive: true });
        mkdirSync(fleet.world.path('private'));
        symlinkSync(fleet.world.path('private'), shard);
      },
    ],
    [
      'a link in place of the run',
      ({ folder, fleet }) => {
        renameSync(folder, fleet.world.path('moved'));
        symlinkSync(fleet.world.path('moved'), folder);
      },
    ],
  ])('to follow %s', async (_, plant) => {
    await using attack = await submitted();
    const { fleet, service, secret } = attack;
    plant(attack);
    const { code, stderr } = await attack.work();
    expect(code, stderr).toBe(0);
    expect(readFileSync(secret, 'utf8')).toBe(secretText);
    expect(readdirSync(fleet.world.cwd)).not.toContain('runs');
    const moved = fleet.world.path('private');
    if (existsSync(moved)) expect(readdirSync(moved)).toEqual([]);
    const { parts } = (await attack.status()).status as Partial<Status>; // none of a run that is a link
    if (parts?.[0]?.state !== 'done') {
      expect(stderr).toMatch(/^warning: .*E-UNTRUSTED.*link/m);
      expect(sentTo(service).length).toBeLessThan(4);
    }
  });

  it.each<[what: string, swap: (input: string, secret: string) => void]>([
    [
      'a link to another file',
      (input, secret) => {
        rmSync(input);
        symlinkSync(secret, input);
      },
    ],
    ['another file of the same size', (input) => writeFileSync(input, inputText.replace('A', 'Z'))],
  ])('an input without a copy that was replaced by %s', async (_, swap) => {
    await using attack = await submitted('--pin', 'digest');
    swap(attack.fleet.world.path('users.csv'), attack.secret);
    await attack.work();
    expect(sentTo(attack.service)).toEqual([]);
    const { code, status } = await attack.status();
    expect(code).toBe(8);
    expect(status.parts[0]?.error).toMatch(/^E-INPUT-CHANGED: /);
  });

  it.each<[what: string, change: (copy: string, secret: string) => void]>([
    ['another content', (copy) => writeFileSync(copy, inputText.replace('A', 'Z'))],
    [
      'a link',
      (copy, secret) => {
        rmSync(copy);
        symlinkSync(secret, copy);
      },
    ],
  ])('a copy of an input that was replaced by %s; submitting restores it', async (_, change) => {
    await using attack = await submitted();
    const { fleet, run, folder, secret, service } = attack;
    const [name] = readdirSync(path.join(folder, 'inputs'));
    const copy = path.join(folder, 'inputs', name!);
    change(copy, secret);
    await attack.work();
    expect(sentTo(service)).toEqual([]);
    expect((await attack.status()).status.parts[0]?.error).toMatch(
      /^E-(?:INPUT-CHANGED|UNTRUSTED): /,
    );
    rmSync(copy); // submitting replaces a copy with another content, and refuses a link
    expect(await fleet.submit('upload', 'users.csv', '--shards', '2')).toBe(run);
    await fleet.run('retry', run);
    await attack.work();
    expect(sentTo(service)).toEqual(['A', 'B', 'C', 'D']);
    expect(readFileSync(secret, 'utf8')).toBe(secretText);
  });

  it('a mapping file that has changed', async () => {
    // Submitted in a world of its own, since the file has to be there first.
    await using attack = await submitted();
    const { fleet, service } = attack;
    const mapping = fleet.world.path('mapping.json');
    writeFileSync(mapping, '{"map":{"Name":"Called"}}');
    const argv = ['upload', 'users.csv', '--mapping', mapping, '--pin', 'digest'];
    const run = await fleet.submit(...argv, '--shards', '1');
    writeFileSync(mapping, '{"map":{"Name":"Changed"}}');
    await attack.work();
    expect(sentTo(service)).toEqual(['A', 'B', 'C', 'D']); // those of the other run
    const { code, stdout } = await fleet.run('status', run, '--json');
    expect(code).toBe(8);
    expect(stdout).toContain('E-INPUT-CHANGED');
  });

  it('a signed run with a flag that submit refuses, which writes outside of the run', async () => {
    await using attack = await submitted();
    const { fleet, run, service } = attack;
    changeRun(fleet, run, { argv: ['upload', 'users.csv', '--changed', '--gone', 'gone.csv'] });
    await fleet.run('retry', run);
    await attack.work();
    const { code, status } = await attack.status();
    expect(code).toBe(8);
    expect(status.parts[0]!.error).toMatch(/^E-RUN-VERSION: .*--changed has no effect in a fleet/);
    expect(readdirSync(fleet.world.cwd).filter((name) => name.startsWith('gone'))).toEqual([]);
    expect(sentTo(service)).toEqual([]);
  });

  it('a run outside of its work directories; given the directory, retry completes it', async () => {
    await using attack = await submitted();
    const { fleet, run, service } = attack;
    mkdirSync(fleet.world.path('other'));
    const { code, stderr } = await attack.work('--work-dir', 'other');
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/^warning: .*E-UNTRUSTED.*work directories of this worker/m);
    const refused = await attack.status();
    expect(refused.code).toBe(8);
    expect(refused.stderr).toContain('"fix":');
    expect(sentTo(service)).toEqual([]);
    await fleet.run('retry', run);
    expect((await attack.work('--work-dir', 'other', '--work-dir', 'work')).code).toBe(0);
    expect((await attack.status()).code).toBe(0);
  });

  it('to start without a work directory', async () => {
    await using attack = await submitted();
    const { world, env } = attack.fleet;
    const { ENGAGECTL_WORK_DIRS: _, ...without } = env;
    const { code, stderr } = await world.run(['fleet', 'work', '--drain'], {
      env: { ...without, ENGAGECTL_WORK_DIRS: '' },
    });
    expect(code).toBe(2);
    expect(stderr).toContain('fix: engagectl fleet work --work-dir');
    expect(stderr).toContain('ENGAGECTL_WORK_DIRS');
  });

  it('queues that are no account queues', async () => {
    await using attack = await submitted();
    const lanes = queue('lanes');
    for (const jobId of ['../x', 'runs', '{x}']) {
      await lanes.add('lane', {}, { jobId });
    }
    await lanes.close();
    const { code, stderr } = await attack.work();
    expect(code, stderr).toBe(0);
    expect((await attack.status()).code).toBe(0);
  });
});

describe.skipIf(!redis)('D fleet collect', () => {
  it.each<[what: string, change: (result: Json, secret: string) => Json]>([
    ['another rejects file', (_, secret) => ({ rejectsFile: secret })],
    ['a rejects file outside', () => ({ rejectsFile: '../../../../secret.csv' })],
    ['other figures', ({ figures }) => ({ figures: { ...(figures as Json), accepted: 9e9 } })],
    ['texts as figures', () => ({ figures: { accepted: '\u001B]0;x\u0007' } })],
    ['another exit code', () => ({ exitCode: 0, seconds: '1' })],
    ['no signature', () => ({ signature: undefined })],
  ])('refuses a result with %s; retry recreates it from the journal', async (_, change) => {
    await using attack = await submitted('--types', 'Name:integer');
    const { fleet, run, service, secret } = attack;
    await attack.work();
    const file = path.join(attack.epoch, 'result.json');
    const result = readJson(file);
    writeJson(file, { ...result, ...change(result, secret) });
    const target = fleet.world.path('collected.ndjson');
    const { code, stderr } = await fleet.run('collect', run, '-o', target);
    expect(code).toBe(8);
    expect(stderr).toContain('E-UNTRUSTED');
    expect(stderr).toContain(`fix: engagectl fleet retry ${run}`);
    expect(existsSync(target)).toBe(false);
    const shown = await fleet.run('status', run);
    expect(shown.code).toBe(8);
    expect(shown.stdout).toContain('E-UNTRUSTED');
    // oxlint-disable-next-line no-control-regex -- what a terminal would obey
    expect(shown.stdout).not.toMatch(/\u001B/);
    expect((await fleet.run('retry', run)).stderr).toContain('1 of 2 shards are tried again');
    await attack.work();
    expect((await attack.status()).code).toBe(0);
    expect((await fleet.run('collect', run, '-o', target)).code).toBe(0);
    expect(sentTo(service)).toEqual(['A', 'B', 'C', 'D']);
  });

  it('refuses the result of another shard', async () => {
    await using attack = await submitted();
    await attack.work();
    const { fleet, run, shard } = attack;
    cpSync(shard.replace('1-of-2', '2-of-2'), shard, { recursive: true }); // both in epoch 1
    const { code, stderr } = await fleet.run('collect', run);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-UNTRUSTED')]);
  });

  it('refuses a rejects file with fewer or more lines than its shard wrote', async () => {
    await using attack = await submitted('--types', 'Name:boolean');
    const { fleet, run } = attack;
    await attack.work();
    const file = path.join(attack.epoch, 'rejects.1-of-2.ndjson');
    const lines = readFileSync(file, 'utf8').match(/.*\n/g)!;
    const target = fleet.world.path('collected.ndjson');
    for (const changed of [lines.slice(1), [...lines, lines[0]]]) {
      writeFileSync(file, changed.join(''));
      const { code, stderr } = await fleet.run('collect', run, '-o', target);
      expect([code, stderr]).toEqual([9, expect.stringContaining('error E-FILE-READ: ')]);
      expect(stderr).toContain(`and its shard wrote ${lines.length}`);
      expect(existsSync(target)).toBe(false);
    }
    writeFileSync(file, lines.join(''));
    expect((await fleet.run('collect', run, '-o', target)).code).toBe(3);
  });

  it.each(['out.ndjson', 'out.ndjson.gz', 'out.csv'])(
    'refuses a slice with fewer or more records than its shard exported (%s)',
    async (output) => {
      await using attack = await submitted();
      const { fleet, folder } = attack;
      const event = (n: number) =>
        `{"type":"event","identity":"u${n}","ts":1700000000,"evtName":"E","evtData":{"n":${n}}}\n`;
      writeFileSync(fleet.world.path('events.ndjson'), event(1) + event(2));
      expect(await fleet.world.run(['upload', 'events.ndjson'])).toMatchObject({ code: 0 });
      const days = ['--from', '2023-11-14', '--to', '2023-11-14'];
      const run = await fleet.submit('export-events', '--event', 'E', ...days, '-o', output);
      await attack.work();
      const epoch = currentEpoch(path.join(folder, '..', run), '1-of-1');
      const name = readdirSync(epoch).find((each) => each.startsWith('out.'))!;
      const slice = path.join(epoch, name);
      const isGzipped = name.endsWith('.gz');
      const whole = readFileSync(slice);
      const text = isGzipped ? gunzipSync(whole).toString() : whole.toString();
      const lines = text.match(/.*\n/g)!;
      for (const changed of [lines.slice(1), [...lines, lines[0]], [...lines, '{"cut":']]) {
        const bytes = Buffer.from(changed.join(''));
        writeFileSync(slice, isGzipped ? gzipSync(bytes) : bytes);
        const { code, stderr } = await fleet.run('collect', run);
        expect([code, stderr]).toEqual([9, expect.stringContaining('error E-FILE-READ: ')]);
        expect(existsSync(fleet.world.path(output))).toBe(false);
      }
      truncateSync(slice, 70 * 1024 * 1024); // one endless line
      expect((await fleet.run('collect', run)).code).toBe(9);
      writeFileSync(slice, whole);
      expect((await fleet.run('collect', run)).code).toBe(0);
    },
  );

  it('follows no links, neither for reading rejects nor for writing output', async () => {
    await using attack = await submitted();
    const { fleet, run, shard, secret, folder } = attack;
    writeFileSync(fleet.world.path('users.csv'), inputText);
    await attack.work();
    // A run with rejects.
    writeFileSync(fleet.world.path('bad.csv'), 'identity,Age\nA,x\nB,y\n');
    const bad = ['upload', 'bad.csv', '--types', 'Age:integer', '--shards', '1'];
    const rejected = await fleet.submit(...bad);
    await attack.work();
    const target = fleet.world.path('collected.ndjson');
    symlinkSync(secret, `${target}.new`);
    const { code, stderr } = await fleet.run('collect', rejected, '-o', target);
    expect(code, stderr).toBe(3);
    expect(readFileSync(secret, 'utf8')).toBe(secretText);
    expect(readFileSync(target, 'utf8').split('\n')).toHaveLength(3);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    const rejectedFolder = path.join(folder, '..', rejected);
    const rejects = path.join(currentEpoch(rejectedFolder, '1-of-1'), 'rejects.1-of-1.ndjson');
    renameSync(rejects, `${rejects}.moved`);
    symlinkSync(secret, rejects);
    const refused = await fleet.run('collect', rejected, '-o', target);
    expect([refused.code, refused.stderr]).toEqual([8, expect.stringMatching(/E-UNTRUSTED.*link/)]);
    expect(existsSync(shard)).toBe(true);
    expect(run).not.toBe(rejected);
  });
});

describe.skipIf(!redis)('fleet status', () => {
  it('prints numbers where it expects numbers, and strips control characters', async () => {
    await using attack = await submitted();
    const { lane, run, fleet } = attack;
    const job = await jobOf(attack);
    const evil = '\u001B]0;owned\u0007\u202E';
    await job.updateProgress({ worker: evil, records: evil, rejected: [1], share: evil });
    const other = (await lane.getJob(`${run}-2`))!;
    await other.updateProgress({ worker: 7, records: -1, rejected: 1.5, share: 9 });
    const { stdout, code } = await fleet.run('status', run, '--json');
    expect(code).toBe(5);
    const { parts } = JSON.parse(stdout) as { parts: Json[] };
    for (const { records, rejected, share, shard } of parts) {
      expect([records, rejected, share]).toEqual([0, 0, null]);
      expect(shard).toBeTypeOf('number');
    }
    const shown = await fleet.run('status', run);
    // oxlint-disable-next-line no-control-regex -- what a terminal would obey
    expect(shown.stdout + shown.stderr).not.toMatch(/[\u001B\u0007\u202E]|NaN|Infinity/);
  });

  it('keeps the reason of a failed shard in one line, whoever wrote it', async () => {
    await using attack = await submitted();
    const { lane, run, fleet } = attack;
    await attack.work();
    const client = new Redis(store.url);
    const id = `${run}-1`;
    rmSync(path.join(attack.epoch, 'result.json'));
    await client.zrem(`engagectl:${lane.name}:completed`, id);
    await client.zadd(`engagectl:${lane.name}:failed`, 1, id);
    const failedReason = 'E-REJECTED: x\nerror E-FAKE: y';
    await client.hset(`engagectl:${lane.name}:${id}`, { failedReason });
    await client.quit();
    const { code, stdout, stderr } = await fleet.run('status', run);
    expect([code, stderr]).toEqual([3, expect.stringContaining('E-REJECTED: x')]);
    expect(stdout + stderr).not.toMatch(/^error E-FAKE/m);
  });

  it('lists only valid runs', async () => {
    await using attack = await submitted();
    const runs = queue('runs');
    const workDir = '/x\u001B[2J\u0007\n/y';
    await runs.add('run', { run: '../../x', workDir, lane: 'x' }, { jobId: 'run-x' });
    await runs.add('run', null, { jobId: 'run-y' });
    await runs.add('run', { run: '0123456789ab', workDir, lane: 'x' }, { jobId: 'run-z' });
    const tooLong = { fedcba987654: '/long'.repeat(40_000), fedcba987653: `/${'long'.repeat(64)}` };
    for (const [run, place] of Object.entries(tooLong))
      await runs.add('run', { run, workDir: place, lane: 'x' }, { jobId: `run-${run}` });
    const inFile = { run: 'fedcba987652', workDir: '/etc/passwd', lane: 'x' };
    await runs.add('run', inFile, { jobId: `run-${inFile.run}` });
    await runs.close();
    const unreadable = await attack.fleet.run('status', inFile.run);
    expect([unreadable.code, unreadable.stderr]).toEqual([
      9,
      expect.stringContaining('why: a part of its path is a file'),
    ]);
    const { code, stdout, stderr } = await attack.fleet.run('status');
    expect(code, stderr).toBe(0);
    expect(stdout).not.toContain('/long');
    for (const run of Object.keys(tooLong)) {
      const one = await attack.fleet.run('status', run);
      expect([one.code, one.stderr]).toEqual([2, expect.stringContaining('E-USAGE')]);
    }
    expect(stdout).toContain(attack.run);
    expect(stdout).not.toContain('../../x');
    expect(stdout).not.toMatch(/^\/y/m);
    // oxlint-disable-next-line no-control-regex -- what a terminal would obey
    expect(stdout).not.toMatch(/[\u001B\u0007]/);
  });

  it.each(['../../x', '/etc', '0123456789AB', '0123456789abc'])(
    'refuses %s, which is not the id of a run',
    async (id) => {
      await using attack = await submitted();
      for (const command of ['status', 'collect', 'retry', 'cancel']) {
        const { code, stderr } = await attack.fleet.run(command, id, '--work-dir', 'work');
        expect([code, stderr]).toEqual([2, expect.stringContaining('E-USAGE')]);
      }
    },
  );
});

it.skipIf(!redis).each(['forged', 'in no list of the queue'])(
  'a job that is %s hides no shard from a submission that leaves its events out',
  async (what) => {
    await using attack = await submitted();
    const { fleet, lane, service } = attack;
    const events = (count: number) =>
      Array.from({ length: count }, (_, n) => `e${n},Seen,170000000${n}\n`).join('');
    const submit = async (count: number) => {
      writeFileSync(fleet.world.path('e.csv'), `identity,evtName,ts\n${events(count)}`);
      const flags = ['--type', 'event', '--shards', '1', '--resume'];
      return fleet.run('submit', 'upload', 'e.csv', '--work-dir', 'work', ...flags);
    };
    const run = (await submit(3)).stdout.trim();
    const job = (await lane.getJob(`${run}-1`))!;
    if (what === 'forged')
      await job.updateData({ ...(job.data as Json), signature: '0'.repeat(64) });
    else {
      const client = new Redis(store.url);
      expect(await client.lrem(`engagectl:${lane.name}:wait`, 0, `${run}-1`)).toBe(1);
      await client.quit();
    }
    expect((await submit(4)).stderr).toContain(`run ${run}: 1 of 1 shards were not in the queue`);
    await attack.work();
    expect(sentTo(service).filter((id) => id.startsWith('e'))).toEqual(['e0', 'e1', 'e2', 'e3']);
  },
);

it.skipIf(!redis)('puts back a shard whose job is in no list of the queue', async () => {
  await using attack = await submitted();
  const { fleet, run, lane, service } = attack;
  const client = new Redis(store.url);
  expect(await client.lrem(`engagectl:${lane.name}:wait`, 0, `${run}-2`)).toBe(1);
  await client.quit();
  await attack.work();
  const { status, stderr } = await attack.status();
  expect(status.parts[1]!.state).toBe('missing');
  expect(stderr).toContain('1 of 2 shards are not in the queue');
  const retried = await fleet.run('retry', run);
  expect(retried.stderr).toContain('1 of 2 shards are tried again');
  await attack.work();
  expect((await attack.status()).status.state).toBe('done');
  const sent = sentTo(service);
  expect(new Set(sent).size).toBe(sent.length);
});

it.skipIf(!redis)(
  'resumes after the passcode changed, by submitting the same again and retrying',
  async () => {
    await using attack = await submitted();
    const { fleet, run, service, lane } = attack;
    await (await lane.getJob(`${run}-2`))!.remove();
    await attack.work();
    const before = sentTo(service).length;
    expect(before).toBeGreaterThan(0);
    await fleet.run('retry', run); // the second shard is back in the queue
    await service.close();
    const rotated = 'another-secret-of-the-fleet';
    const port = Number(new URL(service.url).port);
    await using renewed = await startService({
      accountId: 'ACCOUNT-1',
      passcode: rotated,
      port,
    });
    const env = { ENGAGECTL_PASSCODE: rotated };
    const later = async (...argv: string[]) => fleet.world.run(['fleet', ...argv], { env });
    const refused = await later('work', '--drain');
    expect(refused.stderr).toMatch(/^warning: .*E-UNTRUSTED.*not signed/m);
    const status = await later('status', run);
    expect([status.code, status.stderr]).toEqual([8, expect.stringContaining('submit')]);
    const submit = ['submit', 'upload', 'users.csv', '--shards', '2', '--work-dir', fleet.workDir];
    expect((await later(...submit)).stdout.trim()).toBe(run);
    await later('retry', run);
    const worked = await later('work', '--drain');
    expect(worked.code, worked.stderr).toBe(0);
    expect((await later('status', run)).code).toBe(0);
    expect((await later('collect', run)).code).toBe(0);
    expect(before + sentTo(renewed).length).toBe(4);
    expect(existsSync(path.join(attack.epoch, 'result.json'))).toBe(true);
  },
);
