import { appendFileSync, readFileSync, writeFileSync, existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { jsonRunner, serve, written } from '../../support/serve.js';

interface Figures {
  readonly run: string;
  readonly read: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly notSent: number;
  readonly resumed: number;
  readonly heldBack?: number;
}

async function stage() {
  const { service, world } = await serve();
  const run = async (argv: readonly string[], text?: string | Buffer) => {
    const pipe = text === undefined ? {} : { stdin: Readable.from([Buffer.from(text)]) };
    return jsonRunner<Figures>(world)(argv, pipe);
  };
  const sent = () =>
    written<string | { identity?: string; evtData?: { n: number }; profileData?: object }>(
      service,
    ).flat();
  const identities = () => sent().map((one) => (typeof one === 'string' ? one : one.identity));
  return { service, world, run, sent, identities };
}

const event = (n: number): string =>
  `${JSON.stringify({ identity: `u${n}`, type: 'event', evtName: 'V', ts: 1_700_000_000, evtData: { n } })}\n`;
const events = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, n) => event(from + n)).join('');
const names = (count: number) => Array.from({ length: count }, (_, n) => `u${n}`);

describe('an input that ends in the middle of a record', () => {
  it.each([
    ['NDJSON events', 'in.ndjson', events(3), 20],
    [
      'NDJSON profiles',
      'in.ndjson',
      '{"identity":"u0"}\n{"identity":"u1"}\n{"identity":"u2"}\n',
      3,
    ],
    ['CSV', 'in.csv', 'identity,City\nu0,Oslo\nu1,Rome\nu2,Bern\n', 6],
    ['CSV with CR', 'in.csv', 'identity,City\ru0,Oslo\ru1,Rome\ru2,Bern\r', 6],
    ['TSV', 'in.tsv', 'identity\tCity\nu0\tOslo\nu1\tRome\nu2\tBern\n', 6],
    ['a JSON array', 'in.json', '[{"identity":"u0"},\n{"identity":"u1"},{"identity":"u2"}]\n', 5],
    [
      'a JSON array without its bracket',
      'in.json',
      '[{"identity":"u0"},{"identity":"u1"},{"identity":"u2"}]\n',
      20,
    ],
  ])('is sent up to there, and the rest by the next --resume: %s', async (_, file, text, cut) => {
    const { world, run, identities } = await stage();
    writeFileSync(world.path(file), text.slice(0, -cut));
    const first = await run(['upload', file]);
    expect(first.code, first.stderr).toBe(9);
    expect(first.summary).toMatchObject({
      read: 3,
      accepted: 2,
      rejected: 0,
      notSent: 1,
      heldBack: 1,
    });
    expect(first.stderr).toContain('E-INCOMPLETE');
    expect(identities()).toEqual(names(2));
    const again = await run(['upload', file, '--resume']);
    expect(again).toMatchObject({
      code: 9,
      summary: { read: 3, resumed: 2, accepted: 0, notSent: 1 },
    });
    writeFileSync(world.path(file), text);
    const second = await run(['upload', file, '--resume']);
    expect(second).toMatchObject({
      code: 0,
      summary: { read: 3, resumed: 2, accepted: 1, notSent: 0 },
    });
    expect(second.summary.run).toBe(first.summary.run);
    expect(identities()).toEqual(names(3));
    expect(existsSync(world.path(`${file}.rejects.ndjson`))).toBe(false);
  });

  it.each([
    ['UTF-16', (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le'), []],
    [
      'UTF-16, CRLF',
      (text: string) => Buffer.from(`\uFEFF${text.replaceAll('\n', '\r\n')}`, 'utf16le'),
      [],
    ],
    ['UTF-8', (text: string) => Buffer.from(text), []],
    ['UTF-8 by flag', (text: string) => Buffer.from(text), ['--encoding', 'utf-8']],
  ])('sends no increment twice after a cut within a character: %s', async (_, encode, flags) => {
    const { world, run, identities } = await stage();
    const rows = 'n,identity\n"{""$incr"":1}",u0\n"{""$incr"":1}",ü1\n"{""$incr"":1}",';
    const cut = encode(`${rows}ü`).subarray(0, -1);
    const upload = ['upload', 'in.csv', '--types', 'n:json', ...flags, '--resume'];
    writeFileSync(world.path('in.csv'), cut);
    const first = await run(upload);
    expect(first.code, first.stderr).toBe(9);
    expect(first.summary).toMatchObject({ read: 3, accepted: 2, rejected: 0, heldBack: 1 });
    expect(first.stderr).toContain('E-INCOMPLETE');
    writeFileSync(world.path('in.csv'), encode(`${rows}ü2\n`));
    const second = await run(upload);
    expect(second, second.stderr).toMatchObject({ code: 0, summary: { resumed: 2, accepted: 1 } });
    expect(identities()).toEqual(['u0', 'ü1', 'ü2']);
  });

  it.each(['ü', '€', '中', '😀'])(
    'sends no increment twice after a cut within the only character beyond ASCII: %s',
    async (character) => {
      const rows = 'n,identity\n"{""$incr"":1}",u0\n"{""$incr"":1}",u1\n"{""$incr"":1}",u';
      const upload = ['upload', 'in.csv', '--types', 'n:json', '--resume'];
      for (let bytes = 1; bytes < Buffer.byteLength(character); bytes += 1) {
        const { world, run, identities } = await stage();
        const cut = Buffer.concat([Buffer.from(rows), Buffer.from(character).subarray(0, bytes)]);
        writeFileSync(world.path('in.csv'), cut);
        const first = await run(upload);
        expect(first.code, first.stderr).toBe(9);
        expect(first.summary).toMatchObject({ read: 3, accepted: 2, rejected: 0, heldBack: 1 });
        writeFileSync(world.path('in.csv'), `${rows}${character}\n`);
        const second = await run(upload);
        expect(second, second.stderr).toMatchObject({ code: 0, summary: { resumed: 2 } });
        expect(identities()).toEqual(['u0', 'u1', `u${character}`]);
      }
    },
  );

  it('sends the last record with --final, if its only letter beyond ASCII is one of windows-1252', async () => {
    const { world, run, identities } = await stage();
    writeFileSync(world.path('in.csv'), Buffer.from('identity\nanna\njos\xe9', 'latin1'));
    const demerge = ['demerge', 'in.csv', '--yes', '--resume'];
    expect(await run(demerge)).toMatchObject({ code: 9, summary: { accepted: 1, heldBack: 1 } });
    const last = await run([...demerge, '--final']);
    expect(last, last.stderr).toMatchObject({ code: 0, summary: { accepted: 1, resumed: 1 } });
    expect(identities()).toEqual(['anna', 'josé']);
  });

  it('names the line, and what to type', async () => {
    const { world } = await stage();
    writeFileSync(world.path('log.ndjson'), `${events(2)}{"identity":"u`);
    const { code, stderr } = await world.run(['upload', 'log.ndjson']);
    expect(code).toBe(9);
    expect(stderr).toContain('uploaded 2 of 3 records; 1 held back');
    expect(stderr).toContain('log.ndjson ends in the middle of a record');
    expect(stderr).toContain('line 3 was held back: the last line has no line end');
    expect(stderr).toContain('rerun with --resume; if this is the end, add --final');
  });

  it('is resumed when the writer has appended more lines', async () => {
    const { world, run, identities } = await stage();
    const all = events(9);
    const cut = events(4).length + 17;
    writeFileSync(world.path('log.ndjson'), all.slice(0, cut));
    expect((await run(['upload', 'log.ndjson', '--resume'])).code).toBe(9);
    appendFileSync(world.path('log.ndjson'), all.slice(cut, -9));
    expect((await run(['upload', 'log.ndjson', '--resume'])).code).toBe(9);
    appendFileSync(world.path('log.ndjson'), all.slice(-9));
    expect((await run(['upload', 'log.ndjson', '--resume'])).code).toBe(0);
    expect(identities()).toEqual(names(9));
  });

  it('is resumed when its last line was rewritten', async () => {
    const { world, run, identities } = await stage();
    writeFileSync(world.path('log.ndjson'), `${events(2)}{"x`);
    expect((await run(['upload', 'log.ndjson'])).code).toBe(9);
    writeFileSync(world.path('log.ndjson'), events(4));
    expect((await run(['upload', 'log.ndjson', '--resume'])).code).toBe(0);
    expect(identities()).toEqual(names(4));
  });

  it('is resumed when half a character was at its end', async () => {
    const { world, run, sent } = await stage();
    const text = Buffer.from('{"identity":"u0"}\n{"identity":"u1","City":"Köln"}\n', 'utf16le');
    const file = ['upload', 'in.ndjson', '--encoding', 'utf-16le'];
    writeFileSync(world.path('in.ndjson'), text.subarray(0, -13));
    expect((await run(file)).code).toBe(9);
    writeFileSync(world.path('in.ndjson'), text);
    const { code, stderr } = await run([...file, '--resume']);
    expect(code, stderr).toBe(0);
    expect(JSON.stringify(sent())).toContain('Köln');
  });

  it('counts the records of later files as not sent, and sends them when it is complete', async () => {
    const { world, run, identities } = await stage();
    writeFileSync(world.path('a.ndjson'), `${events(2)}${event(2).slice(0, 30)}`);
    writeFileSync(world.path('b.ndjson'), events(3, 3));
    const first = await run(['upload', 'a.ndjson', 'b.ndjson']);
    expect(first).toMatchObject({
      code: 9,
      summary: { read: 6, accepted: 2, notSent: 4, heldBack: 1 },
    });
    appendFileSync(world.path('a.ndjson'), event(2).slice(30));
    const second = await run(['upload', 'a.ndjson', 'b.ndjson', '--resume']);
    expect(second).toMatchObject({ code: 0, summary: { read: 6, resumed: 2, accepted: 4 } });
    expect(identities()).toEqual(names(6));
  });

  it('holds nothing back that can be parsed', async () => {
    const { world, run } = await stage();
    writeFileSync(world.path('a.ndjson'), events(3).trimEnd());
    expect(await run(['upload', 'a.ndjson'])).toMatchObject({ code: 0, summary: { accepted: 3 } });
    writeFileSync(world.path('a.csv'), 'identity,City\nu0,Oslo\nu1,Rome');
    expect(await run(['upload', 'a.csv'])).toMatchObject({ code: 0, summary: { accepted: 2 } });
    writeFileSync(world.path('b.ndjson'), '{"identity":"u0"}\n{"identity":"u1"}\n   ');
    expect(await run(['upload', 'b.ndjson'])).toMatchObject({ code: 0, summary: { accepted: 2 } });
  });

  it('rejects an invalid last line that has a line end', async () => {
    const { world, run } = await stage();
    writeFileSync(world.path('a.ndjson'), `${events(1)}{"identity":"u\n`);
    expect(await run(['upload', 'a.ndjson'])).toMatchObject({ code: 3, summary: { rejected: 1 } });
    writeFileSync(world.path('a.csv'), 'identity,City\nu0,Oslo\nu1\n');
    expect(await run(['upload', 'a.csv'])).toMatchObject({ code: 3, summary: { rejected: 1 } });
  });

  it('ends there with --final, also when the run is resumed', async () => {
    const { world, run, identities } = await stage();
    writeFileSync(world.path('a.ndjson'), `${events(2)}{"identity":"u`);
    expect((await run(['upload', 'a.ndjson', '--final'])).code).toBe(3);
    writeFileSync(world.path('b.ndjson'), `${events(2, 2)}{"identity":"u`);
    const first = await run(['upload', 'b.ndjson']);
    expect(first.code).toBe(9);
    const last = await run(['upload', 'b.ndjson', '--resume', '--final']);
    expect(last).toMatchObject({
      code: 3,
      summary: { read: 3, resumed: 2, rejected: 1, notSent: 0 },
    });
    expect(last.summary.run).toBe(first.summary.run);
    expect(identities()).toEqual(names(4));
  });

  it('is reported by --check, which can be told that it is the end', async () => {
    const { world, run, identities } = await stage();
    writeFileSync(world.path('a.csv'), 'identity,City\nu0,Oslo\nu1');
    const { code, stderr } = await world.run(['upload', 'a.csv', '--check']);
    expect(code).toBe(9);
    expect(stderr).toContain('check: 1 of 2 users would be sent; 1 held back; nothing was sent');
    expect((await run(['upload', 'a.csv', '--check', '--final'])).code).toBe(3);
    expect(identities()).toEqual([]);
  });

  it('leaves no run behind if nothing of it was sent', async () => {
    const { world, run, identities } = await stage();
    writeFileSync(world.path('a.ndjson'), event(0).slice(0, 20));
    expect((await run(['upload', 'a.ndjson'])).code).toBe(9);
    writeFileSync(world.path('a.ndjson'), event(0));
    expect((await run(['upload', 'a.ndjson'])).code).toBe(0);
    expect(identities()).toEqual(['u0']);
  });

  it('is recognized by subscribe and demerge', async () => {
    const { world, run, identities } = await stage();
    writeFileSync(
      world.path('s.csv'),
      'type,value,status\nemail,a@x.org,Unsubscribe\nemail,b@x.org',
    );
    expect(await run(['subscribe', 's.csv'])).toMatchObject({
      code: 9,
      summary: { accepted: 1, notSent: 1 },
    });
    writeFileSync(world.path('d.ndjson'), '"u0"\n"u1');
    expect(await run(['demerge', 'd.ndjson', '--yes'])).toMatchObject({
      code: 9,
      summary: { accepted: 1 },
    });
    writeFileSync(world.path('d.ndjson'), '"u0"\n"u1"\n');
    expect(await run(['demerge', 'd.ndjson', '--yes', '--resume'])).toMatchObject({ code: 0 });
    expect(identities().slice(1)).toEqual(['u0', 'u1']);
  });

  it('keeps each record that was accepted when a gzip stream is cut short', async () => {
    const { world, run, identities } = await stage();
    const whole = gzipSync(events(4000));
    writeFileSync(world.path('in.ndjson.gz'), whole.subarray(0, -200));
    expect((await run(['upload', 'in.ndjson.gz', '--chunk-size', '100'])).code).toBe(9);
    writeFileSync(world.path('in.ndjson.gz'), whole);
    const last = await run(['upload', 'in.ndjson.gz', '--chunk-size', '100', '--resume']);
    expect(last.code, last.stderr).toBe(0);
    expect(identities()).toHaveLength(4000);
    expect(new Set(identities())).toEqual(new Set(names(4000)));
  });

  it('can be resumed after it ended inside a quoted cell', async () => {
    const { world, run, identities } = await stage();
    const text = 'identity,Note\nu0,"a\nb"\nu1,"c\nd"\n';
    writeFileSync(world.path('in.csv'), text.slice(0, -3));
    const first = await run(['upload', 'in.csv', '--chunk-size', '1']);
    expect(first.code).toBe(8);
    expect(first.stderr).toContain('E-CSV-QUOTE');
    writeFileSync(world.path('in.csv'), text);
    expect((await run(['upload', 'in.csv', '--chunk-size', '1', '--resume'])).code).toBe(0);
    expect(new Set(identities())).toEqual(new Set(names(2)));
  });
});

describe('a pipe that ends in the middle of a record', () => {
  const named = ['upload', '-', '--run-name', 'pp', '--resume'];

  it('is read as a whole when its producer is run again', async () => {
    const { run, identities } = await stage();
    const text = events(8);
    for (const cut of [events(2).length + 3, events(5).length + 40]) {
      expect((await run(named, text.slice(0, cut))).code).toBe(9);
    }
    expect((await run(named, text)).code).toBe(0);
    expect(identities()).toEqual(names(8));
  });

  it.each([
    ['CSV', 'identity,City\nu0,Oslo\nu1,Lisbon\nu2,Rome\n', 'Lisbon', []],
    ['CSV after its last cell', 'identity,City\nu0,Oslo\nu1,Lisbon\nu2,Rome\n', '', []],
    [
      'TSV',
      'identity\tCity\nu0\tOslo\nu1\tLisbon\nu2\tRome\n',
      'Lisbon',
      ['--input-format', 'tsv'],
    ],
  ])('sends no value that may be cut off: %s', async (_, text, rest, more) => {
    const { run, sent, identities } = await stage();
    const at = text.indexOf('Lisbon') + (rest ? 3 : 6);
    const first = await run([...named, ...more], text.slice(0, at));
    expect(first).toMatchObject({ code: 9, summary: { accepted: 1, notSent: 1, heldBack: 1 } });
    expect(identities()).toEqual(['u0']);
    expect((await run([...named, ...more], text)).code).toBe(0);
    expect(identities()).toEqual(names(3));
    expect(JSON.stringify(sent())).toContain('"Lisbon"');
  });

  it('holds back a value of a list', async () => {
    const { run, identities } = await stage();
    const list = ['demerge', '-', '--yes', '--run-name', 'gone', '--resume'];
    expect((await run(list, 'u0\nu1\nu')).code).toBe(9);
    expect((await run(list, 'u0\nu1\nu2\n')).code).toBe(0);
    expect(identities()).toEqual(names(3));
  });

  it('is not finished when only its header arrived', async () => {
    const { run, identities } = await stage();
    expect((await run(named, 'identity,Ci')).code).toBe(9);
    expect((await run(named, 'identity,City\nu0,Oslo\n')).code).toBe(0);
    expect(identities()).toEqual(['u0']);
  });

  it('ends there with --final', async () => {
    const { run, identities } = await stage();
    expect((await run([...named, '--final'], 'identity,City\nu0,Oslo\nu1,Rome')).code).toBe(0);
    expect(identities()).toEqual(names(2));
  });

  it('is written to the rejects file if the run has no name, so that it is not lost', async () => {
    const { world, run, identities } = await stage();
    const first = await run(['upload', '-'], `${events(2)}${event(2).slice(0, 20)}`);
    expect(first).toMatchObject({ code: 9, summary: { accepted: 2, notSent: 1 } });
    const rejects = world.path('engagectl-upload.rejects.ndjson');
    const line = JSON.parse(readFileSync(rejects, 'utf8')) as object;
    expect(line).toMatchObject({ line: 3, stage: 'notSent', record: event(2).slice(0, 20) });
    expect(first.stderr).toContain('engagectl-upload.rejects.ndjson');
    expect(identities()).toEqual(names(2));
  });
});

it.each([
  [[], true],
  [['--final'], false],
])('warns of a pipe that ends in a value, if it may be cut off: %j', async (flags, warns) => {
  const { world, service } = await serve();
  const argv = ['demerge', '-', '--yes', '--input-format', 'list', ...flags];
  const { code, stderr } = await world.run(argv, { stdin: 'ann\nbo' });
  expect([code, written(service).flat()]).toEqual([0, ['ann', 'bo']]);
  expect(stderr.includes('no line end at its end')).toBe(warns);
  expect((await world.run(argv, { stdin: 'cid\n' })).stderr).not.toContain('no line end');
});
