import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { startService, type FaultRuleInput } from '../../src/testing.js';
import { RetryStatus } from '../../src/client/retry.js';
import { maskPersonalData } from '../../src/ui/mask.js';
import { makeWorld, type World } from '../support/test-environment.js';

// Identities and addresses are shortened wherever a log may keep them, and whole in the files asked for.

const ada = { id: 'CUSTOMER-77-ada', mail: 'ada.lovelace@mail.example', phone: '+919876543210' };
const seeded = [ada.id, ada.mail, 'lovelace', ada.phone, '9876543210', '98765 43210'];

const answer = (status: number, body?: object): FaultRuleInput => ({ answer: { status, body } });

/** The service names people in its own words: with and without quotes and plus, and others too. */
const refuses = (code: number, error: string, records = 1): FaultRuleInput =>
  answer(200, {
    status: records > 1 ? 'partial' : 'fail',
    processed: records - 1,
    unprocessed: [{ status: 'fail', code, error, record: { identity: ada.id } }],
  });

const users = `CustomerId,Email,Phone,Note\n${ada.id},${ada.mail},${ada.phone},hello\n`;

async function told(
  files: Record<string, string>,
  argv: readonly string[],
  rule: FaultRuleInput,
  more: readonly string[] = [],
) {
  const service = await startService();
  onTestFinished(() => service.close());
  await service.fault(rule);
  const world = makeWorld({ env: service.env });
  for (const [name, text] of Object.entries(files)) writeFileSync(world.path(name), text);
  const summary = world.path('summary.md');
  const asked = [...argv, '--log-file', 'run.log', ...more];
  const plain = await world.run(asked, {
    env: { GITHUB_STEP_SUMMARY: summary },
  });
  const inActions = await world.run(asked, {
    env: { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary },
  });
  const kept = ['run.log', 'run.html', 'summary.md'].map((name) => textOf(world, name));
  return {
    code: plain.code,
    stderr: plain.stderr,
    everywhere: [plain.stderr, inActions.stderr, ...kept].join('\n'),
    annotations: inActions.stderr.split('\n').filter((line) => line.startsWith('::error')),
    rejects: textOf(world, 'out.rejects'),
  };
}

const textOf = (world: World, name: string): string =>
  existsSync(world.path(name)) ? readFileSync(world.path(name), 'utf8') : '';

const upload = ['upload', 'users.csv', '--identity', 'CustomerId', '--rejects', 'out.rejects'];
const report = ['--report', 'run.html', '-vv'];

const cases: [what: string, files: Record<string, string>, argv: string[], rule: FaultRuleInput][] =
  [
    [
      'the words of the service about a user',
      { 'users.csv': users },
      [...upload, ...report],
      refuses(515, `Invalid Phone 919876543210 of ${ada.id} <${ada.mail}> record number : 1`),
    ],
    [
      'a column that the service names',
      { 'users.csv': users },
      [...upload, ...report],
      refuses(514, 'Email is not valid, record number : 1'),
    ],
    [
      'a refusal of the whole request',
      { 'users.csv': users },
      [...upload, ...report],
      answer(400, { status: 'fail', code: 400, error: `no ${ada.mail}, +91 98765 43210 here` }),
    ],
    [
      'words that are about nobody who was sent',
      { 'users.csv': users.replace('+91', '') },
      [...upload, ...report],
      refuses(515, 'Invalid phone 919876543210 record number : 7'),
    ],
    [
      'a cell of the wrong type',
      { 'users.csv': users },
      [...upload, ...report, '--types', 'Phone:integer,Email:date'],
      answer(500),
    ],
    [
      'a line that cannot be read',
      { 'users.csv': `${users.trimEnd()},more\n"${ada.mail}` },
      [...upload, ...report],
      answer(500),
    ],
    [
      'what a check says of the values',
      { 'users.csv': users.replace('+9198765', '98765 ') },
      [...upload, ...report, '--check'],
      answer(500),
    ],
    [
      'a subscription',
      { 'people.csv': `type,value,status\nemail,${ada.mail},maybe\nphone,${ada.phone},maybe\n` },
      ['subscribe', 'people.csv', '--rejects', 'out.rejects', ...report],
      answer(500),
    ],
    [
      'users who are not found',
      { 'ids.txt': `${ada.mail}\n${ada.id}\n` },
      ['get-profile', '--input', 'ids.txt', '--by', 'identity', '--rejects', 'out.rejects', '-vv'],
      answer(200, { status: 'success' }),
    ],
    [
      'an identity that cannot be one',
      { 'ids.ndjson': `{"identity":"${ada.mail}\\u0007"}\n` },
      ['demerge', 'ids.ndjson', '--yes', '--rejects', 'out.rejects', ...report],
      answer(500),
    ],
  ];

it.each(cases)('masks %s', async (_what, files, argv, rule) => {
  const { code, everywhere, annotations, rejects } = await told(files, argv, rule);
  expect(code > 1).toBe(!argv.includes('--check'));
  for (const word of seeded) expect(everywhere).not.toContain(word);
  expect(annotations.length > 0 || argv.includes('--check')).toBe(true);
  if (!argv.includes('--check')) expect(seeded.some((word) => rejects.includes(word))).toBe(true);
});

it('keeps the start, so that a row can be recognized beside its line', async () => {
  const [, files, argv, rule] = cases[0]!;
  const { stderr } = await told(files, argv, rule);
  const words = 'Invalid Phone 9198… of CUST… <ada…> record: line 2';
  expect(stderr).toContain(`users.csv:2: service 515: ${words} (column "Phone": "+9198…")`);
});

it.each(cases.slice(0, 3))(
  'prints %s unmasked with --show-pii',
  async (_what, files, argv, rule) => {
    const { everywhere, annotations } = await told(files, argv, rule, ['--show-pii']);
    expect(everywhere).toContain(ada.mail);
    expect(everywhere).toContain('98765');
    expect(everywhere).not.toContain('ada…');
    expect(annotations.join()).toMatch(/98765|lovelace/);
  },
);

it.each([
  'doctor',
  'doctor --json',
  'config check',
  'get-profile u1',
  'get-profile u1 --json',
  'export-profiles --event A --from 20240101 --to 20240102 -o out.ndjson',
  'export-profiles --event A --from 20240101 --to 20240102 -o out.ndjson --json',
  'upload users.csv --identity CustomerId --rejects out.rejects --report run.html',
  'upload users.csv --identity CustomerId --rejects out.rejects --json',
])('masks what the service says of a whole request: %s', async (line) => {
  const service = await startService();
  onTestFinished(() => service.close());
  const error = `no ${ada.mail}, ${ada.phone}, 919876543210 here`;
  const headers = { 'x-request-id': '1764319084123' };
  for (const status of [401, 500]) {
    await service.fault({ answer: { status, headers, body: { status: 'fail', error } } });
    const world = makeWorld({ env: service.env });
    writeFileSync(world.path('users.csv'), users);
    const argv = [...line.split(' '), '--max-attempts', '2', '--log-file', 'run.log'];
    const { code, stdout, stderr } = await world.run(argv);
    expect(code, stderr).toBeGreaterThan(1);
    const kept = ['run.log', 'run.html'].map((name) => textOf(world, name));
    const everywhere = [stdout, stderr, ...kept].join('\n');
    for (const word of seeded) expect(everywhere).not.toContain(word);
    expect(everywhere).toContain('no ada…, +9198…, 9198… here');
    expect(everywhere).toContain('request id 1764319084123');
    const whole = await world.run([...argv, '--show-pii']);
    expect(whole.stdout + whole.stderr).toContain(error);
  }
});

it.each([[[]], [['--json']]])('masks it where config set tries what it saves: %o', async (more) => {
  const service = await startService();
  onTestFinished(() => service.close());
  const error = `no ${ada.mail}, ${ada.phone}, 919876543210 here`;
  await service.fault({ answer: { status: 500, body: { status: 'fail', error } } });
  const world = makeWorld();
  const { ENGAGECTL_ACCOUNT_ID: id = '', ENGAGECTL_PASSCODE: stdin = '' } = service.env;
  const account = ['--base-url', service.url, '--account-id', id, '--passcode-stdin'];
  const argv = ['config', 'set', '--region', 'eu1', ...account, ...more];
  const { code, stdout, stderr } = await world.run(argv, { stdin });
  expect(code, stderr).toBe(0);
  for (const word of seeded) expect(stdout + stderr).not.toContain(word);
  expect(stdout + stderr).toContain('no ada…, +9198…, 9198… here');
});

it('masks an address within which the words of a progress line or an error end', async () => {
  const fillers = [50, 56, 60, 170, 176, 180].flatMap((length) => [
    `${' x'.repeat(length / 2)} `,
    `?${'q'.repeat(length)}&email=`,
  ]);
  for (const filler of fillers) {
    const note = `${filler}${ada.mail}`;
    const failure = { kind: 'unreadable', sent: true, message: `HTTP 200:${note}` } as const;
    const waits = new RetryStatus('eu1.example.test', { monotonic: () => 0, log: () => undefined });
    waits.began({ what: 'GET', failure, ms: 1, attempts: 1 });
    expect(maskPersonalData(waits.text!, {})).not.toMatch(/ada\.|lovelace/);
    const rule = answer(200, { note });
    const { everywhere } = await told({ 'users.csv': users }, [...upload, ...report], rule);
    expect(everywhere).not.toMatch(/ada\.|lovelace/);
    expect(everywhere).toContain('{"note":"');
  }
});

it('prints the typed arguments unmasked', async () => {
  const { stderr } = await told({}, ['get-profile', ada.mail], answer(200, { status: 'success' }));
  expect(stderr).toContain(`no user has identity "${ada.mail}"`);
  const two = ['get-profile', ada.id, ada.phone];
  const several = await told({}, two, answer(200, { status: 'success' }));
  expect(several.stderr).toContain(`identity "${ada.id}"`);
  expect(several.stderr).toContain(`identity "${ada.phone}"`);
});

it('keeps words for a missing value, which the advice repeats', async () => {
  const world = makeWorld();
  writeFileSync(world.path('users.csv'), 'identity,City\nUndefined,a\n#REF!,b\nann-of-oslo,c\n');
  const { stderr } = await world.run(['upload', 'users.csv', '--check']);
  expect(stderr).toContain('--null-values Undefined treats such cells as empty');
  expect(stderr).toContain('"#REF!" is a placeholder');
});

it('keeps file names and suggested commands', async () => {
  const name = 'ada.lovelace@mail.example.csv';
  const files = { [name]: 'identity,Age\nu1,x\n' };
  const { stderr } = await told(files, ['upload', name, '--types', 'Age:integer'], answer(500));
  expect(stderr).toContain(`${name}:2: validate: column "Age": "x" is not an integer`);
  expect(stderr).toContain(`engagectl upload ${name}.rejects.ndjson`);
});

it('masks the subject of a request in the log of the local service', async () => {
  const stop = new AbortController();
  const world = makeWorld({ signal: stop.signal });
  const runtime = world.runtime();
  const { main } = await import('../../src/main.js');
  const running = main(['serve', '--memory', '--port', '0', '-v'], runtime);
  await expect.poll(() => runtime.output().stdout).toMatch(/^http/);
  const url = runtime.output().stdout.trim();
  await fetch(`${url}/1/profile.json?identity=${encodeURIComponent(ada.mail)}`);
  await expect
    .poll(() => runtime.output().stderr)
    .toMatch(/profile\.json\?identity=ada… 401 fail, \d+ ms/);
  stop.abort();
  await running;
  expect(runtime.output().stderr).not.toContain('lovelace');
});

it('neither shows nor fails at an identity that is longer than a pattern can be', async () => {
  const world = makeWorld();
  writeFileSync(world.path('in.csv'), `identity,Note\n${'secret'.repeat(10_000)},a\n`);
  const { code, stderr } = await world.run(['upload', '--check', '--region=local', 'in.csv']);
  expect(code).toBe(3);
  expect(stderr).toContain('longer than 1024 characters');
  expect(stderr).not.toContain('secret');
});

it.each([
  {
    file: 'in.csv',
    text: 'identity,Handy\na,030 1234567 / 030 9999999\n',
    flags: ['--types', 'Handy:phone(DE)'],
  },
  {
    file: 'in.ndjson',
    text: '{"id":"a","at":{"handy":"030 1234567 / 030 9999999"}}\n',
    flags: ['--identity', 'id', '--types', 'at.handy:phone:+49'],
  },
  {
    file: 'in.csv',
    text: 'identity,Handy\na,030 1234567 / 030 9999999\n',
    flags: ['--map', 'Handy=Phone', '--types', 'Handy:number'],
  },
])(
  'masks a column that the flags say is of phone numbers: $flags',
  async ({ file, text, flags }) => {
    const world = makeWorld();
    writeFileSync(world.path(file), text);
    const argv = ['upload', '--check', '--region=local', file, ...flags];
    const { code, stderr } = await world.run(argv);
    expect([code, stderr]).toEqual([3, expect.stringContaining('"030 …"')]);
    expect(stderr).not.toContain('1234567');
  },
);

it.each([
  [
    'subscribe',
    '{"type":"phone","c":{"nr":" secret-1 "},"status":"Unsubscribe"}',
    '--map=c.nr=value',
  ],
  [
    'subscribe',
    '{"type":"phone","c.nr":" secret-1 ","status":"Unsubscribe"}',
    String.raw`--map=c\.nr=value`,
  ],
  ['demerge', '{"u":{"ref":" secret-1 "}}', '--identity=u.ref'],
  ['upload', '{"u":{"ref":" secret-1 "},"a":1}', '--identity=u.ref'],
  ['upload', '{"Ref":" secret-1 ","a":1}', '--identity=Ref'],
])('%s masks a key that is a path: %s', async (command, text, flag) => {
  const world = makeWorld();
  writeFileSync(world.path('in.ndjson'), `${text}\n`);
  const { code, stderr } = await world.run([
    command,
    '--check',
    '--region=local',
    'in.ndjson',
    flag,
  ]);
  expect(code).toBe(3);
  expect(stderr).not.toContain('secret');
});

it.each([
  ['in.csv', 'Ref\n" secret-1 "\nsecret-2\n', 'Ref'],
  ['in.ndjson', '{"u":{"ref":" secret-1 "}}\n{"u":{"ref":"secret-2"}}\n', 'u.ref'],
])('masks users in a column of any name who are not found: %s', async (file, text, column) => {
  const world = makeWorld();
  writeFileSync(world.path(file), text);
  const argv = ['get-profile', '--input', file, '--region=local', '--identity', column];
  const { code, stderr } = await world.run(argv);
  expect(code).toBe(3);
  expect(stderr).not.toContain('secret');
});

it.each<[what: string, file: string, text: string, argv: readonly string[]]>([
  ['a line to demerge', 'in.ndjson', '"secret-123 "\n', ['demerge', '--yes']],
  ['a line that JSON escapes', 'in.ndjson', '"\\u0073ecret-123 "\n', ['demerge', '--yes']],
  ['an array to demerge', 'in.json', '["secret-123 "]', ['demerge', '--yes']],
  ['an array in a line', 'in.ndjson', '["secret-123"]\n', ['demerge', '--yes']],
  [
    'a line of a rejects file',
    'in.ndjson',
    '{"source":"a","line":1,"stage":"validate","error":"-","record":"secret-123 "}\n',
    ['demerge', '--yes'],
  ],
  ['a line that is looked up', 'in.ndjson', '"secret-123"\n', ['get-profile', '--input']],
  ['a line with a space', 'in.ndjson', '"secret-123 "\n', ['get-profile', '--input']],
  ['an array that is looked up', 'in.json', '["secret-123"]', ['get-profile', '--input']],
  ['an object id', 'in.json', '["secret-123"]', ['get-profile', '--by=objectId', '--input']],
])(
  'masks identities that are bare JSON strings: %s',
  async (_, file, text, [name = '', ...argv]) => {
    const named = [name, ...argv, file, '--rejects', 'out.rejects'];
    const report = name === 'demerge' ? ['--report', 'run.html'] : [];
    for (const more of [[], ['--json'], ['-vv']]) {
      const files = { [file]: text };
      const asked = [...named, ...report, '--fresh'].filter(
        (word) => name === 'demerge' || word !== '--fresh',
      );
      const { everywhere, rejects } = await told(
        files,
        asked,
        answer(200, { status: 'success' }),
        more,
      );
      expect(everywhere).not.toContain('secret');
      expect(rejects).toContain('ecret-123');
    }
  },
);

it('shows the beginning of an error that is made of thousands of values', async () => {
  const service = await startService();
  onTestFinished(() => service.close());
  const world = makeWorld({ env: service.env });
  const numbers = Array.from({ length: 15_000 }, (_, n) => n);
  const members = numbers.map((n) => `"MSG-${n}":2,"mail${n}":"column${n}"`).join(',');
  writeFileSync(world.path('u.ndjson'), `{"identity":"u1",${members}}`);
  const { code, stderr } = await world.run(['upload', 'u.ndjson']);
  expect([code, stderr.length < 150_000]).toEqual([3, true]);
});
