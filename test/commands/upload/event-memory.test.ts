import fs, {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ArchiveWriter } from '../../../src/bulk/event-memory/event-archive.js';
import { EventLog, eventState } from '../../../src/bulk/event-memory/event-log.js';
import {
  EventMemory,
  type EventMemoryOptions,
} from '../../../src/bulk/event-memory/event-memory.js';
import { main } from '../../../src/main.js';
import { runOrKill, withoutRemovalOfRun } from '../../support/killed-run.js';
import { until } from '../../support/until.js';
import { written } from '../../support/serve.js';
import { event, lines, numbers, stage, type Figures } from './event-memory.js';

// Whatever happens to a file of events, each arrives once, or the upload is refused with advice that works.

const csvHead = 'identity,ts,n,Amount,City\n';
const csvLines = (...of: number[]) =>
  of.map((n) => `u${n},${1_700_000_000 + n},${n},${n}.50,Zürich\n`).join('');
const asEvents = ['--type', 'event', '--event-name', 'Visit'];
const profileOf = (profileData: object) =>
  `${JSON.stringify({ identity: 'ann', type: 'profile', profileData })}\n`;
const operator = profileOf({ Visits: { $incr: 1 } });
/** Plans of the profiles that were sent, in order. */
const plansIn = (service: Parameters<typeof written>[0]) =>
  written<{ profileData?: { plan: string } }>(service)
    .flat()
    .flatMap(({ profileData }) => profileData?.plan ?? []);

describe('events that were sent', () => {
  it('are refused with their number, run, file and day, and --resume and --again do as they say', async () => {
    const { run, stored, write } = await stage();
    write('old.ndjson', lines(1, 2, 3));
    const first = await run(['upload', 'old.ndjson']);
    write('new.ndjson', lines(0, 3, 2, 4));
    const refused = await run(['upload', 'new.ndjson']);
    expect([refused.code, stored()]).toEqual([8, [1, 2, 3]]);
    expect(refused.stderr).toContain('E-ALREADY-SENT');
    expect(refused.stderr).toContain('2 of the first 4 records of new.ndjson were already sent');
    expect(refused.stderr).toContain(`run ${first.summary.run} sent them from old.ndjson on 2`);
    const resumed = await run(['upload', 'new.ndjson', '--resume']);
    expect([resumed.code, resumed.summary]).toMatchObject([
      0,
      { read: 4, accepted: 2, alreadySent: 2 },
    ]);
    expect(stored()).toEqual([0, 1, 2, 3, 4]);
    const again = await run(['upload', 'new.ndjson', '--again']);
    expect([again.code, again.summary.accepted]).toEqual([0, 4]);
    expect(stored()).toEqual([0, 0, 1, 2, 2, 3, 3, 4, 4]);
  });

  // XXH64 gives both identities the same hash with 94 of 100 seeds; a polynomial of the digits both numbers, always.
  it.each([
    [
      'identity',
      '5ac934a6ff9480699ccab60a8a03e504e1e429291dbb42a7dbac6ddc48ccf6e6',
      '5ac934aFff9480699ccab60a8a03e504e1e|,9i_1dbb42a7dbac6ddc48ccf6e6',
    ],
    ['number', '11112211113211112121121232211111', '11111112121122211111213111132131'],
  ])('are not taken for those of a made %s', async (what, other, own) => {
    const { run, stored, write } = await stage();
    const eventOf = (n: number, value: string) =>
      what === 'identity'
        ? lines(n).replace(`u${n}`, value)
        : lines(n).replace('"City"', `"Total":${value},"City"`);
    write('other.ndjson', eventOf(1, other));
    await run(['upload', 'other.ndjson']);
    write('own.ndjson', eventOf(1, own));
    const { code, summary } = await run(['upload', 'own.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted: 1, alreadySent: 0 }]);
    expect(stored()).toEqual([1, 1]);
  });

  it('keep every other event of the input from being sent until the user decides', async () => {
    const { run, stored, write } = await stage();
    // Longer together than what is read at once.
    const properties = Object.fromEntries(numbers(16).map((n) => [`P${n}`, 'x'.repeat(500)]));
    const long = (n: number) =>
      `${JSON.stringify({ ...event(n), evtData: { n, ...properties } })}\n`;
    write('old.ndjson', long(900));
    await run(['upload', 'old.ndjson']);
    write('new.ndjson', [...numbers(900), 900].map((n) => long(n)).join(''));
    const refused = await run(['upload', 'new.ndjson', '--chunk-size', '1']);
    expect([refused.code, stored()]).toEqual([8, [900]]);
  });

  it('are remembered once although the service asked to send them again', async () => {
    const { service, run, stored, write } = await stage();
    await service.fault({ endpoint: 'upload', times: 1, answer: { status: 429 } });
    write('one.ndjson', lines(1));
    await run(['upload', 'one.ndjson']);
    // Not the first input and more, which the ledger would recognize.
    write('two.ndjson', lines(2, 1, 1));
    const { code, summary } = await run(['upload', 'two.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted: 2, alreadySent: 1, unknown: 0 }]);
    expect(stored()).toEqual([1, 1, 2]);
  });

  it('do not keep the profiles before them from being sent', async () => {
    const { run, service, write } = await stage();
    write('old.ndjson', lines(1));
    await run(['upload', 'old.ndjson']);
    const properties = Object.fromEntries(numbers(16).map((n) => [`P${n}`, 'x'.repeat(500)]));
    const profile = (n: number) =>
      `${JSON.stringify({ identity: `p${n}`, type: 'profile', profileData: properties })}\n`;
    const sent = service.requests().length;
    // More than what is read at once.
    write('new.ndjson', numbers(900).map(profile).join('') + lines(1));
    const refused = await run(['upload', 'new.ndjson']);
    expect([refused.code, service.requests().length > sent]).toEqual([8, true]);
  });

  it('are each found among thousands that were sent lately', async () => {
    const { run, stored, write } = await stage();
    const all = numbers(3000);
    write('all.ndjson', lines(...all));
    await run(['upload', 'all.ndjson']);
    write('more.ndjson', lines(...all.toReversed(), 3000));
    const { code, summary } = await run(['upload', 'more.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted: 1, alreadySent: 3000 }]);
    expect(stored()).toEqual([...all, 3000]);
  });

  it('by another run while this one had not come to them are sent once', async () => {
    const { run, runPiped, service, stored, write } = await stage();
    const input = new PassThrough();
    const first = runPiped(['upload', '-', '--input-format', 'ndjson'], input);
    input.write(lines(1));
    await until(() => stored().length === 1, { message: 'the first event arrives' });
    write('other.ndjson', lines(1, 1, 4, 6));
    const other = await run(['upload', 'other.ndjson', '--resume']);
    expect([other.code, other.summary]).toMatchObject([0, { accepted: 3, alreadySent: 1 }]);
    input.end(lines(3, 4, 5, 6, 7));
    const { code, summary } = await first;
    expect([code, summary]).toMatchObject([3, { accepted: 4, alreadySent: 2, unknown: 0 }]);
    expect(stored()).toEqual([1, 1, 3, 4, 5, 6, 7]);
    expect(service.requests().filter(({ method }) => method === 'POST')).toHaveLength(3);
  });

  it('are sent once by another process that resumes a run, also beside --retry-unknown', async () => {
    const { run, runPiped, service, stored, write } = await stage();
    write('log.ndjson', `${lines(1)}{"ident`);
    expect((await run(['upload', 'log.ndjson'])).code).toBe(9);
    const input = new PassThrough();
    const retry = ['--resume', '--retry-unknown'];
    const first = runPiped(['upload', '-', '--input-format', 'ndjson', ...retry], input);
    input.write(lines(9));
    await until(() => stored().includes(9), { message: '9 arrived' });
    await service.fault({ endpoint: 'upload', times: 1, delayMs: 500 });
    write('log.ndjson', lines(1, 2, 3));
    const other = run(['upload', 'log.ndjson', '--resume']);
    const isSent = () => service.requests().some(({ fault }) => fault !== null);
    await until(isSent, { message: 'the other run sends' });
    input.end(lines(2, 3));
    expect((await first).summary).toMatchObject({ accepted: 1, alreadySent: 2 });
    expect((await other).code).toBe(0);
    expect(stored()).toEqual([1, 2, 3, 9]);
  });

  it('are held back in the rejects file if they turn up after the first thousand', async () => {
    const { run, stored, write, world } = await stage();
    write('old.ndjson', lines(2000, 2001));
    await run(['upload', 'old.ndjson']);
    write('new.ndjson', lines(...numbers(1000), 2001, 1000, 2000));
    const { code, summary, stderr } = await run(['upload', 'new.ndjson']);
    expect([code, summary]).toMatchObject([3, { read: 1003, accepted: 1001, alreadySent: 2 }]);
    expect(stderr).toContain('2 of 1,003 records had already been sent by another run');
    const rejects = readFileSync(world.path(summary.rejectsFile!), 'utf8').trimEnd().split('\n');
    expect(rejects.map((line) => JSON.parse(line) as object)).toMatchObject([
      { stage: 'alreadySent', line: 1001 },
      { stage: 'alreadySent', line: 1003 },
    ]);
    expect(stored()).toEqual([...numbers(1001), 2000, 2001]);
    const skipped = await run(['upload', summary.rejectsFile!, '--rejects', 'second.ndjson']);
    expect([skipped.code, skipped.summary]).toMatchObject([3, { accepted: 0, alreadySent: 2 }]);
    const again = await run(['upload', summary.rejectsFile!, '--again']);
    expect([again.code, again.summary.accepted]).toEqual([0, 2]);
    expect(stored()).toHaveLength(1005);
  });

  it('count by copies: equal events of one input are all sent, those of another only as often as they are missing', async () => {
    const { run, stored, write } = await stage();
    write('log.ndjson', lines(1, 1, 2));
    expect((await run(['upload', 'log.ndjson'])).summary.accepted).toBe(3);
    write('log.ndjson', lines(1, 1, 2, 1, 2));
    const { summary } = await run(['upload', 'log.ndjson', '--resume']);
    expect(summary).toMatchObject({ accepted: 2, alreadySent: 3 });
    expect(stored()).toEqual([1, 1, 1, 2, 2]);
  });

  it.each([
    ['saved with CRLF', (text: string) => text.replaceAll('\n', '\r\n'), []],
    ['reordered', (text: string) => `${text.trimEnd().split('\n').toReversed().join('\n')}\n`, []],
    [
      'with other white space',
      (text: string) => text.replaceAll(':', ' : ').replaceAll('",', '" , '),
      [],
    ],
    [
      'with escapes',
      (text: string) =>
        text.replaceAll('ü', '\\u00fc').replaceAll('u', '\\u0075').replaceAll('\\\\u0075', '\\u'),
      [],
    ],
    [
      'with numbers spelled otherwise',
      (text: string) => text.replaceAll(/"n":(\d+)/g, '"n":$1.0'),
      [],
    ],
    ['with a byte order mark', (text: string) => `\ufeff${text}`, []],
    ['as UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le'), []],
    [
      'in windows-1252',
      (text: string) => Buffer.from(text, 'latin1'),
      ['--encoding', 'windows-1252'],
    ],
    ['compressed', (text: string) => gzipSync(text), []],
    [
      'as a JSON array',
      (text: string) => `[${text.trimEnd().replaceAll('\n', ',')}]`,
      ['--input-format', 'json'],
    ],
    ['cut', (text: string) => text.split('\n').slice(2).join('\n'), []],
    ['with a redundant option', (text: string) => text, ['--type', 'event']],
    ['with another redundant option', (text: string) => text, ['--input-format', 'ndjson']],
  ])('are recognized %s', async (_how, change, options) => {
    const { run, stored, write } = await stage();
    write('e.ndjson', lines(...numbers(5)));
    await run(['upload', 'e.ndjson']);
    write('f.ndjson', change(lines(...numbers(5))));
    const refused = await run(['upload', 'f.ndjson', ...options]);
    expect([refused.code, refused.stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
    const resumed = await run(['upload', 'f.ndjson', ...options, '--resume']);
    expect([resumed.code, resumed.summary.accepted]).toEqual([0, 0]);
    expect(stored()).toEqual(numbers(5));
  });

  it('are recognized in CSV with other columns order, and in NDJSON', async () => {
    const { run, stored, write } = await stage();
    write('e.csv', csvHead + csvLines(1, 2));
    await run(['upload', 'e.csv', ...asEvents]);
    write('f.csv', `City,n,Amount,ts,identity\nZürich,2,2.50,1700000002,u2\n`);
    expect((await run(['upload', 'f.csv', ...asEvents])).code).toBe(8);
    const strings = lines(1, 2).replaceAll(/"n":(\d)/g, '"n":"$1"');
    write('e.ndjson', strings);
    const { code, summary } = await run(['upload', 'e.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted: 0, alreadySent: 2 }]);
    expect(stored()).toEqual([1, 2]);
  });
});

describe('what people do to a file of events', () => {
  it('correct a bad line in the original file and run the same command', async () => {
    const { run, stored, write } = await stage();
    const bad = lines(1, 2, 3, 4).replace('"ts":1700000002', '"ts":"soon"');
    write('e.ndjson', bad);
    expect((await run(['upload', 'e.ndjson'])).code).toBe(3);
    write('e.ndjson', lines(1, 2, 3, 4));
    expect((await run(['upload', 'e.ndjson'])).code).toBe(8);
    const { code, summary } = await run(['upload', 'e.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted: 1, alreadySent: 3 }]);
    expect(stored()).toEqual([1, 2, 3, 4]);
  });

  it('run a file with a bad line again with --resume: the line is rejected again', async () => {
    const { run, stored, write } = await stage();
    write('e.ndjson', lines(1, 2).replace('"ts":1700000002', '"ts":"soon"'));
    await run(['upload', 'e.ndjson']);
    const { code, summary } = await run(['upload', 'e.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([3, { accepted: 0, alreadySent: 1, rejected: 1 }]);
    expect(stored()).toEqual([1]);
  });

  it('add types: the error names the option', async () => {
    const { run, stored, write } = await stage();
    write('e.csv', csvHead + csvLines(1, 2));
    await run(['upload', 'e.csv', ...asEvents]);
    const typed = ['upload', 'e.csv', ...asEvents, '--types', 'Amount:number,n:integer'];
    for (const more of [[], ['--resume']]) {
      const refused = await run([...typed, ...more]);
      expect([refused.code, refused.stderr]).toEqual([
        8,
        expect.stringContaining('E-ALREADY-SENT'),
      ]);
      expect(refused.stderr).toContain('with other options: --types');
    }
    expect(stored()).toEqual([1, 2]);
    expect((await run([...typed, '--again'])).code).toBe(0);
  });

  it('send the same file as other events, or for other users', async () => {
    const { run, service, write } = await stage();
    write('e.csv', csvHead + csvLines(1, 2));
    await run(['upload', 'e.csv', ...asEvents]);
    expect((await run(['upload', 'e.csv', '--type', 'event', '--event-name', 'Paid'])).code).toBe(
      0,
    );
    expect((await run(['upload', 'e.csv', ...asEvents, '--identity', 'n'])).code).toBe(0);
    expect(written(service).flat()).toHaveLength(6);
  });

  it('append to a log, whose last line had no line end', async () => {
    const { run, stored, write, world } = await stage();
    write('log.ndjson', lines(1, 2).trimEnd());
    await run(['upload', 'log.ndjson', '--resume']);
    appendFileSync(world.path('log.ndjson'), `\n${lines(3)}`);
    const { code, summary } = await run(['upload', 'log.ndjson', '--resume']);
    expect([code, summary.accepted]).toEqual([0, 1]);
    expect(stored()).toEqual([1, 2, 3]);
  });

  it('complete a line that was cut when it was read', async () => {
    const { run, stored, write } = await stage();
    write('log.ndjson', lines(1, 2, 3).slice(0, -20));
    const cut = await run(['upload', 'log.ndjson', '--resume']);
    expect([cut.code, stored()]).toEqual([9, [1, 2]]);
    write('log.ndjson', lines(1, 2, 3, 4));
    expect((await run(['upload', 'log.ndjson', '--resume'])).code).toBe(0);
    expect(stored()).toEqual([1, 2, 3, 4]);
  });

  it('rotate a log, and truncate it', async () => {
    const { run, stored, write, world } = await stage();
    write('log.ndjson', lines(1, 2, 3));
    await run(['upload', 'log.ndjson', '--resume']);
    copyFileSync(world.path('log.ndjson'), world.path('log.1.ndjson'));
    truncateSync(world.path('log.ndjson'));
    appendFileSync(world.path('log.ndjson'), lines(4));
    expect((await run(['upload', 'log.ndjson', '--resume'])).summary.accepted).toBe(1);
    const both = await run(['upload', 'log.1.ndjson', 'log.ndjson', '--resume']);
    expect([both.code, both.summary]).toMatchObject([0, { accepted: 0 }]);
    expect(stored()).toEqual([1, 2, 3, 4]);
  });

  it('rotate a log of which a run has not sent all: its rejects are kept', async () => {
    const { service, world, run, stored, write } = await stage();
    const flags = ['--chunk-size', '1', '--concurrency', '1', '--resume'];
    write('app.ndjson', `{"bad":1}\n${lines(1, 2)}`);
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    expect((await run(['upload', 'app.ndjson', ...flags])).code).toBe(4);
    const rejects = readFileSync(world.path('app.ndjson.rejects.ndjson'), 'utf8');
    expect(rejects).toContain('"record":{"bad":1}');
    write('app.ndjson', `{"worse":1}\n${lines(7, 8)}`);
    const { code, stderr } = await run(['upload', 'app.ndjson', ...flags]);
    expect([code, stored()]).toEqual([3, [1, 7, 8]]);
    expect(stderr).toMatch(/has changed since run .* not sent all .* if the file was rotated/);
    const kept = readFileSync(world.path('app.ndjson.rejects.ndjson.1'), 'utf8');
    expect(kept).toBe(rejects);
  });

  it('concatenate sent files, with new lines between', async () => {
    const { run, stored, write } = await stage();
    write('a.ndjson', lines(1, 2));
    write('b.ndjson', lines(4, 5));
    await run(['upload', 'a.ndjson']);
    await run(['upload', 'b.ndjson']);
    write('all.ndjson', lines(1, 2, 3, 4, 5, 6));
    const refused = await run(['upload', 'all.ndjson']);
    expect(refused.stderr).toContain('4 of the first 6 records of all.ndjson were already sent');
    expect((await run(['upload', 'all.ndjson', '--resume'])).summary.accepted).toBe(2);
    expect(stored()).toEqual(numbers(6, 1));
  });

  it('give the same content through a pipe', async () => {
    const { run, stored, write } = await stage();
    write('e.ndjson', lines(1, 2));
    await run(['upload', 'e.ndjson']);
    expect((await run(['upload', '-'], lines(1, 2, 3))).code).toBe(8);
    const named = ['upload', '-', '--run-name', 'crm', '--resume'];
    expect((await run(named, lines(1, 2, 3))).summary).toMatchObject({
      accepted: 1,
      alreadySent: 2,
    });
    expect((await run(named, lines(1, 2, 3))).summary).toMatchObject({
      accepted: 0,
      alreadySent: 3,
    });
    expect((await run(named, lines(0, 3, 1))).summary).toMatchObject({
      accepted: 1,
      alreadySent: 2,
    });
    expect(stored()).toEqual([0, 1, 2, 3]);
  });

  it.each([
    ['one file', ['mix.ndjson'], ['--resume']],
    ['one file', ['mix.ndjson'], ['--resume', '--changed']],
    ['one file', ['mix.ndjson'], ['--resume', '--changed', '--full']],
    ['two files', ['events.ndjson', 'users.csv'], ['--resume']],
    ['two files', ['events.ndjson', 'users.csv'], ['--resume', '--changed']],
  ])('do not hold back profiles of %s with an earlier content: %s %s', async (_, files, flags) => {
    const { service, run, stored, write } = await stage();
    for (const [value, accepted] of [
      ['free', 2],
      ['paid', 1],
      ['free', 1],
    ] as const) {
      write('events.ndjson', lines(1));
      write('users.csv', `identity,plan\nann,${value}\n`);
      write('mix.ndjson', lines(1) + profileOf({ plan: value }));
      const { code, summary } = await run(['upload', ...files, ...flags]);
      expect([code, summary.accepted]).toEqual([0, accepted]);
    }
    expect(plansIn(service)).toEqual(['free', 'paid', 'free']);
    expect(stored()).toEqual([1]);
  });

  it('do not hold back a profile beside them that was sent before the input was complete', async () => {
    const { service, run, write } = await stage();
    const upload = ['upload', 'mix.ndjson', '--type', 'event', '--resume'];
    write('mix.ndjson', profileOf({ plan: 'free' }) + lines(1).slice(0, 30));
    expect((await run(upload)).code).toBe(9);
    for (const plan of ['free', 'paid', 'free']) {
      write('mix.ndjson', profileOf({ plan }) + lines(1));
      expect((await run(upload)).code).toBe(0);
    }
    expect(plansIn(service)).toEqual(['free', 'paid', 'free']);
  });

  it('do not stand for equal ones that are appended behind an operator', async () => {
    const { run, stored, write } = await stage();
    let log = '';
    for (const more of [lines(1), lines(1) + operator, lines(1), lines(2, 1)]) {
      log += more;
      write('log.ndjson', log);
      expect((await run(['upload', 'log.ndjson', '--resume'])).code).toBe(0);
    }
    expect(stored()).toEqual([1, 1, 1, 1, 2]);
  });

  it('do not stand for those of a second file with the same text, or of one behind operators', async () => {
    const { run, stored, write } = await stage();
    write('a.ndjson', lines(1));
    write('b.ndjson', operator);
    write('c.ndjson', lines(1));
    await run(['upload', 'a.ndjson']);
    expect((await run(['upload', 'a.ndjson', 'c.ndjson', '--resume'])).summary.accepted).toBe(1);
    await run(['upload', 'b.ndjson']);
    write('c.ndjson', lines(1, 1));
    const all = ['upload', 'b.ndjson', 'a.ndjson', 'c.ndjson', '--resume'];
    expect((await run(all)).summary.accepted).toBe(1);
    expect(stored()).toEqual([1, 1, 1]);
  });

  it.each([['events alone'], ['an operator']])(
    'do not stand for an earlier equal one of %s whose request was refused',
    async (what) => {
      const { service, run, stored, write } = await stage();
      const ending = what === 'an operator' ? operator : '';
      write('log.ndjson', lines(1, 2, 1, 3) + ending);
      await service.fault({ endpoint: 'upload', times: 1, delayMs: 200, answer: { status: 401 } });
      const upload = ['upload', 'log.ndjson', '--resume', '--chunk-size', '1', '--order', 'none'];
      expect((await run(upload)).code).toBe(4);
      const before = stored();
      expect(before.filter((n) => n === 1)).toEqual([1]);
      expect((await run(upload)).code).toBe(0);
      expect(stored()).toEqual([1, 1, 2, 3]);
    },
  );

  it.each([[['--resume']], [['--resume', '--changed']]])(
    'stand for themselves if a run that only found them is resumed, %s',
    async (flags) => {
      const { service, run, stored, write } = await stage();
      const [half, upload] = [lines(1).slice(0, 30), ['upload', 'log.ndjson', ...flags]];
      const bad = '{"identity":"ann","type":"event"}\n';
      write('log.ndjson', lines(1) + bad);
      expect((await run(upload)).code).toBe(3);
      write('log.ndjson', lines(1) + bad + half);
      expect((await run(upload)).code).toBe(9);
      write('log.ndjson', lines(1) + bad + lines(1));
      await run(upload);
      expect(stored()).toEqual([1, 1]);
      await service.fault({ endpoint: 'upload', times: 1, answer: { status: 401 } });
      write('log.ndjson', lines(1) + bad + lines(1) + profileOf({ plan: 'free' }) + lines(1));
      expect((await run([...upload, '--chunk-size', '1', '--concurrency', '1'])).code).toBe(4);
      await run(upload);
      expect(stored()).toEqual([1, 1, 1]);
    },
  );

  it.each([[['--resume']], [['--changed']], [['--changed', '--resume']]])(
    'are sent once behind a text that is known, whose event is repeated, with %s',
    async (flags) => {
      const { run, stored, write } = await stage();
      let log = '';
      for (const more of [lines(1), `${lines(1)}{"identity":"ann","type":"event"}\n`, lines(2)]) {
        log += more;
        write('log.ndjson', log);
        await run(['upload', '--type', 'event', 'log.ndjson', ...flags]);
      }
      expect(stored()).toEqual([1, 1, 2]);
    },
  );

  it('stand for themselves if a pipe with profiles is read again, whose events were only found', async () => {
    const { service, run, stored, write } = await stage();
    write('a.ndjson', lines(1));
    await run(['upload', 'a.ndjson']);
    const text = profileOf({ plan: 'a' }) + lines(1) + profileOf({ plan: 'b' }) + lines(1);
    await service.fault({ endpoint: 'upload', after: 1, times: 1, answer: { status: 401 } });
    const upload = ['upload', '-', '--run-name', 'crm', '--resume', '--chunk-size', '1'];
    for (const code of [4, 0])
      expect((await run([...upload, '--concurrency', '1'], text)).code).toBe(code);
    expect(stored()).toEqual([1, 1]);
  });

  it('stand for themselves in a pipe with an operator that is resumed', async () => {
    const { service, run, stored } = await stage();
    const text = lines(1) + operator + lines(1, 1, 2);
    await service.fault({ endpoint: 'upload', times: 1, delayMs: 200, answer: { status: 401 } });
    const upload = ['upload', '-', '--run-name', 'crm', '--resume', '--chunk-size', '1'];
    expect((await run(upload, text)).code).toBe(4);
    expect(stored()).toContain(1);
    expect((await run(upload, text)).code).toBe(0);
    expect(stored()).toEqual([1, 1, 1, 2]);
  });

  it.each([
    ['csv', csvHead, (...of: number[]) => csvHead + csvLines(...of)],
    ['ndjson', '\n', lines],
  ])(
    'are sent once behind a file without records that is known, of %s',
    async (kind, empty, text) => {
      const { run, stored, write } = await stage();
      const upload = ['upload', `a.${kind}`, `b.${kind}`, ...asEvents, '--resume'];
      write(`a.${kind}`, empty);
      for (const of of [
        [1, 3],
        [1, 2, 3],
      ]) {
        write(`b.${kind}`, text(...of));
        expect((await run(upload)).code).toBe(0);
      }
      expect(stored()).toEqual([1, 2, 3]);
    },
  );

  it('stand for those of one of two files with their text, also behind operators', async () => {
    const { run, stored, write } = await stage();
    write('a.ndjson', lines(1, 2));
    write('copy.ndjson', lines(1, 2));
    write('longer.ndjson', lines(1, 2, 3));
    write('counters.ndjson', operator);
    for (const name of ['a.ndjson', 'counters.ndjson']) await run(['upload', name, '--resume']);
    const refused = await run(['upload', 'a.ndjson', 'copy.ndjson', 'counters.ndjson', '--resume']);
    expect([refused.code, stored()]).toEqual([8, [1, 2]]);
    const upload = ['upload', 'counters.ndjson', 'a.ndjson', 'longer.ndjson', '--resume'];
    for (const accepted of [3, 0]) expect((await run(upload)).summary.accepted).toBe(accepted);
    expect(stored()).toEqual([1, 1, 2, 2, 3]);
  });

  it('are sent once behind a file with operators that is known', async () => {
    const { run, stored, write } = await stage();
    write('counters.ndjson', operator);
    await run(['upload', 'counters.ndjson', '--resume']);
    write('log.ndjson', lines(1));
    await run(['upload', 'log.ndjson', '--resume']);
    write('log.ndjson', `${lines(1, 1)}{"identity":"ann","type":"event"}\n`);
    await run(['upload', 'log.ndjson', '--resume']);
    await run(['upload', 'counters.ndjson', 'log.ndjson', '--resume']);
    expect(stored()).toEqual([1, 1]);
  });

  it('do not make an operator beside them go out again when the first file is rotated away', async () => {
    const { service, run, stored, write } = await stage();
    for (const n of [1, 2, 3, 4]) write(`d${n}.ndjson`, lines(n));
    write('d2.ndjson', lines(2) + operator);
    for (const files of [['1'], ['1', '2'], ['1', '2', '3'], ['2', '3', '4']])
      await run(['upload', ...files.map((n) => `d${n}.ndjson`), '--resume']);
    const sent = written<{ profileData?: object }>(service).flat();
    expect(sent.filter(({ profileData }) => profileData)).toHaveLength(1);
    expect(stored()).toEqual([1, 2, 3, 4]);
  });

  it('send single new events with --changed', async () => {
    const { run, stored, write } = await stage();
    write('a.ndjson', lines(1, 2));
    await run(['upload', 'a.ndjson']);
    write('b.ndjson', lines(2, 3));
    const plan = await run(['upload', 'b.ndjson', '--changed', '--check']);
    expect(plan.summary).toMatchObject({ plan: { new: 1, changed: 0, unchanged: 1, gone: 0 } });
    const { code, summary } = await run(['upload', 'b.ndjson', '--changed']);
    expect([code, summary]).toMatchObject([0, { accepted: 1, alreadySent: 1 }]);
    expect(stored()).toEqual([1, 2, 3]);
  });
});

describe('a run that starts over', () => {
  const inPairs = ['--chunk-size', '2', '--concurrency', '1'];

  it.each([
    ['a pipe', ['-', '--run-name', 'crm']],
    ['a changed file', ['e.ndjson']],
  ])(
    'because of %s sends each event once more with --again, however often it stops',
    async (_what, input) => {
      const { service, run, stored, write } = await stage();
      const upload = async (text: string, ...flags: string[]) => {
        write('e.ndjson', text);
        return run(['upload', ...input, ...inPairs, ...flags], text);
      };
      const text = lines(...numbers(8));
      const changed = lines(...numbers(10).toReversed());
      expect((await upload(text)).code).toBe(0);
      const resume = ['--again', '--resume'];
      for (const [attempt, after, flags] of [
        [text, 1, ['--again']],
        [changed, 0, resume],
        [text, 1, resume],
        [changed, 2, resume],
      ] as const) {
        await service.fault({ after, times: 1, answer: { status: 401 } });
        expect((await upload(attempt, ...flags)).code).toBe(4);
        const { code, stderr } = await upload(attempt, '--again');
        expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-UNFINISHED')]);
      }
      expect((await upload(changed, ...resume)).code).toBe(0);
      expect(stored()).toEqual([...numbers(8), ...numbers(10)].toSorted((a, b) => a - b));
      expect((await upload(changed, '--again')).summary.accepted).toBe(10);
    },
  );

  it('sends no event twice if it finished, and what it had sent before follows in one text', async () => {
    const { service, run, stored, write } = await stage();
    const upload = async (...files: string[]) => run(['upload', ...files, ...inPairs, '--resume']);
    write('log.1', lines(1, 2, 3, 4));
    write('log', lines(1, 2, 3, 4));
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    expect((await upload('log')).code).toBe(4);
    write('log', lines(5, 6));
    expect((await upload('log')).code).toBe(0);
    const { code, summary } = await upload('log', 'log.1');
    expect([code, summary]).toMatchObject([0, { accepted: 2, alreadySent: 4 }]);
    expect(stored()).toEqual(numbers(6, 1));
  });

  it('warns of events that it had in flight, also if its input is a pipe', async () => {
    const { service, world, run, stored } = await stage();
    const upload = ['upload', '-', '--run-name', 'x', '--resume', ...inPairs];
    await service.fault({ after: 1, times: 1, delayMs: 100, answer: { status: 401 } });
    const stdin = lines(1, 2, 3, 4);
    const { isKilled } = await runOrKill({ world, service }, upload, { stdin, kill: true });
    expect(isKilled).toBe(true);
    const { code, stderr } = await run(upload, lines(5, 6));
    expect([code, stderr]).toEqual([0, expect.stringContaining('was killed while it sent events')]);
    expect(stored()).toEqual([1, 2, 5, 6]);
  });

  it('sets only its own rejects file aside, and names it', async () => {
    const { service, world, run, write } = await stage();
    const upload = async (...files: string[]) => run(['upload', ...files, ...inPairs, '--resume']);
    write('log', lines(1, 2, 3, 4, 5, 6));
    write('other', '{"type":"event"}\n');
    await service.fault({ after: 1, times: 1, action: 'reset-after' });
    await service.fault({ after: 2, times: 1, answer: { status: 401 } });
    expect((await upload('log')).summary.unknown).toBe(2);
    expect((await upload('log', 'other')).summary.rejected).toBe(1);
    write('log', lines(7, 8));
    const { code, stderr } = await upload('log');
    expect([code, stderr]).toEqual([0, expect.stringContaining('log.rejects.ndjson.1 lists them')]);
    expect(readFileSync(world.path('log.rejects.ndjson'), 'utf8')).toContain('"validate"');
  });

  it('is unfinished again if it ended with --limit, and its folder outlived it', async () => {
    const { service, world, run, stored } = await stage();
    const upload = ['upload', '-', '--run-name', 'crm', '--limit', '4', ...inPairs];
    const ended = async () => run([...upload, '--again'], lines(1, 2, 3, 4, 5));
    expect((await withoutRemovalOfRun(world, ended)).code).toBe(0);
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    const next = lines(5, 6, 7, 8);
    expect((await run([...upload, '--again', '--resume'], next)).code).toBe(4);
    const { code, stderr } = await run([...upload, '--again'], next);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-UNFINISHED')]);
    expect((await run([...upload, '--again', '--resume'], next)).code).toBe(0);
    expect(stored()).toEqual(numbers(8, 1));
  });

  it('reports events of unknown outcome, also with the --retry-unknown of its start', async () => {
    const { service, world, run, stored, write } = await stage();
    write('e.ndjson', lines(...numbers(6)));
    await service.fault({ times: 3, answer: { status: 500 } });
    const first = await run(['upload', 'e.ndjson', ...inPairs]);
    expect([first.code, first.summary.unknown]).toEqual([6, 6]);
    const text = readFileSync(world.path(first.summary.rejectsFile!), 'utf8');
    const retry = ['upload', '-', '--run-name', 'x', '--retry-unknown', ...inPairs];
    await service.fault({ after: 1, times: 1, action: 'reset-after' });
    await service.fault({ after: 2, times: 1, answer: { status: 401 } });
    expect((await run(retry, text)).code).toBe(6);
    expect(stored()).toEqual(numbers(4));
    const { code, summary } = await run([...retry, '--resume'], text);
    expect([code, summary]).toMatchObject([6, { accepted: 2, alreadySent: 2, unknown: 2 }]);
    expect(stored()).toEqual(numbers(6));
  });
});

describe('events of unknown outcome', () => {
  const unknown = async () => {
    const staged = await stage();
    staged.write('e.ndjson', lines(1, 2, 3));
    await staged.service.fault({ times: 1, answer: { status: 500 } });
    const first = await staged.run(['upload', 'e.ndjson']);
    expect([first.code, first.summary.unknown]).toEqual([6, 3]);
    return { ...staged, rejects: first.summary.rejectsFile! };
  };

  it('count as sent, with --changed too', async () => {
    const { run, stored } = await unknown();
    expect((await run(['upload', 'e.ndjson'])).code).toBe(8);
    for (const flag of ['--resume', '--changed']) {
      const { code, summary } = await run(['upload', 'e.ndjson', flag]);
      expect([code, summary]).toMatchObject([0, { accepted: 0, alreadySent: 3 }]);
    }
    expect(stored()).toEqual([]);
  });

  it('are those of a killed run, which the next one reports', async () => {
    const { run, stored, write, leaveInFlight } = await stage();
    write('e.ndjson', lines(1, 2, 2));
    await run(['upload', 'e.ndjson']);
    leaveInFlight(3);
    write('copy.ndjson', lines(2, 2, 2, 1, 3));
    const first = await run(['upload', 'copy.ndjson', '--resume']);
    expect([first.code, first.summary]).toMatchObject([6, { accepted: 2, unknown: 3 }]);
    const second = await run(['upload', 'copy.ndjson', '--resume']);
    expect([second.code, second.summary]).toMatchObject([0, { accepted: 0, alreadySent: 5 }]);
    expect(stored()).toEqual([1, 2, 2, 2, 3]);
  });

  it('are sent again by one of two processes, also if two others reported them', async () => {
    const { run, runPiped, stored, write, folder, leaveInFlight } = await stage();
    write('e.ndjson', lines(1));
    await run(['upload', 'e.ndjson']);
    leaveInFlight(1);
    const log = new EventLog(path.join(folder(), 'sent-1.log'));
    const { fingerprints } = [...log.read()][0]!;
    for (const _ of [1, 2]) log.append(eventState.unknown, 1, fingerprints.slice());
    log.close();
    const retry = ['upload', '-', '--input-format', 'ndjson', '--resume', '--retry-unknown'];
    const inputs = [new PassThrough(), new PassThrough()];
    const piped = inputs.map(async (input) => runPiped(retry, input));
    for (const [n, input] of inputs.entries()) {
      input.write(lines(8 + n));
      await until(() => stored().includes(8 + n), { message: `${8 + n} arrived` });
    }
    for (const [n, input] of inputs.entries()) {
      input.end(lines(1));
      expect((await piped[n]!).code).toBe(0);
    }
    expect(stored()).toEqual([1, 1, 8, 9]); // the first one is that of the killed run
  });

  it('are sent again also if their intents are in an archive, and another process reports them meanwhile', async () => {
    const { run, runPiped, stored, write, leaveInFlight } = await stage();
    write('e.ndjson', lines(1, 1));
    await run(['upload', 'e.ndjson']);
    leaveInFlight(2);
    await run(['runs', 'prune', '--yes']);
    const input = new PassThrough();
    const retry = ['upload', '-', '--input-format', 'ndjson', '--resume', '--retry-unknown'];
    const piped = runPiped(retry, input);
    input.write(lines(8));
    await until(() => stored().includes(8), { message: '8 arrived' });
    const report = await run(['upload', 'e.ndjson', '--resume']);
    expect([report.code, report.summary]).toMatchObject([6, { unknown: 2 }]);
    input.end(lines(1, 1));
    const { code, summary } = await piped;
    expect([code, summary]).toMatchObject([0, { accepted: 3 }]);
    expect(stored()).toEqual([1, 1, 1, 1, 8]); // the first two are those of the killed run
  });

  it('are those of a killed run, which is resumed meanwhile: they are reported, and the run stays open', async () => {
    const { run, runPiped, stored, write, folder, leaveInFlight } = await stage();
    write('e.ndjson', lines(1, 2));
    await run(['upload', 'e.ndjson']);
    leaveInFlight(2);
    const input = new PassThrough();
    const piped = runPiped(['upload', '-', '--input-format', 'ndjson', '--resume'], input);
    for (const n of [8, 9]) {
      input.write(lines(n));
      await until(() => stored().includes(n), { message: `${n} arrived` });
      const log = new EventLog(path.join(folder(), 'sent-1.log'));
      for (const state of [eventState.intended, eventState.sent])
        log.append(state, 1, Int32Array.of(n, n));
      log.close();
    }
    input.end(lines(1, 2));
    const { code, summary } = await piped;
    expect([code, summary]).toMatchObject([6, { accepted: 2, unknown: 2, alreadySent: 0 }]);
    const table = readFileSync(path.join(folder(), 'runs.ndjson'), 'utf8');
    expect(table).not.toContain('"number":1,"ended":true');
  });

  describe('of a killed run, which are in an archive when they are reported,', () => {
    const prune = ['runs', 'prune', '--yes'];
    /** Kills an upload of four events while the request of two waits for its answer, and archives its memory. */
    const killed = async (how: { action: 'reset-after' } | { answer: { status: 401 } }) => {
      const staged = await stage();
      const { service, world, write, run } = staged;
      const argv = ['upload', 'log.ndjson', '--resume', '--chunk-size', '2'];
      write('log.ndjson', lines(1, 2, 3, 4));
      await service.fault({ after: 1, times: 1, delayMs: 100, ...how });
      const upload = [...argv, '--concurrency', '1'];
      const ended = await runOrKill({ world, service }, upload, { stdin: '', kill: true });
      expect(ended.isKilled).toBe(true);
      service.clearFaults();
      expect((await world.run(prune)).code).toBe(0);
      write('log.ndjson', lines(1, 3)); // the others were rotated away
      const reported = await run(argv);
      expect([reported.code, reported.summary]).toMatchObject([6, { unknown: 1, accepted: 0 }]);
      return { ...staged, upload: async () => run(argv) };
    };

    it.each<[string, (folder: string, prune: () => Promise<unknown>) => Promise<unknown>]>([
      ['', async () => undefined],
      [', with their report', async (_folder, archive) => archive()],
      [
        ', and their report in another one',
        async (folder, archive) => {
          const first = path.join(folder, 'sent-1-1.archive');
          renameSync(first, `${first}.away`);
          await archive();
          renameSync(`${first}.away`, first);
          expect(readdirSync(folder)).toContain('sent-2-2.archive');
        },
      ],
    ])('count once%s: a later equal one is sent', async (_what, between) => {
      const { upload, write, stored, folder, world } = await killed({ action: 'reset-after' });
      await between(folder(), async () => world.run(prune));
      write('log.ndjson', lines(1, 3, 5, 3));
      const { code, summary } = await upload();
      expect([code, summary]).toMatchObject([0, { accepted: 2, alreadySent: 2 }]);
      expect((await upload()).summary).toMatchObject({ accepted: 0, alreadySent: 4 });
      write('log.ndjson', lines(4, 4));
      const last = await upload();
      expect([last.code, last.summary]).toMatchObject([6, { accepted: 1, unknown: 1 }]);
      expect(stored()).toEqual([1, 2, 3, 3, 4, 4, 5]);
    });

    it('are sent once after verify --settle found them missing', async () => {
      const { upload, write, stored, world, run } = await killed({ answer: { status: 401 } });
      const settle = ['verify', 'log.ndjson.rejects.ndjson', '--settle', '-o', 'open.ndjson'];
      expect((await world.run(settle)).code).toBe(3);
      const sent = await run(['upload', 'open.ndjson', '--resume']);
      expect([sent.code, sent.summary]).toMatchObject([0, { accepted: 1 }]);
      write('log.ndjson', lines(1, 2, 3, 4));
      const last = await upload();
      expect([last.code, last.summary]).toMatchObject([6, { unknown: 1, alreadySent: 3 }]);
      expect(stored()).toEqual([1, 2, 3]);
    });
  });

  it.each([
    ['edited', lines(4, 1)],
    ['rotated', lines(1, 4)],
  ])(
    'and were in flight once more when a run was killed are reported again, also if the input was %s',
    async (_what, later) => {
      const { service, world, run, stored, write } = await stage();
      write('g.ndjson', lines(1, 2));
      const argv = ['upload', 'g.ndjson', '--resume', '--chunk-size', '1', '--concurrency', '1'];
      await service.fault({ times: 1, answer: { status: 500 } });
      expect((await run(argv)).code).toBe(6);
      await service.fault({ times: 1, delayMs: 20, answer: { status: 401 } });
      const retry = [...argv, '--retry-unknown'];
      const killed = await runOrKill({ world, service }, retry, { stdin: '', kill: true });
      expect(killed.isKilled).toBe(true);
      write('g.ndjson', later);
      const first = await run(argv);
      expect([first.code, first.summary]).toMatchObject([6, { unknown: 1, accepted: 1 }]);
      const second = await run(argv);
      expect([second.code, second.summary]).toMatchObject([0, { alreadySent: 2 }]);
      expect(stored()).toEqual([2, 4]);
    },
  );

  it('are those of a killed run, which a check reports without counting them as reported', async () => {
    const { service, world, run, stored, write } = await stage();
    write('g.ndjson', lines(1, 2, 3, 4, 5));
    write('copy.ndjson', lines(1, 2));
    await service.fault({ times: 1, delayMs: 20, answer: { status: 401 } });
    const argv = ['upload', 'g.ndjson'];
    const killed = await runOrKill({ world, service }, argv, { stdin: '', kill: true });
    expect(killed.isKilled).toBe(true);
    const files = () =>
      readdirSync(world.stateDir, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.startsWith('events') && /\.(?:ndjson|log|archive)$/.test(name))
        .map((name) => [name, readFileSync(path.join(world.stateDir, name), 'latin1')]);
    const before = files();
    for (const [name, unknown] of [
      ['g.ndjson', 5],
      ['copy.ndjson', 2],
    ] as const) {
      const { code, summary } = await run(['upload', name, '--changed', '--check']);
      expect([code, summary.unknown]).toEqual([6, unknown]);
    }
    expect(files()).toEqual(before);
    const { code, summary } = await run([...argv, '--resume']);
    expect([code, summary]).toMatchObject([6, { unknown: 5, accepted: 0, alreadySent: 0 }]);
    const last = await run([...argv, '--resume']);
    expect([last.code, last.summary]).toMatchObject([0, { unknown: 0, alreadySent: 5 }]);
    expect(stored()).toEqual([]);
  });

  it.each([
    ['pipe', []],
    ['named pipe', ['--run-name', 'log']],
    ['pipe that is read in part', ['--limit', '6']],
  ])('of a %s that no rejects file lists are reported by the next run', async (_what, more) => {
    const { run, runPiped, stored, service, world } = await stage();
    const argv = ['upload', '-', '--chunk-size', '2', '--concurrency', '1', ...more];
    await service.fault({ after: 1, times: 1, answer: { status: 502 } });
    mkdirSync(world.path('stick'));
    const input = new PassThrough();
    const running = runPiped([...argv, '--rejects', 'stick/r.ndjson'], input);
    input.write(lines(0, 1));
    await until(() => stored().length === 2, { message: 'the first events arrive' });
    rmSync(world.path('stick'), { recursive: true });
    input.end(lines(2, 3, 4, 5, 6, 7));
    const stopped = await running;
    expect([stopped.code, stopped.summary.rejectsFile]).toEqual([6, null]);
    const text = lines(...numbers(8));
    const resumed = await run([...argv, '--rejects', 'r.ndjson', '--resume'], text);
    expect([resumed.code, resumed.summary.unknown]).toEqual([6, 2]);
    const rejects = readFileSync(world.path('r.ndjson'), 'utf8').trimEnd().split('\n');
    const unknown = [2, 3].map((n) => ({ stage: 'unknown', record: event(n) }));
    expect(rejects.map((line) => JSON.parse(line) as object)).toMatchObject(unknown);
    const { code, summary } = await run(['upload', '-', '--resume'], text);
    expect([code, summary.unknown, stored()]).toEqual([0, 0, [0, 1, 4, 5, 6, 7]]);
  });

  it('do not keep a run that only reported them from reading a rotated log', async () => {
    const { run, stored, write, leaveInFlight } = await stage();
    write('log.ndjson', lines(1, 2));
    await run(['upload', 'log.ndjson']);
    leaveInFlight(2);
    // An unfinished last line keeps the run open, which has sent nothing itself.
    write('log.ndjson', `${lines(2, 1)}${lines(3).slice(0, -9)}`);
    const reported = await run(['upload', 'log.ndjson', '--resume']);
    expect([reported.code, reported.summary]).toMatchObject([6, { accepted: 0, unknown: 2 }]);
    write('log.ndjson', lines(4));
    const rotated = await run(['upload', 'log.ndjson', '--resume']);
    expect([rotated.code, rotated.summary], rotated.stderr).toMatchObject([0, { accepted: 1 }]);
    expect(stored()).toEqual([1, 2, 4]);
  });

  describe.each([
    ['a pipe', ['-', '--run-name', 'crm'], 'engagectl-upload'],
    ['a file', ['e.ndjson'], 'e.ndjson'],
  ])('of a run that starts over because of %s', (what, input, name) => {
    const staged = async (ends: boolean) => {
      const { service, world, run, stored, write } = await stage();
      const upload = async (...of: number[]) => {
        const text = lines(...of);
        write('e.ndjson', text);
        const argv = ['upload', ...input, '--chunk-size', '2', '--concurrency', '1', '--resume'];
        const { code, summary, stderr } = await run(argv, text);
        return { code, figures: [summary.accepted, summary.alreadySent, summary.unknown], stderr };
      };
      await service.fault({ after: 1, times: 1, action: 'reset-after' });
      if (!ends) await service.fault({ after: 3, times: 1, answer: { status: 401 } });
      const first = async () => upload(...numbers(8));
      const { code } = await (ends ? withoutRemovalOfRun(world, first) : first());
      expect(code).toBe(6);
      const listed = () =>
        readFileSync(world.path(`${name}.rejects.ndjson`), 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as object);
      return { service, upload, stored, listed };
    };
    const unknownOf = (...of: number[]) => of.map((n) => ({ stage: 'unknown', record: event(n) }));
    const warning = new RegExp(
      `2 records that it sent before is unknown: .*${name}.*\\.1 lists them`,
    );

    it('are reported once more, by however many attempts', async () => {
      const { service, upload, stored, listed } = await staged(false);
      await service.fault({ times: 1, answer: { status: 401 } });
      const second = await upload(8, ...numbers(8));
      expect([second.code, second.figures]).toEqual([6, [0, 4, 2]]);
      expect(second.stderr).toMatch(warning);
      const third = await upload(9, ...numbers(8));
      expect([third.code, third.figures]).toEqual([6, [3, 4, 2]]);
      expect(listed()).toMatchObject(unknownOf(2, 3));
      expect(stored()).toEqual([...numbers(8), 9]);
      const last = await upload(9, ...numbers(8));
      expect([last.code, last.figures]).toEqual([0, [0, 9, 0]]);
    });

    it('are reported once more after a kill at its end', async () => {
      const { upload, stored, listed } = await staged(true);
      const same = what === 'a pipe';
      const second = await upload(...(same ? [] : [8]), ...numbers(8));
      expect([second.code, second.figures[2]]).toEqual([6, 2]);
      expect(listed()).toMatchObject(unknownOf(2, 3));
      expect(stored()).toEqual(numbers(same ? 8 : 9));
      expect((await upload(...numbers(8))).code).toBe(0);
    });

    it('are counted with the name of their file if the input lacks some', async () => {
      const { upload, stored, listed } = await staged(false);
      const second = await upload(9, 3, 4, 5);
      expect([second.code, second.figures]).toEqual([6, [1, 2, 1]]);
      expect(second.stderr).toMatch(warning);
      expect(listed()).toMatchObject(unknownOf(3));
      const last = await upload(2, 3, 6);
      expect([last.code, last.figures]).toEqual([0, [1, 2, 0]]);
      expect(stored()).toEqual([0, 1, 2, 3, 4, 5, 6, 9]);
    });
  });

  it.each([
    ['a pipe', ['-', '--run-name', 'crm'], false],
    ['a changed file', ['e.ndjson'], false],
    ['a changed file that was read before', ['e.ndjson'], true],
  ])(
    'of a run that --retry-unknown starts over with %s are reported once an input has them',
    async (_what, input, isReadBefore) => {
      const { service, world, run, stored, write } = await stage();
      const argv = ['upload', ...input, '--chunk-size', '2', '--concurrency', '1', '--resume'];
      write('e.ndjson', lines(...numbers(6)));
      await service.fault({ after: 1, times: 1, delayMs: 100, answer: { status: 401 } });
      const first = { stdin: lines(...numbers(6)), kill: true };
      expect((await runOrKill({ world, service }, argv, first)).isKilled).toBe(true);
      service.clearFaults();
      write('e.1.ndjson', lines(...numbers(6)));
      write('e.ndjson', lines(6, 7, 8));
      if (isReadBefore) {
        await service.fault({ after: 1, times: 1, answer: { status: 401 } });
        expect((await run(argv)).code).toBe(4);
      }
      const { code, stderr } = await run([...argv, '--retry-unknown'], lines(6, 7, 8));
      expect(code, stderr).toBe(0);
      const former = ['upload', 'e.1.ndjson', '--resume'];
      const reported = await run(former);
      const figures = { accepted: 2, alreadySent: 2, unknown: 2 };
      expect([reported.code, reported.summary]).toMatchObject([6, figures]);
      expect(stored()).toEqual([0, 1, 4, 5, 6, 7, 8]);
      expect((await run(former)).summary).toMatchObject({ alreadySent: 6, unknown: 0 });
    },
  );

  it('of a killed run that starts over with --retry-unknown and sends them all expire', async () => {
    const { service, world, runAt, run, stored, write } = await stage();
    const argv = ['upload', '-', '--run-name', 'crm', '--chunk-size', '2', '--concurrency', '1'];
    const text = lines(...numbers(6));
    await service.fault({ after: 1, times: 1, delayMs: 100, answer: { status: 401 } });
    const killed = await runOrKill({ world, service }, argv, { stdin: text, kill: true });
    expect(killed.isKilled).toBe(true);
    service.clearFaults();
    const { code, summary } = await run([...argv, '--resume', '--retry-unknown'], text);
    expect([code, summary]).toMatchObject([0, { accepted: 4, alreadySent: 2 }]);
    expect(stored()).toEqual(numbers(6));
    write('other.ndjson', lines(7));
    expect((await runAt('2099-01-01', 'upload', 'other.ndjson')).code).toBe(0);
    expect((await runAt('2099-01-01', 'runs', 'prune', '--yes')).code).toBe(0);
    write('e.ndjson', text);
    expect((await runAt('2099-01-01', 'upload', 'e.ndjson')).code).toBe(0);
  });

  it.each([
    ['the second one is resumed', 'second.ndjson'],
    ['another run has the equal ones', 'copy.ndjson'],
  ])(
    'of two killed runs, of which some are equal, are each reported once: %s',
    async (_what, name) => {
      const { service, world, run, stored, write } = await stage();
      const upload = (file: string) => ['upload', file, '--chunk-size', '2', '--resume'];
      write('first.ndjson', lines(1, 2));
      for (const file of ['second.ndjson', 'copy.ndjson']) write(file, lines(1, 1, 3));
      for (const file of ['first.ndjson', 'second.ndjson']) {
        await service.fault({ times: 1, delayMs: 100, answer: { status: 401 } });
        const how = { stdin: '', kill: true };
        expect((await runOrKill({ world, service }, upload(file), how)).isKilled).toBe(true);
        service.clearFaults();
      }
      const both = await run(upload(name));
      expect([both.code, both.summary]).toMatchObject([6, { accepted: 0, unknown: 3 }]);
      expect((await world.run(['runs', 'prune', '--yes'])).code).toBe(0);
      const rest = await run(upload('first.ndjson'));
      expect([rest.code, rest.summary]).toMatchObject([6, { alreadySent: 1, unknown: 1 }]);
      for (const file of ['first.ndjson', 'second.ndjson'])
        expect((await run(upload(file))).summary).toMatchObject({ accepted: 0, unknown: 0 });
      expect(stored()).toEqual([]);
    },
  );

  it('are sent by --retry-unknown, from the rejects file and from the input', async () => {
    const { run, stored, rejects } = await unknown();
    const { code, summary } = await run(['upload', rejects, '--retry-unknown', '--limit', '1']);
    expect([code, summary.accepted]).toEqual([0, 1]);
    const rest = await run(['upload', 'e.ndjson', '--resume', '--retry-unknown']);
    expect([rest.code, rest.summary]).toMatchObject([0, { accepted: 2, alreadySent: 1 }]);
    expect(stored()).toEqual([1, 2, 3]);
  });

  it('are sent after verify --settle found them missing', async () => {
    const { run, stored, rejects, world } = await unknown();
    const settled = await world.run(['verify', rejects, '--settle', '-o', 'open.ndjson']);
    expect([settled.code, settled.stderr]).toEqual([3, expect.stringContaining('3 not found')]);
    const { code, summary } = await run(['upload', 'open.ndjson']);
    expect([code, summary.accepted]).toEqual([0, 3]);
    expect((await run(['upload', 'e.ndjson', '--resume'])).summary.alreadySent).toBe(3);
    expect(stored()).toEqual([1, 2, 3]);
  });

  describe('that the service shows late', () => {
    const late = async () => {
      const staged = await stage({ lagSeconds: 60 });
      staged.write('e.ndjson', lines(1, 2, 2, 3));
      await staged.service.fault({ times: 1, action: 'reset-after' });
      const { summary } = await staged.run(['upload', 'e.ndjson']);
      const argv = ['verify', summary.rejectsFile!, '--settle'];
      return { ...staged, settle: async () => (await staged.world.run(argv)).code };
    };

    it.each([
      ['', []],
      [', also if the archive has dropped them', ['runs', 'prune', '--yes']],
    ])('are not sent again after verify --settle found them%s', async (_, between) => {
      const { run, stored, world, service, settle, write } = await late();
      expect(await settle()).toBe(3);
      if (between.length > 0) expect((await world.run(between)).code).toBe(0);
      service.clock.advance(61);
      expect([await settle(), await settle()]).toEqual([0, 0]);
      for (const flag of ['--resume', '--retry-unknown']) {
        const { summary } = await run(['upload', 'e.ndjson', '--resume', flag]);
        expect(summary).toMatchObject({ accepted: 0, alreadySent: 4 });
      }
      expect(stored()).toEqual([1, 2, 2, 3]);
      write('more.ndjson', lines(2, 2, 2, 4));
      const more = await run(['upload', 'more.ndjson', '--resume']);
      expect(more.summary).toMatchObject({ accepted: 2, alreadySent: 2 });
    });

    it('are sent once if only one of two equal ones arrived', async () => {
      const { run, stored, service, write, world } = await late();
      write('f.ndjson', lines(5, 5));
      await service.fault({ times: 1, action: 'reset-after' });
      await service.fault({ after: 1, times: 1, answer: { status: 500 } });
      const one = ['--chunk-size', '1', '--concurrency', '1'];
      expect((await run(['upload', 'f.ndjson', ...one])).summary.unknown).toBe(2);
      const settling = ['verify', 'f.ndjson.rejects.ndjson', '--settle'];
      expect((await world.run(settling)).code).toBe(3);
      service.clock.advance(61);
      expect((await world.run(settling)).code).toBe(3);
      const { summary } = await run(['upload', 'f.ndjson', '--resume']);
      expect(summary).toMatchObject({ accepted: 1, alreadySent: 1 });
      expect(stored()).toEqual([1, 2, 2, 3, 5, 5]);
    });

    it('stay sent if the service does not show them any more', async () => {
      const { run, stored, service, settle } = await late();
      service.clock.advance(61);
      expect(await settle()).toBe(0);
      await service.fault({
        endpoint: 'events',
        answer: { body: { status: 'success', records: [] } },
      });
      expect(await settle()).toBe(3);
      const { summary } = await run(['upload', 'e.ndjson', '--resume']);
      expect(summary).toMatchObject({ accepted: 0, alreadySent: 4 });
      expect(stored()).toEqual([1, 2, 2, 3]);
    });

    it('are not sent by a machine that did not send them, once verify --settle found them', async () => {
      const { run, runAt, stored, service, settle, write, folder } = await late();
      rmSync(folder(), { recursive: true });
      write('other.ndjson', lines(9));
      await run(['upload', 'other.ndjson']);
      service.clock.advance(61);
      expect([await settle(), await settle()]).toEqual([0, 0]);
      write('new.ndjson', lines(3, 2, 2, 2));
      const { code, stderr } = await run(['upload', 'new.ndjson']);
      expect([code, stderr]).toEqual([
        8,
        expect.stringContaining('e.ndjson.rejects.ndjson, which verify --settle found'),
      ]);
      const { summary } = await run(['upload', 'new.ndjson', '--resume']);
      expect(summary).toMatchObject({ accepted: 1, alreadySent: 3 });
      for (const argv of [
        ['upload', 'other.ndjson', '--again'],
        ['runs', 'prune', '--yes'],
      ])
        await runAt('2099-01-01', ...argv);
      expect(stored()).toEqual([1, 2, 2, 2, 3, 9, 9]);
      expect(readFileSync(path.join(folder(), 'runs.ndjson'), 'utf8')).not.toContain('e.ndjson');
    });
  });

  it('are not listed by verify --settle before the memory counts them as not sent', async () => {
    const { run, stored, rejects, world, folder } = await unknown();
    const damaged = path.join(folder(), 'sent-2-2.archive');
    writeFileSync(damaged, 'broken'); // the memory cannot be changed
    for (const output of [['-o', 'open.ndjson'], []]) {
      const { code, stdout, stderr } = await world.run(['verify', rejects, '--settle', ...output]);
      expect([code, stdout, stderr]).toEqual([8, '', expect.stringContaining('E-LEDGER')]);
      expect(existsSync(world.path('open.ndjson'))).toBe(false);
    }
    rmSync(damaged);
    await world.run(['verify', rejects, '--settle', '-o', 'open.ndjson', '--fresh']);
    expect((await run(['upload', 'open.ndjson', '--resume'])).summary.accepted).toBe(3);
    expect(stored()).toEqual([1, 2, 3]);
  });
});

describe('the memory', () => {
  it('forgets events that the service rejected', async () => {
    const { run, stored, write, service } = await stage();
    write('e.ndjson', lines(1, 2));
    const body = { status: 'fail', processed: 0, unprocessed: [], error: 'no such event' };
    await service.fault({ times: 1, answer: { body } });
    const first = await run(['upload', 'e.ndjson']);
    expect([first.code, first.summary.rejected]).toEqual([3, 2]);
    const { code, summary } = await run(['upload', first.summary.rejectsFile!]);
    expect([code, summary.accepted]).toEqual([0, 2]);
    expect((await run(['upload', 'e.ndjson', '--resume'])).summary.alreadySent).toBe(2);
    expect(stored().length).toBeGreaterThan(1);
  });

  it.each([
    [500, 13],
    [503, 429],
    [500, 400],
    [408, 3],
    [200, 2],
  ])('keeps events that HTTP %i with the code %i refused, which may be stored', async (...said) => {
    const { run, write, service } = await stage();
    write('e.ndjson', lines(1, 2));
    const [status, code] = said;
    await service.fault({
      times: 1,
      answer: { status, body: { status: 'fail', code, error: 'x' } },
    });
    const { code: exit, summary } = await run(['upload', 'e.ndjson']);
    expect([exit, summary.unknown]).toEqual([6, 2]);
    await run(['upload', 'e.ndjson', '--resume']);
    expect(service.requests()).toHaveLength(1);
  });

  it('forgets events that the service rejected one by one', async () => {
    const { run, stored, write, service } = await stage();
    write('e.ndjson', lines(1, 2));
    await service.fault({ times: 4, answer: { status: 400 } });
    const first = await run(['upload', 'e.ndjson']);
    expect([first.code, first.summary.rejected]).toEqual([3, 2]);
    const { code, summary } = await run(['upload', first.summary.rejectsFile!]);
    expect([code, summary]).toMatchObject([0, { accepted: 2, alreadySent: 0 }]);
    expect(stored()).toEqual([1, 2]);
  });

  it.each(['byte', 'block', 'first bytes', 'all'])(
    'warns that the %s of its log is damaged, so that an event is sent again',
    async (what) => {
      const { run, stored, write, folder } = await stage();
      for (const n of [1, 2]) {
        write(`${n}.ndjson`, lines(n));
        expect((await run(['upload', `${n}.ndjson`])).stderr).not.toContain('damaged');
      }
      const log = path.join(folder(), 'sent-1.log');
      const bytes = readFileSync(log);
      if (what === 'byte') bytes[30]! ^= 1;
      else bytes.fill(0, 0, { block: 64, 'first bytes': 10 }[what]);
      writeFileSync(log, bytes);
      write('all.ndjson', lines(2, 1, 3));
      const { code, stderr } = await run(['upload', 'all.ndjson', '--resume']);
      expect([code, stderr]).toEqual([0, expect.stringContaining('a part of')]);
      expect(stored()).toContain(3);
    },
  );

  it.each([
    ['log', 'sent-1.log'],
    ['end of its log', 'sent-1.log'],
    ['archive', 'sent-1.log'],
    ['folder', 'events/'],
  ])('warns that its %s is missing, so that an event is sent again', async (what, named) => {
    const { run, stored, write, folder, world } = await stage();
    for (const n of [1, 2]) {
      write(`${n}.ndjson`, lines(n));
      expect((await run(['upload', `${n}.ndjson`])).stderr).not.toContain('missing');
    }
    if (what === 'archive') {
      expect((await world.run(['runs', 'prune', '--yes'])).code).toBe(0);
      write('3.ndjson', lines(3));
      expect((await run(['upload', '3.ndjson'])).stderr).not.toContain('missing');
      rmSync(path.join(folder(), 'sent-1-1.archive'));
    } else if (what === 'folder') rmSync(folder(), { recursive: true });
    else {
      const log = path.join(folder(), 'sent-1.log');
      if (what === 'log') rmSync(log);
      else writeFileSync(log, readFileSync(log).subarray(0, -64));
    }
    const { code, stderr } = await run(['upload', '2.ndjson']);
    expect([code, stderr]).toEqual([0, expect.stringMatching(`${named}.* is damaged or missing`)]);
    expect(stored().filter((n) => n === 2)).toHaveLength(2);
  });

  it('does not warn that events are missing which have expired, or were forgotten on request', async () => {
    const { runAt, write } = await stage();
    for (const [n, day] of ['2025-01-01', '2026-01-01', '2026-01-02'].entries()) {
      write(`${n}.ndjson`, lines(n));
      expect((await runAt(day, 'upload', `${n}.ndjson`)).stderr).not.toContain('missing');
      const remember = n === 1 ? [] : ['--remember', '1s'];
      expect((await runAt(day, 'runs', 'prune', '--yes', ...remember)).code).toBe(0);
    }
    expect((await runAt('2026-01-04', 'runs', 'prune', '--yes', '--remember', '1s')).code).toBe(0);
    expect((await runAt('2026-01-04', 'upload', '1.ndjson')).stderr).not.toContain('missing');
  });

  it('says that its log is damaged, until runs prune warns and archives what can be read', async () => {
    const { run, write, folder, world } = await stage();
    for (const n of [1, 2]) {
      write(`${n}.ndjson`, lines(n));
      await run(['upload', `${n}.ndjson`]);
    }
    const log = path.join(folder(), 'sent-1.log');
    const bytes = readFileSync(log);
    bytes[30]! ^= 1;
    writeFileSync(log, bytes);
    write('3.ndjson', lines(3));
    const before = await run(['upload', '3.ndjson']);
    expect([before.code, before.stderr]).toEqual([0, expect.stringContaining('a part of')]);
    const pruned = await world.run(['runs', 'prune', '--yes']);
    expect([pruned.code, pruned.stderr]).toEqual([0, expect.stringContaining('a part of')]);
    // The log still says that the first event was sent.
    for (const n of [1, 2, 3]) expect((await run(['upload', `${n}.ndjson`])).code).toBe(8);
    write('4.ndjson', lines(4));
    const { code, stderr } = await run(['upload', '4.ndjson']);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('a part of')]);
  });

  it('does not warn of a block that a full disk tore before others', async () => {
    const { run, stored, write, folder } = await stage();
    write('1.ndjson', lines(1));
    await run(['upload', '1.ndjson']);
    const log = path.join(folder(), 'sent-1.log');
    const bytes = readFileSync(log);
    for (const torn of [1, 20, 30]) writeFileSync(log, bytes.subarray(0, torn), { flag: 'a' });
    for (const n of [2, 3]) {
      write(`${n}.ndjson`, lines(n));
      const { code, stderr } = await run(['upload', `${n}.ndjson`, '--resume']);
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('damaged')]);
    }
    expect(stored()).toEqual([1, 2, 3]);
  });

  it.each([1, 30, 100_000])('reads on after %i bytes that a full disk tore', async (torn) => {
    const { run, stored, write, folder } = await stage();
    write('old.ndjson', lines(1));
    await run(['upload', 'old.ndjson']);
    appendFileSync(path.join(folder(), 'sent-1.log'), 'x'.repeat(torn));
    write('new.ndjson', lines(2));
    expect((await run(['upload', 'new.ndjson'])).code).toBe(0);
    write('all.ndjson', lines(3, 2, 1));
    const { code, summary } = await run(['upload', 'all.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted: 1, alreadySent: 2 }]);
    expect(stored()).toEqual([1, 2, 3]);
  });

  it('counts nothing twice that a killed compaction left behind, and removes it', async () => {
    const { run, world, stored, write, folder } = await stage();
    write('one.ndjson', lines(1));
    write('two.ndjson', lines(2));
    const left: [name: string, content: Buffer][] = [['.engagectl-0.tmp', Buffer.from('half')]];
    for (const name of ['one', 'two']) {
      await run(['upload', `${name}.ndjson`]);
      for (const file of readdirSync(folder()).filter((each) => each.startsWith('sent-')))
        left.push([file, readFileSync(path.join(folder(), file))]);
      expect((await world.run(['runs', 'prune', '--yes'])).code).toBe(0);
    }
    expect(left.map(([name]) => name).toSorted()).toEqual([
      '.engagectl-0.tmp',
      'sent-1-1.archive',
      'sent-1.log',
      'sent-2.log',
    ]);
    for (const [name, content] of left) writeFileSync(path.join(folder(), name), content);
    write('more.ndjson', lines(3, 1, 2, 1, 2));
    const { code, summary } = await run(['upload', 'more.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted: 3, alreadySent: 2 }]);
    expect(stored()).toEqual([1, 1, 2, 2, 3]);
    expect(readdirSync(folder()).toSorted()).toEqual([
      'runs.ndjson',
      'sent-1-2.archive',
      'sent-3.log',
    ]);
  });

  it('continues after its last archive', async () => {
    const { run, world, write, folder } = await stage();
    write('many.ndjson', lines(...numbers(300)));
    await run(['upload', 'many.ndjson']);
    expect((await world.run(['runs', 'prune', '--yes'])).code).toBe(0);
    // Small enough to stay apart from the first.
    const writer = new ArchiveWriter(path.join(folder(), 'sent-2-2.archive'), 1);
    writer.add(Int32Array.of(5, 5, 1, 4), 0);
    await writer.finish();
    write('new.ndjson', lines(1000));
    expect((await run(['upload', 'new.ndjson'])).code).toBe(0);
    expect((await run(['upload', 'new.ndjson'])).code).toBe(8);
  });

  it('that was damaged is used again once its file is restored', async () => {
    const { run, stored, write, folder } = await stage();
    write('e.ndjson', lines(1));
    await run(['upload', 'e.ndjson']);
    const damaged = path.join(folder(), 'sent-2-2.archive');
    writeFileSync(damaged, 'broken');
    write('more.ndjson', lines(2, 1));
    const refused = await run(['upload', 'more.ndjson', '--resume']);
    expect([refused.code, refused.stderr]).toEqual([8, expect.stringContaining('E-LEDGER')]);
    rmSync(damaged);
    expect(readdirSync(folder()).toSorted()).toEqual(['runs.ndjson', 'sent-1.log']);
    const { code, summary } = await run(['upload', 'more.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted: 1, alreadySent: 1 }]);
    expect(stored()).toEqual([1, 2]);
  });

  it('that has another digit in the secret of its fingerprints refuses the upload', async () => {
    const { run, stored, write, folder } = await stage();
    write('e.ndjson', lines(1));
    await run(['upload', 'e.ndjson']);
    const file = path.join(folder(), 'runs.ndjson');
    const text = readFileSync(file, 'utf8');
    writeFileSync(
      file,
      text.replace(/(?<="secret":\D*)\d/, (digit) => String((Number(digit) + 1) % 10)),
    );
    expect(readFileSync(file, 'utf8')).not.toBe(text);
    const { code, stderr } = await run(['upload', 'e.ndjson', '--resume']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-LEDGER')]);
    expect(stored()).toEqual([1]);
  });

  it('that has a wrong bit in an archive refuses the upload', async () => {
    const { run, stored, world, write, folder } = await stage();
    write('e.ndjson', lines(...numbers(300)));
    await run(['upload', 'e.ndjson']);
    expect((await world.run(['runs', 'prune', '--yes'])).code).toBe(0);
    const file = path.join(folder(), 'sent-1-1.archive');
    const archive = readFileSync(file);
    for (let at = 100; at < 100 + 16 * 300; at += 16) archive[at]! ^= 1;
    writeFileSync(file, archive);
    write('e.ndjson', lines(1000, ...numbers(300)));
    const { code, stderr } = await run(['upload', 'e.ndjson', '--resume']);
    expect([code, stderr]).toEqual([8, expect.stringMatching(/E-LEDGER[^]*restore the folder/)]);
    expect(stored()).toHaveLength(300);
  });

  it('that is damaged refuses the upload', async () => {
    const { run, write, world } = await stage();
    write('e.ndjson', lines(1));
    await run(['upload', 'e.ndjson']);
    const [account = ''] = readdirSync(path.join(world.stateDir, 'events'));
    const file = path.join(world.stateDir, 'events', account, 'runs.ndjson');
    writeFileSync(file, 'broken');
    const { code, stderr } = await run(['upload', 'e.ndjson', '--resume']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('the event memory in')]);
  });

  it.each([
    ['an older version', 2],
    ['a newer version', 4],
  ])('of %s refuses the upload and the removal of old events', async (_, version) => {
    const { run, stored, write, world, folder } = await stage();
    write('e.ndjson', lines(1));
    await run(['upload', 'e.ndjson']);
    const file = path.join(folder(), 'runs.ndjson');
    const [, ...others] = readFileSync(file, 'utf8').split('\n');
    const table = [JSON.stringify({ version, seed: [1, 2] }), ...others].join('\n');
    writeFileSync(file, table);
    write('more.ndjson', lines(2, 1));
    for (const argv of [
      ['upload', 'more.ndjson', '--resume'],
      ['runs', 'prune', '--yes'],
    ]) {
      const { code, stderr } = await world.run(argv);
      expect([code, stderr]).toEqual([8, expect.stringContaining('E-LEDGER')]);
      expect(stderr).toContain(`runs.ndjson has version ${version}, and this program supports 3`);
      expect(stderr).toContain('run the version of engagectl that wrote it');
    }
    expect([stored(), readFileSync(file, 'utf8')]).toEqual([[1], table]);
  });

  it.each([
    ['whose lock file was damaged', '.opening.lock'],
    ['whose archive is a folder', 'sent-1-1.archive'],
  ])('%s refuses the upload, whatever else is remembered', async (_, name) => {
    const { run, stored, write, world } = await stage();
    write('e.ndjson', lines(1));
    await run(['upload', 'e.ndjson']);
    const [account = ''] = readdirSync(path.join(world.stateDir, 'events'));
    const file = path.join(world.stateDir, 'events', account, name);
    if (name.startsWith('.')) writeFileSync(file, 'x'.repeat(5000));
    else mkdirSync(file);
    const { code } = await run(['upload', 'e.ndjson']);
    expect([code > 0, stored()]).toEqual([true, [1]]);
  });

  it('knows each of hundreds of copies, also in an archive', async () => {
    const { run, stored, write } = await stage();
    write('some.ndjson', lines(1).repeat(300));
    await run(['upload', 'some.ndjson']);
    expect((await run(['runs', 'prune', '--yes'])).code).toBe(0);
    write('more.ndjson', lines(2) + lines(1).repeat(500));
    const { code, summary } = await run(['upload', 'more.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted: 201, alreadySent: 300 }]);
    expect(stored()).toHaveLength(501);
  });

  it('counts copies for a pipe that lives while other processes send very many events', async () => {
    const { run, service, stored, write, world } = await stage();
    const stdin = new PassThrough();
    const runtime = world.runtime({ stdin });
    const argv = ['upload', '-', '--input-format', 'ndjson', '--resume', '--json'];
    const piped = main(argv, runtime);
    const pipe = async (...of: number[]) => {
      stdin.write(lines(...of));
      const isStored = () => stored().includes(of.at(-1)!);
      await until(isStored, { message: `${of.join()} arrived` });
    };
    const sendMany = async () => {
      const [account = ''] = readdirSync(path.join(world.stateDir, 'events'));
      const log = new EventLog(path.join(world.stateDir, 'events', account, 'sent-1.log'));
      const others = new Int32Array(2000);
      for (let n = 0; n < 80; n += 1) {
        for (let at = 0; at < others.length; at += 1)
          others[at] = Math.imul(n * 2000 + at, 2654435761);
        for (const state of [eventState.intended, eventState.sent]) log.append(state, 999, others);
      }
      log.close();
    };
    await pipe(10);
    write('other.ndjson', lines(1, 1, 2));
    expect((await run(['upload', 'other.ndjson'])).code).toBe(0);
    await pipe(1, 11);
    await service.fault({ times: 1, answer: { status: 401 } });
    write('refused.ndjson', lines(3));
    expect((await run(['upload', 'refused.ndjson'])).code).toBe(4);
    await sendMany();
    await pipe(12);
    write('later.ndjson', lines(4, 5));
    expect((await run(['upload', 'later.ndjson'])).code).toBe(0);
    await sendMany();
    await pipe(13);
    await pipe(4, 14);
    stdin.end(lines(1, 1, 2, 3, 4, 5));
    expect(await piped).toBe(0);
    const summary = JSON.parse(runtime.output().stdout) as Figures;
    expect(summary).toMatchObject({ read: 13, accepted: 8, alreadySent: 5 });
    expect(stored()).toEqual([1, 1, 1, 2, 3, 4, 4, 5, 10, 11, 12, 13, 14]);
  });

  it('are all sent with --again while another process sends equal ones', async () => {
    const { run, stored, write, world } = await stage();
    write('a.ndjson', lines(1, 1));
    await run(['upload', 'a.ndjson']);
    const stdin = new PassThrough();
    const runtime = world.runtime({ stdin });
    const piped = main(['upload', '-', '--input-format', 'ndjson', '--again'], runtime);
    stdin.write(lines(2));
    await until(() => stored().includes(2), { message: '2 arrived' });
    write('b.ndjson', lines(1, 1, 1));
    expect((await run(['upload', 'b.ndjson', '--resume'])).code).toBe(0);
    stdin.end(lines(1, 1));
    expect(await piped, runtime.output().stderr).toBe(0);
    expect(stored()).toEqual([1, 1, 1, 1, 1, 2]);
  });

  it('keeps the events of a run whose line was damaged on the disk', async () => {
    const { runAt, write, world } = await stage();
    for (const [n, day] of ['2025-01-01', '2026-01-01', '2026-01-02'].entries()) {
      write(`${n}.ndjson`, lines(n));
      expect((await runAt(day, 'upload', `${n}.ndjson`)).code).toBe(0);
    }
    const [account = ''] = readdirSync(path.join(world.stateDir, 'events'));
    const table = path.join(world.stateDir, 'events', account, 'runs.ndjson');
    const text = readFileSync(table, 'utf8');
    expect(text).toMatch(/"number":2,.*"started":"2026/);
    writeFileSync(table, text.replace(/(?<="number":2,.*"started":")2026/, '2016'));
    for (const _ of [1, 2]) {
      expect((await runAt('2026-01-03', 'runs', 'prune', '--yes')).code).toBe(0);
    }
    expect((await runAt('2026-01-03', 'upload', '1.ndjson')).code).toBe(8);
    expect((await runAt('2026-01-03', 'upload', '2.ndjson')).code).toBe(8);
    expect((await runAt('2026-01-03', 'upload', '0.ndjson')).code).toBe(0);
  });

  it('keeps events for as long as a log has them that grows, also equal ones of several runs', async () => {
    const { runAt, stored, write } = await stage();
    const days = ['2026-01-01', '2026-03-01', '2026-05-20', '2026-08-10', '2026-10-20'];
    for (const [n, day] of days.entries()) {
      write(
        'log.ndjson',
        numbers(n + 1)
          .map((each) => lines(each, 100))
          .join(''),
      );
      const { code, summary } = await runAt(day, 'upload', 'log.ndjson', '--resume');
      expect([code, summary]).toMatchObject([0, { accepted: 2, alreadySent: 2 * n }]);
      expect((await runAt(day, 'runs', 'prune', '--yes')).summary).toMatchObject({ events: 0 });
    }
    expect(stored()).toEqual([...numbers(5), ...days.map(() => 100)]);
    for (const [n, day, events] of [
      [5, '2027-01-01', 0],
      [6, '2027-03-01', 10],
    ] as const) {
      write('log.ndjson', lines(n));
      expect((await runAt(day, 'upload', 'log.ndjson', '--resume')).code).toBe(0);
      const pruned = await runAt(day, 'runs', 'prune', '--yes');
      expect(pruned.summary).toMatchObject({ events });
    }
  });

  it.each([
    ['ends in the middle of a line', '{"identity":"u', 9, ['--resume'], []],
    ['is refused', '', 8, [], []],
    ['is met shortly before', '', 0, ['--resume'], ['--remember', '7d']],
  ])('keeps the events of a log that %s', async (_, rest, ended, flags, pruning) => {
    const { runAt, stored, write } = await stage();
    write('log.ndjson', lines(1));
    expect((await runAt('2026-01-01', 'upload', 'log.ndjson')).code).toBe(0);
    const days = ended === 0 ? ['2026-01-10'] : ['2026-03-01', '2026-05-01', '2026-07-01'];
    for (const day of days) {
      write('log.ndjson', lines(1) + rest);
      expect((await runAt(day, 'upload', 'log.ndjson', ...flags)).code).toBe(ended);
      write('other.ndjson', lines(Number(day.slice(5, 7)) + 10));
      await runAt(day, 'upload', 'other.ndjson');
      await runAt(day, 'runs', 'prune', '--older-than', '9999d', ...pruning);
    }
    const last = days.at(-1)!;
    for (const log of [lines(1, 2), lines(1, 2, 3)]) {
      write('log.ndjson', log);
      expect((await runAt(last, 'upload', 'log.ndjson', '--resume')).code).toBe(0);
    }
    expect(stored().filter((n) => n < 10)).toEqual([1, 2, 3]);
  });

  it('keeps the events that a pipe sent lately, however long ago it began', async () => {
    const { world, runAt, stored, write } = await stage();
    let day = '2026-01-01';
    const stdin = new PassThrough();
    const runtime = world.runtime({ stdin, now: () => Date.parse(day) });
    const piped = main(['upload', '-', '--input-format', 'ndjson'], runtime);
    for (const [n, next] of [
      [1, '2026-05-01'],
      [2, '2026-05-02'],
    ] as const) {
      stdin.write(lines(n));
      await until(() => stored().includes(n), { message: `${n} arrived` });
      day = next;
    }
    write('other.ndjson', lines(3));
    expect((await runAt(day, 'upload', 'other.ndjson')).code).toBe(0);
    stdin.end();
    expect(await piped, runtime.output().stderr).toBe(0);
    expect((await runAt(day, 'runs', 'prune', '--yes')).summary).toMatchObject({ events: 0 });
    write('copy.ndjson', lines(2));
    expect((await runAt(day, 'upload', 'copy.ndjson')).code).toBe(8);
  });

  it('keeps the events of a run that is resumed while those of a thousand old ones are forgotten', async () => {
    const { runAt, stored, write, folder } = await stage();
    write('log.ndjson', `${lines(1)}{"ident`);
    expect((await runAt('2026-01-01', 'upload', 'log.ndjson')).code).toBe(9);
    write('other.ndjson', lines(9));
    expect((await runAt('2026-05-01', 'upload', 'other.ndjson')).code).toBe(0);
    const old = { run: 'r', started: '2026-01-01T00:00:00.000Z', file: 'f', otherFiles: 0 };
    const ended = (number: number) => ({ number, ended: true });
    const table = numbers(1001, 3).flatMap((number) => [
      { number, ...old, rememberMs: 1 },
      ended(number),
    ]);
    // As if another run had reported its last events.
    const text = [ended(1), ...table].map((line) => `${JSON.stringify(line)}\n`).join('');
    appendFileSync(path.join(folder(), 'runs.ndjson'), text);
    write('log.ndjson', lines(1, 2));
    expect((await runAt('2026-05-01', 'upload', 'log.ndjson', '--resume')).code).toBe(0);
    const pruned = await runAt('2026-05-01', 'runs', 'prune', '--yes');
    expect(pruned.summary).toMatchObject({ events: 0 });
    write('copy.ndjson', lines(1, 2));
    expect((await runAt('2026-05-01', 'upload', 'copy.ndjson')).code).toBe(8);
    expect(stored()).toEqual([1, 2, 9]);
  });

  it('can forget old events after an upload has written its table of runs anew', async () => {
    const { runAt, write, folder, service } = await stage();
    write('e.ndjson', lines(...numbers(4)));
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    const inBatches = ['--chunk-size', '2', '--concurrency', '1'];
    expect((await runAt('2026-01-01', 'upload', 'e.ndjson', ...inBatches)).code).toBe(4);
    write('old.ndjson', lines(10, 11));
    expect((await runAt('2026-01-01', 'upload', 'old.ndjson')).code).toBe(0);
    for (const n of [20, 21]) {
      appendFileSync(path.join(folder(), 'runs.ndjson'), '\n'.repeat(2000));
      write('new.ndjson', lines(n));
      expect((await runAt('2026-05-01', 'upload', 'new.ndjson')).code).toBe(0);
    }
    expect((await runAt('2026-05-01', 'upload', 'old.ndjson')).code).toBe(8);
    expect(readFileSync(path.join(folder(), 'runs.ndjson'), 'utf8').length).toBeLessThan(4000);
    const prune = ['runs', 'prune', '--older-than', '9999d'];
    expect((await runAt('2026-10-01', ...prune)).summary).toMatchObject({ events: 0 });
    write('new.ndjson', lines(22));
    expect((await runAt('2026-10-01', 'upload', 'new.ndjson')).code).toBe(0);
    expect((await runAt('2026-10-01', ...prune)).summary).toMatchObject({ events: 4 });
    expect((await runAt('2026-10-01', 'upload', 'old.ndjson', '--resume')).code).toBe(0);
  });

  it('keeps the events of a run that may be resumed, however old it is', async () => {
    const { runAt, stored, write, service } = await stage();
    write('e.ndjson', lines(...numbers(20)));
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    const inBatches = ['--chunk-size', '10', '--concurrency', '1'];
    expect((await runAt('2026-01-01', 'upload', 'e.ndjson', ...inBatches)).code).toBe(4);
    write('new.ndjson', lines(100));
    expect((await runAt('2026-08-01', 'upload', 'new.ndjson')).code).toBe(0);
    const pruned = await runAt('2026-08-01', 'runs', 'prune', '--older-than', '9999d');
    expect((pruned.summary as { events?: number }).events).toBe(0);
    write('e.ndjson', lines(...numbers(19, 1)));
    expect((await runAt('2026-08-01', 'upload', 'e.ndjson', '--resume')).code).toBe(0);
    expect(stored()).toEqual([...numbers(20), 100]);
  });

  it.each([
    ['is resumed', numbers(4), [], numbers(4)],
    ['starts over', numbers(3, 4), [], [0, 1, ...numbers(3, 4)]],
    [
      'starts over with a shorter --remember',
      numbers(3, 4),
      ['--remember', '1d'],
      [0, 1, ...numbers(3, 4)],
    ],
  ])(
    'keeps the events of a run that %s for as long as it and its start say, from then on',
    async (_what, next, flags, all) => {
      const { runAt, stored, write, service } = await stage();
      const upload = ['upload', 'e.ndjson', '--resume', '--chunk-size', '2', '--concurrency', '1'];
      write('e.ndjson', lines(...numbers(4)));
      await service.fault({ after: 1, times: 1, answer: { status: 401 } });
      expect((await runAt('2026-01-01', ...upload, '--remember', '7d')).code).toBe(4);
      write('e.ndjson', lines(...next));
      const more = flags.length > 0 ? flags : ['--remember', '7d'];
      expect((await runAt('2026-01-09', ...upload, ...more)).code).toBe(0);
      expect(stored()).toEqual(all);
      const prune = async (day: string) => {
        write('other.ndjson', lines(Number(day.slice(-2)) + 100));
        expect((await runAt(day, 'upload', 'other.ndjson', '--remember', '1d')).code).toBe(0);
        const pruned = await runAt(day, 'runs', 'prune', '--yes');
        return (pruned.summary as { events?: number }).events;
      };
      await prune('2026-01-15');
      write('copy.ndjson', lines(...next));
      expect((await runAt('2026-01-15', 'upload', 'copy.ndjson')).code).toBe(8);
      await prune('2026-01-17');
      expect((await runAt('2026-01-15', 'upload', 'copy.ndjson')).code).toBe(8); // it was met
      await prune('2026-01-23');
      expect((await runAt('2026-01-23', 'upload', 'copy.ndjson')).code).toBe(0);
    },
  );

  it('leaves files that are not of an account alone', async () => {
    const { world } = await stage();
    const events = path.join(world.stateDir, 'events');
    mkdirSync(path.join(events, 'notes'), { recursive: true, mode: 0o700 });
    writeFileSync(path.join(events, 'readme'), '');
    symlinkSync('/nowhere', path.join(events, 'a'.repeat(32)));
    expect((await world.run(['doctor'])).stdout).toContain('no sent events are remembered');
    expect((await world.run(['runs', 'prune', '--yes'])).code).toBe(0);
    expect(readdirSync(path.join(events, 'notes'))).toEqual([]);
  });

  it('ends the run if it cannot be reached, because it may know the events', async () => {
    const { run, write, stored, world } = await stage();
    write('e.ndjson', lines(1, 2));
    expect((await run(['upload', 'e.ndjson'])).code).toBe(0);
    write('e.ndjson', lines(2, 3));
    const events = path.join(world.stateDir, 'events');
    renameSync(events, `${events}.moved`);
    for (const target of [`${events}.unmounted`, events]) {
      symlinkSync(target, events);
      const { code, stderr } = await run(['upload', 'e.ndjson', '--resume']);
      expect([code, stderr]).toEqual([9, expect.stringContaining(events)]);
      rmSync(events);
    }
    symlinkSync(`${events}.moved`, events);
    expect((await run(['upload', 'e.ndjson', '--resume'])).code).toBe(0);
    expect(stored()).toEqual([1, 2, 3]);
  });

  it.each([
    ['EACCES', 'make the folder and its files writable, then'],
    ['EPERM', 'make the folder and its files writable, then'],
    ['EROFS', 'make the folder and its files writable, then'],
    ['ENOSPC', 'free disk space, then'],
  ])('that cannot be written advises what fits %s', async (code, fix) => {
    const cause = Object.assign(new Error(`${code}: open`), { code });
    const prepare = () => {
      throw cause;
    };
    const options = { folder: '/events', prepare } as unknown as EventMemoryOptions;
    await expect(EventMemory.open(options)).rejects.toMatchObject({
      id: 'E-FILE-WRITE',
      details: { fix: `${fix} rerun the same command with --resume`, cause },
    });
  });

  it('that could not be made is not in the ledger: the same file is refused by its text', async () => {
    const { run, stored, write } = await stage();
    write('e.ndjson', lines(1));
    const { mkdirSync } = fs;
    const makeWith = (make: typeof mkdirSync) => {
      Object.assign(fs, { mkdirSync: make });
      syncBuiltinESMExports();
    };
    onTestFinished(() => makeWith(mkdirSync));
    makeWith((file, options) => {
      if (String(file).includes('/state/events'))
        throw Object.assign(new Error('ENOSPC: mkdir'), { code: 'ENOSPC' });
      return mkdirSync(file, options);
    });
    const { code, stderr } = await run(['upload', 'e.ndjson']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('are not remembered')]);
    expect((await run(['upload', 'e.ndjson'])).code).toBe(8);
    makeWith(mkdirSync);
    expect((await run(['upload', 'e.ndjson'])).code).toBe(8);
    expect(stored()).toEqual([1]);
  });

  it('is missing without a journal, which a warning says', async () => {
    const { run, write } = await stage();
    write('e.ndjson', lines(1));
    const { code, stderr } = await run(['upload', 'e.ndjson', '--no-journal']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('are not remembered')]);
  });

  it.each([
    [[], [], '2026-04-10', 1],
    [[], [], '2026-03-02', 0],
    [['--remember', '30d'], [], '2026-03-02', 0],
    [['--remember', '180d'], [], '2026-04-10', 0],
    [[], ['--remember', '30d'], '2026-03-02', 1],
    [['--remember', '30d'], ['--remember', '180d'], '2026-04-10', 0],
  ])(
    'is kept for 90 days, as long as the last upload says, or as long as it is pruned: %j, %j, %s',
    async (flags, pruning, day, removed) => {
      const { runAt, write } = await stage();
      write('old.ndjson', lines(1));
      write('new.ndjson', lines(2));
      expect((await runAt('2026-01-01', 'upload', 'old.ndjson')).code).toBe(0);
      expect((await runAt(day, 'upload', 'new.ndjson', ...flags)).code).toBe(0);
      const pruned = await runAt(day, 'runs', 'prune', '--yes', ...pruning);
      expect([pruned.code, (pruned.summary as { events?: number }).events]).toEqual([0, removed]);
      const again = await runAt(day, 'upload', 'old.ndjson');
      expect(again.code).toBe(removed === 1 ? 0 : 8);
    },
  );

  it('is kept by runs prune as long as its upload said, whatever the environment says', async () => {
    const { runAt, world, write } = await stage();
    write('old.ndjson', lines(1));
    write('new.ndjson', lines(2));
    await runAt('2026-01-01', 'upload', 'old.ndjson', '--remember', '400d');
    await runAt('2026-03-01', 'upload', 'new.ndjson');
    const env = { ENGAGECTL_REMEMBER: '7d' };
    const { stderr } = await world.run(['runs', 'prune', '--older-than', '30d'], { env });
    expect(stderr).toBe('no unfinished runs\n');
    expect((await runAt('2026-03-01', 'upload', 'old.ndjson')).code).toBe(8);
  });

  it('is kept as long as the last upload said, also one that resumed an older run', async () => {
    const { runAt, world, write } = await stage();
    write('log.ndjson', `${lines(1)}{"ident`);
    expect((await runAt('2026-01-01', 'upload', 'log.ndjson')).code).toBe(9);
    write('other.ndjson', lines(2));
    expect((await runAt('2026-01-02', 'upload', 'other.ndjson')).code).toBe(0);
    write('log.ndjson', lines(1, 3));
    const log = ['upload', 'log.ndjson', '--resume', '--remember', '365d'];
    expect((await runAt('2026-05-01', ...log)).code).toBe(0);
    const [env, now] = [{ ENGAGECTL_REMEMBER: '30d' }, () => Date.parse('2026-05-01')];
    const { stderr } = await world.run(['runs', 'prune', '--yes'], { env, now });
    expect(stderr).toBe('no unfinished runs\n');
    expect((await runAt('2026-05-01', 'upload', 'other.ndjson')).code).toBe(8);
  });

  it('takes the time from the environment and the config profile, too, and refuses nonsense', async () => {
    const { world } = await stage();
    const shown = await world.run(['config', 'show', '--json'], {
      env: { ENGAGECTL_REMEMBER: '12h' },
    });
    expect(JSON.parse(shown.stdout)).toMatchObject({
      remember: '12h',
      sources: { remember: 'ENGAGECTL_REMEMBER' },
    });
    for (const wrong of ['0d', 'long', '90']) {
      const { code, stderr } = await world.run(['doctor', '--remember', wrong]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('90d')]);
    }
  });

  it('is counted by doctor', async () => {
    const { run, write, world } = await stage();
    expect((await world.run(['doctor'])).stdout).toContain('no sent events are remembered');
    write('rejected.ndjson', '{"type":"event"}\n');
    expect((await run(['upload', 'rejected.ndjson'])).code).toBe(3);
    expect((await world.run(['doctor'])).stdout).toContain('no sent events are remembered');
    write('e.ndjson', lines(1, 2));
    await run(['upload', 'e.ndjson']);
    expect((await world.run(['doctor'])).stdout).toMatch(
      /sent events of 1 account are remembered in \d+ B/,
    );
  });

  it('is private, holds no text of an event, and is kept for each account and host', async () => {
    const { run, write, world } = await stage();
    // Two letters of an identity would be in a random name of a folder now and then.
    const secret = { ...event(1), identity: 'ann@example.com' };
    write('e.ndjson', `${JSON.stringify(secret)}\n`);
    await run(['upload', 'e.ndjson']);
    const [account] = readdirSync(path.join(world.stateDir, 'events'));
    const folder = path.join(world.stateDir, 'events', account!);
    const names = readdirSync(folder);
    expect(names.toSorted()).toEqual(['runs.ndjson', 'sent-1.log']);
    const content = names.map((name) => readFileSync(path.join(folder, name), 'latin1')).join('');
    expect(content).not.toMatch(/Visit|City|ann@example/);
  });
});
