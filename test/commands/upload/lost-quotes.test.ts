import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { serve, written } from '../../support/serve.js';

// No record is made of the inside of a quoted cell, wherever a quote was lost.

const stray = 'identity,Bio\nann,"line one\nbob,admin\nend of the "quoted" word"\ncarl,x\n';
const open = 'identity,Bio\nann,x\nbob,"never closed\ncarl,y\ndora,z\n';

interface Sent {
  readonly identity: string;
}

async function run(text: string, argv: readonly string[]) {
  const { world, service } = await serve();
  writeFileSync(world.path('users.csv'), text);
  const outcome = await world.run(argv);
  const sent = written<Sent | string>(service).flat();
  const users = sent.map((record) => (typeof record === 'string' ? record : record.identity));
  return { ...outcome, users, world };
}

describe('a stray quote in a cell of several lines', () => {
  it('rejects the cell as one record, and uploads nothing of its inner lines', async () => {
    const { code, stderr, users, world } = await run(stray, ['upload', 'users.csv']);
    expect([code, users]).toEqual([3, ['carl']]);
    expect(stderr).toContain('on line 4: lines 2 to 4 are one rejected record');
    const rejects = readFileSync(world.path('users.csv.rejects.ndjson'), 'utf8');
    expect(rejects.trimEnd().split('\n')).toHaveLength(1);
    expect(rejects).toContain('bob,admin');
  });

  it('demerges no identity within the text of a cell', async () => {
    const { code, users } = await run(stray, ['demerge', 'users.csv', '--yes']);
    expect([code, users]).toEqual([3, ['carl']]);
  });
});

describe('a quote behind a backslash, as another program writes it,', () => {
  const escaped = 'identity,Bio\nann,x\nbob,"hi\\"\nadmin,x\n\\""\ncarl,y\n';

  it.each([[['upload']], [['demerge', '--yes']], [['upload', '--recover-quotes']]])(
    'stops the run before the lines behind it: %j',
    async (argv) => {
      const { code, stderr, users } = await run(escaped, [...argv, 'users.csv']);
      expect([code, stderr]).toEqual([8, expect.stringContaining('E-CSV-QUOTE')]);
      expect(stderr).toContain('the quote on line 3 may be escaped with a backslash');
      expect(stderr).toContain("--escape '\\'");
      expect(users.filter((user) => user !== 'ann')).toEqual([]);
    },
  );

  it('is read as the options say', async () => {
    const read = await run(escaped, ['upload', 'users.csv', '--escape', '\\']);
    expect([read.code, read.users]).toEqual([0, ['ann', 'bob', 'carl']]);
    const doubled = 'identity,Path\nann,"C:\\a, b\\"\nbob,"\n,x"\n';
    expect((await run(doubled, ['upload', 'users.csv'])).code).toBe(8);
    const known = await run(doubled, ['upload', 'users.csv', '--escape', '"']);
    expect([known.code, known.users]).toEqual([0, ['ann', 'bob']]);
  });

  it('rejects a cell of one line as before', async () => {
    const { code, users } = await run('identity,Bio\nann,"a \\"b\\" c"\nbob,x\n', [
      'upload',
      'users.csv',
    ]);
    expect([code, users]).toEqual([3, ['bob']]);
  });
});

/** Characters that look like nothing, of one to four bytes. */
const unseen = [
  '\u3000',
  '\u2003',
  '\u2009',
  '\u0085',
  '\u200e',
  '\u200d',
  '\u00ad',
  '\u034f',
  '\u2800',
  '\u3164',
  '\u{e0020}',
  '\v',
  '\f',
  '\0',
  '\x1f',
  ' \u3000=\t',
];

it.each(unseen.slice(0, -1).map((blank) => [`U+${blank.codePointAt(0)!.toString(16)}`, blank]))(
  'stops before the lines of a cell whose closing quotes precede %s',
  async (_, blank) => {
    const text = `identity,Bio\n"ann"${blank},"a\nadmin,x\nend"${blank}\ncarl,y\n`;
    const demerge = ['demerge', 'users.csv', '--yes', '--delimiter', ','];
    const { code, stderr, users } = await run(text, demerge);
    expect([code, users], stderr).toEqual([8, []]);
  },
);

it.each([
  ...unseen.map((blank) => [
    `U+${blank.codePointAt(0)!.toString(16)}`,
    `ann,${blank}"a\nadmin,x\nend"\ncarl,y\n`,
  ]),
  ['a blank', 'ann, "a\nadmin,x\nend"\ncarl, "y"\n'],
  ['blanks around', 'ann, "a\nadmin,x\nend" \ncarl,y\n'],
  ['a tab', 'ann,\t"a\nadmin,x\nend"\ncarl,y\n'],
  ['an equals sign', 'ann,="a\nadmin,x\nend"\ncarl,y\n'],
  ['a blank, with backslashes', 'ann, "line \\"one\\"\nadmin,x\nend"\ncarl,y\n'],
  ['a blank, in a row with more cells', 'ann, "a\nadmin,x\nend",more\ncarl,y\n'],
  ['a blank, never closed', 'ann, "a\nadmin,x\n'],
])('stops before the lines of a cell whose quote follows %s', async (_, text) => {
  const { code, stderr, users } = await run(`identity,Bio\n${text}`, [
    'demerge',
    'users.csv',
    '--yes',
    '--delimiter',
    ',',
  ]);
  expect([code, users]).toEqual([8, []]);
  expect(stderr).toContain("--delimiter ', '");
});

it.each([
  'ann,"a \\",q\nadmin,x,y\ncid,pwn,\\" end",Oslo,extra\n',
  'ann,"a \\",q\nadmin,x,y\ncid,pwn,\\" end"\n',
  'ann,"a \\",q\nadmin,x,y\ncid,pwn,\\" end" ,Oslo\n',
  'ann,"a \\",q\nadmin,x,y\ncid,pwn,\\" end",5" pipe\n',
  'ann,"hi \\\\",x\nadmin,x,y\nz",Oslo\n',
])('stops before the lines of a cell with backslashes in an irregular row: %j', async (text) => {
  const { code, users } = await run(`identity,Note,City\n${text}bob,x,y\n`, [
    'demerge',
    'users.csv',
    '--yes',
  ]);
  expect([code, users]).toEqual([8, []]);
});

it.each([
  ['within a cell', 'e"v,"x\nadmin,x,y\nend"\n'],
  ['around the start of a cell', '"e"v,"x\nadmin,x,y\nend"\n'],
  ['at the start of a cell', '"e,"\nadmin,x,y\nend"\n'],
  ['in front of a long line', `e"v,"${'x'.repeat(2000)}\nadmin,x,y\nend"\n`],
  ['in front of a long cell', `e"v,"x\nadmin,x,y\n${'x'.repeat(2000)}\nend"\n`],
  ['and a blank in front of a long line', `e, "${'x'.repeat(2000)}\nadmin,x,y\nend"\n`],
])('stops before the lines of a cell behind a quote %s', async (_, text) => {
  for (const argv of [['upload'], ['demerge', '--yes'], ['upload', '--recover-quotes']]) {
    const table = `identity,Nick,Bio\nann,a,x\neve,${text}bob,b,y\n`;
    const flags = [...argv, '--max-record-bytes', '1024'];
    const { code, stderr, users } = await run(table, [...flags, 'users.csv']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('the quote on line 3')]);
    expect(users.filter((user) => user !== 'ann')).toEqual([]);
  }
});

describe('D an unclosed quote', () => {
  it('stops the run with exit 8 before any later record is sent', async () => {
    const { code, stderr, users } = await run(open, ['upload', 'users.csv']);
    expect(code).toBe(8);
    expect(stderr).toContain('E-CSV-QUOTE: users.csv: the quote on line 3 is never closed');
    expect(stderr).toContain('--recover-quotes');
    expect(users.filter((user) => user !== 'ann')).toEqual([]);
  });

  it('is not reported for a cell that is closed after --max-record-bytes', async () => {
    const long = `identity,Bio\nann,x\nbob,"${'x'.repeat(2000)}"\ncarl,y\n`;
    const argv = ['upload', 'users.csv', '--max-record-bytes', '1024'];
    const { code, stderr, users } = await run(long, argv);
    expect(code).toBe(8);
    expect(stderr).toContain('users.csv: the quote on line 3 is not closed within 1,024 bytes');
    expect(stderr).toContain('for longer cells, raise --max-record-bytes');
    expect(users.filter((user) => user !== 'ann')).toEqual([]);
    const whole = await run(long, [...argv.slice(0, -1), '4096']);
    expect(whole.users).toEqual(['ann', 'bob', 'carl']);
  });

  it('is found by --check', async () => {
    const { code, stderr } = await run(open, ['upload', 'users.csv', '--check']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-CSV-QUOTE')]);
  });

  it('rejects its line alone with --recover-quotes', async () => {
    const argv = ['upload', 'users.csv', '--recover-quotes'];
    const { code, users } = await run(open, argv);
    expect([code, users]).toEqual([3, ['ann', 'carl', 'dora']]);
  });

  it('is not recovered for events and demerges', async () => {
    const events = ['upload', 'users.csv', '--type', 'event', '--recover-quotes'];
    for (const argv of [events, ['demerge', 'users.csv', '--yes', '--recover-quotes']]) {
      const { code, users } = await run(open, argv);
      expect([code, users]).toEqual([2, []]);
    }
  });

  it('can be corrected, and the profiles uploaded with --fresh', async () => {
    const { code, world } = await run(open, ['upload', 'users.csv', '--chunk-size', '1']);
    expect(code).toBe(8);
    writeFileSync(world.path('users.csv'), open.replace('"never', 'never'));
    const again = await world.run(['upload', 'users.csv', '--chunk-size', '1', '--fresh']);
    expect(again.code, again.stderr).toBe(0);
    const { stdout } = await world.run(['get-profile', 'bob']);
    expect(JSON.parse(stdout)).toMatchObject({ profileData: { Bio: 'never closed' } });
  });
});
