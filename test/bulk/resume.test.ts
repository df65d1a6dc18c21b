import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { lockRun } from '../../src/files/file-lock.js';
import { fingerprint } from '../../src/jobs/run/run-folder.js';
import { EngagectlError } from '../../src/errors.js';
import {
  accept,
  answer,
  commit,
  reset,
  startFaultServer,
  type Script,
  type Step,
} from '../support/servers/fault-server.js';
import { judge, recordsOf } from '../support/servers/record-outcomes.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { accountAt } from '../support/account-environment.js';

interface Summary {
  readonly [figure: string]: unknown;
  readonly read: number;
  readonly accepted: number;
  readonly resumed: number;
  readonly notSent: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly duplicates: number;
}

/** Two services one after the other at one address in time: the second part of a run meets another. */
async function stages(...scripts: Script[]) {
  let stage = 0;
  const taken = scripts.map(() => 0);
  const server = await startFaultServer((received) => {
    const script = scripts[stage] ?? [accept()];
    const index = taken[stage] ?? 0;
    taken[stage] = index + 1;
    if (typeof script === 'function') return script(received, index);
    return script[Math.min(index, script.length - 1)] ?? script[0];
  });
  const world = makeWorld({
    env: accountAt(server.url, 'seeded-secret-7f3a'),
  });
  return {
    server,
    world,
    next: () => (stage += 1),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function run(world: World, argv: readonly string[]) {
  const { code, stdout, stderr } = await world.run([...argv, '--json']);
  const summary = (stdout === '' ? {} : JSON.parse(stdout)) as Summary;
  const { read, accepted, rejected, unknown, notSent, resumed, duplicates } = summary;
  if (stdout !== '') {
    expect(accepted + rejected + unknown + notSent + resumed + duplicates).toBe(read);
  }
  return { code, summary, stderr };
}

const runsOf = (world: World): string[] => {
  const folder = path.join(world.stateDir, 'runs');
  return existsSync(folder) ? readdirSync(folder) : [];
};

/** Gives the only run's folder another name, as somebody else might. */
/** Takes the folder of a run away; returns what puts it back. */
function hideRun(world: World): () => void {
  const id = runsOf(world).find((name) => !name.startsWith('.')) ?? '';
  const folder = path.join(world.stateDir, 'runs', id);
  const hidden = path.join(world.stateDir, 'hidden');
  renameSync(folder, hidden);
  return () => renameSync(hidden, folder);
}

const identitiesOf = (bodies: readonly { readonly body: Buffer }[]) =>
  bodies.flatMap(({ body }) => recordsOf(body).map(({ identity }) => String(identity)));

const csv = (count: number): string =>
  `identity,Note\n${Array.from({ length: count }, (_, n) => `user-${n},"line ${n}\nüñ"\n`).join('')}`;
const ndjson = (count: number): string =>
  Array.from({ length: count }, (_, n) => `{"identity":"user-${n}","Note":"${n}"}\n`).join('');
const json = (count: number): string =>
  `[${Array.from({ length: count }, (_, n) => `{"identity":"user-${n}", "Note":"${n}"}`).join(', ')}]\n`;

const refuse = answer(401, { status: 'fail', error: 'Passcode Invalid', code: 401 });
const small = ['--chunk-size', '10', '--concurrency', '1'];

/** Takes the first requests, then refuses. */
const takes =
  (requests: number): Script =>
  (_received, index) =>
    index < requests ? accept() : refuse;

describe('--resume', () => {
  const inputs: [string, Buffer | string][] = [
    ['users.csv', csv(95)],
    ['users.ndjson', ndjson(95)],
    ['users.json', json(95)],
    ['users.csv.gz', gzipSync(csv(95))],
    ['users.utf16.csv', Buffer.from(`\uFEFF${csv(95)}`, 'utf16le')],
  ];

  it.each(inputs)('continues with %s where the run stopped', async (name, content) => {
    await using stage = await stages(takes(4), [accept()]);
    const { world, server } = stage;
    writeFileSync(world.path(name), content);
    const first = await run(world, ['upload', name, ...small]);
    expect([first.code, first.summary.accepted]).toEqual([4, 40]);
    expect(first.stderr).toContain('engagectl runs resume');
    stage.next();
    const second = await run(world, ['upload', name, ...small, '--resume']);
    expect([second.code, second.summary.resumed, second.summary.accepted]).toEqual([0, 40, 55]);
    expect(identitiesOf(server.executed)).toEqual(
      Array.from({ length: 95 }, (_, n) => `user-${n}`),
    );
    expect(runsOf(world)).toEqual([]);
  });

  it('continues over several inputs', async () => {
    await using stage = await stages(takes(7), [accept()]);
    const { world, server } = stage;
    writeFileSync(world.path('a.csv'), csv(45));
    writeFileSync(world.path('b.ndjson'), ndjson(45).replaceAll('user-', 'other-'));
    await run(world, ['upload', 'a.csv', 'b.ndjson', ...small]);
    stage.next();
    const { code, summary } = await run(world, [
      'upload',
      'a.csv',
      'b.ndjson',
      ...small,
      '--resume',
    ]);
    expect([code, summary.read, summary.resumed]).toEqual([0, 90, 70]);
    expect(new Set(identitiesOf(server.executed)).size).toBe(90);
    expect(identitiesOf(server.executed)).toHaveLength(90);
  });

  it('starts from scratch if no run is unfinished', async () => {
    await using stage = await stages([accept()]);
    writeFileSync(stage.world.path('users.csv'), csv(5));
    const { code, summary } = await run(stage.world, ['upload', 'users.csv', '--resume']);
    expect([code, summary.accepted, summary.resumed]).toEqual([0, 5, 0]);
  });

  it('sends nothing again if the directory of the finished run could not be removed', async () => {
    let putBack = () => {};
    await using stage = await stages((_, index) => {
      if (index === 1) putBack = hideRun(world); // its removal will not find it
      return accept();
    });
    const { world, server } = stage;
    writeFileSync(world.path('users.csv'), csv(20));
    const { code, summary, stderr } = await run(world, ['upload', 'users.csv', ...small]);
    expect([code, summary['exitCode'], summary.accepted]).toEqual([0, 0, 20]);
    expect(stderr).toContain('cannot remove the run folder');
    expect(stderr).toContain(`engagectl runs resume ${String(summary['run'])} finishes`);

    putBack();
    const again = await run(world, ['upload', 'users.csv', ...small, '--resume']);
    expect([again.code, again.summary.resumed, again.summary.accepted]).toEqual([0, 20, 0]);
    expect(server.executed).toHaveLength(2);
    expect(runsOf(world)).toEqual([]);
  });

  it('keeps the rejects of the earlier attempt, and counts them once', async () => {
    const picky = judge(({ identity }) =>
      /[05]$/.test(String(identity)) ? { code: 515, error: 'no' } : undefined,
    );
    await using stage = await stages((_, index) => (index < 4 ? picky : refuse), [picky]);
    const { world } = stage;
    writeFileSync(world.path('users.csv'), `${csv(95)}broken,row,here\n`);
    await run(world, ['upload', 'users.csv', ...small]);
    const rejects = world.path('users.csv.rejects.ndjson');
    appendFileSync(rejects, '{"torn');
    stage.next();
    const { code, summary } = await run(world, ['upload', 'users.csv', ...small, '--resume']);
    expect([code, summary.rejected, summary.read]).toEqual([3, 20, 96]);
    const lines = readFileSync(rejects, 'utf8').trimEnd().split('\n');
    const numbers = lines.map((line) => (JSON.parse(line) as { line: number }).line);
    expect(new Set(numbers).size).toBe(20);
    expect(lines).toHaveLength(20);
  });
});

describe('an unfinished run', () => {
  const begun = async () => {
    const stage = await stages(takes(2), [accept()]);
    writeFileSync(stage.world.path('users.csv'), csv(50));
    await run(stage.world, ['upload', 'users.csv', ...small]);
    stage.next();
    return stage;
  };

  it('is not restarted silently', async () => {
    await using stage = await begun();
    const { code, stderr } = await run(stage.world, ['upload', 'users.csv']);
    expect(code).toBe(8);
    expect(stderr).toContain('--resume');
    expect(stderr).toContain('--fresh');
  });

  it('is deleted by --fresh', async () => {
    await using stage = await begun();
    const { code, summary } = await run(stage.world, ['upload', 'users.csv', '--fresh']);
    expect([code, summary.accepted, summary.resumed]).toEqual([0, 50, 0]);
    expect(runsOf(stage.world)).toEqual([]);
  });

  it('accepts text appended after a final newline', async () => {
    await using stage = await begun();
    appendFileSync(stage.world.path('users.csv'), 'late,comer\n');
    const { code, summary } = await run(stage.world, ['upload', 'users.csv', '--resume']);
    expect([code, summary.read]).toEqual([0, 51]);
  });

  it.each<[string, (text: string) => string]>([
    ['a changed part that was sent', (text) => text.replace('line 3', 'lime 3')],
    ['a changed header', (text) => text.replace('Note', 'Nota')],
    ['a shorter file', (text) => text.slice(0, 100)],
  ])('refuses %s', async (_name, change) => {
    await using stage = await begun();
    const file = stage.world.path('users.csv');
    writeFileSync(file, change(readFileSync(file, 'utf8')));
    const { code, stderr } = await run(stage.world, ['upload', 'users.csv', '--resume']);
    expect(code).toBe(8);
    expect(stderr).toContain('users.csv');
    expect(stage.server.executed).toHaveLength(2);
  });

  it('refuses options that change what is sent', async () => {
    await using stage = await begun();
    const argv = ['upload', 'users.csv', '--resume', '--map', 'Note=Remark'];
    const { code, stderr } = await run(stage.world, argv);
    expect(code).toBe(8);
    expect(stderr).toContain('options');
  });

  it('refuses to resume with an edited rejects file', async () => {
    const picky = judge(() => ({ code: 515, error: 'no' }));
    await using stage = await stages((_, index) => (index < 2 ? picky : refuse), [accept()]);
    writeFileSync(stage.world.path('users.csv'), csv(50));
    await run(stage.world, ['upload', 'users.csv', ...small]);
    const rejects = stage.world.path('users.csv.rejects.ndjson');
    writeFileSync(rejects, readFileSync(rejects, 'utf8').replace('"no', '"xx'));
    const { code, stderr } = await run(stage.world, ['upload', 'users.csv', '--resume']);
    expect(code).toBe(8);
    expect(stderr).toContain('rejects');
  });

  it('is removed if no outcome was committed', async () => {
    await using stage = await stages([refuse]);
    writeFileSync(stage.world.path('users.csv'), csv(5));
    await run(stage.world, ['upload', 'users.csv']);
    expect(runsOf(stage.world)).toEqual([]);
  });

  it('does not remain when the whole input was processed, with too many rejects', async () => {
    await using stage = await stages([judge(() => ({ code: 515, error: 'no' }))]);
    writeFileSync(stage.world.path('users.csv'), csv(50));
    const argv = ['upload', 'users.csv', '--max-rejects', '10%'];
    expect((await run(stage.world, argv)).code).toBe(3);
    expect(runsOf(stage.world)).toEqual([]);
  });

  it('with --limit ends after the first records, also if interrupted at the last one', async () => {
    const stop = new AbortController();
    const last: Step = async (exchange) => {
      stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
      await accept()(exchange);
    };
    await using stage = await stages([accept(), last]);
    writeFileSync(stage.world.path('users.csv'), csv(50));
    const argv = ['upload', 'users.csv', ...small, '--limit', '15'];
    const options = { signal: stop.signal, sleep: 'real' } as const;
    expect((await stage.world.run(argv, options)).code).toBe(130);
    const { code, summary } = await run(stage.world, [...argv, '--resume']);
    expect([code, summary.read, summary.resumed]).toEqual([0, 15, 15]);
    expect(runsOf(stage.world)).toEqual([]);
  });

  it.each([
    ['--resume', '--fresh'],
    ['--resume', '--no-journal'],
    ['--strict', '--max-rejects=5'],
  ])('rejects %s together with %s', async (...flags) => {
    await using stage = await begun();
    const { code, stderr } = await run(stage.world, ['upload', 'users.csv', ...flags]);
    expect([code, stage.server.executed.length]).toEqual([2, 2]);
    for (const flag of flags) expect(stderr).toContain(flag.replace(/=.*/, ''));
  });

  it('is not repeated by --no-journal, unless --fresh deletes it', async () => {
    await using stage = await begun();
    const argv = ['upload', 'users.csv', '--no-journal'];
    expect((await run(stage.world, argv)).code).toBe(8);
    expect(stage.server.executed).toHaveLength(2);
    expect((await run(stage.world, [...argv, '--fresh'])).code).toBe(0);
    expect(runsOf(stage.world)).toEqual([]);
  });

  it('is not kept with --no-journal', async () => {
    await using stage = await stages(takes(2));
    writeFileSync(stage.world.path('users.csv'), csv(50));
    await run(stage.world, ['upload', 'users.csv', ...small, '--no-journal']);
    expect(runsOf(stage.world)).toEqual([]);
  });

  it('never contains the passcode', async () => {
    await using stage = await begun();
    const folder = path.join(stage.world.stateDir, 'runs', runsOf(stage.world)[0] ?? '');
    const written = readdirSync(folder).map((name) =>
      readFileSync(path.join(folder, name), 'utf8'),
    );
    expect(written.join('')).not.toContain('seeded-secret-7f3a');
    expect(written.join('')).toContain('ACCOUNT-1');
  });
});

describe('D non-idempotent records', () => {
  const events = (count: number): string =>
    `identity,ts\n${Array.from({ length: count }, (_, n) => `user-${n},1700000000\n`).join('')}`;
  const asEvents = ['--type', 'event', '--event-name', 'Visit', ...small];
  const cutOff: Step = commit(reset());
  /** A run of e.csv that was killed while the service processed its first request; `after`: its later answers. */
  const killedRun = async (argv: readonly string[], text: string, ...after: Step[]) => {
    const crash: Step = async (exchange) => {
      cpSync(world.stateDir, copy, { recursive: true });
      await accept()(exchange);
    };
    const stage = await stages([crash, ...after]);
    const { world } = stage;
    const copy = `${world.stateDir}.copy`;
    writeFileSync(world.path('e.csv'), text);
    await run(world, argv);
    cpSync(copy, world.stateDir, { recursive: true });
    return stage;
  };
  const killedInFlight = async (text: string, ...after: Step[]) =>
    killedRun(['upload', 'e.csv', ...asEvents], text, ...after);

  it('are reported as unknown, and a resume continues after them', async () => {
    await using stage = await stages(
      (_, index) => [accept(), cutOff, accept()][index] ?? refuse,
      [accept()],
    );
    const { world, server } = stage;
    writeFileSync(world.path('e.csv'), events(60));
    const first = await run(world, ['upload', 'e.csv', ...asEvents]);
    expect([first.code, first.summary.unknown, first.summary.accepted]).toEqual([6, 10, 20]);
    stage.next();
    const second = await run(world, ['upload', 'e.csv', ...asEvents, '--resume']);
    expect([second.code, second.summary.unknown, second.summary.resumed]).toEqual([6, 10, 20]);
    expect(identitiesOf(server.executed)).toHaveLength(60);
  });

  it('are resent with --retry-unknown if a crash left them without an outcome', async () => {
    await using stage = await killedInFlight(events(10), accept());
    const { world, server } = stage;
    const argv = ['upload', 'e.csv', ...asEvents, '--resume', '--retry-unknown'];
    const { code, summary } = await run(world, argv);
    expect([code, summary.accepted, server.executed.length]).toEqual([0, 10, 2]);
  });

  const increment = (n: number) => `{"identity":"u${n}","profileData":{"Visits":{"$incr":1}}}\n`;

  /** Writes the header of the only run as a version did that did not record the option. */
  function forgetRetryUnknown(world: World): void {
    const run = runsOf(world).find((name) => /^\d/.test(name))!;
    const file = path.join(world.stateDir, 'runs', run, 'run.json');
    const {
      retryUnknown,
      checksum: _,
      ...header
    } = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly retryUnknown?: boolean;
      readonly checksum: string;
    };
    expect(retryUnknown).toBe(true);
    writeFileSync(file, JSON.stringify({ ...header, checksum: fingerprint(header) }));
  }

  it.each([
    ['events', events(20), asEvents],
    ['increments', Array.from({ length: 20 }, (_, n) => increment(n)).join(''), small],
  ])(
    'are not resent, if they are %s, by the --retry-unknown of the run that a crash ended',
    async (_what, text, flags) => {
      const argv = ['upload', 'e.csv', ...flags, '--retry-unknown'];
      const format = text.startsWith('{') ? 'ndjson' : 'csv';
      for (const how of ['command', 'run', 'run of an earlier version'] as const) {
        const upload = [...argv, '--input-format', format];
        await using stage = await killedRun(upload, text, accept());
        const { world, server } = stage;
        if (how === 'run of an earlier version') forgetRetryUnknown(world);
        const executed = identitiesOf(server.executed).length;
        const next =
          how === 'command'
            ? [...upload, '--resume']
            : ['runs', 'resume', ...runsOf(world).filter((name) => /^\d/.test(name))];
        const { code, summary } = await run(world, next);
        expect([code, summary.unknown, summary.accepted], how).toEqual([6, 10, 10]);
        expect(identitiesOf(server.executed)).toHaveLength(executed + 10);
        expect(readFileSync(world.path('e.csv.rejects.ndjson'), 'utf8')).toContain('was killed');
      }
    },
  );

  it.each([
    ['demerge', (n: number) => `{"identity":"user-${n}"}\n`, ['--yes']],
    [
      'upload',
      (n: number) =>
        `{"type":"profile","identity":"user-${n}","profileData":{"Visits":{"$incr":1}}}\n`,
      [],
    ],
  ])(
    'of %s are not sent again if a crash left them without an outcome, and the input changes',
    async (command, record, flags) => {
      const crash: Step = async (exchange) => {
        cpSync(stage.world.stateDir, copy, { recursive: true });
        await accept()(exchange);
      };
      await using stage = await stages([crash]);
      const { world, server } = stage;
      const copy = `${world.stateDir}.copy`;
      const text = [1, 2, 3].map(record).join('');
      writeFileSync(world.path('in.ndjson'), text);
      const argv = [command, 'in.ndjson', ...flags];
      await run(world, argv);
      cpSync(copy, world.stateDir, { recursive: true });
      writeFileSync(world.path('in.ndjson'), `${record(0)}${text}`);
      const changed = await run(world, [...argv, '--resume']);
      expect([changed.code, changed.stderr]).toEqual([8, expect.stringContaining('INPUT-CHANGED')]);
      writeFileSync(world.path('in.ndjson'), text);
      const restored = await run(world, [...argv, '--resume']);
      expect([restored.code, restored.summary.unknown, server.executed.length]).toEqual([6, 3, 1]);
    },
  );

  it('are all reported once if a crash left them without an outcome, by runs that have some of them', async () => {
    const lines = events(11).trimEnd().split('\n');
    const [head] = lines;
    const old = `${lines.slice(0, 11).join('\n')}\n`;
    await using stage = await killedInFlight(old, accept());
    const { world, server } = stage;
    writeFileSync(world.path('old.csv'), old);
    writeFileSync(world.path('e.csv'), `${[head, ...lines.slice(9)].join('\n')}\n`);
    const figures = async (name: string) => {
      const argv = ['upload', name, ...asEvents, '--resume', '--json'];
      const { code, stdout } = await world.run(argv);
      const summary = JSON.parse(stdout) as Summary;
      return [code, summary.accepted, summary.unknown, summary['alreadySent']];
    };
    expect(await figures('e.csv')).toEqual([6, 1, 2, 0]);
    expect(await figures('e.csv')).toEqual([0, 0, 0, 3]);
    expect(await figures('old.csv')).toEqual([6, 0, 8, 2]);
    expect(await figures('old.csv')).toEqual([0, 0, 0, 10]);
    expect(server.executed).toHaveLength(2);
  });

  it('are named as such when their run is pruned', async () => {
    await using stage = await killedInFlight(events(10));
    const { world } = stage;
    const { code, stderr } = await world.run(['runs', 'prune', '--yes']);
    const warning = 'the outcome of those in flight is unknown, and no rejects file lists them';
    expect([code, stderr]).toEqual([0, expect.stringContaining(warning)]);
  });

  it('are all sent, and none twice, if a crash left some without an outcome and the input is another one', async () => {
    await using stage = await killedInFlight(events(10), accept());
    const { world, server } = stage;
    renameSync(world.path('e.csv'), world.path('old.csv'));
    writeFileSync(world.path('e.csv'), events(10).replaceAll('user-', 'other-'));
    const next = await run(world, ['upload', 'e.csv', ...asEvents, '--resume']);
    expect([next.code, next.summary.accepted, server.executed.length]).toEqual([0, 10, 2]);
    expect(next.stderr).toContain('no rejects file lists the ones that are not in the input');
    const old = await run(world, ['upload', 'old.csv', ...asEvents, '--resume']);
    expect([old.code, old.summary.unknown, server.executed.length]).toEqual([6, 10, 2]);
  });

  it('of a demerge are distinguished from duplicates across the attempts of a run', async () => {
    const done = answer(200, { status: 'success' });
    await using stage = await stages(
      (_, index) => (index < 2 ? commit(done) : refuse),
      [commit(done)],
    );
    const { world, server } = stage;
    const names = Array.from({ length: 40 }, (_, n) => `user-${n % 25}\n`).join('');
    writeFileSync(world.path('ids.csv'), `identity\n${names}`);
    const argv = ['demerge', 'ids.csv', '--yes', '--chunk-size', '10'];
    const first = await run(world, argv);
    expect([first.code, first.summary.accepted]).toEqual([4, 20]);
    stage.next();
    const second = await run(world, [...argv, '--resume']);
    expect([second.code, second.summary.resumed, second.summary.accepted]).toEqual([0, 20, 5]);
    expect(second.summary.duplicates).toBe(15);
    const sent = server.executed.flatMap(
      ({ body }) => (JSON.parse(body.toString()) as { identities: string[] }).identities,
    );
    expect(sent).toHaveLength(25);
    expect(new Set(sent).size).toBe(25);
  });
});

it('asks for the count of a demerge within --limit', async () => {
  await using stage = await stages([commit(answer(200, { status: 'success' }))]);
  writeFileSync(stage.world.path('ids.csv'), 'identity\na\na\nb\nc\n');
  const argv = ['demerge', 'ids.csv', '--limit', '3'];
  const { code, stderr } = await stage.world.run(argv, { tty: true, stdin: '2\n' });
  expect(code, stderr).toBe(0);
  expect(stage.server.executed.map(({ body }) => body.toString())).toEqual([
    '{"identities":["a","b"]}',
  ]);
});

describe('runs', () => {
  it('lists, shows, resumes and deletes unfinished runs', async () => {
    await using stage = await stages(takes(2), [accept()]);
    const { world } = stage;
    writeFileSync(world.path('users.csv'), csv(50));
    await run(world, ['upload', 'users.csv', ...small]);
    const [id = ''] = runsOf(world);

    const list = await world.run(['runs', 'list']);
    expect(list.stdout).toContain(`engagectl upload users.csv ${small.join(' ')}`);
    const shown = await world.run(['runs', 'show', id, '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ run: id, accountId: 'ACCOUNT-1' });
    expect((await world.run(['runs', 'show', 'nobody'])).code).toBe(2);
    const kept = await world.run(['runs', 'prune', '--older-than', '1d', '--json']);
    expect(JSON.parse(kept.stdout)).toMatchObject({ pruned: [], removed: [], left: [] });

    stage.next();
    const { code, stdout } = await world.run(['runs', 'resume', id]);
    expect(code).toBe(0);
    const summary = JSON.parse(stdout) as Summary;
    expect([summary.resumed, summary.accepted, summary['run']]).toEqual([20, 30, id]);
    expect((await world.run(['runs', 'list', '--json'])).stdout).toContain('"runs":[]');
  });

  it('resume goes to the directory of the run, as the lines that it prints do', async () => {
    await using stage = await stages(takes(2), [accept()]);
    const { world } = stage;
    writeFileSync(world.path('users.csv'), `${csv(50)}broken\n`);
    await run(world, ['upload', 'users.csv', ...small]);
    const [id = ''] = runsOf(world);
    stage.next();
    const elsewhere = await world.run(['runs', 'resume', id], { cwd: path.dirname(world.cwd) });
    expect(elsewhere.code).toBe(3);
    expect(elsewhere.stderr).toContain(
      `then: cd ${world.cwd} && engagectl upload users.csv.rejects.ndjson`,
    );
  });

  it('resume continues the named run, and starts none for another account', async () => {
    await using stage = await stages(takes(2), [accept()]);
    const { world, server } = stage;
    writeFileSync(world.path('users.csv'), csv(50));
    await run(world, ['upload', 'users.csv', ...small]);
    stage.next();
    const sent = server.received.length;
    const env = { ENGAGECTL_ACCOUNT_ID: 'ACCOUNT-2' };
    const [id = ''] = runsOf(world);
    const { code, stderr } = await world.run(['runs', 'resume', id], { env });
    expect([code, server.received.length]).toEqual([8, sent]);
    expect(stderr).toContain('ACCOUNT-1');
  });

  it('prune skips runs in use, and deletes the others', async () => {
    await using stage = await stages([accept()]);
    const { world } = stage;
    for (const name of ['a.csv', 'b.csv']) {
      writeFileSync(world.path(name), `${csv(5)}broken\n`);
      await run(world, ['upload', name, '--strict', '--chunk-size', '1']);
    }
    const folder = path.join(world.stateDir, 'runs');
    const headerOf = (id: string) =>
      JSON.parse(readFileSync(path.join(folder, id, 'run.json'), 'utf8')) as { key: string };
    const [held = '', other = ''] = runsOf(world);
    const lock = await lockRun(path.join(folder, `.${headerOf(held).key}.lock`));
    const { code, stdout, stderr } = await world.run(['runs', 'prune', '--yes', '--json']);
    lock.release();
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ pruned: [other], removed: [], left: [] });
    expect(stderr).toContain(`left run ${held}: another process is working on it`);
    expect(runsOf(world)).toEqual([held]);
  });

  it('prune deletes them', async () => {
    await using stage = await stages(takes(2));
    writeFileSync(stage.world.path('users.csv'), csv(50));
    await run(stage.world, ['upload', 'users.csv', ...small]);
    expect((await stage.world.run(['runs', 'prune', '--yes'])).code).toBe(0);
    expect(runsOf(stage.world)).toEqual([]);
  });
});
