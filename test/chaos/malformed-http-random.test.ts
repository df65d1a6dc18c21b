import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { accountAt } from '../support/account-environment.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { startRawServer, plain, type RawRequest } from './malformed-http.js';
import { drawAnswer } from './malformed-http-grammar.js';
import { randomOf, seeds } from './random.js';

// Whatever bytes a service answers with, however framed and however slow: each command ends soon, by an exit code of the
// contract, and its accounts add up. ENGAGECTL_ODD_HTTP=2000 tries as many cases, ENGAGECTL_SEED=<seed> begins at another.

const cases = seeds(Number(process.env['ENGAGECTL_ODD_HTTP'] ?? 24));
const atATime = 8;
/** Milliseconds that a case may take: some dozen requests, three attempts each, a second and a half each at the worst. */
const bound = 60_000;

const endings = new Set([0, 3, 4, 5, 6, 7]);

it(`ends any bytes, framing and speed in an outcome (seeds ${cases[0]} to ${cases.at(-1)})`, async () => {
  const queue = [...cases];
  const codes = new Map<number, number>();
  const work = async () => {
    for (let seed = queue.shift(); seed !== undefined; seed = queue.shift()) {
      const code = await oneCase(seed);
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  // A grammar that only ever fails, or never does, would show nothing.
  expect(codes.size).toBeGreaterThan(2);
}, 3_600_000);

async function oneCase(seed: number): Promise<number> {
  const random = randomOf(seed);
  const world = makeWorld();
  const kind = random.pick(kinds);
  const oddity = random.pick([0.1, 0.3, 1] as const);
  const executed = new Map<string, number>();
  const drawn: string[] = [];
  /** Whether requests that were answered before they were read are carried out in spite of that. */
  const early = new Map<string, boolean>();

  const answer = (request: RawRequest) => {
    const key = `${request.connection} ${request.index}`;
    if (!request.body) {
      if (!random.chance(0.1 * oddity)) return undefined;
      const odd = note(drawAnswer(random, '{}'));
      early.set(key, odd.executes);
      return odd;
    }
    const good = goodBody(request);
    const odd = random.chance(oddity) ? drawAnswer(random, good) : undefined;
    if (early.get(key) ?? odd?.executes ?? true) {
      for (const id of idsIn(request)) executed.set(id, (executed.get(id) ?? 0) + 1);
    }
    if (early.has(key)) return undefined;
    return odd ? note(odd) : { pieces: [plain(good)] };
  };
  const note = <T extends { readonly drawn: string }>(odd: T): T => {
    drawn.push(odd.drawn);
    return odd;
  };
  await using server = await startRawServer(answer);
  const started = performance.now();
  const { argv, stdin } = kind.command(world);
  const outcome = await world.run(
    [...argv, '--json', '--timeout', '250ms', '--max-attempts', '3', '--retry-for', '20s'],
    { env: accountAt(server.url, 'passcode-of-the-rig'), stdin },
  );
  const told = `seed ${seed}: ${argv.join(' ')} -> ${outcome.code}\n${outcome.stderr}\n${drawn.join('\n')}`;
  expect(endings, told).toContain(outcome.code);
  expect(performance.now() - started, told).toBeLessThan(bound);
  kind.check({ world, outcome, executed, told });
  return outcome.code;
}

interface Ended {
  readonly world: World;
  readonly outcome: { readonly code: number; readonly stdout: string; readonly stderr: string };
  /** How often each record was carried out, by its id. */
  readonly executed: ReadonlyMap<string, number>;
  readonly told: string;
}

interface Kind {
  readonly command: (world: World) => { readonly argv: readonly string[]; readonly stdin: string };
  readonly check: (ended: Ended) => void;
}

const ids = Array.from({ length: 25 }, (_, at) => `user-${at}`);

const writing = (argv: readonly string[], line: (id: string) => string, once: boolean): Kind => ({
  command: () => ({
    argv: [...argv, '--chunk-size', '4', '--concurrency', '3'],
    stdin: `${ids.map(line).join('\n')}\n`,
  }),
  check: (ended) => checkWrite(ended, once),
});

const profile = (identity: string) => JSON.stringify({ identity, City: 'Graz' });
const event = (identity: string) =>
  JSON.stringify({ identity, ts: 1_700_000_000, evtName: 'Seen' });
const optOut = (id: string) =>
  JSON.stringify({ type: 'email', value: `${id}@example.test`, status: 'Unsubscribe' });

const kinds: readonly [Kind, ...Kind[]] = [
  writing(['upload'], profile, false),
  writing(['upload', '--type', 'event'], event, true),
  writing(['upload', '--type', 'event'], event, true),
  writing(['demerge', '--yes'], (identity) => JSON.stringify({ identity }), true),
  writing(['subscribe'], optOut, false),
  exporting(['export-profiles', '--event', 'Seen', '--from', '20240101', '--to', '20240101']),
  exporting(['export-events', '--event', 'Seen', '--from', '20240101', '--to', '20240102']),
  lookingUp(),
];

function checkWrite({ world, outcome, executed, told }: Ended, once: boolean): void {
  const summary = JSON.parse(outcome.stdout) as Record<string, number | string | null>;
  const { read, accepted, rejected, unknown, notSent } = summary as Record<string, number>;
  const file = world.path(String(summary['rejectsFile']));
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  const listed = lines.map((line) => JSON.parse(line) as { stage: string; record: unknown });
  expect(read, told).toBe(accepted! + rejected! + unknown! + notSent!);
  expect(listed, told).toHaveLength(rejected! + unknown! + notSent!);
  const named = listed.map(({ stage, record }) => ({ stage, id: idOf(record) }));
  expect(new Set(named.map(({ id }) => id)).size, told).toBe(named.length);
  if (!once) return;
  for (const [id, times] of executed) {
    expect(times, `${id} was carried out ${times} times\n${told}`).toBe(1);
  }
  for (const { stage, id } of named) {
    if (stage === 'notSent') expect(executed.has(id), `${id} was sent\n${told}`).toBe(false);
  }
}

function idOf(record: unknown): string {
  const { identity, value } = record as { identity?: string; value?: string };
  return (identity ?? value ?? '').replace('@example.test', '');
}

function exporting(argv: readonly string[]): Kind {
  return {
    command: () => ({ argv: [...argv, '-o', 'out.ndjson'], stdin: '' }),
    check: ({ world, outcome, told }) => {
      const file = world.path('out.ndjson');
      expect(existsSync(file), told).toBe(outcome.code === 0);
      if (outcome.code !== 0) return;
      for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) JSON.parse(line);
    },
  };
}

function lookingUp(): Kind {
  return {
    command: (world) => {
      writeFileSync(world.path('who.csv'), `identity\n${ids.slice(0, 5).join('\n')}\n`);
      return { argv: ['get-profile', '--input', 'who.csv', '-o', 'found.ndjson'], stdin: '' };
    },
    check: () => undefined,
  };
}

/** What a service answers that has carried the request out. */
function goodBody({ method, target, body = Buffer.alloc(0) }: RawRequest): string {
  if (target.startsWith('/1/upload') || target.includes('subscribe')) {
    const { d = [] } = JSON.parse(body.toString()) as { d?: unknown[] };
    return JSON.stringify({ status: 'success', processed: d.length, unprocessed: [] });
  }
  if (method === 'POST' && target.includes('.json') && target.includes('batch_size')) {
    return '{"status":"success","cursor":"c0"}';
  }
  const page = Number(/cursor=c(\d+)/.exec(target)?.[1] ?? Number.NaN);
  if (!Number.isNaN(page)) {
    const next = page < 3 ? `,"next_cursor":"c${page + 1}"` : '';
    return `{"status":"success","records":[{"id":${2 * page}},{"id":${2 * page + 1}}]${next}}`;
  }
  if (method === 'GET') return '{"status":"success","record":{"name":"x"}}';
  return '{"status":"success"}';
}

function idsIn({ body = Buffer.alloc(0) }: RawRequest): string[] {
  return body.toString().match(/user-\d+/g) ?? [];
}
