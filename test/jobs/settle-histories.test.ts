import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { randomOf, seeds, type Random } from '../chaos/random.js';
import { runOrKill } from '../support/killed-run.js';
import { runs } from '../support/property-runs.js';
import { serve } from '../support/serve.js';

// Records whose outcome is unknown are looked up, sent from what `verify --settle` wrote, and looked up again, in any order.
// No record arrives more often than its file has it, and at last each has arrived. ENGAGECTL_SEED=<seed> starts with that one.

const kinds = ['events', 'localTimes', 'increments'] as const;
type Kind = (typeof kinds)[number];

/** Times, also of an hour that occurs twice, one that is skipped, near midnight, and one that is the same in all zones. */
const times = [
  '2023-11-14 22:13:20',
  '2023-10-29 02:30:00',
  '2024-03-31 02:30:00',
  '2023-11-14 23:59:59',
  '2023-11-15 00:00:01',
  '1700000000',
];

/** Options that change some of the events. */
const forms: [string[], ...string[][]] = [
  ['--types', 'Price:integer'],
  ['--drop', 'Price'],
  ['--map', 'Price=Cost'],
  ['--lowercase', 'Price'],
  ['--empty', 'string'],
];

function lineOf(kind: Kind, id: string): string {
  const n = Number(id.slice(1));
  const price = n % 3 === 0 ? '' : String(n);
  const user = `user-${Math.floor(n / 2)}`; // has two events, at different times
  if (kind === 'localTimes') return `${user},Visit,${times[n % times.length]},${id},${price}`;
  if (kind === 'increments')
    return JSON.stringify({ identity: id, profileData: { Visits: { $incr: 1 } } });
  const ts = 1_700_000_000 + (n % 4) * 40_000;
  const evtData = { id, Price: price };
  return JSON.stringify({ identity: user, type: 'event', evtName: 'Visit', ts, evtData });
}

const textOf = (kind: Kind, ids: readonly string[]): string =>
  (kind === 'localTimes' ? 'identity,evtName,ts,id,Price\n' : '') +
  ids.map((id) => `${lineOf(kind, id)}\n`).join('');

const countIn = (ids: readonly string[], id: string): number =>
  ids.filter((one) => one === id).length;

/** How the service disturbs one request, and what follows it. */
const disturbances = ['stopped', 'lost', 'reset', 'killedBefore', 'killedAfter'] as const;
type Disturbance = (typeof disturbances)[number] | 'late';

/** A look-up may also come before the service shows what it has. */
const nothingShown = { answer: { body: { status: 'success', records: [] } } };

const stop = { answer: { status: 401 } };

type Served = Awaited<ReturnType<typeof serve>>;

/** An account, and two inputs on the machine of a user. */
class Scene {
  readonly #random: Random;
  readonly #kind: Kind;
  readonly #zone: string;
  readonly #service: Served['service'];
  readonly #world: Served['world'];
  readonly #files = new Map<string, readonly string[]>([
    ['in1', []],
    ['in2', []],
  ]);
  /** How often at most its file had a record. */
  readonly #copies = new Map<string, number>();
  /** Fault rules whose requests are not processed. */
  readonly #lost = new Set<number>();
  #outputs = 0;
  readonly #history: string[];
  readonly codes: number[] = [];

  static async start(seed: number): Promise<Scene> {
    const random = randomOf(seed);
    const kind = random.pick(kinds);
    const zone = random.pick(['UTC', 'Europe/Berlin', 'America/New_York']);
    const history = [`seed ${seed}: ${kind} in ${zone}`];
    return new Scene(random, { kind, zone, history, ...(await serve({ timezone: zone })) });
  }

  private constructor(
    random: Random,
    parts: Served & { kind: Kind; zone: string; history: string[] },
  ) {
    this.#random = random;
    this.#kind = parts.kind;
    this.#zone = parts.zone;
    this.#history = parts.history;
    this.#service = parts.service;
    this.#world = parts.world;
  }

  /** Changes the inputs, and uploads or looks up some file. */
  async step(): Promise<void> {
    const random = this.#random;
    const name = random.pick(['in1', 'in2']);
    this.#change(name);
    const reported = this.#reported();
    if (reported.length > 0 && random.chance(0.35)) {
      const by = random.chance(0.3) ? random.pick(['stopped', 'killedBefore'] as const) : undefined;
      const some = reported.filter(() => random.chance(0.5));
      if (random.chance(0.2)) await this.#settleTooEarly(reported);
      else if (some.length > 0) await this.#settle(some, { by, options: this.#otherOptions() });
      return;
    }
    const by = random.chance(0.6) ? random.pick(disturbances) : undefined;
    const isResumed = random.chance(0.8);
    if (reported.length > 0 && random.chance(0.3))
      await this.#upload(random.pick(reported as [string, ...string[]]), { by, isResumed });
    else
      await this.#upload(name, {
        by,
        isResumed,
        isPiped: this.#kind !== 'increments' && random.chance(0.2),
      });
  }

  /** Does what the tool advises until nothing is left. */
  async finish(): Promise<void> {
    this.#history.push('at last:');
    for (const name of this.#files.keys()) await this.#settled(name, 3);
    for (const name of this.#reported()) {
      const open = await this.#settle([name]);
      if (open !== undefined) await this.#settled(open, 3);
    }
    const { arrived, lost } = this.#requested();
    // A look-up cannot tell which of equal events arrived, if one was lost.
    const leastOf = (ids: readonly string[], id: string) => (lost.has(id) ? 1 : countIn(ids, id));
    const missing = [...this.#files.values()].flatMap((ids) =>
      ids.filter((id) => (arrived.get(id) ?? 0) < leastOf(ids, id)),
    );
    if (missing.length > 0) this.#fail(`did not arrive: ${missing.join(' ')}`);
  }

  async #settled(name: string, rounds: number): Promise<void> {
    const code = await this.#upload(name, { isResumed: true });
    const open = code === 6 ? await this.#settle([`${name}.rejects.ndjson`]) : undefined;
    if (open !== undefined && rounds > 0) await this.#settled(open, rounds - 1);
  }

  #change(name: string): void {
    const random = this.#random;
    const [ids, [first = [], second = []]] = [this.#files.get(name)!, [...this.#files.values()]];
    if (random.chance(0.6)) {
      const more = Array.from(
        { length: 1 + random.below(5) },
        (_, n) => `r${this.#copies.size + n}`,
      );
      const twice = this.#kind !== 'increments' && random.chance(0.15) ? more : [];
      const equal = this.#kind !== 'increments' && random.chance(0.3) ? ids.slice(-2) : [];
      const all = [...ids, ...more, ...twice, ...equal];
      this.#files.set(name, all);
      for (const id of all)
        this.#copies.set(id, Math.max(this.#copies.get(id) ?? 0, countIn(all, id)));
    } else if (this.#kind !== 'increments') {
      const what = random.below(5);
      if (what === 0) this.#files.set(name, ids.slice(random.below(3)));
      if (what === 1) this.#files.set('in1', second).set('in2', first);
    }
    for (const [file, own] of this.#files) {
      writeFileSync(this.#world.path(file), textOf(this.#kind, own));
      this.#history.push(`  ${file}: ${own.join(' ')}`);
    }
  }

  /** The rejects files, also older ones, and what was written for them. */
  #reported(): readonly string[] {
    const written = /^(?:open\d+\.ndjson|(?:open\d+\.ndjson|[^.]+)\.rejects\.ndjson(?:\.\d+)?)$/;
    return readdirSync(this.#world.path('.')).filter((name) => written.test(name));
  }

  #options(zone = this.#zone): readonly string[] {
    return this.#kind === 'increments' ? [] : ['--type', 'event', '--timezone', zone];
  }

  #otherOptions(): readonly string[] {
    const random = this.#random;
    const zone = random.chance(0.7) ? this.#zone : random.pick(['UTC', 'Asia/Tokyo']);
    return [...this.#options(zone), ...(random.chance(0.2) ? random.pick(forms) : [])];
  }

  /** Looks up records before the service shows any event, and once more when it does, before anything is sent. */
  async #settleTooEarly(names: readonly string[]): Promise<void> {
    const output = await this.#settle(names, { by: 'late' });
    if (output !== undefined) rmSync(this.#world.path(output));
    await this.#settle(names);
  }

  /** Looks up the records of unknown outcome; returns the name of what was written. */
  async #settle(
    names: readonly string[],
    {
      by,
      options = this.#options(),
    }: { by?: Disturbance | undefined; options?: readonly string[] } = {},
  ): Promise<string | undefined> {
    const output = `open${this.#outputs++}.ndjson`;
    const how = ['--input-format', 'ndjson', '--settle', '-o', output, '--max-attempts', '1'];
    const { isKilled } = await this.#run(['verify', ...names, ...options, ...how], { by });
    if (isKilled) rmSync(this.#world.path(output), { force: true });
    return existsSync(this.#world.path(output)) ? output : undefined;
  }

  async #upload(
    name: string,
    {
      by,
      isResumed,
      isPiped = false,
    }: { by?: Disturbance | undefined } & {
      isResumed: boolean;
      isPiped?: boolean;
    },
  ): Promise<number> {
    const random = this.#random;
    const isCsv = this.#kind === 'localTimes' && this.#files.has(name);
    const argv = ['upload'].concat(
      isPiped ? ['-', '--run-name', name] : [name],
      isPiped || isResumed ? ['--resume'] : [],
      ['--input-format', isCsv ? 'csv' : 'ndjson', ...this.#options()],
      ['--chunk-size', String(1 + random.below(3)), '--concurrency', String(1 + random.below(2))],
    );
    const stdin = textOf(this.#kind, this.#files.get(name) ?? []);
    const { code, isKilled } = await this.#run(argv, { by, stdin });
    // Then the memory has the events in flight in an archive.
    const isPruned = isKilled && this.#kind !== 'increments' && random.chance(0.3);
    if (isPruned) await this.#run(['runs', 'prune', '--yes'], {});
    return code;
  }

  async #run(
    argv: readonly string[],
    { by, stdin = '' }: { by?: Disturbance | undefined; stdin?: string },
  ): Promise<{ readonly code: number; readonly isKilled: boolean }> {
    this.#service.clearFaults();
    if (by) await this.#disturb(by);
    const served = { world: this.#world, service: this.#service };
    const kill = by?.startsWith('killed') === true;
    const ended = await runOrKill(served, [...argv, '--json'], { stdin, kill });
    const { code, stdout, stderr, isKilled } = ended;
    const settled = /"settled":\{[^}]*\}/.exec(stdout)?.[0] ?? '';
    this.#history.push(`${argv.join(' ')} ${by ?? ''}: exit code ${code} ${settled}`);
    this.#check(code, stderr);
    return { code, isKilled };
  }

  async #disturb(by: Disturbance): Promise<void> {
    const after = this.#random.below(5);
    const once = { after, times: 1 };
    const reset = { action: 'reset-after' } as const;
    if (by === 'late') await this.#service.fault({ endpoint: 'events', ...nothingShown });
    else if (by === 'stopped') await this.#service.fault({ after, ...stop });
    else if (by === 'reset') await this.#service.fault({ ...once, ...reset });
    else if (by === 'lost')
      this.#lost.add((await this.#service.fault({ ...once, action: 'reset-before' })).id);
    else {
      const how = by === 'killedBefore' ? stop : reset;
      await this.#service.fault({ ...once, delayMs: 20, ...how });
      await this.#service.fault({ after, ...stop }); // a killed run would send no more
    }
  }

  /** How often each record arrived, and those of which a request was not processed. */
  #requested(): {
    readonly arrived: ReadonlyMap<string, number>;
    readonly lost: ReadonlySet<string>;
  } {
    const arrived = new Map<string, number>();
    const lost = new Set<string>();
    for (const { endpoint, status, fault, body } of this.#service.requests()) {
      if (endpoint !== 'upload') continue;
      const isLost = fault !== null && this.#lost.has(fault);
      const isProcessed = status === 200 || (status === null && !isLost);
      type Sent = { readonly identity: string; readonly evtData?: { readonly id: string } };
      for (const { identity, evtData } of (body as { d: Sent[] }).d) {
        const id = evtData?.id ?? identity;
        if (isProcessed) arrived.set(id, (arrived.get(id) ?? 0) + 1);
        else lost.add(id);
      }
    }
    return { arrived, lost };
  }

  #check(code: number, stderr: string): void {
    this.codes.push(code);
    const counts = [...this.#requested().arrived];
    this.#history.push(
      `    arrived: ${counts.map(([id, count]) => (count > 1 ? `${id}*${count}` : id)).join(' ')}`,
    );
    const wrong = counts.find(([id, count]) => count > (this.#copies.get(id) ?? 0));
    if (wrong) this.#fail(`${wrong[0]} arrived ${wrong[1]} times`);
    if (![0, 3, 4, 6, 8].includes(code)) this.#fail(`exit code ${code}: ${stderr}`);
  }

  #fail(what: string): never {
    return expect.fail(`${what}: ${this.#history.join('\n')}`);
  }
}

it(
  'sends each record once, whatever is looked up and sent from where',
  { timeout: 600_000 },
  async () => {
    const codes = new Set<number>();
    for (const seed of seeds(runs(200))) {
      const scene = await Scene.start(seed);
      for (let steps = 4 + (seed % 8); steps > 0; steps -= 1) await scene.step();
      await scene.finish();
      for (const code of scene.codes) codes.add(code);
    }
    for (const code of [0, 3, 4, 6, 8]) expect(codes).toContain(code);
  },
);
