import { EventFingerprints, fingerprintWords } from '../../text/record-hash.js';
import { GroupCommit } from '../journal/journal.js';
import { Breaks } from '../../event-loop.js';
import {
  archivedState,
  archiveWords,
  fileError,
  withFileErrors,
  type EventArchive,
} from './event-archive.js';
import { archiveCompleted, SortedEvents } from './event-compaction.js';
import {
  copiesByRun,
  eventState,
  FoundEvents,
  RecentEvents,
  repeated,
  ReportedCopies,
  type AbsentEvent,
  type ArrivedEvents,
  type EventBlock,
  type EventState,
  type MatchedCopies,
  type RecentEvent,
} from './event-log.js';
import { EventStore, type MatchedRun, type StoreOptions } from './event-store.js';
import { skipReason } from '../outcomes/outcome-counts.js';
import type { RecordBlock } from '../../mapping/record-block.js';
import type { Batch } from '../write/batch.js';

export interface EventMemoryOptions extends StoreOptions {
  /** Creates and checks the folder. */
  readonly prepare: () => void;
  /** ISO 8601. */
  readonly started: string;
  /** Names of the inputs, for messages. */
  readonly files: readonly string[];
  /** Events of unknown outcome count as not sent: those of other runs, and of earlier attempts of this one. */
  readonly retryUnknown: boolean;
  readonly retryOwn?: boolean;
  /** Nothing counts as sent by other runs, only by this one before it started over. */
  readonly again: boolean;
  /** The run started over. */
  readonly isRestarted?: boolean | undefined;
  /** The journal says which records the earlier attempts of this run sent, so that no other event counts as one of them. */
  readonly knowsOwn?: boolean;
}

/** Entries in memory from which those with an outcome are archived. */
const recentMaximum = 32_768;
/** Bytes of the log that are read without a break. */
const unreadMaximum = 256 * 1024;

/** Events of the log, and the lower halves of those that other processes appended since this run began. */
interface ConcurrentEvents {
  readonly events: RecentEvents;
  readonly lows: Set<number>;
}

/**
 * Every event that was sent to an account, by its fingerprint. It is on disk before the first byte of the
 * event goes out, and is taken back only if the service provably did not process it. An input may have
 * several equal events, so copies are counted: each one that was sent by another run, or by an earlier
 * attempt of this one, stands for one of the input, which is read from its beginning.
 */
export class EventMemory {
  /** Events of the input that were not sent, and those that were. */
  readonly counts = { new: 0, known: 0 };
  /** Runs that sent events of this input, and how many of them. */
  readonly #matched = new Map<number, number>();
  /** Runs of which any event is in the input. */
  readonly #met = new Set<number>();
  /** Copies of killed runs, and of earlier attempts, that this run reports as unknown. */
  readonly #reported = new ReportedCopies();
  readonly #options: EventMemoryOptions;
  readonly #store: EventStore;
  /** The events of the log, except for those in `#completed` and `#spilled`. */
  #recent: ConcurrentEvents = { events: new RecentEvents(), lows: new Set() };
  /** How many of them had no outcome when the others were archived. */
  #openCount = 0;
  /** Events with an outcome that were in the log when this run began. */
  #completed = new RecentEvents();
  /** An empty table, whose memory is used again. */
  #spare = new RecentEvents();
  /** Events that are being archived, so that memory does not grow with what other processes send. */
  #spilling: ConcurrentEvents | undefined;
  /** Archives of such events: those from before this run began, and those that other processes sent since. */
  readonly #spilled: { readonly before: EventArchive[]; readonly since: EventArchive[] } = {
    before: [],
    since: [],
  };
  readonly #sorted = new SortedEvents(0);
  readonly #fingerprints: EventFingerprints;
  readonly #syncs = new GroupCommit(async () => this.#store.log.sync());
  #isRegistered: boolean;
  /** It started over: it reports its unknown events once more, or sends them (`retryOwn`). Its input may lack some. */
  readonly #reportsOwn: boolean;
  /** Runs on which another process has worked since this one began: it may have events in flight. */
  readonly #resumed = new Set<number>();
  /** Whether an event of this run was sent. */
  #hasSent = false;
  /** Up to this position of the log, its events are on the disk, also after a power cut. */
  #syncedUntil = 0;

  private constructor(store: EventStore, options: EventMemoryOptions) {
    this.#store = store;
    this.#options = options;
    const { runs } = store;
    this.#fingerprints = new EventFingerprints(runs.secret);
    this.#isRegistered = runs.numberOf(options.run) !== undefined;
    this.#reportsOwn = this.#isRegistered && options.isRestarted === true;
  }

  /** The log of which a part is damaged or missing, so that its events are not known. */
  get damagedLog(): string | undefined {
    return this.#store.log.isDamaged ? this.#store.logFile : this.#store.lostLog;
  }

  /** Throws E-LEDGER if the memory is damaged, E-FILE-WRITE, or the error of the lock. */
  static async open(options: EventMemoryOptions): Promise<EventMemory> {
    const { folder } = options;
    return withFileErrors(folder, async () => {
      options.prepare();
      const memory = new EventMemory(await EventStore.open(options), options);
      try {
        await memory.#load();
        return memory;
      } catch (error) {
        memory.close();
        throw error;
      }
    });
  }

  /** Whether no event counts as sent. */
  get hasNone(): boolean {
    if (this.#options.again && !this.#options.isRestarted) return true;
    return this.#archives().length === 0 && this.#tables().every(({ count }) => count === 0);
  }

  /**
   * Finds the events of a block that need not be sent, and returns the fingerprints, valid until the next
   * call. The events count as read: a second call finds the next copies.
   */
  skip(block: RecordBlock): Pick<RecordBlock, 'skip' | 'fingerprints'> {
    const { count, kinds } = block;
    const first = kinds.indexOf(1);
    if (first < 0 || first >= count) return {};
    const fingerprints = this.#fingerprints.of(block);
    const [archives, tables] = [this.#archives(), this.#tables()];
    const skip = this.hasNone ? undefined : new Uint8Array(count);
    const archived = new Uint8Array(skip ? count : 0);
    for (const archive of archives) archive.filter(fingerprints, archived);
    for (let index = first; index < count; index += 1) {
      if (kinds[index] !== 1) continue;
      const [low, high] = [fingerprints[2 * index]!, fingerprints[2 * index + 1]!];
      if (skip && (archived[index] === 1 || tables.some((table) => table.has(low, high))))
        skip[index] = this.#take(low, high, { isOwn: this.#options.again });
      this.counts[skip?.[index] ? 'known' : 'new'] += 1;
    }
    return { skip, fingerprints };
  }

  /**
   * Returns the rows of the events of a block that another run sent, or one of those with these ids. Does not count
   * them as read.
   */
  knownRows(block: RecordBlock, ids?: ReadonlySet<string>): ReadonlySet<number> {
    const { count, kinds, row } = block;
    const fingerprints = this.#fingerprints.of(block);
    const known = new Set<number>();
    const isOfIds = (run: number) => !ids || ids.has(this.#store.runs.get(run)?.run ?? '');
    for (let index = 0; index < count; index += 1) {
      if (kinds[index] !== 1) continue;
      let sent = 0;
      for (const copies of this.#copies(fingerprints[2 * index]!, fingerprints[2 * index + 1]!))
        if (isOfIds(copies.run)) sent += copies.sent + copies.unknown + copies.unreported;
      if (sent > 0) known.add(row[index]!); // else its intent was taken back
    }
    return known;
  }

  /**
   * Resolves when the intent to send the events of a batch is on disk. Returns the positions of those that
   * another process intended meanwhile, which must not be sent. Throws E-FILE-WRITE.
   */
  async intend(batch: Batch): Promise<readonly number[]> {
    const { log, number } = this.#store;
    return withFileErrors(this.#options.folder, async () => {
      this.#register();
      await this.#catchUp();
      const fingerprints = batch.fingerprints();
      log.append(eventState.intended, number, fingerprints);
      const taken = this.#takenByOthers(fingerprints);
      if (taken.length > 0) log.append(eventState.retracted, number, batch.fingerprints(taken));
      const { position } = log;
      batch.isRemembered = taken.length === 0; // so that the intent is taken back if it cannot be synced
      await this.#syncs.commit();
      batch.isRemembered = true;
      this.#syncedUntil = Math.max(this.#syncedUntil, position);
      return taken;
    });
  }

  /** Records the outcome of intended events (default: all of the batch). Throws E-FILE-WRITE. */
  settle(batch: Batch, state: EventState, positions?: readonly number[]): void {
    this.#hasSent ||= state === eventState.sent;
    try {
      this.#store.log.append(state, this.#store.number, batch.fingerprints(positions));
    } catch (error) {
      throw fileError(this.#options.folder, error);
    }
  }

  /** Runs that sent events of this input, the one that sent most of them first. */
  get matched(): readonly MatchedRun[] {
    return [...this.#matched]
      .toSorted(([, a], [, b]) => b - a)
      .map(([number, events]) => ({ run: this.#store.runs.get(number), events }));
  }

  /**
   * Records that these events were not found in the account, if their outcome was unknown. Resolves when that is on
   * disk, to the positions of those that an upload would skip all the same: equal ones arrived, or no run sent them
   * in this form, although the outcome of others is unknown: with other options, these may be such. Throws
   * E-FILE-WRITE.
   */
  async missing(events: readonly AbsentEvent[]): Promise<ReadonlySet<number>> {
    return withFileErrors(this.#options.folder, async () => {
      const known = events.map((event) => this.#addMissing(event));
      await this.#syncs.commit();
      const hasUnknown = known.includes('foreign') && this.#hasUnknown();
      const skipped = [...known.keys()].filter(
        (at) => known[at] === 'skipped' || (known[at] === 'foreign' && hasUnknown),
      );
      return new Set(skipped);
    });
  }

  #addMissing({ text, hasNone }: AbsentEvent): 'missing' | 'skipped' | 'foreign' {
    const print = this.#printOf(text);
    const runs = this.#copies(print[0]!, print[1]!);
    const open = runs.filter(({ unknown }) => unknown > 0);
    // The memory does not know which of equal events arrived, and counts them.
    if (!hasNone && open.length > 0) return 'skipped';
    for (const { run, unknown } of open) {
      const block = { state: eventState.missing, run, fingerprints: repeated(print, unknown) };
      this.#store.log.append(block.state, run, block.fingerprints);
      this.#recent.events.add(block);
    }
    return runs.length > 0 ? 'missing' : 'foreign';
  }

  /**
   * Records that these events were found, so that they count as sent from now on. Resolves when that is on disk. Call
   * `end` then. Throws E-FILE-WRITE.
   */
  async arrived(all: readonly ArrivedEvents[]): Promise<void> {
    const { log, number } = this.#store;
    const found = new FoundEvents({
      own: number,
      isOpen: (run) => this.#isOpen(run),
      printOf: (text) => this.#printOf(text),
      copiesOf: (low, high) => this.#copies(low, high),
    });
    await withFileErrors(this.#options.folder, async () => {
      await found.add(all);
      if (found.hasOwn) this.#register();
      await found.appendTo(log);
      this.#hasSent = true;
      this.#syncedUntil = log.bytes;
      await this.#syncs.commit();
    });
  }

  #printOf(text: string): Int32Array {
    const json = Buffer.from(text);
    return this.#fingerprints.of({ json, count: 1, bounds: Int32Array.of(0, json.length) }).slice();
  }

  /** Whether the outcome of an event is unknown that was not found missing either. */
  #hasUnknown(): boolean {
    let unknown = 0;
    for (const table of this.#tables())
      for (const one of table.entries()) {
        unknown += one.unknown - one.missing;
        if (this.#store.runs.hasEnded(one.run)) unknown += one.intended;
      }
    for (const archive of this.#archives()) {
      for (const words of archive.all()) {
        for (let at = 0; at < words.length; at += archiveWords) {
          const [run, state] = [words[at + 2]!, words[at + 3]! & 3];
          const isReported = state === archivedState.intended && this.#store.runs.hasEnded(run);
          const copies = words[at + 3]! >> 2;
          if (state === archivedState.unknown || isReported) unknown += copies;
          if (state === archivedState.missing) unknown -= copies;
        }
      }
    }
    return unknown > 0;
  }

  /** Records that the events that were sent, also by this run, are still in use, so that they are not forgotten. Throws E-FILE-WRITE. */
  meet(): void {
    const { runs, number } = this.#store;
    try {
      runs.meet(new Set([...this.#met, number]), this.#options.now());
    } catch (error) {
      throw fileError(this.#options.folder, error);
    }
  }

  /** Call it when all events of this run are reported. Throws E-FILE-WRITE. */
  end(): void {
    const { runs, number, log, logNumber } = this.#store;
    try {
      const end = this.#hasSent ? { log: logNumber, bytes: this.#syncedUntil } : undefined;
      if (this.#isRegistered && !this.#reportsOwn) runs.end(number, end);
      for (const run of new Set([...this.#reported.runs(), number])) {
        if (run === number && !this.#reportsOwn) continue;
        const prints = this.#reported.fingerprints(run);
        if (prints.length > 0) log.append(eventState.unknown, run, prints);
        // The others are not in this input, so that nobody has reported them.
        if (this.#areReported(run)) runs.end(run, run === number ? end : undefined);
      }
    } catch (error) {
      throw fileError(this.#options.folder, error);
    }
  }

  close(): void {
    for (const archive of [...this.#spilled.before, ...this.#spilled.since]) archive.close();
    this.#store.close();
  }

  /** Whether this run reports all copies that a killed run intended to send, and that have no outcome; not if another process works on it. */
  #areReported(run: number): boolean {
    for (const block of this.#store.log.read())
      if (block.state === eventState.intended) this.#resumed.add(block.run);
    if (run !== this.#store.number && this.#resumed.has(run)) return false;
    const open = new Map<string, number>();
    const add = (event: string, copies: number) => open.set(event, (open.get(event) ?? 0) + copies);
    for (const table of this.#tables())
      for (const { low, high, intended, ...one } of table.entries())
        if (one.run === run && intended !== 0) add(`${low},${high}`, intended);
    for (const archive of this.#archives())
      for (const words of archive.all())
        for (let at = 0; at < words.length; at += archiveWords) {
          const isOpen = words[at + 2] === run && (words[at + 3]! & 3) === archivedState.intended;
          if (isOpen) add(`${words[at]},${words[at + 1]}`, words[at + 3]! >> 2);
        }
    return [...open].every(([event, copies]) => copies <= this.#reported.copies(run, event));
  }

  #archives(): readonly EventArchive[] {
    return [...this.#store.archives, ...this.#spilled.before, ...this.#spilled.since];
  }

  #tables(): readonly RecentEvents[] {
    const tables = [this.#recent.events, this.#completed];
    return this.#spilling ? [...tables, this.#spilling.events] : tables;
  }

  async #load(): Promise<void> {
    const breaks = new Breaks();
    for (const block of this.#store.recent()) {
      this.#recent.events.add(block);
      if (this.#isLong) await this.#spill(this.#spilled.before);
      if (breaks.areDue(4 * block.fingerprints.length)) await breaks.take();
    }
    this.#completed = this.#splitRecent().events;
    this.#recent.lows.clear();
  }

  get #isLong(): boolean {
    const count = this.#recent.events.count - this.#openCount;
    return count > recentMaximum && this.#spilling === undefined;
  }

  /** Reads what other processes have appended, in pieces, so that what is left can be read at once. */
  async #catchUp(): Promise<void> {
    const { log } = this.#store;
    const breaks = new Breaks();
    for (const block of log.bytes - log.position > unreadMaximum ? log.read() : []) {
      this.#add(block);
      if (this.#isLong) await this.#spill(this.#spilled.since);
      if (breaks.areDue(4 * block.fingerprints.length)) await breaks.take();
    }
    if (this.#isLong) await this.#spill(this.#spilled.since);
  }

  /** Moves the events that have an outcome to an archive that only this process has. */
  async #spill(archives: EventArchive[]): Promise<void> {
    const { events: completed } = (this.#spilling = this.#splitRecent());
    const archive = await archiveCompleted(this.#store.logFile, completed, this.#sorted);
    let entry = 0;
    for (const words of archive?.all() ?? []) {
      for (let at = 0; at < words.length; at += archiveWords, entry += 1) {
        // An event with several states has one entry for each of them: the first one has the copies that were matched.
        const [low, high, run] = [words[at]!, words[at + 1]!, words[at + 2]!];
        for (let n = completed.takeUsed(low, high, run); n > 0; n -= 1) archive!.use(entry);
      }
    }
    if (archive) archives.push(archive);
    completed.clear();
    this.#spare = completed;
    this.#spilling = undefined;
  }

  /** Keeps the events without an outcome in memory, and returns the others. */
  #splitRecent(): ConcurrentEvents {
    const recent = this.#recent;
    const open = this.#spare;
    recent.events.moveOpen(open);
    this.#spare = new RecentEvents();
    this.#recent = { events: open, lows: new Set() };
    this.#openCount = open.count;
    for (const { low } of open.entries()) if (recent.lows.has(low)) this.#recent.lows.add(low);
    return recent;
  }

  /** Applies a block of the log; returns whether it is of another run. */
  #add(block: EventBlock): boolean {
    if (block.run === this.#store.number) return false;
    if (block.state === eventState.intended) this.#resumed.add(block.run);
    const { events, lows } = this.#recent;
    events.add(block);
    for (let at = 0; at < block.fingerprints.length; at += fingerprintWords) {
      lows.add(block.fingerprints[at]!);
    }
    return true;
  }

  /** Whether another process sent the event, or intended to, since this run began. */
  #isConcurrent(low: number, high: number): boolean {
    const isIn = (recent: ConcurrentEvents | undefined) =>
      recent?.lows.has(low) === true && recent.events.has(low, high);
    if (isIn(this.#recent) || isIn(this.#spilling)) return true;
    return this.#spilled.since.some((archive) => archive.find(low, high).length > 0);
  }

  #register(): void {
    const { runs, number } = this.#store;
    // It goes on after its end, so that a kill may leave events without an outcome again.
    if (runs.hasEnded(number)) runs.reopen(number);
    const { run, started, files } = this.#options;
    const earlier = runs.get(number);
    if (earlier && earlier.started >= started) return;
    // The events of this attempt are remembered from its start, and those of earlier ones for as long as these said.
    const rememberMs = Math.max(this.#options.rememberMs, earlier?.rememberMs ?? 0);
    const [file = '', ...others] = files;
    runs.add({ number, run, started, file, otherFiles: others.length, rememberMs });
    this.#isRegistered = true;
  }

  /** Matches an event of the input with a copy that any run sent, or only this one earlier, if one is left. */
  #take(low: number, high: number, { isOwn = false, inFlight = false } = {}): number {
    let [sent, reported, unreported, used, known, by] = [0, 0, 0, 0, 0, 0];
    const { number } = this.#store;
    const found = this.#copies(low, high, inFlight).filter(({ run }) => !isOwn || run === number);
    for (const copy of found) {
      this.#met.add(copy.run);
      sent += copy.sent;
      reported += copy.reported;
      unreported += copy.unreported;
      used += copy.used;
      if (copy.run === number) known += copy.unknown;
      if (copy.sent > 0 || by === 0) by = copy.run;
    }
    const event = `${low},${high}`;
    const use = found[0]?.use;
    if (!use || used >= sent + unreported) {
      // A copy that is sent once more needs no report; else the run would never end.
      const isResent = this.#options.retryOwn && known > this.#reported.copies(number, event);
      if (isResent) this.#reported.add(number, event);
      return skipReason.none;
    }
    use();
    this.#matched.set(by, (this.#matched.get(by) ?? 0) + 1);
    // Copies that nobody reported come before those of unknown outcome: else a second attempt to send one would hide.
    let own = used - (sent - reported);
    if (own < 0 || own >= unreported) return skipReason.alreadySent;
    for (const { run } of found) if (run !== number) own -= this.#reported.copies(run, event);
    const leftOf = ({ run, unreported: copies }: MatchedCopies) =>
      copies - (run === number ? own : this.#reported.copies(run, event));
    const { run } = found.reduce((a, b) => (leftOf(b) > leftOf(a) ? b : a));
    if (run !== number || own >= known) this.#reported.add(run, event); // else the log says so already
    return skipReason.unreported;
  }

  /** Returns the copies that were sent. Throws E-LEDGER. */
  #copies(low: number, high: number, inFlight = false): readonly MatchedCopies[] {
    try {
      return this.#copiesIn(low, high, inFlight);
    } catch (error) {
      throw fileError(this.#options.folder, error);
    }
  }

  #copiesIn(low: number, high: number, inFlight: boolean): readonly MatchedCopies[] {
    const places: RecentEvent[] = [];
    for (const archive of this.#archives()) {
      for (const { run, state, copies, entry } of archive.find(low, high)) {
        places.push({
          run,
          sent: state === archivedState.sent ? copies : 0,
          unknown: state === archivedState.unknown ? copies : 0,
          intended: state === archivedState.intended ? copies : 0,
          missing: state === archivedState.missing ? copies : 0,
          used: archive.used(entry),
          use: () => archive.use(entry),
        });
      }
    }
    for (const table of this.#tables()) places.push(...table.find(low, high));
    return copiesByRun(places).map((event) => this.#counted(event, inFlight));
  }

  /** Whether a process may be working on a run: it did so when this run started, or started later. */
  #isOpen(run: number): boolean {
    const { live, runs } = this.#store;
    return live.has(run) || !runs.get(run);
  }

  /**
   * Divides the copies of a run into those that count as sent, and those that nobody has reported. `inFlight`: a process
   * that resumed the run later may be sending those without an outcome.
   */
  #counted(event: RecentEvent, inFlight: boolean): MatchedCopies {
    const { run, missing, used, use } = event;
    const { runs, number } = this.#store;
    const retryUnknown = this.#options[run === number ? 'retryOwn' : 'retryUnknown'] === true;
    // Two processes may have reported the same copy, or found it missing.
    const open = Math.max(0, event.intended + event.unknown - missing);
    const intended = Math.min(open, Math.max(0, event.intended));
    let [sent, reported, unknown, unreported] = [event.sent, 0, open - intended, 0];
    if (this.#isOpen(run)) [sent, reported] = [sent + intended, retryUnknown ? 0 : unknown];
    else if (retryUnknown && inFlight && run !== number) sent += intended;
    else if (retryUnknown) unknown = open;
    else if (run === number && this.#reportsOwn) unreported = open;
    else if (runs.hasEnded(run)) [reported, unknown] = [open, open];
    else [reported, unreported] = [unknown, intended];
    if (run === number && this.#options.knowsOwn) [sent, reported] = [0, 0];
    sent += reported;
    return { run, sent, reported, unknown, unreported, missing, used, use };
  }

  /**
   * Reads the log to its end. Returns the positions of own events that another process intended before
   * they were, since this run looked them up.
   */
  #takenByOthers(own: Int32Array): readonly number[] {
    const { log } = this.#store;
    let taken: readonly number[] | undefined;
    for (const block of log.read()) {
      const isOwn = !this.#add(block);
      if (isOwn && block.state === eventState.intended) taken ??= this.#knownNow(own);
    }
    if (!taken) throw new Error('the log has lost what was appended to it');
    return taken;
  }

  #knownNow(own: Int32Array): readonly number[] {
    const known: number[] = [];
    if (this.#options.again) return known;
    for (let at = 0; at < own.length; at += fingerprintWords) {
      const [low, high] = [own[at]!, own[at + 1]!];
      const isKnown = () => this.#take(low, high, { inFlight: true }) !== skipReason.none;
      if (this.#isConcurrent(low, high) && isKnown()) known.push(at / fingerprintWords);
    }
    return known;
  }
}
