import { execFile } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { unnamedOption } from '../../src/errors.js';
import type { FaultRuleInput } from '../../src/testing.js';
import { identityOf } from '../../src/output/checkpoint-file.js';
import { RejectsFile } from '../../src/output/rejects-file.js';
import { serve } from '../support/serve.js';
import { formatJournal, linesStart } from '../../src/bulk/journal/journal-format.js';
import { deferred } from '../support/builders/record-blocks.js';
import { makeWorld } from '../support/test-environment.js';

// Contract §2, Rejects file: that of a run, an older one, and a disk that does not take it.

const broken = (row: number) => [3, 12].includes(row);
const users = `identity,Seq\n${Array.from({ length: 20 }, (_, n) => `user-${n},${n}${broken(n) ? ',extra' : ''}\n`).join('')}`;
const upload = ['--chunk-size', '5', '--concurrency', '1', '--json'];
const rejectsName = 'users.csv.rejects.ndjson';

const second = { after: 1, times: 1, answer: { status: 401 } };

async function start(fault?: FaultRuleInput, input = 'users.csv') {
  const { service, world } = await serve();
  if (fault) await service.fault(fault);
  writeFileSync(world.path(input), users);
  const read = (name: string) => readFileSync(world.path(name), 'utf8');
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await world.run(['upload', input, ...upload, ...words]);
    const summary = (stdout === '' ? {} : JSON.parse(stdout)) as Record<string, unknown>;
    return { code, summary, stderr };
  };
  return { world, service, read, run };
}

const linesOf = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly line: number }).line);

describe('a rejects file that another program takes away during the run', () => {
  it.each<[string, (file: string) => void]>([
    ['removed', (file) => rmSync(file)],
    ['renamed', (file) => renameSync(file, `${file}.seen`)],
    [
      'replaced, as by an editor',
      (file) => {
        writeFileSync(`${file}.new`, 'edited\n');
        renameSync(`${file}.new`, file);
      },
    ],
  ])('is written again at the end: %s', async (_, take) => {
    let requests = 0;
    const { world } = await serve({
      onRequest: () => {
        requests += 1;
        if (requests === 4) take(world.path(rejectsName));
      },
    });
    writeFileSync(world.path('users.csv'), users);
    const { code, stdout } = await world.run(['upload', 'users.csv', ...upload]);
    expect(code).toBe(3);
    const { rejectsFile } = JSON.parse(stdout) as { readonly rejectsFile: string };
    expect(linesOf(readFileSync(world.path(rejectsFile), 'utf8'))).toEqual([5, 14]);
    if (rejectsFile !== rejectsName)
      expect(readFileSync(world.path(rejectsName), 'utf8')).toBe('edited\n');
  });

  it('is an error if it cannot be written again, because its folder is gone', async () => {
    let requests = 0;
    const { world } = await serve({
      onRequest: () => {
        requests += 1;
        if (requests === 4) rmSync(world.path('stick'), { recursive: true });
      },
    });
    writeFileSync(world.path('users.csv'), users);
    mkdirSync(world.path('stick'));
    const rejects = ['--rejects', 'stick/r.ndjson'];
    const { code, stderr } = await world.run(['upload', 'users.csv', ...upload, ...rejects]);
    expect(code).toBe(9);
    expect(stderr).toContain('cannot write the rejects file stick/r.ndjson');
  });

  it('is that error, although there are also too many rejects', async () => {
    let requests = 0;
    const { world } = await serve({
      onRequest: () => {
        requests += 1;
        if (requests === 4) rmSync(world.path('stick'), { recursive: true });
      },
    });
    writeFileSync(
      world.path('users.csv'),
      users
        .replace('Seq', 'Email')
        .replaceAll(/,\d+/g, ',a@example.test')
        .replace(/a@[^@]*$/, 'bad\n'),
    );
    mkdirSync(world.path('stick'));
    const rejects = ['--rejects', 'stick/r.ndjson', '--max-rejects', '2'];
    const { code, stderr } = await world.run(['upload', 'users.csv', ...upload, ...rejects]);
    expect([code, requests]).toEqual([9, 4]);
    expect(stderr).toContain('cannot write the rejects file stick/r.ndjson');
  });
});

it('as CSV keeps each digit of the rows of a CSV export', async () => {
  const { world } = await serve();
  const row = 'a,x@example.com,"[1.0,12345678901234567890]",1.50';
  const header = 'identity,profileData.Email,profileData.Numbers,profileData.Score';
  writeFileSync(world.path('users.csv'), `${header}\n${row.replace('@', '')}\n`);
  expect((await world.run(['upload', 'users.csv', '--rejects', 'r.csv'])).code).toBe(3);
  const rejected = readFileSync(world.path('r.csv'), 'utf8');
  expect(rejected).toContain(row.replace('@', ''));
});

describe('an older rejects file', () => {
  it('is renamed to ….1, also if the run was killed before its first reject was committed', async () => {
    const stage = await start(second);
    const { world, run, read } = stage;
    writeFileSync(world.path(rejectsName), 'older\n');
    expect((await run()).code).toBe(4);
    expect([read(rejectsName), read(`${rejectsName}.1`)]).toEqual([
      expect.stringContaining('"line":5'),
      'older\n',
    ]);

    // What a kill leaves between the file and the first line of the journal that counts it.
    const runs = path.join(world.stateDir, 'runs');
    const journal = path.join(runs, readdirSync(runs)[0] ?? '', 'journal.ndjson');
    const lines = readFileSync(journal).subarray(linesStart).toString().split('\n').slice(0, 3);
    const [begun = ''] = lines.slice(-1);
    expect(begun).toContain(rejectsName);
    const left = Buffer.from(`${lines.join('\n')}\n`);
    writeFileSync(journal, formatJournal(left, begun.slice(0, 8)));
    writeFileSync(world.path(rejectsName), '{"source":"users.csv","line":5,"sta');

    const { code, summary } = await run('--resume');
    expect([code, summary['rejected']]).toEqual([3, 2]);
    expect(linesOf(read(rejectsName))).toEqual([5, 14]);
    expect(read(`${rejectsName}.1`)).toBe('older\n');
  });

  it('is never replaced by a later one, because nobody can read a pipe again', async () => {
    const { world, read } = await start();
    const env = { ENGAGECTL_BASE_URL: 'http://127.0.0.1:9' };
    for (const night of ['a', 'b', 'c']) {
      const options = { stdin: `identity\n${night}\n`, env };
      expect((await world.run(['upload', '-', '--max-attempts', '1'], options)).code).toBe(5);
    }
    const names = ['', '.1', '.2'].map((end) => `engagectl-upload.rejects.ndjson${end}`);
    const records = names.map((name) => (JSON.parse(read(name)) as { record: object }).record);
    expect(records).toEqual([{ identity: 'c' }, { identity: 'a' }, { identity: 'b' }]);
  });

  it('stays in place if nothing is rejected', async () => {
    const stage = await start();
    writeFileSync(stage.world.path(rejectsName), 'older\n');
    writeFileSync(stage.world.path('users.csv'), 'identity,Seq\na,1\n');
    expect((await stage.run()).code).toBe(0);
    expect(stage.read(rejectsName)).toBe('older\n');
  });
});

describe('--rejects', () => {
  it.each([
    ['a folder that is missing', 'nowhere/r.ndjson', 9],
    ['what is no regular file', 'folder', 2],
    ['an input', 'users.csv', 2],
  ])('refuses %s before anything is sent', async (_name, rejects, exitCode) => {
    const stage = await start();
    mkdirSync(stage.world.path('folder'));
    const { code, stderr } = await stage.run('--rejects', rejects);
    expect([code, stage.service.requests()]).toEqual([exitCode, []]);
    expect(stderr).toContain(rejects);
  });

  it('does not rename an older file over an input', async () => {
    const stage = await start();
    writeFileSync(stage.world.path(rejectsName), 'older\n');
    writeFileSync(stage.world.path(`${rejectsName}.1`), 'identity,Seq\na,1\n');
    const { code } = await stage.run(`${rejectsName}.1`);
    expect([code, stage.read(`${rejectsName}.1`)]).toEqual([2, 'identity,Seq\na,1\n']);
  });

  it('cannot change during a run', async () => {
    const stage = await start(second);
    expect((await stage.run()).code).toBe(4);
    const { code, stderr } = await stage.run('--resume', '--rejects', 'other.ndjson');
    expect([code, stderr]).toEqual([8, expect.stringContaining(rejectsName)]);
    expect((await stage.run('--resume')).code).toBe(3);
  });
});

describe('a rejects file that cannot be written', () => {
  // The older file cannot be renamed, whoever runs the tests: its name would be too long.
  const input = `${'u'.repeat(236)}.csv`;
  const name = `${input}.rejects.ndjson`;
  const blocked = async () => {
    const stage = await start(undefined, input);
    writeFileSync(stage.world.path(name), 'older\n');
    return stage;
  };

  it.each([[[]], [['--no-journal']]])(
    'exits 9 and leaves it out of the summary %j',
    async (words) => {
      const stage = await blocked();
      const { code, summary, stderr } = await stage.run(...words);
      expect(code).toBe(9);
      expect(summary).toMatchObject({ read: 20, rejectsFile: null, exitCode: 9 });
      expect(stderr).toContain('could not be saved');
      expect(stage.read(name)).toBe('older\n');
    },
  );

  it('can be replaced by another one if it contains nothing of the run', async () => {
    const stage = await blocked();
    expect((await stage.run()).code).toBe(9);
    const { code, summary } = await stage.run('--resume', '--rejects', 'other.ndjson');
    expect([code, summary['rejectsFile']]).toEqual([3, 'other.ndjson']);
    expect(stage.read(name)).toBe('older\n');
  });
});

describe('D the rejects file of a resumed run', () => {
  /** Bytes of a hole, whose zeros take no room on the disk, and its CRC-32. */
  const large = { bytes: 2 ** 31 + 4096, crc: 1_551_573_625 };

  it.each([
    ['all of it', large],
    ['its beginning', { bytes: 1, crc: 0xd202_ef8d }],
  ])('can be larger than 2 GiB, of which the journal covers %s', async (_name, mark) => {
    const folder = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'hole-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'rejects');
    writeFileSync(file, '');
    truncateSync(file, large.bytes + 7);
    const rejects = new RejectsFile('rejects', file, { option: unnamedOption });
    const identity = identityOf(statSync(file, { bigint: true }));
    await rejects.resume({ file, mark: { ...mark, identity } });
    expect([statSync(file).size, rejects.mark]).toEqual([mark.bytes, { ...mark, identity }]);
    await rejects.close();
  });

  it('is set aside if the journal does not cover it, because another run may have written it', async () => {
    const file = makeWorld().path('rejects');
    writeFileSync(file, 'of another run\n');
    writeFileSync(`${file}.1`, 'older\n');
    const rejects = new RejectsFile('rejects', file, { option: unnamedOption });
    await rejects.resume({ file, mark: { bytes: 0, crc: 0 } });
    expect(existsSync(file)).toBe(false);
    expect(readFileSync(`${file}.1`, 'utf8')).toBe('older\n');
    expect(readFileSync(`${file}.2`, 'utf8')).toBe('of another run\n');
  });

  it('is kept if it is longer than the journal of an earlier version, which does not say whose it is', async () => {
    const file = makeWorld().path('rejects');
    writeFileSync(file, '123456789of another run\n');
    const rejects = new RejectsFile('rejects', file, { option: unnamedOption });
    await rejects.resume({ file, mark: { bytes: 9, crc: 0xcbf43926 } });
    await rejects.close();
    expect(readFileSync(file, 'utf8')).toBe('123456789');
    expect(readFileSync(`${file}.1`, 'utf8')).toBe('123456789of another run\n');
    const again = new RejectsFile('rejects', file, { option: unnamedOption });
    await again.resume({ file, mark: { bytes: 9, crc: 0xcbf43926 } });
    await again.close();
    expect(existsSync(`${file}.2`)).toBe(false);
  });

  it('is refused if it was changed, and stays unchanged', async () => {
    const file = makeWorld().path('rejects');
    writeFileSync(file, 'edited\nmore\n');
    const resumed = new RejectsFile('rejects', file, { option: unnamedOption }).resume({
      file,
      mark: { bytes: 7, crc: 1 },
    });
    await expect(resumed).rejects.toMatchObject({ id: 'E-REJECTS-CHANGED', exitCode: 8 });
    expect(readFileSync(file, 'utf8')).toBe('edited\nmore\n');
  });
});

describe('a rejects file that a later run put in the place of that of a stopped run', () => {
  const events = Array.from({ length: 40 }, (_, n) => {
    const ts = n < 4 ? '"soon"' : 1_760_000_000; // rejected
    return `{"type":"event","identity":"u${n}","evtName":"E","evtData":{"n":${n}},"ts":${ts}}\n`;
  });

  /** Stops a run after its first batch, as 401 does. */
  const stopped = async () => {
    const stage = await start(second, 'e.ndjson');
    writeFileSync(stage.world.path('e.ndjson'), events.join(''));
    expect((await stage.run()).code).toBe(4);
    return { ...stage, own: stage.read('e.ndjson.rejects.ndjson') };
  };

  it('is kept although it begins with the same lines, and both runs have all of theirs', async () => {
    const { run, read, world, own } = await stopped();
    const { service } = await serve();
    await service.fault({ after: 1, times: 1, answer: { status: 503 } });
    await service.fault({ after: 3, times: 1, answer: { status: 401 } });
    const other = (...words: string[]) =>
      world.run(['upload', 'e.ndjson', ...upload, ...words], { env: service.env });
    expect((await other()).code).toBe(6);
    const others = read('e.ndjson.rejects.ndjson');
    expect(others.startsWith(own)).toBe(true);
    expect(linesOf(others)).toEqual([1, 2, 3, 4, 10, 11, 12, 13, 14]);

    expect((await run('--resume')).code).toBe(3);
    expect(read('e.ndjson.rejects.ndjson')).toBe(others);
    expect(read('e.ndjson.rejects.ndjson.1')).toBe(own);
    expect(existsSync(world.path('e.ndjson.rejects.ndjson.2'))).toBe(false);
  });

  it.each([
    ['removed', (file: string) => rmSync(file), 'nothing lists them'],
    ['emptied', (file: string) => truncateSync(file), 'nothing lists them'],
    ['kept', () => undefined, 'e.ndjson.rejects.ndjson lists them'],
  ])(
    'tells of unknown outcomes when the run is discarded or starts over: %s',
    async (_, change, told) => {
      for (const words of [['--fresh', '--again'], ['--resume']]) {
        const { world, service } = await serve();
        await service.fault({ after: 1, times: 1, answer: { status: 503 } });
        await service.fault({ after: 2, times: 1, answer: { status: 401 } });
        const run = async (...more: string[]) =>
          world.run(['upload', 'e.ndjson', ...upload, ...more]);
        writeFileSync(world.path('e.ndjson'), events.join(''));
        expect((await run()).code).toBe(6);
        change(world.path('e.ndjson.rejects.ndjson'));
        if (words[0] === '--resume')
          writeFileSync(world.path('e.ndjson'), events.slice(8).join(''));
        const { stderr } = await run(...words);
        expect(stderr).toMatch(/the outcome of \d+ records? that it sent (?:before )?is unknown/);
        expect(stderr).toContain(
          words[0] === '--resume' ? told.replace('.ndjson lists', '.ndjson.1 lists') : told,
        );
      }
    },
  );

  it('is kept although it is no longer, because its run continues it as well', async () => {
    const { run, read, world, own } = await stopped();
    const { service } = await serve();
    await service.fault(second);
    const env = service.env;
    expect((await world.run(['upload', 'e.ndjson', ...upload], { env })).code).toBe(4);
    expect(read('e.ndjson.rejects.ndjson')).toBe(own);
    writeFileSync(world.path('e.ndjson'), [...events, 'no JSON\n'].join(''));
    const { code, summary } = await run('--resume');
    expect([code, summary['rejectsFile']]).toEqual([3, 'e.ndjson.rejects.ndjson.1']);
    const mine = read('e.ndjson.rejects.ndjson.1');
    expect(linesOf(mine)).toEqual([1, 2, 3, 4, 41]);
    const resumed = await world.run(['upload', 'e.ndjson', ...upload, '--resume'], { env });
    expect(resumed.code).toBe(3);
    expect(linesOf(read('e.ndjson.rejects.ndjson'))).toEqual([1, 2, 3, 4, 41]);
    expect(read('e.ndjson.rejects.ndjson.1')).toBe(mine);
  });

  it('leaves the file of a killed run where it is, without the lines that are written again', async () => {
    const { run, read, world, own } = await stopped();
    const left = `${own}{"source":"e.ndjson","line":9,"stage":"ser\0\0`;
    appendFileSync(world.path('e.ndjson.rejects.ndjson'), left);
    expect((await run('--resume')).code).toBe(3);
    expect(read('e.ndjson.rejects.ndjson')).toBe(own);
    expect(existsSync(world.path('e.ndjson.rejects.ndjson.1'))).toBe(false);
  });

  it('is kept beside one that was restored from a copy', async () => {
    const { run, read, world, own } = await stopped();
    const file = world.path('e.ndjson.rejects.ndjson');
    rmSync(file);
    writeFileSync(file, own);
    expect((await run('--resume')).code).toBe(3);
    expect([read('e.ndjson.rejects.ndjson'), read('e.ndjson.rejects.ndjson.1')]).toEqual([
      own,
      own,
    ]);
  });
});

describe('a rejects file to which another program writes', () => {
  const foreign = '{"source":"other.csv","line":7,"stage":"unknown","error":"e","record":{}}\n';
  const torn = '{"source":"users.csv","line":9,"sta';

  it.each([
    ['whole', foreign],
    ['one line without its end', foreign.trimEnd()],
    ['behind a torn line', torn + foreign],
    ['no lines of a rejects file', 'noted by hand\n'],
  ])('keeps lines appended between a stopped run and --resume: %s', async (_, lines) => {
    const { run, read, world } = await start({ after: 2, times: 1, answer: { status: 401 } });
    expect((await run()).code).toBe(4);
    const own = read(rejectsName);
    appendFileSync(world.path(rejectsName), lines);
    const { code, summary, stderr } = await run('--resume');
    expect([code, summary['rejectsFile']]).toEqual([3, rejectsName]);
    expect(read(`${rejectsName}.1`)).toBe(own + lines);
    expect(stderr).toContain(`${rejectsName}.1 has lines that another program may have added`);
    expect(linesOf(read(rejectsName))).toEqual([5, 14]);
  });

  /** Users in lines 5 and 14 are refused by the service, so that their lines are written in two parts. */
  const refused = `identity,Email\n${Array.from({ length: 20 }, (_, n) => `u${n},${broken(n) ? 'nobody' : `u${n}@example.test`}\n`).join('')}`;

  /** Runs an upload with a change to the rejects file before request `before`. */
  const changed = async (
    change: (file: string) => void,
    {
      words = [],
      before = 3,
    }: { readonly words?: readonly string[]; readonly before?: number } = {},
  ) => {
    let requests = 0;
    const { world } = await serve({
      onRequest: () => {
        requests += 1;
        if (requests === before) change(world.path(rejectsName));
      },
    });
    writeFileSync(world.path('users.csv'), refused);
    const run = (...more: string[]) =>
      world.run(['upload', 'users.csv', ...upload, ...words, ...more]);
    const read = (name = rejectsName) => readFileSync(world.path(name), 'utf8');
    return { world, run, read, ...(await run()) };
  };

  it.each([[[]], [['--no-journal']]])('keeps lines appended during the run %j', async (words) => {
    const { code, stdout, stderr, read } = await changed((file) => appendFileSync(file, foreign), {
      words,
    });
    expect([code, JSON.parse(stdout)]).toMatchObject([3, { rejectsFile: rejectsName }]);
    expect(linesOf(read())).toEqual([5, 14]);
    expect(linesOf(read(`${rejectsName}.1`))).toEqual([5, 7]);
    expect(stderr).toContain(`${rejectsName}.1 has lines that another program may have added`);
  });

  it('keeps lines appended to a file that was moved elsewhere during the run', async () => {
    const { code, read } = await changed((file) => {
      renameSync(file, `${file}.moved`);
      appendFileSync(`${file}.moved`, foreign);
    });
    expect(code).toBe(3);
    expect(linesOf(read())).toEqual([5, 14]);
    expect(linesOf(read(`${rejectsName}.moved`))).toEqual([5, 7]);
  });

  it.each([
    ['before a write', 2, [5]],
    ['after the last write', 4, [5, 14]],
  ])('stops the run if it was emptied, until it is restored: %s', async (_, before, lines) => {
    let own = '';
    const { code, stderr, read, run, world } = await changed(
      (file) => {
        own = readFileSync(file, 'utf8');
        truncateSync(file);
      },
      { before },
    );
    expect(linesOf(own)).toEqual(lines);
    expect(code).toBe(8);
    expect(stderr).toContain(`${rejectsName} changed since the run started`);
    expect(stderr).toContain(`it has 0 bytes, and the run wrote ${own.length}`);
    expect(read()).toBe('');
    writeFileSync(world.path(rejectsName), own);
    expect((await run('--resume')).code).toBe(3);
    expect(linesOf(read())).toEqual([5, 14]);
  });
});

describe('the rejects file of a run beside another one with the same name', () => {
  const events = [1, 2, 3, 4]
    .map((n) => `{"type":"event","identity":"u${n}","evtName":"E","ts":${1_760_000_000 + n}}\n`)
    .join('');

  /** Runs in one folder, each for an account of its own whose response to one line is lost. */
  const folder = () => {
    const world = makeWorld();
    writeFileSync(world.path('e.ndjson'), events);
    const read = (name: unknown) => readFileSync(world.path(String(name)), 'utf8');

    /** Starts a run; it waits with request `pause` until `end` is called. */
    const start = async ({
      lost,
      pause,
      words = [],
    }: {
      lost: number;
      pause: number;
      words?: readonly string[];
    }) => {
      // prettier-ignore
      const [paused, released] = [deferred(), deferred()];
      let requests = 0;
      const { service } = await serve({
        onRequest: async () => {
          requests += 1;
          if (requests !== pause) return;
          paused.resolve();
          await released.promise;
        },
      });
      await service.fault({ after: lost - 1, times: 1, answer: { status: 500 } });
      const run = async (more: readonly string[] = []) => {
        const flags = ['--chunk-size', '1', '--concurrency', '1', '--json'];
        const argv = ['upload', 'e.ndjson', ...flags, ...words, ...more];
        const { code, stdout, stderr } = await world.run(argv, { env: service.env });
        const { rejectsFile } = JSON.parse(stdout) as { readonly rejectsFile: string };
        return { code, rejectsFile, stderr };
      };
      const ending = run();
      await paused.promise;
      /** Ends the run; checks that it names the file that has its line. */
      const end = async () => {
        released.resolve();
        const ended = await ending;
        expect(linesOf(read(ended.rejectsFile))).toEqual([lost]);
        expect(ended.stderr).toContain(`${ended.rejectsFile} `);
        return ended;
      };
      return { end, run, service };
    };
    return { world, read, start };
  };

  it.each([[[]], [['--no-journal']], [['--rejects', 'r.ndjson']]])(
    'has a number if the other one came first: %j',
    async (words) => {
      const { start, read } = folder();
      const second = await start({ lost: 2, pause: 1, words });
      const first = await start({ lost: 1, pause: 3, words });
      const { rejectsFile } = await first.end();
      expect(await second.end()).toMatchObject({ code: 6, rejectsFile: `${rejectsFile}.1` });
      expect(linesOf(read(rejectsFile))).toEqual([1]);
    },
  );

  it('has a number if the other one has ended since it started, with nothing more to list', async () => {
    const { start, read } = folder();
    const first = await start({ lost: 1, pause: 3 });
    const second = await start({ lost: 2, pause: 1 });
    const { rejectsFile } = await first.end();
    await second.end();
    expect(linesOf(read(rejectsFile))).toEqual([1]);
  });

  it('is named by its number if the other one renamed it, also when it is resumed', async () => {
    const { start, read, world } = folder();
    const first = await start({ lost: 1, pause: 3 });
    await first.service.fault({ after: 0, times: 1, answer: { status: 401 } });
    const second = await start({ lost: 2, pause: 3 });
    const stopped = await first.end();
    expect(stopped.code).toBe(6);
    const { rejectsFile } = await second.end();
    expect(rejectsFile).toBe('e.ndjson.rejects.ndjson');
    const resumed = await first.run(['--resume']);
    expect(resumed).toMatchObject({ code: 6, rejectsFile: stopped.rejectsFile });
    expect([linesOf(read(stopped.rejectsFile)), linesOf(read(rejectsFile))]).toEqual([[1], [2]]);
    expect(readdirSync(world.cwd)).toHaveLength(3);
  });

  it('is one of four, each with its own line, beside an older one', async () => {
    const { start, read, world } = folder();
    writeFileSync(world.path('e.ndjson.rejects.ndjson'), 'older\n');
    const runs = await Promise.all([1, 2, 3, 4].map((lost) => start({ lost, pause: 1 })));
    const ended = await Promise.all(runs.map(({ end }) => end()));
    expect(new Set(ended.map(({ rejectsFile }) => rejectsFile)).size).toBe(4);
    const files = readdirSync(world.cwd).filter((name) => name.includes('.rejects.'));
    expect(files.map(read)).toContain('older\n');
    expect(files).toHaveLength(5);
  });
});

describe('the lines of a finished run', () => {
  const rows = Array.from({ length: 3000 }, (_, n) => {
    const email = n % 500 === 7 ? 'nobody' : `u${n}@example.test`; // refused by the service
    return `u${n},${email}${n % 700 === 9 ? ',extra' : ''}\n`; // cannot be read
  });
  const lineOf = (text: string): number =>
    text.startsWith('{')
      ? (JSON.parse(text) as { line: number }).line
      : Number(/,(\d+),"?(?:parse|service)/.exec(text)?.[1]);

  it('are in the order of the input, also behind a header', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), `identity,Email\n${rows.join('')}`);
    for (const name of ['r.ndjson', 'r.csv']) {
      expect((await world.run(['upload', 'users.csv', '--rejects', name])).code).toBe(3);
      const text = readFileSync(world.path(name), 'utf8').trimEnd().split('\n');
      const lines = text.slice(name.endsWith('.csv') ? 1 : 0).map(lineOf);
      expect(lines).toHaveLength(11);
      expect(lines).toEqual(lines.toSorted((a, b) => a - b));
      expect(text[0]).toContain(name.endsWith('.csv') ? 'engagectl_error' : '"line":9');
      expect(statSync(world.path(name)).mode & 0o777).toBe(0o600);
    }
  });

  it('are in the order of several inputs', async () => {
    const { world } = await serve();
    writeFileSync(world.path('b.csv'), 'identity,Email\nu1,x\nu2,a,b\n');
    writeFileSync(world.path('a.csv'), 'identity,Email\nu3,x\nu4,a,b\n');
    expect((await world.run(['upload', 'b.csv', 'a.csv', '--rejects', 'r.ndjson'])).code).toBe(3);
    const lines = readFileSync(world.path('r.ndjson'), 'utf8').trimEnd().split('\n');
    const places = lines.map((line) => JSON.parse(line) as { source: string; line: number });
    expect(places.map(({ source, line }) => `${source}:${line}`)).toEqual(['b.csv:2', 'b.csv:3', 'a.csv:2', 'a.csv:3']); // prettier-ignore
  });
});

it('does not put its lines in order in the file of another run, which may have the same ones', async () => {
  const file = makeWorld().path(rejectsName);
  const rejects = new RejectsFile(rejectsName, file, { option: unnamedOption });
  for (const ordinal of [1, 0])
    rejects.add({ source: 'users.csv', line: ordinal + 2, stage: 'parse', error: 'bad' }, ordinal);
  await rejects.sync();
  await rejects.close();
  const text = readFileSync(file, 'utf8');
  renameSync(file, `${file}.1`);
  writeFileSync(file, text);
  rejects.sort();
  expect([`${file}.1`, file].map((name) => linesOf(readFileSync(name, 'utf8')))).toEqual([[3, 2], [3, 2]]); // prettier-ignore
});

it('keeps each older file if processes set aside files of one name at the same time', async () => {
  const { cwd } = makeWorld();
  const module = new URL('../../build/files/atomic-write.js', import.meta.url).href;
  const script = `
    import { writeFileSync } from 'node:fs';
    import { setAside } from ${JSON.stringify(module)};
    let made = 0;
    for (let turn = 0; turn < 60; turn += 1) {
      try {
        writeFileSync('x', String(process.pid), { flag: 'wx' });
        made += 1;
      } catch {} // that of another process is there
      setAside('x');
    }
    console.log(made);`;
  const run = promisify(execFile);
  const outputs = await Promise.all(
    Array.from({ length: 4 }, () =>
      run(process.execPath, ['--input-type=module', '-e', script], { cwd }),
    ),
  );
  const made = outputs.reduce((sum, { stdout }) => sum + Number(stdout), 0);
  const kept = readdirSync(cwd).filter((name) => statSync(path.join(cwd, name)).size > 0);
  expect(kept).toHaveLength(made);
});

it('leaves a file in place that another process creates just before its own', async () => {
  const file = makeWorld().path(rejectsName);
  const rejects = new RejectsFile(rejectsName, file, { option: unnamedOption });
  rejects.add({ source: 'users.csv', line: 2, stage: 'parse', error: 'bad' }, 0);
  writeFileSync(file, 'of another process\n');
  await rejects.sync();
  await rejects.close();
  expect(rejects.path).toBe(`${rejectsName}.1`);
  expect(linesOf(readFileSync(`${file}.1`, 'utf8'))).toEqual([2]);
  expect(readFileSync(file, 'utf8')).toBe('of another process\n');
});

it.runIf(existsSync('/sys'))(
  'says that its folder is not writable, instead of a full disk',
  async () => {
    const rejects = new RejectsFile('r.ndjson', '/sys/r.ndjson', { option: unnamedOption });
    rejects.add({ source: 'users.csv', line: 2, stage: 'parse', error: 'bad' }, 0);
    await expect(rejects.sync()).rejects.toMatchObject({
      details: { fix: expect.stringMatching(/^make its folder writable, or /) as unknown },
    });
  },
);
