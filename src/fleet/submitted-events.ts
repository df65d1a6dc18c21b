import path from 'node:path';
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import {
  CorruptArchive,
  EventArchive,
  matchCopies,
  splitMatched,
} from '../bulk/event-memory/event-archive.js';
import { EventSorter } from '../bulk/event-memory/event-compaction.js';
import { countOf, EngagectlError, groupDigits } from '../errors.js';
import { temporaryPath, AtomicFile, makePrivateFolder } from '../files/atomic-write.js';
import { fingerprint } from '../jobs/run/run-folder.js';
import {
  changedMeanwhile,
  inputFile,
  isRunId,
  readOwn,
  untrusted,
  WorkDirectory,
  type FleetEvents,
  type FleetRun,
} from './fleet-run.js';
import { SignedRun, type FleetKey } from './signature.js';
import type { EventPart } from '../jobs/write/upload.js';
import { isSecret, newSecret, type HashSecret } from '../text/record-hash.js';
import type { Runtime } from '../runtime.js';

/** A run whose events were compared with those of all runs before it. */
export interface RegisteredRun {
  /** Place in the order of submission. */
  readonly number: number;
  readonly run: string;
  /** Name of its first input, and how many others there are. */
  readonly file: string;
  readonly otherFiles: number;
  readonly events: FleetEvents;
  /** Whether somebody with the account's passcode of today registered it. */
  readonly isSigned: boolean;
}

/**
 * The runs of an account in a work directory that send events, in the order of their submission. Each has a file whose
 * name is the next number, so of two submissions at the same moment only one gets it, and the other one compares
 * its events again. A submission that was killed before it has a number does not count. Entries are signed: a
 * foreign one can cause a refusal, but no event is left out because of it.
 */
export class EventRegister {
  readonly folder: string;

  readonly #key: FleetKey;
  #secret: HashSecret | undefined;

  constructor({ run: { workDir, accountId, host }, key }: Pick<SignedRun, 'run' | 'key'>) {
    this.#key = key;
    this.folder = path.join(workDir, 'events', fingerprint([accountId, host]).slice(0, 12));
  }

  /** Returns the secret of the fingerprints; the first submission makes it. Throws E-FILE-READ or an error of the file system. */
  secret(token: () => string): HashSecret {
    const file = this.#secretFile;
    if (!existsSync(file)) {
      this.runs(); // throws if there are any: what they sent cannot be known without their secret
      makePrivateFolder(this.folder);
      this.#add(file, { secret: newSecret(token()) });
    }
    return this.#readSecret();
  }

  #readSecret(): HashSecret {
    const file = this.#secretFile;
    const { secret } = readOwn(file, restoreRegister) as { secret?: unknown };
    if (isSecret(secret)) return secret;
    throw damagedRegister(file);
  }

  /** Throws E-FILE-READ, E-UNTRUSTED. */
  runs(): readonly RegisteredRun[] {
    const names = existsSync(this.folder) ? readdirSync(this.folder) : [];
    const entries = names.filter((name) => /^\d+\.json$/.test(name));
    const runs = entries.map((name) => this.#entry(name));
    return runs.toSorted((a, b) => a.number - b.number);
  }

  /** Whether the run has a signed entry. */
  has(run: string): boolean {
    return this.runs().some((each) => each.isSigned && each.run === run);
  }

  /** Returns false if the number is taken. Throws an error of the file system. */
  add({ number, ...entry }: Omit<RegisteredRun, 'isSigned'>): boolean {
    const signature = this.#key.sign('events', this.#signed(number, entry));
    return this.#add(this.#file(number), { ...entry, signature });
  }

  get #secretFile(): string {
    return path.join(this.folder, 'secret.json');
  }

  #file(number: number): string {
    return path.join(this.folder, `${number}.json`);
  }

  #entry(name: string): RegisteredRun {
    const file = path.join(this.folder, name);
    const number = Number.parseInt(name, 10);
    const { signature, ...entry } = readOwn(file, restoreRegister) as { signature?: unknown };
    const run = { ...entry, number };
    if (!isRegisteredRun(run)) throw damagedRegister(file);
    const isSigned = this.#key.verify('events', this.#signed(number, entry), signature);
    return { ...run, isSigned };
  }

  /** The signature covers the secret: with another one, other events would have the fingerprints of the archive. */
  #signed(number: number, entry: object): object {
    this.#secret ??= this.#readSecret();
    return { number, entry, secret: this.#secret };
  }

  /** Returns the E-UNTRUSTED error for a run without a valid signature that sends some of the events. */
  foreign({ number, run }: RegisteredRun): EngagectlError {
    const file = this.#file(number);
    return untrusted(`${file} is not signed by this account's passcode`, {
      why: `somebody else wrote or changed it, or the passcode was another one then; no event is left out because of run ${run}`,
      fix: 'submit the command of that run again, which signs it; or add --again, which sends all events',
      file,
    });
  }

  #add(file: string, content: object): boolean {
    const temporary = new AtomicFile(file);
    temporary.write(`${JSON.stringify(content)}\n`);
    try {
      temporary.commit({ overwrite: false });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }
}

/** Checks the members of a registered run, which anyone may have written. */
function isRegisteredRun(value: Partial<RegisteredRun>): value is Omit<RegisteredRun, 'isSigned'> {
  const { number, run, file, otherFiles, events } = value;
  const { count, submitted, digest = '' } = Object(events) as Partial<FleetEvents>;
  return (
    isRunId(run) &&
    [file, submitted, digest].every((text) => typeof text === 'string') &&
    [number, count, otherFiles].every((each) => Number.isSafeInteger(each) && each! >= 0)
  );
}

const restoreRegister =
  'restore it, or submit to another --work-dir, which does not know what was sent';

const damagedRegister = (file: string): EngagectlError =>
  new EngagectlError('E-FILE-READ', `cannot read ${file}`, {
    why: 'it does not have the members of a registered run',
    fix: restoreRegister,
    file,
  });

interface EventComparison {
  /** Yields the events of the input. Called twice if other runs send some of them. */
  readonly read: (secret: HashSecret) => AsyncIterable<EventPart>;
  /** Send all events, also those that other runs send. */
  readonly again: boolean;
  /** Leave out the events that other runs send, instead of refusing the input. */
  readonly resume: boolean;
  readonly runtime: Pick<Runtime, 'now' | 'token'>;
}

/**
 * The events of a run that is submitted. They are compared one by one with those of all runs that were submitted to
 * the same work directory before. An input may have several equal events, so copies are counted.
 */
export class SubmittedEvents {
  /** The run with what is known about its events. */
  signed: SignedRun;
  /** Runs that send events of this input, and how many of them, the one that sends most first. */
  matched: readonly MatchedRun[] = [];
  /** Whether the input has records that are not safe to resend and are not compared one by one. */
  hasOthers = false;
  /** Whether the run was submitted before, so that nothing is compared again. */
  isKnown = false;
  readonly #key: FleetKey;
  readonly #register: EventRegister;
  readonly #options: EventComparison;
  readonly #scratch: string;
  #archive = '';
  #count = 0;
  /** Number of the last run that the events were compared with. */
  #last = 0;
  /** Whether the run was registered when its events were compared. */
  #wasRegistered = false;

  private constructor(signed: SignedRun, key: FleetKey, options: EventComparison) {
    this.signed = signed;
    this.#key = key;
    this.#options = options;
    this.#register = new EventRegister(signed);
    this.#scratch = temporaryPath(signed.folder.sentEvents);
  }

  /**
   * Reads the events of the input, unless the run was submitted before. Returns undefined if it has none. Throws the
   * errors of reading the input, E-FILE-WRITE, E-FILE-READ, E-RUN-VERSION.
   */
  static async read(
    signed: SignedRun,
    key: FleetKey,
    options: EventComparison,
  ): Promise<SubmittedEvents | undefined> {
    const events = new SubmittedEvents(signed, key, options);
    if (await events.#adoptSubmitted()) return events.signed.run.events && events;
    try {
      await events.#inFolder(async () => events.#sort());
    } catch (error) {
      events.discard();
      throw error;
    }
    if (events.#count > 0) return events;
    events.discard();
    return undefined;
  }

  /** Number of events that other runs send. */
  get known(): number {
    return this.matched.reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * Compares the events with those of all runs submitted so far, and writes what workers and later submissions
   * need, unless another process submitted the run meanwhile. Throws E-ALREADY-SENT, E-LEDGER, E-FILE-READ,
   * E-FILE-WRITE.
   */
  async compare(): Promise<void> {
    if (this.isKnown || (await this.#adoptSubmitted())) return;
    await this.#inFolder(async () => {
      const own = new EventArchive(this.#archive);
      try {
        this.matched = await this.#match(own);
        const { resume } = this.#options;
        if (this.matched.length > 0 && !resume) throw sentByOthers(this, this.#count);
        await this.#keep(own);
      } finally {
        own.close();
      }
    });
  }

  /** Whether another process submitted this run after its events were compared: `compare` then adopts that run. */
  get isOvertaken(): boolean {
    return !this.isKnown && !this.#wasRegistered && this.#register.has(this.signed.run.run);
  }

  /** Returns false if another run was submitted meanwhile, with which the events must be compared. */
  register(): boolean {
    if (this.isKnown) return true;
    const { run, folder } = this.signed;
    const [first, ...others] = run.files;
    const file = path.basename(first?.file ?? '');
    const entry = { run: run.run, file, otherFiles: others.length, events: run.events! };
    let isRegistered = false;
    try {
      folder.written(() => {
        const isThere = this.#register.has(run.run);
        isRegistered = isThere || this.#register.add({ ...entry, number: this.#last + 1 });
      });
    } finally {
      if (!isRegistered) folder.withdraw();
    }
    return isRegistered;
  }

  /**
   * Reads the runs that send events which this run leaves out, except for those whose folder was removed. Throws
   * E-FILE-READ, E-RUN-VERSION, E-UNTRUSTED.
   */
  async otherRuns(): Promise<readonly SignedRun[]> {
    const { workDir, events } = this.signed.run;
    const folders = (events?.alreadySent?.runs ?? []).map((id) => new WorkDirectory(workDir, id));
    const present = folders.filter(({ path: folder }) => existsSync(folder));
    return Promise.all(present.map(async (folder) => readOther(folder, this.#key)));
  }

  /** Removes temporary files. */
  discard(): void {
    const { folder } = this.signed;
    if (existsSync(this.#scratch)) rmSync(this.#scratch, { recursive: true });
    for (const each of [folder.events, folder.path]) {
      try {
        rmdirSync(each);
      } catch {
        break; // not empty, or never created
      }
    }
  }

  /** Takes over the run if it was submitted before, by another process perhaps. Returns whether it was. */
  async #adoptSubmitted(): Promise<boolean> {
    const known = await this.#submittedBefore();
    if (!known) return false;
    this.signed = known;
    this.matched = [];
    this.isKnown = true;
    return true;
  }

  /** Returns the run if it was submitted before, and everything is in place. */
  async #submittedBefore(): Promise<SignedRun | undefined> {
    const { folder } = this.signed;
    if (!folder.exists) return undefined;
    try {
      const signed = await SignedRun.read(folder, () => Promise.resolve(this.#key));
      const { events, run } = signed.run;
      if (!events) return signed;
      folder.alreadySent(signed.run);
      const isInPlace =
        events.count === 0 || (await inputFile(folder.sentEvents)).digest === events.digest;
      return isInPlace && this.#register.has(run) ? signed : undefined;
    } catch (error) {
      const isReplaced = ['E-UNTRUSTED', 'E-FILE-READ'].includes((error as EngagectlError).id);
      if (isReplaced) return undefined;
      throw error;
    }
  }

  async #sort(): Promise<void> {
    const { folder } = this.signed;
    const { folder: register } = this.#register;
    const folders = [folder.path, folder.events, path.dirname(register), register];
    for (const each of folders) folder.refuseLink(each);
    this.#removeLeftovers();
    makePrivateFolder(this.#scratch);
    const sorter = new EventSorter(this.#scratch);
    try {
      const secret = this.#register.secret(this.#options.runtime.token);
      for await (const { fingerprints, ordinals, hasOthers } of this.#options.read(secret)) {
        this.hasOthers ||= hasOthers;
        this.#count += ordinals.length;
        if (ordinals.length > 0) sorter.add(fingerprints);
      }
      if (this.#count > 0) this.#archive = await sorter.finish();
    } finally {
      sorter.close();
    }
  }

  /** Removes temporary files of killed submissions. Recent ones may be those of the same command in another process. */
  #removeLeftovers(): void {
    const { events } = this.signed.folder;
    const before = this.#options.runtime.now() - leftoverAgeMs;
    for (const name of existsSync(events) ? readdirSync(events) : []) {
      const left = path.join(events, name);
      if (!name.startsWith('.engagectl-') || lastWriteIn(left) >= before) continue;
      rmSync(left, { recursive: true, force: true });
    }
  }

  /** Compares with the runs before this one; a run that was submitted before has its number. */
  async #match(own: EventArchive): Promise<readonly MatchedRun[]> {
    const { run } = this.signed;
    const runs = this.#register.runs();
    this.#last = runs.at(-1)?.number ?? 0;
    const registered = runs.find((other) => other.isSigned && other.run === run.run);
    this.#wasRegistered = registered !== undefined;
    const { number = this.#last + 1 } = registered ?? {};
    const matched: MatchedRun[] = [];
    for (const other of this.#options.again ? [] : entriesOfRuns(runs)) {
      if (other.number >= number || other.run === run.run || other.events.count === 0) continue;
      const folder = new WorkDirectory(run.workDir, other.run);
      if (!existsSync(folder.path)) continue;
      const count = await matchRun(own, folder, other);
      if (count === 0) continue;
      if (!other.isSigned && this.#options.resume) throw this.#register.foreign(other);
      matched.push({ ...other, count });
    }
    return matched.toSorted((a, b) => b.count - a.count);
  }

  async #keep(own: EventArchive): Promise<void> {
    const { run, folder } = this.signed;
    const { known } = this;
    const matched = path.join(this.#scratch, 'matched');
    await splitMatched(own, { rest: folder.sentEvents, matched });
    const count = this.#count - known;
    if (count === 0) rmSync(folder.sentEvents, { force: true });
    const submitted = new Date(this.#options.runtime.now()).toISOString();
    const digest = known > 0 ? folder.putAlreadySent(await this.#bits(matched)) : undefined;
    const runs = this.matched.map((other) => other.run);
    const alreadySent = digest === undefined ? undefined : { count: known, digest, runs };
    const { digest: archive } = count > 0 ? await inputFile(folder.sentEvents) : {};
    const events = { count, submitted, digest: archive, ...(alreadySent && { alreadySent }) };
    this.signed = new SignedRun({ ...run, events }, { folder, key: this.#key });
  }

  /** Reads the input once more, and sets a bit for each record that is an event which another run sends. */
  async #bits(archive: string): Promise<Uint8Array> {
    const matched = new EventArchive(archive);
    let bits = new Uint8Array(1024);
    let left = this.known;
    try {
      const secret = this.#register.secret(this.#options.runtime.token);
      for await (const { fingerprints, ordinals } of this.#options.read(secret)) {
        for (const [index, ordinal] of ordinals.entries()) {
          const found = matched.find(fingerprints[2 * index]!, fingerprints[2 * index + 1]!);
          for (const { entry, copies } of found) {
            if (matched.used(entry) === copies) continue;
            matched.use(entry);
            bits = withBit(bits, ordinal);
            left -= 1;
          }
        }
      }
    } finally {
      matched.close();
    }
    if (left > 0) throw changedMeanwhile(this.signed.run.files[0]!);
    return bits;
  }

  async #inFolder(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof EngagectlError || !(error instanceof Error && 'errno' in error)) {
        throw error;
      }
      throw this.signed.folder.notWritten(error);
    }
  }
}

/** Longer than a submission goes without writing a temporary file. */
const leftoverAgeMs = 24 * 60 * 60 * 1000;

/** Returns when a file, or a file in a folder, was last written, in epoch milliseconds. */
function lastWriteIn(name: string): number {
  const found = lstatSync(name, { throwIfNoEntry: false });
  const inner = found?.isDirectory() === true ? readdirSync(name) : [];
  return Math.max(found?.mtimeMs ?? 0, ...inner.map((each) => lastWriteIn(path.join(name, each))));
}

interface MatchedRun extends RegisteredRun {
  /** Number of events that both have. */
  readonly count: number;
}

/** Reads a run that sends events of others. Without it, no worker sends them. */
async function readOther(folder: WorkDirectory, key: FleetKey): Promise<SignedRun> {
  try {
    return await SignedRun.read(folder, () => Promise.resolve(key));
  } catch (error) {
    if (!(error instanceof EngagectlError)) throw error;
    const { id, message, details } = error;
    const run = path.basename(folder.path);
    throw new EngagectlError(id, message, {
      ...details,
      fix: `submit the command of run ${run} again, which writes it; or add --again, which sends all events`,
    });
  }
}

/** Returns which records are events that other runs send; undefined if there are none. Throws E-UNTRUSTED. */
export function sentByOtherRuns(run: FleetRun): ((ordinal: number) => boolean) | undefined {
  const bits = new WorkDirectory(run.workDir, run.run).alreadySent(run);
  return bits && ((ordinal) => (((bits[Math.floor(ordinal / 8)] ?? 0) >> (ordinal % 8)) & 1) === 1);
}

/** Returns the bits with one more set, in a larger array if necessary. */
function withBit(bits: Uint8Array<ArrayBuffer>, ordinal: number): Uint8Array<ArrayBuffer> {
  const at = Math.floor(ordinal / 8);
  let longer = bits;
  if (at >= bits.length) {
    longer = new Uint8Array(2 * (at + 1));
    longer.set(bits);
  }
  longer[at]! |= 1 << (ordinal % 8);
  return longer;
}

/** Returns one entry of each run, a signed one if there is one: a run that is submitted again with another passcode has two. */
function entriesOfRuns(runs: readonly RegisteredRun[]): readonly RegisteredRun[] {
  const entries = new Map<string, RegisteredRun>();
  for (const run of runs) if (!entries.get(run.run)?.isSigned) entries.set(run.run, run);
  return [...entries.values()];
}

/** Counts the events that another run sends. Throws E-LEDGER, also if its archive is not the one that was registered. */
async function matchRun(
  own: EventArchive,
  folder: WorkDirectory,
  { events }: RegisteredRun,
): Promise<number> {
  const file = folder.sentEvents;
  for (const each of [folder.path, folder.events, file]) folder.refuseLink(each);
  let archive: EventArchive | undefined;
  try {
    const { digest } = await inputFile(file);
    if (digest !== events.digest) throw new CorruptArchive('somebody else wrote or changed it');
    archive = new EventArchive(file, { isFiltered: false });
    return await matchCopies(own, archive);
  } catch (cause) {
    const run = path.basename(folder.path);
    throw new EngagectlError('E-LEDGER', `the events of run ${run} cannot be read`, {
      why: `${(cause as Error).message}; events that it sends would be sent again`,
      fix: `restore ${file}, or add --again, which sends all events`,
      file,
      cause,
    });
  } finally {
    archive?.close();
  }
}

function sentByOthers({ matched, known, signed: { run } }: SubmittedEvents, count: number) {
  const first = matched[0]!;
  const name = path.basename(run.files[0]!.file);
  const more = run.files.length > 1 ? ` and ${countOf(run.files.length - 1, 'other file')}` : '';
  const were = known === 1 ? 'was already submitted' : 'were already submitted';
  const what = `${groupDigits(known)} of ${countOf(count, 'event')} of ${name}${more} ${were}`;
  return new EngagectlError('E-ALREADY-SENT', what, {
    why: `${describeRuns(matched)}; nothing was submitted now`,
    fix: '--resume sends only the events that were not submitted; --again sends all of them',
    file: path.join(run.workDir, first.run),
  });
}

/** Says which runs submitted events, from which files, and when. */
export function describeRuns([first, ...rest]: readonly MatchedRun[]): string {
  const { run, file, otherFiles, events } = first!;
  const more = otherFiles > 0 ? ` and ${groupDigits(otherFiles)} more` : '';
  const others = rest.length > 0 ? `, and ${countOf(rest.length, 'other run')} some of them` : '';
  const day = events.submitted.slice(0, 10);
  return `run ${run} submitted them from ${file}${more} on ${day}${others}`;
}
