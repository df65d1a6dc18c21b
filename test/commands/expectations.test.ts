import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { accountAt } from '../support/account-at.js';
import { accept, startFaultServer } from '../support/fault-server.js';
import { makeWorld, type World } from '../support/world.js';

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
  const server = await startFaultServer([accept()]);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const world = makeWorld({ env: { ...accountAt(server.url, 'pass', 'ACC-1'), ...env } });
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(world.path(name), text);
  }
  return { world, server };
}

const upload = (world: World, ...argv: string[]) =>
  world.run(['upload', ...argv, '--mapping', 'm.json']);

/** Lines and errors of the only rejects file. */
function rejectsIn(world: World): [line: number, error: string][] {
  const name = readdirSync(world.cwd).find((file) => file.includes('rejects')) ?? '';
  const lines = readFileSync(world.path(name), 'utf8').trimEnd().split('\n');
  return lines.map((text) => {
    const { line, error } = JSON.parse(text) as { line: number; error: string };
    return [line, error];
  });
}

const header = 'Id,mail,Age,Plan\n';
const rows = `${header}u1,a@x.de,33,free\nu2,,x,gold\nu3,c@x.de,,\n,,1,paid\n`;

describe('a mapping file that expects something', () => {
  it('rejects rows with all their faults, and sends the others as ever', async () => {
    const { world, server } = await worldWith({ 'm.json': mapping, 'u.csv': rows });
    const { code, stdout } = await upload(world, 'u.csv', '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ read: 4, accepted: 2, rejected: 2 });
    expect(rejectsIn(world)).toEqual([
      [
        3,
        'column "mail": a value is required; column "Plan": "gold" is not among "free", "paid"; ' +
          'column "Age": "x" is not an integer',
      ],
      [5, 'column "Id": the value is empty or missing; column "mail": a value is required'],
    ]);
    expect(server.received.map(({ body }) => String(body))).toEqual([
      '{"d":[{"identity":"u1","type":"profile","profileData":{"Email":"a@x.de","Age":33,"Plan":"free"}},' +
        '{"identity":"u3","type":"profile","profileData":{"Email":"c@x.de"}}]}',
    ]);
  });

  it('judges flat JSON by its members, and refuses records that have no columns', async () => {
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
      [2, 'column "mail": a value is required; column "Plan": "gold" is not among "free", "paid"'],
      [
        3,
        'column "mail": a value is required; column "Plan": "7" is not among "free", "paid"; ' +
          'column "Extra": the mapping file has no such column',
      ],
      [4, 'the mapping file expects columns, and this is a record of the service or of an export'],
    ]);
  });

  it.each([
    ['that is missing', 'Id,mial,Age,Plan\n', 'E-COLUMN-MISSING', 'column "mail" missing'],
    ['too many', 'Id,mail,Age,Plan,Fax,Pet\n', 'E-EXPECTED', 'unexpected columns "Fax", "Pet"'],
  ])('refuses a column %s before anything is sent: exit 8', async (_, head, id, message) => {
    const { world, server } = await worldWith({
      'm.json': mapping,
      'u.csv': `${head}u1,a,1,free\n`,
    });
    for (const rehearsal of [[], ['--check'], ['--preview']]) {
      const { code, stderr } = await upload(world, 'u.csv', ...rehearsal);
      expect([code, stderr]).toEqual([8, expect.stringContaining(`${id}: u.csv: `)]);
      expect(stderr).toContain(message);
    }
    expect(server.received).toEqual([]);
  });

  it('takes its own rejects file back, corrected, of CSV too', async () => {
    const { world } = await worldWith({ 'm.json': mapping, 'u.csv': rows });
    expect((await upload(world, 'u.csv', '--rejects', 'r.csv')).code).toBe(3);
    const rejects = readFileSync(world.path('r.csv'), 'utf8');
    writeFileSync(
      world.path('r.csv'),
      rejects.replace('u2,,x,gold', 'u2,b@x.de,5,paid').replace(',,1,paid', 'u4,d@x.de,1,paid'),
    );
    expect((await upload(world, 'r.csv')).code).toBe(0);
  });

  it('is read with flags that add columns', async () => {
    const { world } = await worldWith({
      'm.json': mapping,
      'u.csv': 'Id,mail,Age,Plan,Fax\nu,a,1,,5\n',
    });
    expect((await upload(world, 'u.csv', '--check', '--drop', 'Fax')).code).toBe(0);
  });

  it('events keep their own columns', async () => {
    const events = { ...mapping, identity: 'Id', map: {}, types: {}, required: ['Id'] };
    const text = 'Id,ts,evtName,Plan\nu,1700000000,Bought,free\nu,1700000000,Bought,gold\n';
    const { world } = await worldWith({ 'm.json': events, 'e.csv': text });
    expect((await upload(world, 'e.csv', '--type', 'event', '--check')).code).toBe(3);
    expect(rejectsIn(world)).toEqual([[3, 'column "Plan": "gold" is not among "free", "paid"']]);
  });

  it('annotates the lines of a pull request', async () => {
    const env = { GITHUB_ACTIONS: 'true' };
    const { world } = await worldWith({ 'm.json': mapping, 'u.csv': rows }, env);
    const { stderr } = await upload(world, 'u.csv', '--check', '--quiet');
    expect(stderr).toContain(
      '::error file=u.csv,line=3,title=engagectl%3A validate::column "mail": a value is required; ',
    );
  });
});
