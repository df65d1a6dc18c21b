import path from 'node:path';
import { existsSync } from 'node:fs';
import { EngagectlError } from '../../errors.js';
import { waitForLock, type FileLock } from '../../files/file-lock.js';
import {
  appendDiscarded,
  appendLedger,
  damagedLedger,
  isSameCommand,
  ledgerPath,
  readLedger,
  zoneNameOf,
  type LedgerQuery,
  type LedgerEntry,
  type LedgerRun,
  type LedgerStart,
} from '../run/sent-files-ledger.js';
import { runsFolder, type OpenRun } from '../run/open-run.js';
import { remembersEvents, type SentForm } from './open-event-memory.js';
import type { WriteEntry } from '../../bulk/outcomes/journal-entries.js';
import { fingerprint, listRuns, makeStateFolder, withSortedLists } from '../run/run-folder.js';
import { shardCount, formatShard } from '../shard.js';
import {
  areAllInputs,
  areSameChoices,
  findSentInput,
  findSentOtherwise,
  findStartedInput,
  findStartedPipe,
  headsOf,
  ledgerSources,
  pipedBefore,
  refuseSentBeyond,
  sentBefore,
  sentNote,
  type OtherwiseSent,
  type SentBefore,
  type SentSearch,
} from './sent-before.js';
import {
  alreadySent,
  otherOptions,
  otherShards,
  startedError,
  type OtherwiseSentInput,
} from './already-sent-errors.js';
import type { NonIdempotentKind } from '../../bulk/outcomes/outcome-counts.js';
import type { DigestTable } from '../../input/text-digest.js';
import type { Inputs } from '../../input/inputs.js';
import type { Tally } from '../../bulk/outcomes/tally.js';
import type { ChangeTracking } from './change-tracking.js';
import type { WriteResult } from '../job-results.js';
import { isLeased, type JobContext } from '../job-context.js';
import { pipeName, zoneOf, type WriteContext } from './write-request.js';

interface LedgerPlace {
  /** Options that decide what is sent. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Their fingerprint, and that of older versions, which depended on their order and on how a format was found out. */
  readonly meanings: readonly string[];
  /** Folder of runs that the ledger belongs to. */
  readonly runs: string;
  /** Id of this run. */
  readonly run: string;
  /** It was not started by an earlier process. */
  readonly isNew: boolean;
  /** Kinds that an earlier process of it sent or skipped; undefined if it committed nothing. */
  readonly begun: ReadonlySet<NonIdempotentKind> | undefined;
  readonly writing: WriteContext;
  readonly context: JobContext;
  /** Allow resending what another run sent. */
  readonly again: boolean;
  /** Start from scratch, whatever a run that cannot be read has sent. */
  readonly fresh: boolean;
  /** Continue after what another run sent. */
  readonly resume: boolean;
  /** The event memory knows each event that was sent. */
  readonly remembersEvents: boolean;
  /** Most records to read. */
  readonly limit: number | undefined;
  /** Name of standard input in the ledger, if the run has a name. */
  readonly pipe: string | undefined;
}

interface FinishedRun {
  readonly result: WriteResult;
  /** Digests of all inputs that any attempt of the run read to the end. */
  readonly digests: DigestTable;
  readonly once: ReadonlySet<NonIdempotentKind>;
  /** Its events are in the event memory. */
  readonly remembered: boolean;
  /** Records at the beginning that earlier runs sent. */
  readonly before: number;
  /** The run has a folder, which can be kept. */
  readonly isKept: boolean;
}

/** Opens the duplicate protection; undefined for a dry run, and without a state directory. */
export function openDuplicateProtection(
  writing: WriteContext,
  run: Pick<OpenRun<WriteEntry>, 'id' | 'kept'> & Pick<LedgerPlace, 'begun'>,
  remembered: ChangeTracking | undefined,
): DuplicateProtection | undefined {
  const { kind, request, context, connection, rehearsal } = writing;
  if (!connection || rehearsal !== undefined) return undefined;
  const runs = runsFolder(context);
  if (runs === undefined) return undefined;
  const { accountId, host } = connection;
  const { limit, ...fingerprinted } = kind.fingerprinted; // a part is of the same records as the whole
  // The same decoded text has the same records, whether the user or the text says how to read it.
  const { inputFormat: _, delimiter: __, encoding: ___, ...decisive } = fingerprinted;
  const ordered = withSortedLists(decisive);
  const meaning = fingerprint(ordered);
  const shard = request.shard && { shard: formatShard(request.shard) };
  const stream = remembered && { stream: remembered.stream };
  const zone = zoneOf(kind, connection);
  const what = { command: kind.name, accountId, host, meaning, ...zone, ...shard, ...stream };
  const again = request.again === true;
  const options = JSON.parse(JSON.stringify(ordered)) as Readonly<Record<string, unknown>>;
  return new DuplicateProtection(what, {
    options,
    meanings: [meaning, fingerprint(fingerprinted)],
    runs,
    run: run.id,
    isNew: run.kept?.resumed !== true,
    begun: run.begun,
    again,
    fresh: request.fresh === true,
    resume: request.resume === true,
    writing,
    context,
    remembersEvents: remembersEvents(writing),
    limit,
    pipe: request.runName === undefined ? undefined : pipeName(request),
  });
}

/** Checks a write against the ledger at its start, and records the write at its end. */
export class DuplicateProtection {
  /** Thrown before records that are not idempotent are sent, because the ledger is damaged. */
  readonly refused: EngagectlError | undefined;
  readonly #isDamaged: boolean;
  readonly #run: LedgerRun;
  readonly #place: LedgerPlace;
  /** Runs that sent records which are not safe to resend with this command. */
  readonly #lines: readonly LedgerEntry[];
  /** The same for runs with another division into shards, which overlap with this one. */
  readonly #otherParts: readonly LedgerEntry[];
  /** Runs that may have sent the same records with other options. */
  readonly #otherwiseSent: readonly LedgerEntry[];
  /** Runs that did not finish, and where to continue reading. */
  readonly #ledger: Pick<Required<LedgerQuery>, 'open' | 'from'>;
  /** Other forms in which runs sent events, by their options and time zone. */
  readonly otherForms = new Map<string, SentForm & { readonly runs: Set<string> }>();
  /** Whether events that runs sent to this account are in the event memory. */
  hasRemembered = false;
  /** Starts of the runs that this one replaces. */
  readonly #replaced: LedgerStart[] = [];
  readonly #started = new Map<NonIdempotentKind, Promise<void>>();

  constructor(run: LedgerRun, place: LedgerPlace) {
    this.#run = run;
    this.#place = place;
    const { runs, isNew, begun, again, context } = place;
    const made = isNew ? place.run : undefined;
    const found = this.#read(made);
    const { damage } = found;
    const lines = found.lines.filter((line) => this.#doesHarm(line));
    this.#otherwiseSent = found.lines.filter((line) => this.#isOtherwiseSent(line));
    this.#ledger = { open: found.open, from: found.bytes };
    for (const start of found.open.all) if (start.kind === 'event') this.#noteForm(start);
    this.#lines = lines.filter(({ shard }) => shard === run.shard);
    this.#otherParts = lines.filter(({ shard }) => shardCount(shard) !== shardCount(run.shard));
    this.#isDamaged = damage !== undefined;
    if (damage === undefined) return;
    const error = damagedLedger(runs, damage, context.words);
    context.messages.note(`${error.message}: ${damage}; users and subscriptions are sent anyway`);
    // A run that has begun was compared before, and its journal knows what it sent.
    if (!again && !begun) this.refused = error;
  }

  /**
   * Returns the part of the inputs that a new run need not send. For a pipe, only a journaled run has
   * one. Throws E-ALREADY-SENT, E-INPUT-CHANGED.
   */
  async sentBefore(
    inputs: Inputs,
    { resume, isKept, read }: SentSearch,
  ): Promise<SentBefore | undefined> {
    const { again, begun, run, context } = this.#place;
    const isPiped = inputs.totalBytes === undefined;
    if (again || (isPiped && !(isKept && resume))) return undefined;
    // The event memory finds events one by one, however the inputs are divided.
    const lines = this.#lines.filter((line) => !this.#isRemembered(line));
    if (begun) {
      const others = lines.filter((line) => line.run !== run);
      return refuseSentBeyond(inputs, read, { lines: others, run, words: context.words });
    }
    await this.#refuseRivals(inputs);
    const sent = await (isPiped
      ? pipedBefore(inputs, { lines, name: this.#names(inputs)[0]! })
      : sentBefore(inputs, { lines, resume, words: context.words }));
    if (!sent || !isPiped) await this.#refuseOtherShards(inputs);
    if (!sent && isPiped) await this.#refusePipedOtherwise(inputs);
    if (sent) context.messages.note(sentNote(sent));
    return sent;
  }

  /**
   * Returns the error for events that another run sent from the same text with other options, which the
   * event memory cannot recognize. Undefined if there is none, or if the name or the users are others.
   */
  async sentWithOtherOptions(inputs: Inputs): Promise<EngagectlError | undefined> {
    return this.#sentOtherwise(inputs, { kind: 'event', lines: this.#otherwiseSent });
  }

  async #sentOtherwise(
    inputs: Inputs,
    { kind, lines, isWanted = () => true, own }: OtherwiseSent,
  ): Promise<EngagectlError | undefined> {
    const { again, options, writing } = this.#place;
    if (again || inputs.totalBytes === undefined) return undefined;
    const starts = this.#startedOtherwise(kind).filter((start) => isWanted(start.run));
    const sent = lines.filter(
      (line) => line.once.includes(kind) && this.#hasOtherOptions(line, kind),
    );
    const found = await findSentOtherwise(writing, { kind, options, lines: sent, starts, own });
    return found && this.#otherOptions(found);
  }

  /** Runs with other options that did not finish, or sent a part of their input. */
  #startedOtherwise(kind: NonIdempotentKind): readonly LedgerStart[] {
    return this.#ledger.open.all.filter(
      (start) =>
        start.kind === kind && start.run !== this.#place.run && this.#hasOtherOptions(start, kind),
    );
  }

  /** Throws E-ALREADY-SENT if a run sent the inputs with another division into shards. */
  async #refuseOtherShards(inputs: Inputs): Promise<void> {
    const lines = this.#otherParts.filter((line) => !this.#isRemembered(line));
    const [first = ''] = this.#names(inputs);
    const sent = await (inputs.totalBytes === undefined
      ? pipedBefore(inputs, { lines, name: first })
      : findSentInput(inputs, lines, this.#lines));
    if (sent)
      throw otherShards({ name: first, ...sent }, this.#run.shard, this.#place.context.words);
  }

  /** Throws E-ALREADY-SENT if a pipe begins like a text that was sent with other options, and with these by no run. */
  async #refusePipedOtherwise(inputs: Inputs): Promise<void> {
    const [name = ''] = this.#names(inputs);
    if (await pipedBefore(inputs, { lines: this.#lines, name })) return;
    const sent = await pipedBefore(inputs, { lines: this.#otherwiseSent, name });
    const same = sent ?? (await findStartedPipe(inputs, this.#startedOtherwise('other'), { name }));
    if (same) throw this.#otherOptions({ ...same, name });
  }

  #isOtherwiseSent(line: LedgerEntry): boolean {
    const { once, accepted, unknown } = line;
    return accepted + unknown > 0 && once.some((kind) => this.#hasOtherOptions(line, kind));
  }

  /** Whether a run of the same events or other records had other options. */
  #hasOtherOptions(
    { options, ...line }: LedgerEntry | LedgerStart,
    kind: NonIdempotentKind | 'row',
  ): boolean {
    if (!options || !isSameCommand(line, this.#run)) return false;
    if (this.#place.meanings.includes(line.meaning)) return false;
    return areSameChoices(kind, options, this.#place.options);
  }

  /** Whether the event memory knows all that the run sent. */
  #isRemembered({ once, remembered }: LedgerEntry): boolean {
    const { remembersEvents } = this.#place;
    return remembersEvents && remembered === true && once.every((kind) => kind === 'event');
  }

  #names({ names }: Inputs): readonly string[] {
    return this.#place.pipe === undefined ? names : [this.#place.pipe];
  }

  /** Records the finished run in the ledger. Returns false if that fails and its folder must stay. */
  note(ended: FinishedRun, inputs: Inputs): boolean {
    const { result, digests, once: kinds, remembered, before, isKept } = ended;
    const { run, read, rejected, unknown, alreadySent, exitCode } = result;
    const { options, isNew } = this.#place;
    const hasBegun = !isNew || this.#started.size > 0;
    if (!hasBegun && read > 0 && read === before + alreadySent) return true;
    const finished = new Date(this.#place.context.runtime.now()).toISOString();
    const accepted = result.accepted + result.resumed;
    const names = this.#names(inputs);
    const sources = ledgerSources(digests, names);
    const counts = { read, accepted, rejected, unknown, exitCode };
    try {
      const isRemembered = remembered && kinds.has('event') && ({ remembered: true } as const);
      const once = { once: [...kinds], ...(kinds.size > 0 && { options }), ...isRemembered };
      const line = { run, finished, ...this.#run, sources, ...counts, ...once };
      appendLedger(this.#place.runs, line, { isDamaged: this.#isDamaged });
      if (accepted + unknown === 0) this.#restoreReplaced();
      return true;
    } catch (error) {
      return this.#notNoted({ error: error as Error, mustStay: isKept && kinds.size > 0 });
    }
  }

  /** Whether a finished run matters to this one, besides those whose events are remembered. */
  readonly #isWanted = (line: LedgerEntry): boolean =>
    this.#isOtherwiseSent(line) || (this.#doesHarm(line) && !this.#isRemembered(line));

  /** Reads the ledger; for a pipe, also the last runs of events that are remembered: see #refusePipedOtherwise. */
  #read(made: string | undefined) {
    const remembered: LedgerEntry[] = [];
    const matches = (line: LedgerEntry): boolean => {
      this.hasRemembered ||= line.remembered === true && isSameCommand(line, this.#run);
      if (line.once.includes('event') && line.accepted + line.unknown > 0) this.#noteForm(line);
      if (this.#isWanted(line)) return true;
      if (this.#place.pipe === undefined || !this.#doesHarm(line)) return false;
      if (remembered.push(line) === 2 * rememberedMaximum) remembered.splice(0, rememberedMaximum);
      return false;
    };
    const found = readLedger(this.#place.runs, { matches, made });
    return { ...found, lines: [...found.lines, ...remembered] };
  }

  #noteForm(line: LedgerEntry | LedgerStart): void {
    const [zone, isOwn] = [zoneNameOf(line), this.#isSame(line)];
    if (isOwn ? zone === zoneNameOf(this.#run) : !this.#hasOtherOptions(line, 'row')) return;
    const key = `${isOwn ? '' : line.meaning} ${zone}`;
    const runs = this.otherForms.get(key)?.runs ?? new Set();
    const refusal = (name: string, what: string) => this.#otherOptions({ line, name, what });
    const form = { zone, options: isOwn ? undefined : line.options, refusal };
    this.otherForms.set(key, { ...form, runs: runs.add(line.run) });
  }

  /** Returns the error for records that were sent in another form. */
  #otherOptions(found: OtherwiseSentInput): EngagectlError {
    const options = { ...this.#place.options, timezone: zoneNameOf(this.#run) };
    return otherOptions(found, options, this.#place.context.words);
  }

  /** Whether resending the same content with the same command is not safe. */
  #doesHarm(line: LedgerEntry): boolean {
    return this.#isSame(line) && line.once.length > 0 && line.accepted + line.unknown > 0;
  }

  #isSame(line: LedgerEntry | LedgerStart): boolean {
    return isSameCommand(line, this.#run) && this.#place.meanings.includes(line.meaning);
  }

  /** Whether a shard has records of this run's shard: the same one, or one of another division. */
  #overlaps({ shard }: LedgerEntry | LedgerStart): boolean {
    const own = this.#run.shard;
    return shard === own || shardCount(shard) !== shardCount(own);
  }

  /** Runs that may be sending the same records, or were killed. */
  #rivals(): readonly LedgerStart[] {
    return this.#ledger.open.unfinished.filter(
      (start) =>
        start.run !== this.#place.run &&
        this.#isSame(start) &&
        this.#overlaps(start) &&
        (start.kind === 'other' || !this.#place.remembersEvents),
    );
  }

  /** Throws E-ALREADY-SENT if another run that has not finished has the same records. */
  async #refuseRivals(inputs: Inputs, again = this.#place.again): Promise<void> {
    const found = await this.#startedInput(inputs);
    if (!found) return;
    const { fresh, runs, context } = this.#place;
    const { run } = found.start;
    const isReadable = listRuns(runs, context.runtime).some(({ header }) => header.run === run);
    const isDamaged = !isReadable && existsSync(path.join(runs, run));
    const mayDiscard = (again && !isReadable) || (fresh && isDamaged);
    // Inputs of that run that are not among these must not be sent a second time.
    if (mayDiscard && (await areAllInputs(inputs, found.start))) {
      this.#replaced.push(...this.#ledger.open.unfinished.filter((start) => start.run === run));
      this.#discard(run);
      return this.#refuseRivals(inputs, again);
    }
    if (again) return;
    throw startedError(found, context.words, { isReadable });
  }

  async #startedInput(inputs: Inputs) {
    const { pipe } = this.#place;
    if (inputs.totalBytes !== undefined) return findStartedInput(inputs, this.#rivals());
    return pipe === undefined ? undefined : findStartedPipe(inputs, this.#rivals(), { name: pipe });
  }

  /**
   * Records the start of the run in the ledger before the first record of a kind is sent. The lock puts
   * processes in an order: of two that send the same records, the second one is refused. Throws E-LEDGER,
   * E-ALREADY-SENT.
   */
  async begin(kind: NonIdempotentKind, inputs: Inputs): Promise<void> {
    const { remembersEvents, context } = this.#place;
    if (this.refused && (kind === 'other' || !remembersEvents)) throw this.refused;
    if (isLeased(context)) return;
    let started = this.#started.get(kind);
    if (!started) this.#started.set(kind, (started = this.#begin(kind, inputs)));
    await started;
  }

  async #begin(kind: NonIdempotentKind, inputs: Inputs): Promise<void> {
    const { runs, run, context, options, limit } = this.#place;
    const { now, sleep, signal } = context.runtime;
    const isComparable = inputs.totalBytes !== undefined || this.#place.pipe !== undefined;
    const sources = isComparable ? await headsOf(inputs, this.#names(inputs)) : [];
    const { stream: _, ...about } = this.#run;
    const started = new Date(now()).toISOString();
    let lock: FileLock | undefined;
    try {
      const file = `${ledgerPath(runs)}.lock`;
      makeStateFolder(path.dirname(file));
      lock = await waitForLock(file, async (milliseconds) => sleep(milliseconds, signal));
      const isOwn = (one: LedgerStart) => one.run === run && one.kind === kind && !one.isFinished;
      const isStarted = this.#ledger.open.unfinished.some(isOwn);
      await this.#refuseSentMeanwhile(inputs, { kind, isStarted });
      const line = { run, started, ...about, kind, limit, options, sources };
      if (!isStarted) appendLedger(runs, line, { isDamaged: this.#isDamaged });
    } catch (error) {
      if (error instanceof EngagectlError && error.id !== 'E-FILE-WRITE') throw error;
      this.#notNoted({ error: error as Error, mustStay: false });
    } finally {
      lock?.release();
    }
  }

  /**
   * Throws E-ALREADY-SENT if a run that started after this one was opened sends the same records, or has sent them.
   * `isStarted`: an earlier process of this run has come so far.
   */
  async #refuseSentMeanwhile(
    inputs: Inputs,
    { kind, isStarted }: { readonly kind: NonIdempotentKind; readonly isStarted: boolean },
  ): Promise<void> {
    const { runs, again, context, remembersEvents } = this.#place;
    const { open, from } = this.#ledger;
    const known = new Set(open.all.map((start) => start.run));
    const { lines } = readLedger(runs, { matches: this.#isWanted, open, from });
    if (inputs.totalBytes === undefined)
      return this.#refusePipedMeanwhile(inputs, { lines, known });
    await this.#refuseRivals(inputs);
    if (again) return;
    const otherwise = lines.filter((line) => this.#isOtherwiseSent(line));
    const isRemembered = kind === 'event' && remembersEvents;
    if (!isRemembered) {
      const isOurs = (line: LedgerEntry) => this.#doesHarm(line) && this.#overlaps(line);
      const sent = await findSentInput(inputs, [
        ...this.#sentBeforeFirst(kind),
        ...lines.filter(isOurs),
      ]);
      if (sent) throw alreadySent(sent, context.words, this.#place.resume);
    }
    // Whether the options make records of a kind is only known here; remembered events were compared before.
    const before =
      isRemembered || isStarted
        ? { lines: otherwise, isWanted: (one: string) => !known.has(one) }
        : { lines: [...this.#otherwiseSent, ...otherwise], own: this.#lines };
    const error = await this.#sentOtherwise(inputs, { kind, ...before });
    if (error) throw error;
  }

  /** The same for a pipe, if it was compared with the ledger at its start, also if too little of it was read to tell. */
  async #refusePipedMeanwhile(
    inputs: Inputs,
    { lines, known }: { lines: readonly LedgerEntry[]; known: ReadonlySet<string> },
  ): Promise<void> {
    const { pipe, resume, again, context } = this.#place;
    if (pipe === undefined || !resume || again) return this.#refuseRivals(inputs, true);
    const rivals = this.#rivals().filter(({ run }) => !known.has(run));
    const started = await findStartedPipe(inputs, rivals, { name: pipe, ifUnread: true });
    if (started) throw startedError(started, context.words, { isReadable: true });
    const ours = lines.filter((line) => this.#doesHarm(line) && this.#overlaps(line));
    const sent = await pipedBefore(inputs, { lines: ours, name: pipe, ifUnread: true });
    if (sent) throw alreadySent({ name: pipe, isWhole: false, ...sent }, context.words, resume);
  }

  /** Runs that sent the same before this process, if the one that began this run had not come to records of this kind. */
  #sentBeforeFirst(kind: NonIdempotentKind): readonly LedgerEntry[] {
    if (this.#place.begun?.has(kind) !== false) return [];
    return [...this.#lines, ...this.#otherParts].filter((line) => !this.#isRemembered(line));
  }

  /**
   * Withdraws the start of a run that will not be resumed, if it sent nothing, or only what is safe to resend. Then the
   * runs that it was to replace have their starts again.
   */
  withdraw({ counts: { accepted, unknown }, log }: Pick<Tally, 'counts' | 'log'>): void {
    const hasSent = accepted + unknown > 0 && log.nonIdempotent.size > 0;
    if (this.#started.size === 0 || hasSent) return;
    this.#discard(this.#place.run);
    this.#restoreReplaced();
  }

  #restoreReplaced(): void {
    const { runs } = this.#place;
    for (const start of this.#replaced.splice(0)) {
      this.#attempt(() => appendLedger(runs, start, { isDamaged: this.#isDamaged }));
    }
  }

  #discard(run: string): void {
    const { runs, context } = this.#place;
    this.#ledger.open.discard(run);
    const discarded = { run, sentEvents: false, now: context.runtime.now() };
    this.#attempt(() => appendDiscarded(runs, discarded, { isDamaged: this.#isDamaged }));
  }

  #attempt(append: () => void): void {
    try {
      append();
    } catch (error) {
      this.#notNoted({ error: error as Error, mustStay: false });
    }
  }

  #notNoted({ error, mustStay }: { error: Error; mustStay: boolean }): boolean {
    const { run, runs, context } = this.#place;
    const what = `run ${run} cannot be recorded in ${ledgerPath(runs)}: ${error.message}`;
    const next = mustStay
      ? `; its folder is kept to prevent duplicates; to record it: ${context.words.resumeRun(run)}`
      : '';
    context.messages.warn(`${what}${next}`);
    return !mustStay;
  }
}

/** Number of runs of remembered events whose texts are compared with a pipe. */
const rememberedMaximum = 10_000;
