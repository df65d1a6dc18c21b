import { EngagectlError, countOf } from '../../errors.js';
import {
  appendLedger,
  ledgerPath,
  readLedger,
  type LedgerEntry,
  type LedgerSource,
} from '../run/sent-files-ledger.js';
import { runsFolder } from '../run/open-run.js';
import { fingerprint } from '../run/run-folder.js';
import { shardCount, formatShard } from '../shard.js';
import { zeroCommitted, type NonIdempotentKind } from '../../bulk/outcomes/outcome-counts.js';
import { inputChangedError, type DigestTable } from '../../input/text-digest.js';
import { KnownTexts, lineExtended, type MatchedText } from '../../input/digest-check.js';
import type { Inputs } from '../../input/inputs.js';
import type { ChangeTracking } from './change-tracking.js';
import type { WriteResult } from '../job-results.js';
import type { JobContext, Wording } from '../job-context.js';
import type { WriteContext, WriteRequest } from './write-request.js';
import type { WriteEntry } from '../../bulk/outcomes/journal-entries.js';
import type { Position, TextDigest } from '../../input/row-block.js';

/** Members of a ledger line that identify a write. */
type LedgerRun = Pick<
  LedgerEntry,
  'command' | 'accountId' | 'host' | 'meaning' | 'shard' | 'stream'
>;

interface LedgerPlace {
  /** Options that decide what is sent. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Folder of runs that the ledger belongs to. */
  readonly runs: string;
  /** Id of the run if it was just created. */
  readonly made: string | undefined;
  readonly context: JobContext;
  /** Allow resending what another run sent. */
  readonly again: boolean;
  /** The event memory knows each event that was sent. */
  readonly remembersEvents: boolean;
  /** Name of standard input in the ledger, if the run has a name. */
  readonly pipe: string | undefined;
}

interface FinishedRun {
  readonly result: WriteResult;
  /** Digests of all inputs that any attempt of the run read to the end. */
  readonly digests: DigestTable;
  readonly once: ReadonlySet<NonIdempotentKind>;
  /** Records at the beginning that earlier runs sent. */
  readonly before: number;
  /** The run has a folder, which can be kept. */
  readonly isKept: boolean;
  /** Runs that sent the events of these records. */
  readonly runsBefore: readonly string[];
}

/** Opens the duplicate protection; undefined for a dry run, and without a state folder. */
export function openDuplicateProtection(
  { kind, request, context, connection, rehearsal }: WriteContext,
  {
    made,
    remembered,
    remembersEvents,
  }: {
    readonly made: string | undefined;
    readonly remembered: ChangeTracking | undefined;
    readonly remembersEvents: boolean;
  },
) {
  if (!connection || rehearsal !== undefined) return undefined;
  const runs = runsFolder(context);
  if (runs === undefined) return undefined;
  const { accountId, host } = connection;
  const meaning = fingerprint(kind.meaning);
  const shard = request.shard && { shard: formatShard(request.shard) };
  const stream = remembered && { stream: remembered.stream };
  const run = { command: kind.name, accountId, host, meaning, ...shard, ...stream };
  const again = request.again === true;
  const options = JSON.parse(JSON.stringify(kind.meaning)) as Readonly<Record<string, unknown>>;
  return new DuplicateProtection(run, {
    options,
    runs,
    made,
    again,
    context,
    remembersEvents,
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
  /** Runs that sent the same events with other options. */
  readonly #otherwiseSent: readonly LedgerEntry[];

  constructor(run: LedgerRun, place: LedgerPlace) {
    this.#run = run;
    this.#place = place;
    const { runs, made, again, context } = place;
    const isWanted = (line: LedgerEntry) => this.#doesHarm(line) || this.#isOtherwiseSent(line);
    const found = readLedger(runs, isWanted, made);
    const { damage } = found;
    const lines = found.lines.filter((line) => this.#doesHarm(line));
    this.#otherwiseSent = found.lines.filter((line) => this.#isOtherwiseSent(line));
    this.#lines = lines.filter(({ shard }) => shard === run.shard);
    this.#otherParts = lines.filter(({ shard }) => shardCount(shard) !== shardCount(run.shard));
    this.#isDamaged = damage !== undefined;
    if (damage === undefined) return;
    const error = unreadable(ledgerPath(runs), damage, context);
    context.messages.note(`${error.message}: ${damage}; users and subscriptions are sent anyway`);
    if (!again) this.refused = error;
  }

  /**
   * Returns the part of the inputs that a new run need not send. For a pipe, only a journaled run has
   * one. Throws E-ALREADY-SENT, E-INPUT-CHANGED.
   */
  async sentBefore(
    inputs: Inputs,
    { resume, isKept }: { readonly resume: boolean; readonly isKept: boolean },
  ): Promise<SentBefore | undefined> {
    const isPiped = inputs.totalBytes === undefined;
    if (this.#place.again || (isPiped && !(isKept && resume))) return undefined;
    const { words } = this.#place.context;
    // The event memory finds sent events one by one. A text is only skipped if all of it was accepted.
    const maySkip = (line: LedgerEntry) => resume && !isPiped && line.runs !== undefined;
    const lines = this.#lines.filter((line) => !this.#isRemembered(line) || maySkip(line));
    const sent = await (isPiped
      ? pipedBefore(inputs, { lines, name: this.#names(inputs)[0]! })
      : sentBefore(inputs, { lines, resume, words }));
    if (!sent) {
      const lines = this.#otherParts.filter((line) => !this.#isRemembered(line));
      const other = { lines, shard: this.#run.shard, words };
      if (!isPiped) await refuseOtherShards(inputs, other);
      return undefined;
    }
    const { run, finished } = sent.line;
    const when = finished.slice(0, 10);
    this.#place.context.messages.note(
      `run ${run} sent the first ${countOf(sent.records, 'record')} on ${when}; sending the rest`,
    );
    return sent;
  }

  /**
   * Returns the error for events that another run sent from the same text with other options, which the
   * event memory cannot recognize. Undefined if there is none, or if the name or the users are others.
   */
  async sentWithOtherOptions(inputs: Inputs): Promise<EngagectlError | undefined> {
    const { again, options, context } = this.#place;
    const lines = this.#otherwiseSent;
    if (again || inputs.totalBytes === undefined || lines.length === 0) return undefined;
    const known = knownFrom(lines);
    for (const [input, name] of inputs.names.entries()) {
      const sent = await matched(inputs, { input, name }, known);
      if (sent) return otherOptions(sent, options, context);
    }
    return undefined;
  }

  #isOtherwiseSent({ once, options, ...line }: LedgerEntry): boolean {
    const { accountId, command, host, meaning } = this.#run;
    if (!options || line.meaning === meaning || !once.includes('event')) return false;
    if (line.accountId !== accountId || line.command !== command || line.host !== host)
      return false;
    const same = ['eventName', 'identity', 'objectId'].every(
      (name) => options[name] === this.#place.options[name],
    );
    return same && line.accepted + line.unknown > 0;
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
    const { result, digests, once: kinds, before, isKept } = ended;
    const { run, read, rejected, unknown, exitCode } = result;
    if (before > 0 && read === before) return true;
    const finished = new Date(this.#place.context.runtime.now()).toISOString();
    const accepted = result.accepted + result.resumed;
    const sources = ledgerSources(digests, this.#names(inputs));
    const counts = { read, accepted, rejected, unknown, exitCode };
    try {
      const once = [...kinds];
      const line = {
        run,
        finished,
        ...this.#run,
        sources,
        ...counts,
        once,
        ...this.#eventsOf(ended),
      };
      appendLedger(this.#place.runs, line, { isDamaged: this.#isDamaged });
      return true;
    } catch (error) {
      return this.#notNoted(run, { error: error as Error, mustStay: isKept && kinds.size > 0 });
    }
  }

  /** Returns the members of a ledger line about events; see LedgerEntry. */
  #eventsOf({
    result,
    once,
    before,
    runsBefore,
  }: FinishedRun): Pick<LedgerEntry, 'options' | 'remembered' | 'runs'> {
    if (!once.has('event')) return {};
    const { options, remembersEvents } = this.#place;
    const { rejected, unknown, alreadySent, run } = result;
    const isWhole = rejected + unknown === 0 && alreadySent === before && once.size === 1;
    if (!remembersEvents) return { options };
    return { options, remembered: true, ...(isWhole && { runs: [...runsBefore, run] }) };
  }

  /** Whether resending the same content with the same command is not safe. */
  #doesHarm(line: LedgerEntry): boolean {
    const same = ['accountId', 'command', 'host', 'meaning'] as const;
    const isSame = same.every((name) => line[name] === this.#run[name]);
    return isSame && line.once.length > 0 && line.accepted + line.unknown > 0;
  }

  #notNoted(run: string, { error, mustStay }: { error: Error; mustStay: boolean }): boolean {
    const { messages, words } = this.#place.context;
    const what = `run ${run} cannot be recorded in ${ledgerPath(this.#place.runs)}: ${error.message}`;
    const next = mustStay
      ? `; its folder is kept to prevent duplicates; to record it: ${words.resumeRun(run)}`
      : '';
    messages.warn(`${what}${next}`);
    return !mustStay;
  }
}

const unreadable = (file: string, damage: string, { words }: JobContext): EngagectlError =>
  new EngagectlError('E-LEDGER', `the ledger ${file} cannot be read`, {
    why: `${damage}; these records are not safe to resend, and may have been sent before`,
    fix: `restore the file; or, if they were not sent, move it away or add ${words.option('again')}`,
    file,
  });

/** Yields the ledger entries of inputs that were read to the end. There may be many. */
function* ledgerSources(digests: DigestTable, names: readonly string[]): Generator<LedgerSource> {
  let before: number | undefined;
  for (const [input, name] of names.entries()) {
    const found = digests.get(input);
    const first = input === 0 ? 0 : before;
    before = found?.ended?.end.ordinal;
    if (!found?.ended || first === undefined) continue;
    const { offset: bytes, hash: digest, endsInLine, ended } = found;
    const { offset, line, ordinal, state } = ended.end;
    yield {
      name,
      bytes,
      digest,
      head: ended.head,
      records: ordinal - first,
      ...(offset !== bytes && { offset }),
      line,
      ...(state !== undefined && { state }),
      ...(endsInLine && { endsInLine }),
    };
  }
}

/** Returns the name that identifies the input of a run from a pipe. */
export const pipeName = ({ runName }: Pick<WriteRequest, 'runName'>): string =>
  `stdin (${runName})`;

/** Throws E-USAGE if a run that reads files has a run name. */
export function refuseFiles({ names, totalBytes }: Inputs, { words }: JobContext): void {
  if (names.length === 1 && totalBytes === undefined) return;
  throw new EngagectlError('E-USAGE', `${words.option('runName')} requires input from one pipe`, {
    why: 'a run from files is identified by the file names',
    fix: `omit ${words.option('runName')}, or read only standard input`,
  });
}

/** An input that equals, or begins with, an input of another run. */
interface SentInput extends MatchedText {
  readonly name: string;
  readonly records: number;
  readonly line: LedgerEntry;
}

/** Part of the input that was sent before, as journal entries. */
interface SentBefore {
  readonly entries: readonly WriteEntry[];
  readonly records: number;
  readonly line: LedgerEntry;
  /** The input contains nothing else. */
  readonly isAll: boolean;
}

interface SentQuery {
  /** Runs with the same fingerprint that sent records which are not idempotent. */
  readonly lines: readonly LedgerEntry[];
  readonly resume: boolean;
  readonly words: Wording;
}

/**
 * Compares the inputs with those of other runs, to prevent duplicates of records that are not
 * idempotent. Undefined if no input equals, or begins with, one that was sent. With `resume`, the
 * first inputs may; then the run starts after them. Throws E-ALREADY-SENT, E-INPUT-CHANGED.
 */
export async function sentBefore(
  inputs: Inputs,
  query: SentQuery,
): Promise<SentBefore | undefined> {
  const sent: (SentInput | undefined)[] = [];
  const known = knownFrom(query.lines);
  for (const [input, name] of inputs.names.entries()) {
    sent.push(await matched(inputs, { input, name }, known));
  }
  const first = sent.find((one) => one !== undefined);
  if (!first) return undefined;
  const isNew = sent.findIndex((one) => one?.isWhole !== true);
  const some = sent
    .slice(0, isNew < 0 ? sent.length : isNew + 1)
    .filter((one) => one !== undefined);
  const late = isNew < 0 ? undefined : sent.slice(isNew + 1).find((one) => one !== undefined);
  if (!query.resume) throw alreadySent(first, query.words);
  const last = some.at(-1);
  const isExtended = last && !last.isWhole && last.text.endsInLine;
  if (first.line.runs) return late || isExtended || !last ? undefined : sentOf(some, isNew < 0);
  if (late) throw sentLate(late, query.words);
  if (isExtended) throw inputChangedError(last.name, lineExtended);
  return sentOf(some, isNew < 0);
}

/** Throws E-ALREADY-SENT if one of `lines` sent the inputs with another division into shards. */
async function refuseOtherShards(
  inputs: Inputs,
  {
    lines,
    shard,
    words: { option },
  }: Pick<SentQuery, 'lines' | 'words'> & { readonly shard: string | undefined },
): Promise<void> {
  if (lines.length === 0) return;
  const known = knownFrom(lines);
  for (const [input, name] of inputs.names.entries()) {
    const sent = await matched(inputs, { input, name }, known);
    if (!sent) continue;
    const { run, finished, shard: other } = sent.line;
    const [was, is] = [other, shard].map((one) => (one ? `as shard ${one}` : 'undivided'));
    const day = finished.slice(0, 10);
    throw new EngagectlError('E-ALREADY-SENT', `${name} was sent ${was} on ${day} by run ${run}`, {
      why: `sending it ${is} would duplicate some of its records`,
      fix: `use the same shards as before, or resend it with ${option('again')}`,
      file: name,
    });
  }
}

/** Matches a pipe with the last run of its name, reading only as far as that run did. */
async function pipedBefore(
  inputs: Inputs,
  { lines, name }: { readonly lines: readonly LedgerEntry[]; readonly name: string },
): Promise<SentBefore | undefined> {
  const line = lines.findLast(({ sources }) => sources[0]?.name === name);
  const source = line?.sources[0];
  if (!line || !source || source.records === 0) return undefined;
  const text = textOf(source);
  if (!(await inputs.startsLike(text))) return undefined;
  return sentOf([{ text, isWhole: true, name, records: source.records, line }], false);
}

/** Builds the journal entries of a part that was sent before. */
function sentOf(sent: readonly SentInput[], isAll: boolean): SentBefore {
  const { line } = sent.at(-1)!;
  const kinds = line.once.map((of) => ({ kind: 'intent', records: [], of }) as const);
  return { entries: [settlementOf(sent), ...kinds], records: recordsOf(sent), line, isAll };
}

interface Known {
  readonly texts: KnownTexts;
  readonly of: ReadonlyMap<TextDigest, { readonly records: number; readonly line: LedgerEntry }>;
}

function knownFrom(lines: readonly LedgerEntry[]): Known {
  const of = new Map(
    lines.flatMap((line) =>
      line.sources.map((source) => [textOf(source), { records: source.records, line }] as const),
    ),
  );
  return { texts: new KnownTexts([...of.keys()]), of };
}

async function matched(
  inputs: Inputs,
  { input, name }: { readonly input: number; readonly name: string },
  known: Known,
): Promise<SentInput | undefined> {
  const match = await inputs.match(input, known.texts);
  const what = match && known.of.get(match.text);
  // An empty input is a prefix of every input.
  if (!what || (what.records === 0 && !match.isWhole)) return undefined;
  return { ...match, ...what, name };
}

const textOf = ({ bytes, digest, head, ...source }: LedgerSource): TextDigest => {
  const { offset = bytes, endsInLine = false, line, state, records: ordinal } = source;
  const end = { input: 0, offset, line, ordinal, ...(state !== undefined && { state }) };
  return { input: 0, offset: bytes, hash: digest, endsInLine, ended: { end, head } };
};

/** Builds a journal entry for all sent records, whatever their outcome: events are already sent, others accepted. */
function settlementOf(sent: readonly SentInput[]): Extract<WriteEntry, { kind: 'settlement' }> {
  const records = recordsOf(sent);
  let ordinal = 0;
  let watermark: Position = { input: 0, offset: 0, line: 1, ordinal };
  const digests = sent.map(({ text, ...one }, input) => {
    const ended = text.ended!;
    ordinal += one.records;
    watermark = { ...ended.end, input, ordinal };
    return { ...text, input, ended: { ...ended, end: watermark } };
  });
  return {
    kind: 'settlement',
    settled: records === 0 ? [] : [[0, records - 1]],
    counts: { ...zeroCommitted(), [sent[0]?.line.runs ? 'alreadySent' : 'accepted']: records },
    rejects: { bytes: 0, crc: 0 },
    watermark,
    digests,
  };
}

const recordsOf = (sent: readonly SentInput[]): number =>
  sent.reduce((sum, { records }) => sum + records, 0);

function alreadySent({ name, isWhole, line }: SentInput, { option }: Wording): EngagectlError {
  const { run, finished, once } = line;
  const what = isWhole ? 'was sent' : 'starts with what was sent';
  const records = once.includes('event') ? 'events' : 'records';
  return new EngagectlError(
    'E-ALREADY-SENT',
    `${name} ${what} on ${finished.slice(0, 10)} by run ${run}`,
    {
      why: `sending it again would duplicate ${records}; nothing was sent`,
      fix: isWhole
        ? `${option('resume')} sends only records added since; ${option('again')} resends all of it`
        : `${option('resume')} sends only what was added; ${option('again')} resends all of it`,
      resumes: true,
      file: name,
    },
  );
}

/** Builds the error for events that were sent from the same text with other options. */
function otherOptions(
  { name, line }: SentInput,
  options: Readonly<Record<string, unknown>>,
  { words: { option } }: JobContext,
): EngagectlError {
  const was = line.options!;
  const names = [...new Set([...Object.keys(was), ...Object.keys(options)])];
  const differing = names
    .filter((key) => JSON.stringify(was[key]) !== JSON.stringify(options[key]))
    .map((key) => option(optionNames[key] ?? key));
  const day = line.finished.slice(0, 10);
  return new EngagectlError(
    'E-ALREADY-SENT',
    `${name} was sent on ${day} by run ${line.run} with other options: ${differing.join(', ')}`,
    {
      why: 'the same events would be sent a second time in another form; nothing was sent',
      fix: `use the same options as before with ${option('resume')}; ${option('again')} sends all of it in the new form`,
      file: name,
    },
  );
}

/** Options whose name differs from their member of a write's meaning. */
const optionNames: Readonly<Record<string, string>> = {
  kind: 'type',
  tsNow: 'ts',
  expected: 'mapping',
};

/** Builds the error for a sent input after a new one: a run can only start after sent inputs. */
const sentLate = ({ name, line: { run, finished } }: SentInput, { option }: Wording) =>
  new EngagectlError(
    'E-ALREADY-SENT',
    `${name} was sent on ${finished.slice(0, 10)} by run ${run}`,
    {
      why: 'a new input comes before it, and a run can only start after inputs that were sent',
      fix: `omit it, or list it before the new ones; ${option('again')} resends all of them`,
      file: name,
    },
  );
