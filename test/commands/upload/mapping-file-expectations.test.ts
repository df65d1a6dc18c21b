import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../../src/testing.js';
import { makeWorld, type World } from '../../support/test-environment.js';

// What a mapping file expects of an input, beside how it is mapped.

const mapping = {
  identity: 'Id',
  map: { mail: 'Email' },
  types: { Age: 'integer' },
  required: ['mail'],
  columns: 'exact',
  values: { Plan: ['free', 'paid'] },
};

async function worldWith(files: Readonly<Record<string, unknown>>, env = {}) {
  const service = await startService();
  onTestFinished(() => service.close());
  const world = makeWorld({ env: { ...service.env, ...env } });
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(world.path(name), text);
  }
  return { world, service };
}

const upload = (world: World, ...argv: string[]) =>
  world.run(['upload', ...argv, '--mapping', 'm.json']);

/** Lines and errors of a rejects file; else of the only one. */
function rejectsIn(
  world: World,
  name = readdirSync(world.cwd).find((file) => file.includes('rejects')) ?? '',
): [line: number, error: string][] {
  const lines = readFileSync(world.path(name), 'utf8').trimEnd().split('\n');
  return lines.map((text) => {
    const { line, error } = JSON.parse(text) as { line: number; error: string };
    return [line, error];
  });
}

const header = 'Id,mail,Age,Plan\n';
const rows = `${header}u1,a@x.de,33,free\nu2,,x,gold\nu3,c@x.de,,\n,,1,paid\n`;

describe('D a mapping file with expectations', () => {
  it('rejects rows with all their errors, and sends the others', async () => {
    const { world, service } = await worldWith({ 'm.json': mapping, 'u.csv': rows });
    const { code, stdout } = await upload(world, 'u.csv', '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ read: 4, accepted: 2, rejected: 2 });
    expect(rejectsIn(world)).toEqual([
      [
        3,
        'column "mail": a value is required; column "Plan": "gold" is not one of "free", "paid"; ' +
          'column "Age": "x" is not an integer',
      ],
      [5, 'column "Id": the value is empty or missing; column "mail": a value is required'],
    ]);
    expect(service.requests().map(({ body }) => JSON.stringify(body))).toEqual([
      '{"d":[{"identity":"u1","type":"profile","profileData":{"Email":"a@x.de","Age":33,"Plan":"free"}},' +
        '{"identity":"u3","type":"profile","profileData":{"Email":"c@x.de"}}]}',
    ]);
  });

  it('checks flat JSON by its members, and refuses records without columns', async () => {
    const records = [
      { Id: 'u1', mail: 'a@x.de', Plan: 'free' },
      { Id: 'u2', mail: null, Plan: 'gold' },
      { Id: 'u3', Plan: 7, Extra: 1 },
      { type: 'profile', identity: 'u4', profileData: { mail: 'a@x.de' } },
      { Id: 'u5', mail: 'e@x.de', Age: '4' },
    ];
    const text = records.map((record) => JSON.stringify(record)).join('\n');
    const { world } = await worldWith({ 'm.json': mapping, 'u.ndjson': text });
    expect((await upload(world, 'u.ndjson', '--check')).code).toBe(3);
    expect(rejectsIn(world)).toEqual([
      [2, 'column "mail": a value is required; column "Plan": "gold" is not one of "free", "paid"'],
      [
        3,
        'column "mail": a value is required; column "Plan": "7" is not one of "free", "paid"; ' +
          'column "Extra": the mapping file does not list this column',
      ],
      [4, 'the mapping file expects columns, but this is an upload record or an exported record'],
    ]);
  });

  it.each([
    ['that is missing', 'Id,mial,Age,Plan\n', 'E-COLUMN-MISSING', 'column "mail" missing'],
    ['too many', 'Id,mail,Age,Plan,Fax,Pet\n', 'E-EXPECTED', 'unexpected columns "Fax", "Pet"'],
  ])('refuses a column %s before anything is sent: exit 8', async (_, head, id, message) => {
    const { world, service } = await worldWith({
      'm.json': mapping,
      'u.csv': `${head}u1,a,1,free\n`,
    });
    for (const rehearsal of [[], ['--check'], ['--preview']]) {
      const { code, stderr } = await upload(world, 'u.csv', ...rehearsal);
      expect([code, stderr]).toEqual([8, expect.stringContaining(`${id}: u.csv: `)]);
      expect(stderr).toContain(message);
    }
    expect(service.requests()).toEqual([]);
  });

  it('accepts its own rejects file after correction, of CSV too', async () => {
    const { world } = await worldWith({ 'm.json': mapping, 'u.csv': rows });
    expect((await upload(world, 'u.csv', '--rejects', 'r.csv')).code).toBe(3);
    const rejects = readFileSync(world.path('r.csv'), 'utf8');
    writeFileSync(
      world.path('r.csv'),
      rejects.replace('u2,,x,gold', 'u2,b@x.de,5,paid').replace(',,1,paid', 'u4,d@x.de,1,paid'),
    );
    expect((await upload(world, 'r.csv')).code).toBe(0);
  });

  it('can be combined with flags that add columns', async () => {
    const { world } = await worldWith({
      'm.json': mapping,
      'u.csv': 'Id,mail,Age,Plan,Fax\nu,a,1,,5\n',
    });
    expect((await upload(world, 'u.csv', '--check', '--drop', 'Fax')).code).toBe(0);
  });

  it('keeps its own columns for events', async () => {
    const events = { ...mapping, identity: 'Id', map: {}, types: {}, required: ['Id'] };
    const text = 'Id,ts,evtName,Plan\nu,1700000000,Bought,free\nu,1700000000,Bought,gold\n';
    const { world } = await worldWith({ 'm.json': events, 'e.csv': text });
    expect((await upload(world, 'e.csv', '--type', 'event', '--check')).code).toBe(3);
    expect(rejectsIn(world)).toEqual([[3, 'column "Plan": "gold" is not one of "free", "paid"']]);
  });

  it('annotates the lines of a pull request', async () => {
    const env = { GITHUB_ACTIONS: 'true' };
    const { world } = await worldWith({ 'm.json': mapping, 'u.csv': rows }, env);
    const { stderr } = await upload(world, 'u.csv', '--check', '--quiet');
    expect(stderr).toContain(
      '::error file=u.csv,line=3,title=engagectl%3A validate::column "mail": a value is required; ',
    );
  });

  it('annotates the header, too', async () => {
    const env = { GITHUB_ACTIONS: 'true' };
    const { world } = await worldWith({ 'm.json': mapping, 'u.csv': 'Id,Age,Plan\n' }, env);
    const { stderr } = await upload(world, 'u.csv', '--check');
    expect(stderr).toContain(
      '\n::error file=u.csv,line=1,title=engagectl%3A E-COLUMN-MISSING::u.csv: column "mail" missing\n',
    );
    expect((await upload(world, 'u.csv', '--check', '--json')).stderr).not.toContain('::error');
  });
});

describe('the type of phones of one country', () => {
  const numbers = ['+919876543210', '+447911123456', '9876543210', '+91 98765 43210', '+91', ''];

  it('rejects others, from a file or a flag, in CSV and JSON', async () => {
    const csv = `Id,Phone\n${numbers.map((number, index) => `u${index},${number}\n`).join('')}`;
    const json = numbers.map((Phone, index) => `${JSON.stringify({ Id: `u${index}`, Phone })}\n`);
    const types = { identity: 'Id', types: { Phone: 'phone:+91' } };
    const files = { 'm.json': types, 'u.csv': csv, 'u.ndjson': json.join('') };
    const { world, service } = await worldWith(files);
    const flags = ['--identity', 'Id', '--types', 'Phone:phone:+91'];
    const runs = [
      ['u.csv', '--mapping', 'm.json'],
      ['u.csv', ...flags, '--fresh'],
      ['u.ndjson', ...flags],
    ];
    for (const argv of runs) {
      const { code, stdout } = await world.run([
        'upload',
        ...argv,
        '--json',
        '--rejects',
        'r.ndjson',
        '--fresh',
      ]);
      expect([code, JSON.parse(stdout)]).toMatchObject([3, { accepted: 2, rejected: 4 }]);
    }
    const [line, error] = rejectsIn(world, 'r.ndjson')[0]!;
    expect([line, error]).toEqual([
      2,
      'column "Phone": "+447911123456" is not a +91 number (expected +91 and digits)',
    ]);
    expect(JSON.stringify(service.requests()[0]?.body)).toBe(
      '{"d":[{"identity":"u0","type":"profile","profileData":{"Phone":"+919876543210"}},' +
        '{"identity":"u5","type":"profile","profileData":{}}]}',
    );
  });

  it.each(['phone', 'phone:91', 'phone:+', 'phone:+0', 'phone:+9198', 'phone:+91x'])(
    'is not %s',
    async (type) => {
      const files = { 'm.json': { types: { Phone: type } }, 'u.csv': 'identity,Phone\n' };
      const { world } = await worldWith(files);
      const { code, stderr } = await upload(world, 'u.csv');
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('m.json: types.Phone is not one of '),
      ]);
    },
  );
});

describe('D the minimum number of records', () => {
  const least = { records: { min: 3 } };
  const two = 'identity,Name\na1,A\nb\n';
  const three = 'identity,Name\na1,A\nb2,B\nc3,C\n';

  it('is checked before anything is sent: exit 8', async () => {
    const { world, service } = await worldWith({ 'm.json': least, 'u.csv': two, 'ok.csv': three });
    for (const rehearsal of [[], ['--check'], ['--preview']]) {
      const { code, stderr } = await upload(world, 'u.csv', ...rehearsal);
      expect([code, stderr]).toEqual([
        8,
        expect.stringContaining('E-EXPECTED: u.csv has 2 records, expected at least 3'),
      ]);
    }
    expect(service.requests()).toEqual([]);
    expect((await upload(world, 'ok.csv', '--limit', '1')).code).toBe(0);
    expect((await upload(world, 'u.csv', 'ok.csv', '--check')).code).toBe(3);
  });

  it('is checked at the end of a pipe', async () => {
    const { world, service } = await worldWith({ 'm.json': least });
    const piped = (text: string, ...argv: string[]) =>
      world.run(['upload', '-', '--mapping', 'm.json', ...argv], { stdin: text });
    const short = 'identity,Name\na1,A\nb2,B\n';
    const { code, stdout, stderr } = await piped(short, '--json');
    const few = 'stdin has 2 records, expected at least 3';
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining(`"E-TOO-FEW","message":"${few}; 2 were sent and accepted"`),
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 2, exitCode: 3 });
    expect(service.requests()).toHaveLength(1);
    const nothingSent = [
      8,
      expect.stringMatching(/E-EXPECTED: stdin has [02] records, expected at least 3/),
    ];
    for (const [text, ...argv] of [
      [short, '--check'],
      ['identity,Name\n'],
      ['identity,Name\n,A\n,B\n'],
    ]) {
      const outcome = await piped(text!, ...argv);
      expect([outcome.code, outcome.stderr]).toEqual(nothingSent);
    }
    expect(service.requests()).toHaveLength(1);
    expect((await piped(short, '--limit', '2')).code).toBe(0);
    expect((await piped(three)).code).toBe(0);
  });
});
