import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { randomOf, seeds, type Random } from '../chaos/random.js';
import { runOrKill, withoutRemovalOfRun } from '../support/killed-run.js';
import { runs } from '../support/property-runs.js';
import { serve, written } from '../support/serve.js';
import type { World } from '../support/test-environment.js';

// Many runs over files that grow, are copied, renamed and listed in any order. Some runs stop early or are killed.
// ENGAGECTL_SEED=<seed> starts with that one.

const kinds = [
  'increments',
  'events',
  'mixed',
  'demerges',
  'localTimes',
  'users',
  'statuses',
] as const;
type Kind = (typeof kinds)[number];

/** Kinds whose records are safe to resend. A user or address is written several times, in versions. */
const idempotent: ReadonlySet<Kind> = new Set(['users', 'statuses']);

/** Kinds whose records are safe to resend, or known one by one, so that a file may be edited. */
const editable: ReadonlySet<Kind> = new Set(['events', 'localTimes', ...idempotent]);

const commandOf = (kind: Kind): string => {
  if (kind === 'demerges') return 'demerge';
  return kind === 'statuses' ? 'subscribe' : 'upload';
};

const formatOf = (kind: Kind): string => {
  if (kind === 'demerges') return 'list';
  return kind === 'localTimes' ? 'csv' : 'ndjson';
};

/** `id` names a record by its user, and if a user is written several times also by the version: `u1.2`. */
const nameOf = (id: string): string => id.split('.')[0]!;

/** Times, also of an hour that occurs twice, one that is skipped, and one that is the same in all zones. */
const times = ['2023-11-14 22:13:20', '2023-10-29 02:30:00', '2024-03-31 02:30:00', '1700000000'];

/** Statuses of an address, by its version. */
const statuses = ['Unsubscribe', 'Resubscribe'];

const visit = { type: 'event', evtName: 'Visit', ts: 1_700_000_000, evtData: {} };

function lineOf(kind: Kind, id: string): string {
  if (kind === 'demerges') return id;
  if (kind === 'localTimes') {
    const n = Number(id.slice(1));
    return `${id},Visit,${times[n % times.length]},${n % 3 === 0 ? n : ''},${n % 2 === 0 ? 'Gold' : ' b'}`;
  }
  if (kind === 'statuses') {
    const [value, version] = id.split('.');
    return JSON.stringify({
      type: 'email',
      value: `${value}@x.test`,
      status: statuses[Number(version)],
    });
  }
  const identity = nameOf(id);
  if (kind === 'users') return JSON.stringify({ identity, profileData: { version: id } });
  const isEvent = kind === 'events' || (kind === 'mixed' && Number(id.slice(1)) % 2 === 0);
  return JSON.stringify({
    identity,
    ...(isEvent ? visit : { profileData: { Visits: { $incr: 1 } } }),
  });
}

const textOf = (kind: Kind, ids: readonly string[]): string =>
  (kind === 'localTimes' ? 'identity,evtName,ts,Price,Plan\n' : '') +
  ids.map((id) => `${lineOf(kind, id)}\n`).join('');

/** A record at the service: an identity, a status, or else a user or an event. */
type Sent =
  | string
  | { readonly value: string; readonly status: string }
  | { readonly identity: string; readonly profileData?: { readonly version?: string } };

function idOf(sent: Sent): string {
  if (typeof sent === 'string') return sent;
  if ('identity' in sent) return sent.profileData?.version ?? sent.identity;
  return `${sent.value.split('@')[0]}.${statuses.indexOf(sent.status)}`;
}

const countIn = (ids: readonly string[], id: string): number =>
  ids.filter((one) => one === id).length;

type Served = Awaited<ReturnType<typeof serve>>;

/** Most inputs have UTF-8 that is not compressed. */
const plain = Array.from({ length: 8 }, () => '');

/** Ids of each file, by its name. */
type Files = Map<string, readonly string[]>;

/** Changes a file and says how. `fresh` makes a record that is in no file. */
function change(files: Files, kind: Kind, fresh: () => string, random: Random): string {
  const names = [...files.keys()] as [string, ...string[]];
  const [name, other] = [random.pick(names), random.pick(names)];
  const ids = files.get(name)!;
  const at = random.below(ids.length + 1);
  const some = () => Array.from({ length: 1 + random.below(4) }, fresh);
  const next = (id: string) => `${nameOf(id)}.${1 - Number(id.split('.')[1])}`;
  const changes: [string, () => unknown][] = [
    [`append to ${name}`, () => files.set(name, [...ids, ...some()])],
    [`new ${name}`, () => files.set(name, some())],
    [`empty ${name}`, () => files.set(name, [])],
    [`copy ${name} to ${other}`, () => files.set(other, ids)],
    [`rotate ${name} to ${other}`, () => files.set(other, ids).set(name, some())],
    [`swap ${name} and ${other}`, () => files.set(name, files.get(other)!).set(other, ids)],
  ];
  const edits: [string, () => unknown][] = [
    [`cut ${name} at ${at}`, () => files.set(name, ids.slice(0, at))],
    [`cut the first ${at} of ${name}`, () => files.set(name, ids.slice(at))],
    [`insert in ${name}`, () => files.set(name, ids.toSpliced(at, 0, fresh()))],
    [`reverse ${name}`, () => files.set(name, ids.toReversed())],
  ];
  const versions: [string, () => unknown][] = [
    [`edit ${name}`, () => files.set(name, ids.map(next))],
    [
      `edit some of ${name}`,
      () =>
        files.set(
          name,
          ids.map((id) => (random.chance(0.3) ? next(id) : id)),
        ),
    ],
  ];
  const [what, apply] = random.pick([
    ...changes,
    ...(editable.has(kind) ? edits : []),
    ...(idempotent.has(kind) ? versions : []),
  ] as [[string, () => unknown]]);
  apply();
  return what;
}

/** Picks files without a common record. */
function pickInputs(
  files: Files,
  given: readonly (readonly string[])[],
  random: Random,
): readonly string[] {
  const order = [...files.keys()].map((name) => ({ name, at: random.next() }));
  order.sort((a, b) => a.at - b.at);
  const picked: string[] = [];
  const users = new Set<string>();
  for (const { name } of order.slice(0, 1 + random.below(order.length))) {
    const own = files.get(name)!;
    if (own.some((id) => users.has(nameOf(id)))) continue;
    // What is not known one by one is known by its beginning, and only if an earlier run had no more than that.
    const differs = (one: readonly string[]) =>
      one[0] === own[0] && one.some((id, at) => id !== own[at]);
    if (given.some(differs)) continue;
    for (const id of own) users.add(nameOf(id));
    picked.push(name);
  }
  return picked;
}

/** Options that change some of the events. */
const forms: [string[], ...string[][]] = [
  ['--types', 'Price:integer'],
  ['--drop', 'Price'],
  ['--map', 'Price=Cost'],
  ['--lowercase', 'Plan'],
  ['--empty', 'string'],
];

interface Choice {
  readonly kind: Kind;
  readonly zone: string;
  readonly isSharded: boolean;
}

/** Options of one run; `limit` is among them. */
function pickOptions({ kind, zone, isSharded }: Choice, random: Random) {
  const limit = random.chance(0.15) ? 1 + random.below(6) : undefined;
  const options = [
    ...(kind === 'demerges' ? ['--yes'] : []),
    ...(kind !== 'demerges' && kind !== 'statuses' && random.chance(0.1) ? ['--trim'] : []),
    ...(idempotent.has(kind) && random.chance(0.7) ? ['--changed'] : []),
    ...(kind === 'localTimes' ? ['--type', 'event', '--timezone', random.pick(['UTC', zone])] : []),
    ...(kind === 'localTimes' && random.chance(0.2) ? random.pick(forms) : []),
    ...(isSharded ? ['--shard', random.pick(['1/2', '2/2', '1/2', '2/2', '1/3'])] : []),
    ...(limit === undefined ? [] : ['--limit', String(limit)]),
    '--chunk-size',
    String(1 + random.below(3)),
    '--concurrency',
    String(isSharded ? 3 : 1 + random.below(2)),
  ];
  return { options, limit };
}

/** Returns a record that was sent more often than once, and once more by each run with --again. */
function sentTooOften(ids: readonly string[], again: readonly Set<string>[]): string | undefined {
  const left = new Map<string, number>();
  for (const id of ids) left.set(id, 1);
  for (const id of again.flatMap((read) => [...read])) left.set(id, (left.get(id) ?? 0) + 1);
  return ids.find((id) => {
    left.set(id, left.get(id)! - 1);
    return left.get(id)! < 0;
  });
}

/** A run that sends nothing of its input, or that reads other inputs than the files of this step. */
async function otherCommand(
  world: World,
  kind: Kind,
  random: Random,
): Promise<readonly string[] | undefined> {
  const { stdout } = await world.run(['runs', 'list', '--json']);
  const [first, ...more] = (JSON.parse(stdout) as { runs: { run: string }[] }).runs;
  if (!first) return undefined;
  if (random.chance(0.6)) return ['runs', 'resume', random.pick([first, ...more]).run];
  return editable.has(kind) ? ['runs', 'prune', '--yes'] : undefined;
}

/** How a run is disturbed, by the request with this number. */
const disturbances = {
  stopped: { times: 1, answer: { status: 401 } },
  reset: { times: 1, action: 'reset-after' },
  killed: { delayMs: 20, answer: { status: 401 } },
} as const;
type Disturbance = keyof typeof disturbances | 'killed at its end';

/** Runs a command, one request of which is disturbed. */
async function runDisturbed(
  served: Served,
  argv: readonly string[],
  { stdin, by, after }: { stdin: string; by: Disturbance | undefined; after: number },
) {
  served.service.clearFaults();
  const how = { stdin, kill: by === 'killed' };
  const run = async () => runOrKill(served, [...argv, '--json'], how);
  if (by === 'killed at its end') return withoutRemovalOfRun(served.world, run);
  if (by) await served.service.fault({ after, ...disturbances[by] });
  return run();
}

/** Records that a rejects file lists, or has listed. */
function addRejects(world: World, to: Set<string>): void {
  for (const name of readdirSync(world.path('.'))) {
    if (!name.includes('.rejects.')) continue;
    for (const [id] of readFileSync(world.path(name), 'utf8').matchAll(/\bu\d+(\.\d+)?/g))
      to.add(id);
  }
}

/** Runs commands over files that change, and checks after each what has arrived. Returns the exit codes. */
async function checkHistory(seed: number): Promise<readonly number[]> {
  const random = randomOf(seed);
  const kind = random.pick(kinds);
  const zone = random.pick(['UTC', 'Europe/Berlin', 'America/New_York']);
  const choice = { kind, zone, isSharded: random.chance(0.15) };
  let users = 0;
  const fresh = () => `u${users++}${idempotent.has(kind) ? '.0' : ''}`;
  const files: Files = new Map();
  for (const name of ['a', 'b', 'c', 'd'])
    files.set(name, Array.from({ length: random.below(8) }, fresh));
  const { service, world } = await serve();
  const sent = () => written<Sent>(service).flat().map(idOf);
  const history = [`seed ${seed}: ${kind}`];
  const given: (readonly string[])[] = [];
  const rejects = new Set<string>();
  /** Records that each run with --again has read, by its id. */
  const again = new Map<string, Set<string>>();
  const codes: number[] = [];
  let maybeUnknown = false;

  for (let step = 4 + random.below(8); step > 0; step -= 1) {
    for (const chance of [0.6, 0.3])
      if (random.chance(chance)) history.push(change(files, kind, fresh, random));
    for (const [name, ids] of files) {
      history.push(`  ${name}: ${ids.join(' ')}`);
      writeFileSync(world.path(name), textOf(kind, ids));
      writeFileSync(world.path(`${name}.gz`), gzipSync(textOf(kind, ids)));
      writeFileSync(world.path(`${name}.utf16`), `\uFEFF${textOf(kind, ids)}`, 'utf16le');
    }
    const inputs = pickInputs(files, editable.has(kind) ? [] : given, random);
    const [first] = inputs;
    if (first === undefined) continue;
    const isPiped = random.chance(0.2);
    const names = inputs.map((name) => name + random.pick(['.gz', '.utf16', ...plain]));
    const { options, limit } = pickOptions(choice, random);
    // Other kinds are only known by their text: with it, the rest of a changed file is sent again, too.
    const isAgain = ['events', 'localTimes'].includes(kind) && random.chance(0.25);
    const write = [
      commandOf(kind),
      ...(isPiped ? ['-', '--run-name', random.pick(['x', 'y'])] : names),
      ...(isPiped || random.chance(0.75) ? ['--resume'] : []),
      ...(isAgain ? ['--again'] : []),
      '--input-format',
      formatOf(kind),
      ...options,
    ];
    // The files of an earlier run may have common records now.
    const all = [...files.values()].flat().map(nameOf);
    const isDisjoint = new Set(all).size === all.length;
    const other =
      isDisjoint && random.chance(0.15) ? await otherCommand(world, kind, random) : undefined;
    const by = random.chance(0.35)
      ? random.pick(['stopped', 'stopped', 'killed', 'reset', 'killed at its end'] as const)
      : undefined;
    maybeUnknown ||= by === 'killed' || by === 'reset';
    const read = isPiped ? [files.get(first)!] : inputs.map((name) => files.get(name)!);
    given.push(...read);

    const before = sent().length;
    const stdin = textOf(kind, files.get(first)!);
    const disturbed = { stdin, by, after: random.below(5) };
    const { code, stdout, stderr } = await runDisturbed(
      { world, service },
      other ?? write,
      disturbed,
    );
    codes.push(code);
    addRejects(world, rejects);
    const ids = sent();
    const { run } = JSON.parse(stdout || '{}') as { run?: string };
    if (run !== undefined && (other ? again.has(run) : isAgain)) {
      const users = other ? [...files.values()] : read;
      again.set(run, new Set([...(again.get(run) ?? []), ...users.flat()]));
    }
    const report = `${(other ?? write).join(' ')} ${by ?? ''}: exit code ${code}, sent`;
    history.push(`${report} ${ids.slice(before).join(' ')}`);
    const failed = (what: string) => expect.fail(`${what}: ${history.join('\n')}\n${stderr}`);

    if (![0, 4, 8, ...(maybeUnknown ? [6] : [])].includes(code)) failed('exit code');
    // Of records of two kinds, those of one are refused when they come.
    if (code === 8 && kind !== 'mixed' && ids.length > before) failed('sent although refused');
    if (!idempotent.has(kind) && sentTooOften(ids, [...again.values()]) !== undefined)
      failed('sent twice');
    if (![0, 6].includes(code) || other || choice.isSharded) continue;
    const records = read.flat().slice(0, limit);
    const summary = JSON.parse(stdout) as { read: number; notSent: number; resumed: number };
    if (code === 6 && (summary.notSent > 0 || summary.read < records.length)) continue; // stopped
    const lost = records.find((id) => !ids.includes(id) && !rejects.has(id));
    if (lost !== undefined) failed(`lost ${lost}`);
    if (!idempotent.has(kind) || summary.resumed > 0) continue;
    const last = new Map(ids.map((id) => [nameOf(id), id]));
    const old = records.find((id) => last.get(nameOf(id)) !== id);
    if (old !== undefined) failed(`did not send ${old}`);
  }
  return codes;
}

it(
  'sends each record once, or nothing, in all runs over files that change',
  { timeout: 600_000 },
  async () => {
    const codes: number[] = [];
    for (const seed of seeds(runs(400))) codes.push(...(await checkHistory(seed)));
    for (const code of [0, 4, 6, 8]) expect(codes).toContain(code);
  },
);

/** Sends one text that only grows, by a file and by pipes of two names. Each name may be behind the others. */
async function checkGrowingText(seed: number): Promise<void> {
  const random = randomOf(seed);
  const { service, world } = await serve();
  const isList = random.chance(0.3);
  // With it, a record is longer than the beginning by which a text is recognized.
  const padding = ' '.repeat(random.chance(0.5) ? 4100 : 0);
  const line = (n: number) =>
    isList ? `u${n}\n` : `{${padding}"identity":"u${n}","profileData":{"V":{"$incr":1}}}\n`;
  const command = isList ? ['demerge', '--yes'] : ['upload'];
  const history = [`seed ${seed}`];
  let [text, count, maybeUnknown] = ['', 0, false];
  for (let step = 4 + random.below(6); step > 0; step -= 1) {
    for (let more = random.below(isList ? 900 : 4); more > 0; more -= 1) text += line(count++);
    if (text === '') continue;
    // An editor may leave out the last line end.
    writeFileSync(world.path('all'), random.chance(0.2) ? text.trimEnd() : text);
    const argvOf = (way: string) => {
      const input = way === 'all' ? ['all'] : ['-', '--run-name', way];
      const flags = ['--resume', '--input-format', isList ? 'list' : 'ndjson'];
      return [...command, ...input, ...flags, '--chunk-size', String(isList ? 100 : 2)];
    };
    const [way, other] = random.pick<readonly [string, string]>([
      ['all', 'x'],
      ['x', 'y'],
      ['y', 'all'],
    ]);
    const by = random.chance(0.2) ? random.pick(['stopped', 'killed'] as const) : undefined;
    // Another process may do the same at the same time.
    const both = by === undefined && random.chance(0.2);
    const beside = both ? world.run(argvOf(other), { stdin: text }) : undefined;
    const disturbed = { stdin: text, by, after: random.below(3) };
    const { code } = await runDisturbed({ world, service }, argvOf(way), disturbed);
    await beside;
    const sent = written<Sent>(service).flat().map(idOf);
    const report = `${argvOf(way).join(' ')} ${by ?? ''}${both ? `beside ${other}` : ''}`;
    history.push(`${report}: exit code ${code}, ${sent.length} of ${count}`);
    if (new Set(sent).size < sent.length) expect.fail(`sent twice: ${history.join('\n')}`);
    maybeUnknown ||= by === 'killed';
    if (code === 0 && !both && !maybeUnknown && sent.length < count)
      expect.fail(`lost: ${history.join('\n')}`);
  }
}

it('sends each record of a growing text once, by a file and by pipes', async () => {
  for (const seed of seeds(runs(200))) await checkGrowingText(seed);
}, 600_000);

/** How a request of a run is lost, or only its answer; `refused`: while others are accepted, after which the run stops. */
const failures = {
  killedBefore: { delayMs: 20, answer: { status: 401 } },
  killedAfter: { delayMs: 20, action: 'reset-after' },
  refused: { delayMs: 20, answer: { status: 401 } },
} as const;

/**
 * A log with equal events, and its former content; runs over both are killed or stop, the memory is pruned, and what they
 * report is looked up.
 */
class EqualEvents {
  readonly #random: Random;
  readonly #service: Served['service'];
  readonly #world: Served['world'];
  readonly #history: string[];
  #log: readonly string[] = [];
  #former: readonly string[] = [];
  #count = 0;
  /** How often at most the log had an event. */
  readonly #most = new Map<string, number>();
  /** Lost events that were reported and not looked up. */
  readonly #forgotten = new Set<string>();
  /** The last run was killed, and may be resumed. */
  #isOpen = false;
  /** One of its requests was refused, so that it stopped. */
  #isStopped = false;
  /** Requests of runs that knew which of them were not processed: the first ones, and their ends. */
  readonly #refused: (readonly [number, number])[] = [];
  /** Whether some runs send again what is unknown. */
  readonly #isRetried: boolean;
  /** A first line of the log that is no event, or none. */
  readonly #head: string;

  static async start(seed: number): Promise<EqualEvents> {
    return new EqualEvents(randomOf(seed), { ...(await serve()), history: [`seed ${seed}`] });
  }

  private constructor(random: Random, parts: Served & { history: string[] }) {
    this.#random = random;
    this.#isRetried = random.chance(0.3);
    this.#head = random.chance(0.3) ? '{"type":"event"}\n' : '';
    this.#service = parts.service;
    this.#world = parts.world;
    this.#history = parts.history;
  }

  async step(): Promise<void> {
    const random = this.#random;
    this.#change();
    const by = random.chance(0.5)
      ? random.pick(['killedBefore', 'killedAfter', 'killedAfter', 'refused'] as const)
      : undefined;
    if (by) {
      const after = random.below(3);
      await this.#service.fault({ after, times: 1, ...failures[by] });
      if (by !== 'refused') await this.#service.fault({ after, answer: { status: 401 } }); // a killed run would send no more
    }
    const isOfLog = this.#isOpen || this.#isStopped || by === 'refused';
    const [name, ids] = random.chance(isOfLog ? 0.1 : 0.5)
      ? (['log.1', this.#former] as const)
      : (['log', this.#log] as const);
    const isRetried = this.#isRetried && random.chance(this.#isOpen ? 0.7 : 0.1);
    // Also what arrived, but not its answer.
    for (const id of isRetried ? ids : []) this.#most.set(id, Number.POSITIVE_INFINITY);
    const flags = isRetried ? ['--retry-unknown'] : [];
    const kill = by !== undefined && by !== 'refused';
    const first = this.#service.requests().length;
    const { code, isKilled } = await this.#upload(name, { flags, kill });
    if (by === 'refused') this.#refused.push([first, this.#service.requests().length]);
    this.#isStopped = by === 'refused';
    this.#isOpen = isKilled && random.chance(0.7);
    if (isKilled && !this.#isOpen) await this.#run(['runs', 'prune', '--yes']);
    if (isKilled || code === 4) return;
    if (code === 6 && by === 'refused') {
      // It reported what an earlier run had in flight, and may have stopped.
      for (const id of this.#requested().lost) this.#forgotten.add(id);
      return;
    }
    if (code === 6 && random.chance(0.3))
      for (const id of this.#requested().lost) this.#forgotten.add(id);
    else if (code === 6) await this.#settle(`${name}.rejects.ndjson`, 3);
    this.#checkArrived(ids);
  }

  #change(): void {
    const random = this.#random;
    if (random.chance(this.#isStopped ? 0.1 : this.#isOpen ? 0.7 : 0.3)) {
      this.#former = this.#log;
      const { length } = this.#log;
      this.#log = this.#log.slice(random.chance(0.5) ? length : random.below(length + 1));
    }
    for (let more = 1 + random.below(random.chance(0.3) ? 8 : 3); more > 0; more -= 1) {
      const [first, ...others] = (this.#log.length > 0 ? this.#log : this.#former).slice(-3);
      const isEqual = first !== undefined && random.chance(0.4);
      const id = isEqual ? random.pick([first, ...others]) : `u${this.#count++}`;
      this.#log = [...this.#log, id];
      this.#most.set(id, Math.max(this.#most.get(id) ?? 0, countIn(this.#log, id)));
    }
    const lineOf = (id: string) =>
      `${JSON.stringify({ ...visit, identity: id, evtData: { id } })}\n`;
    for (const [name, ids] of [
      ['log', this.#log],
      ['log.1', this.#former],
    ] as const) {
      writeFileSync(this.#world.path(name), this.#head + ids.map(lineOf).join(''));
      this.#history.push(`  ${name}: ${ids.join(' ')}`);
    }
  }

  async #upload(name: string, { flags = [] as string[], kill = false } = {}) {
    const [size, concurrency] = [2, 4].map((most) => String(1 + this.#random.below(most)));
    const how = ['--chunk-size', size!, '--concurrency', concurrency!, '--order', 'none'];
    const upload = ['upload', name, '--resume', '--input-format', 'ndjson', ...how, ...flags];
    return this.#run(upload, kill);
  }

  /** Looks up what a run reported, and sends what was not found, until nothing is left. */
  async #settle(rejects: string, rounds: number): Promise<void> {
    const output = `open${this.#history.length}`;
    const how = ['--settle', '--input-format', 'ndjson', '-o', output, '--max-attempts', '1'];
    const { code } = await this.#run(['verify', rejects, '--type', 'event', ...how]);
    if (code === 0 || (code === 6 && rounds === 0)) return; // of equal events, it may not know which ones arrived
    if (rounds === 0) this.#fail('what was not found is not sent');
    if ((await this.#upload(output)).code === 6)
      await this.#settle(`${output}.rejects.ndjson`, rounds - 1);
  }

  async #run(argv: readonly string[], kill = false) {
    const served = { world: this.#world, service: this.#service };
    const ended = await runOrKill(served, [...argv, '--json'], { stdin: '', kill });
    const { code, stderr } = ended;
    this.#service.clearFaults();
    const counts = [...this.#requested().arrived];
    const arrived = counts.map(([id, count]) => (count > 1 ? `${id}*${count}` : id)).join(' ');
    this.#history.push(`${argv.join(' ')}: exit code ${code}, arrived: ${arrived}`);
    const twice = counts.find(([id, count]) => count > this.#most.get(id)!);
    if (twice) this.#fail(`${twice[0]} arrived ${twice[1]} times`);
    if (![0, 3, 4, 6].includes(code)) this.#fail(stderr);
    return ended;
  }

  /** How often each event arrived, and those of which a request was not processed. */
  #requested() {
    const arrived = new Map<string, number>();
    const lost = new Set<string>();
    for (const [at, { endpoint, status, body }] of this.#service.requests().entries()) {
      if (endpoint !== 'upload') continue;
      const isRefused = this.#refused.some(([first, end]) => first <= at && at < end);
      for (const { identity: id } of (body as { d: { identity: string }[] }).d) {
        if (status === 200 || status === null) arrived.set(id, (arrived.get(id) ?? 0) + 1);
        else if (!isRefused) lost.add(id);
      }
    }
    return { arrived, lost };
  }

  #checkArrived(ids: readonly string[]): void {
    const { arrived, lost } = this.#requested();
    // A look-up cannot tell which of equal events arrived, if one was lost.
    const least = (id: string) => (lost.has(id) ? 1 : countIn(ids, id));
    const missing = ids.filter(
      (id) => (arrived.get(id) ?? 0) < least(id) && !this.#forgotten.has(id),
    );
    if (missing.length > 0) this.#fail(`did not arrive: ${missing.join(' ')}`);
  }

  #fail(what: string): never {
    return expect.fail(`${what}: ${this.#history.join('\n')}`);
  }
}

it('sends equal events of a log as often as it has them, although runs are killed or stop, and the memory is pruned', async () => {
  for (const seed of seeds(runs(150))) {
    const history = await EqualEvents.start(seed);
    for (let steps = 4 + (seed % 8); steps > 0; steps -= 1) await history.step();
  }
}, 600_000);

/** A pipe of operators and equal events, of which a request is refused while others are accepted, and which is resumed. */
async function checkMixedPipe(seed: number): Promise<void> {
  const random = randomOf(seed);
  const { service, world } = await serve();
  const ids = Array.from({ length: 2 + random.below(12) }, (_, n) =>
    random.chance(0.3) ? `o${n}` : `e${random.below(3)}`,
  );
  const lineOf = (identity: string) =>
    JSON.stringify({
      identity,
      ...(identity.startsWith('e') ? visit : { profileData: { Visits: { $incr: 1 } } }),
    });
  const stdin = ids.map((id) => `${lineOf(id)}\n`).join('');
  const history = [`seed ${seed}: ${ids.join(' ')}`];
  await service.fault({ after: random.below(5), times: 1, ...failures.refused });
  for (const expected of [[0, 4], [0]]) {
    const [size, concurrency] = [2, 4].map((most) => String(1 + random.below(most)));
    const how = ['--chunk-size', size!, '--concurrency', concurrency!, '--order', 'none'];
    const argv = ['upload', '-', '--run-name', 'x', '--resume', '--input-format', 'ndjson', ...how];
    const { code, stderr } = await world.run(argv, { stdin });
    history.push(`${argv.join(' ')}: exit code ${code}`);
    if (!expected.includes(code)) expect.fail(`${history.join('\n')}\n${stderr}`);
    if (code === 0) break;
    service.clearFaults();
  }
  const sent = written<Sent>(service).flat().map(idOf);
  expect(sent.toSorted(), history.join('\n')).toEqual(ids.toSorted());
}

it('sends equal events of a pipe with operators as often as it has them, although it is resumed', async () => {
  for (const seed of seeds(runs(100))) await checkMixedPipe(seed);
}, 600_000);
