import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { AimdLimiter } from '../../../src/bulk/adaptive-concurrency.js';
import { createJournal, Journal, readJournal } from '../../../src/bulk/journal/journal.js';
import { replayWrite, writeEntries } from '../../../src/bulk/outcomes/journal-entries.js';
import type { WriteEntry } from '../../../src/bulk/outcomes/journal-entries.js';
import { JournaledOutcomes } from '../../../src/bulk/outcomes/outcome-log.js';
import { EngagectlError, unnamedOption } from '../../../src/errors.js';
import { replaceFile } from '../../../src/files/atomic-write.js';
import { Lease, leasedOutcomes, LeasedConcurrency } from '../../../src/fleet/lease.js';
import { resultName, ShardFolder } from '../../../src/fleet/shard-folder.js';
import { RejectsFile } from '../../../src/output/rejects-file.js';
import { jsonRows } from '../../support/builders/row-blocks.js';
import { randomOf, type Random } from '../random.js';
import { simulatedRoot, type DiskFault, type SimulatedDisk } from './simulated-disk.js';

// One shard of a fleet under a schedule that a seed decides: owners that are paused, killed and woken up, a
// queue that delivers again, clocks that jump, a power cut. Journal, epochs, lease and outcome log are those of
// the program; queue, service, disk and scheduler are simulated.

/** Defects of the protocol, planted to prove that the simulation finds them. */
export const mutations = [
  ...(['no-sync', 'rename-first', 'shared-claims', 'late-claims', 'old-mark'] as const),
  ...(['renewed-late', 'counted-late', 'no-fence', 'unchecked-send'] as const),
];
export type Mutation = (typeof mutations)[number];

const records = 6;
const folder = `${simulatedRoot}/shard`;
/** Steps after which the disturbances end. */
const disturbedSteps = 400;
const mostSteps = 6000;

/** Runs the schedule of a seed. Throws an error that names the broken invariant. */
export async function runSchedule(
  seed: number,
  disk: SimulatedDisk,
  planted: readonly Mutation[] = [],
): Promise<void> {
  await new Schedule(randomOf(seed), disk, new Set(planted)).run();
}

interface Task {
  readonly owner: Owner | undefined;
  readonly resume: () => void;
}

class Owner {
  isAlive = true;
  /** Steps during which it does not run. */
  pausedFor = 0;
  /** Milliseconds by which its monotonic clock is behind: a suspended machine does not count them. */
  behind = 0;

  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

const current = new AsyncLocalStorage<Owner>();

/** Chances of the disturbances of a step, and of a renewal that is answered late. */
type Chances = Readonly<Record<keyof typeof usualChances, number>>;

const usualChances = {
  pause: 0.02,
  jump: 0.006,
  suspend: 0.002,
  kill: 0.005,
  wipe: 0.002,
  powerCut: 0.002,
  slowAnswer: 0.01,
};

/** Each schedule has one disturbance much more often, because some defects show only after several of a kind. */
function chancesOf(random: Random): Chances {
  const names = Object.keys(usualChances) as (keyof Chances)[];
  const often = names[random.below(names.length)]!;
  return { ...usualChances, [often]: often === 'slowAnswer' ? 0.5 : 0.02 };
}

class Schedule {
  readonly #random: Random;
  readonly #disk: SimulatedDisk;
  readonly #planted: ReadonlySet<Mutation>;
  readonly #tasks: Task[] = [];
  #owners: Owner[] = [];
  /** Milliseconds on the clock of the queue. */
  #now = 0;
  #holder: { readonly token: string; until: number } | undefined;
  #isDone = false;
  /** The queue was emptied, so a lease of before says nothing. */
  #wipedAt = -1;
  #deliveries = 0;
  /** Owners that sent each record, in the order of arrival. */
  readonly #arrived: string[][] = Array.from({ length: records }, () => []);
  readonly #isEvent: boolean;
  readonly #chances: Chances;
  readonly #leaseMs: number;
  #failure: Error | undefined;

  constructor(random: Random, disk: SimulatedDisk, planted: ReadonlySet<Mutation>) {
    this.#random = random;
    this.#disk = disk;
    this.#planted = planted;
    this.#isEvent = random.chance(0.7);
    this.#chances = chancesOf(random);
    this.#leaseMs = random.chance(0.5) ? 1000 : 250;
  }

  async run(): Promise<void> {
    this.#disk.clear();
    const faults = new Set([...this.#planted] as DiskFault[]);
    this.#disk.use({ pause: async () => this.#step(), faults: new Set() });
    new ShardFolder(folder).create();
    this.#disk.use({ pause: async () => this.#step(), faults });
    const count = 2 + this.#random.below(3);
    for (let n = 0; n < count; n += 1) this.#start();
    for (let step = 0; !this.#isDone || this.#tasks.length > 0; step += 1) {
      if (this.#failure) throw this.#failure;
      if (step === mostSteps) throw new Error('the run does not end');
      const isDisturbed = step < disturbedSteps;
      if (isDisturbed) this.#disturb();
      else this.#calm();
      await this.#next(isDisturbed);
    }
    this.#verify();
  }

  /** Resolves when the scheduler lets the present owner go on; never, if that is killed. */
  async #step(): Promise<void> {
    const owner = current.getStore();
    return new Promise((resume) => void this.#tasks.push({ owner, resume }));
  }

  /** Undisturbed, a lease lasts for many steps: the run must end then. */
  async #next(isDisturbed: boolean): Promise<void> {
    const longest = !isDisturbed ? 3 : this.#random.chance(0.1) ? 200 : 12;
    this.#now += this.#random.below(longest);
    const ready = this.#tasks.filter(({ owner }) => !owner || owner.pausedFor === 0);
    for (const owner of this.#owners) owner.pausedFor = Math.max(0, owner.pausedFor - 1);
    if (ready.length === 0) return;
    const task = ready[this.#random.below(ready.length)]!;
    this.#tasks.splice(this.#tasks.indexOf(task), 1);
    task.resume();
    await new Promise((done) => void setImmediate(done));
  }

  #disturb(): void {
    const random = this.#random;
    const owner = this.#owners[random.below(this.#owners.length)]!;
    const { pause, jump, suspend, kill, wipe, powerCut } = this.#chances;
    let roll = random.next();
    const isDue = (chance: number) => (roll -= chance) < 0;
    if (isDue(pause)) owner.pausedFor += 1 + random.below(80);
    else if (isDue(jump)) this.#jump(owner, false);
    else if (isDue(suspend)) this.#jump(owner, true);
    else if (isDue(kill)) this.#kill(owner);
    else if (isDue(wipe)) {
      this.#holder = undefined;
      this.#wipedAt = this.#now;
    } else if (isDue(powerCut)) {
      for (const each of this.#owners) this.#kill(each);
      this.#disk.cutPower(random);
    }
  }

  /** The process is stopped, or its machine suspended, for longer than a lease. */
  #jump(owner: Owner, isSuspended: boolean): void {
    const gone = this.#leaseMs * (0.5 + 2 * this.#random.next());
    this.#now += gone;
    if (isSuspended) owner.behind += gone;
    owner.pausedFor += this.#random.below(60);
  }

  #kill(owner: Owner): void {
    owner.isAlive = false;
    this.#owners = this.#owners.filter((each) => each !== owner);
    const left = this.#tasks.filter((task) => task.owner !== owner);
    this.#tasks.splice(0, this.#tasks.length, ...left);
    this.#start();
  }

  #calm(): void {
    for (const owner of this.#owners) owner.pausedFor = 0;
  }

  #start(): void {
    const owner = new Owner(`owner-${(this.#deliveries += 1)}`);
    this.#owners.push(owner);
    void current
      .run(owner, async () => this.#work(owner))
      .catch((error: unknown) => {
        this.#failure ??= error as Error;
      });
  }

  /** A worker: asks for the shard until it is done. */
  async #work(owner: Owner): Promise<void> {
    for (;;) {
      const token = `${owner.name}:${(this.#deliveries += 1)}`;
      await this.#step(); // the request is on its way
      if (this.#isDone) return;
      const isMine = !this.#holder || this.#holder.until < this.#now;
      if (isMine) this.#holder = { token, until: this.#now + this.#leaseMs };
      await this.#step(); // its answer is
      if (!isMine) continue;
      try {
        await this.#perform(owner, token);
      } catch (error) {
        if (error instanceof EngagectlError && error.id === 'E-RUN-LOCKED') continue;
        throw error;
      }
      await this.#step(); // the queue accepts the end of a shard from its holder only
      if (this.#holder?.token === token) this.#isDone = true;
    }
  }

  async #perform(owner: Owner, token: string): Promise<void> {
    const { current: before } = new ShardFolder(folder);
    if (before !== undefined && existsSync(path.join(before, resultName))) return;
    const monotonic = (): number => this.#now - owner.behind;
    let askedAt = monotonic();
    if (!(await this.#extend(token))) return this.#lost();
    if (this.#planted.has('counted-late')) askedAt = monotonic();
    const lease = new Lease(this.#leaseMs, monotonic, askedAt);
    const renewals = { areRunning: true };
    void this.#renew(lease, { token, monotonic, renewals });
    try {
      lease.assertHeld();
      const epoch = await new ShardFolder(folder).takeOver({ worker: owner.name });
      if (!this.#planted.has('no-fence')) lease.fence(epoch.isCurrent);
      lease.assertHeld();
      if (existsSync(path.join(epoch.path, resultName))) return;
      await this.#send(owner, { lease, place: epoch.path, token });
      lease.assertHeld();
      replaceFile(path.join(epoch.path, resultName), '{}');
      lease.assertHeld();
    } finally {
      renewals.areRunning = false;
    }
  }

  async #send(
    owner: Owner,
    { lease, place, token }: { lease: Lease; place: string; token: string },
  ): Promise<void> {
    const file = path.join(place, 'journal.ndjson');
    const made = existsSync(file) ? undefined : createJournal(file);
    const { journal, entries } = Journal.open<WriteEntry>(file, writeEntries, unnamedOption, made);
    const state = replayWrite(entries);
    const journaled = new JournaledOutcomes({
      journal,
      rejects: new RejectsFile('', undefined, { option: unnamedOption }),
      digests: () => [],
      start: state.watermark,
      nonIdempotent: state.nonIdempotent,
    });
    // A real process can be stopped between the check of its lease and the write; here it skips the check.
    const log = this.#planted.has('old-mark') ? journaled : leasedOutcomes(journaled, lease);
    const isUnchecked = this.#planted.has('unchecked-send');
    const slot = isUnchecked ? new AimdLimiter(1) : new LeasedConcurrency(lease);
    const rows = jsonRows(this.#arrived.map((_, n) => `{"n":${n}}`));
    log.opened(rows);
    for (let record = 0; record < records; record += 1) {
      if (state.settled.has(record)) continue;
      if (state.intended.has(record)) log.record(rows, record, 'unknown');
      else {
        if (this.#isEvent) await log.intend([record], 'event');
        await slot.acquire();
        this.#checkLease(owner, { lease, token });
        if (lease.lost.aborted) return this.#lost();
        await this.#step(); // the request is on its way
        this.#arrived[record]!.push(owner.name);
        await this.#step(); // its answer is
        slot.release();
        log.record(rows, record, 'accepted');
      }
      if (this.#random.chance(0.3)) log.write();
      if (this.#random.chance(0.7)) await log.commit();
    }
    await log.commit();
    journal.close();
  }

  async #extend(token: string): Promise<boolean> {
    await this.#step();
    const isHeld = this.#holder?.token === token;
    if (isHeld) this.#holder = { token, until: this.#now + this.#leaseMs };
    const steps = this.#random.chance(this.#chances.slowAnswer)
      ? this.#random.below(this.#leaseMs / 8)
      : 1;
    for (let step = 0; step < steps; step += 1) await this.#step();
    return isHeld;
  }

  async #renew(
    lease: Lease,
    how: { token: string; monotonic: () => number; renewals: { areRunning: boolean } },
  ): Promise<void> {
    const { token, monotonic, renewals } = how;
    for (;;) {
      const pause = 2 + this.#random.below(this.#leaseMs / 50);
      for (let wait = 0; wait < pause; wait += 1) await this.#step();
      if (!renewals.areRunning) return;
      const askedAt = monotonic();
      const isRenewed = await this.#extend(token);
      if (!isRenewed) return lease.lose();
      lease.renew(this.#planted.has('renewed-late') ? monotonic() : askedAt);
    }
  }

  #lost(): never {
    throw new EngagectlError('E-RUN-LOCKED', 'the lease is lost', {});
  }

  /**
   * A worker that believes in its lease has it, unless its machine was suspended or the queue emptied. Does not
   * ask the lease, which would find that it is over.
   */
  #checkLease(owner: Owner, { lease, token }: { lease: Lease; token: string }): void {
    const isExcused = owner.behind > 0 || this.#wipedAt >= 0;
    const holder = this.#holder;
    if (isExcused || lease.lost.aborted) return;
    if (holder?.token !== token || holder.until < this.#now) {
      throw new Error('a worker sends after the queue has ended its lease');
    }
  }

  #verify(): void {
    const place = new ShardFolder(folder).current ?? '';
    if (!existsSync(path.join(place, resultName))) throw new Error('the result is missing');
    const entries = readJournal<WriteEntry>(path.join(place, 'journal.ndjson'), writeEntries);
    const seen = new Set<number>();
    const unknown = replayWrite(entries).counts.unknown;
    for (const entry of entries) {
      if (entry.kind !== 'settlement') continue;
      for (const [first, last] of entry.settled) {
        for (let record = first; record <= last; record += 1) {
          if (seen.has(record)) throw new Error(`record ${record} has two outcomes`);
          seen.add(record);
        }
      }
    }
    if (seen.size !== records) throw new Error(`${records - seen.size} records have no outcome`);
    const never = this.#arrived.filter((owners) => owners.length === 0).length;
    if (never > unknown)
      throw new Error(`${never} records were never sent, ${unknown} are unknown`);
    const twice = this.#arrived.filter((owners) => owners.length > 1).length;
    if (this.#isEvent && twice > 0) throw new Error(`${twice} events were sent twice`);
  }
}
