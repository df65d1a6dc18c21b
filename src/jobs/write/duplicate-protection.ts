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
import { KnownTexts, type MatchedText } from '../../input/digest-check.js';
import type { Inputs } from '../../input/inputs.js';
import type { ChangeTracking } from './change-tracking.js';
import type { WriteResult } from '../job-results.js';
import type { JobContext, Wording } from '../job-context.js';
import type { WriteContext, WriteRequest } from './write-request.js';
import type { WriteEntry } from '../../bulk/outcomes/journal-entries.js';
import type { Position, TextDigest } from '../../input/row-block.js';

/** A write, as the ledger knows it. */
type LedgerRun = Pick<
  LedgerEntry,
  'command' | 'accountId' | 'host' | 'meaning' | 'shard' | 'stream'
>;

interface LedgerPlace {
  /** The folder of runs that it belongs to. */
  readonly runs: string;
  /** The run itself, where it begins now. */
  readonly made: string | undefined;
  readonly world: JobContext;
  /** What was sent before may be sent again. */
  readonly again: boolean;
  /** The events of its stream are remembered one by one: those that were accepted are not sent. */
  readonly remembers: boolean;
  /** What stands for standard input, where that has a name. */
  readonly pipe: string | undefined;
}

interface FinishedRun {
  readonly result: WriteResult;
  /** Of all inputs that were read to their end, by any part of the run. */
  readonly digests: DigestTable;
  readonly once: ReadonlySet<NonIdempotentKind>;
  /** Records that the run began behind. */
  readonly before: number;
  /** Its folder is there, and can stay. */
  readonly isKept: boolean;
}

/** Undefined for a rehearsal, and where there is no place for a ledger. */
export function openDuplicateProtection(
  { kind, request, world, connection, rehearsal }: WriteContext,
  {
    made,
    remembered,
  }: { readonly made: string | undefined; readonly remembered: ChangeTracking | undefined },
) {
  if (!connection || rehearsal !== undefined) return undefined;
  const runs = runsFolder(world);
  if (runs === undefined) return undefined;
  const { accountId, host } = connection;
  const meaning = fingerprint(kind.meaning);
  const shard = request.shard && { shard: formatShard(request.shard) };
  const stream = remembered && { stream: remembered.stream };
  const run = { command: kind.name, accountId, host, meaning, ...shard, ...stream };
  const again = request.again === true;
  return new DuplicateProtection(run, {
    runs,
    made,
    again,
    world,
    remembers: remembered?.knowsEvents === true,
    pipe: request.runName === undefined ? undefined : pipeName(request),
  });
}

/** What a write asks of the ledger before it begins, and tells it at its end. */
export class DuplicateProtection {
  /** Thrown before records go out that must not be sent twice: nobody can tell whether they were. */
  readonly refused: EngagectlError | undefined;
  readonly #isDamaged: boolean;
  readonly #run: LedgerRun;
  readonly #place: LedgerPlace;
  /** Of runs whose records would do harm, sent again by this command. */
  readonly #lines: readonly LedgerEntry[];
  /** The same of runs that sent other parts, which hold some of the same records. */
  readonly #otherParts: readonly LedgerEntry[];

  constructor(run: LedgerRun, place: LedgerPlace) {
    this.#run = run;
    this.#place = place;
    const { runs, made, again, world } = place;
    const { lines, damage } = readLedger(runs, (line) => this.#doesHarm(line), made);
    this.#lines = lines.filter(({ shard }) => shard === run.shard);
    this.#otherParts = lines.filter(({ shard }) => shardCount(shard) !== shardCount(run.shard));
    this.#isDamaged = damage !== undefined;
    if (damage === undefined) return;
    const error = unreadable(ledgerPath(runs), damage, world);
    world.said.note(`${error.message}: ${damage}; users and subscriptions are sent all the same`);
    if (!again) this.refused = error;
  }

  /**
   * What of the inputs a run that begins now need not send; of a pipe only of one that is kept. Throws
   * E-ALREADY-SENT, E-INPUT-CHANGED.
   */
  async sentBefore(
    inputs: Inputs,
    { resume, isKept }: { readonly resume: boolean; readonly isKept: boolean },
  ): Promise<SentBefore | undefined> {
    const isPiped = inputs.totalBytes === undefined;
    if (this.#place.again || (isPiped && !(isKept && resume))) return undefined;
    const [lines, { words }] = [this.#lines, this.#place.world];
    const sent = await (isPiped
      ? pipedBefore(inputs, { lines, name: this.#names(inputs)[0]! })
      : sentBefore(inputs, { lines, resume, words }));
    if (!sent) {
      const other = { lines: this.#otherParts, shard: this.#run.shard, words };
      if (!isPiped) await refuseOtherShards(inputs, other);
      return undefined;
    }
    const { run, finished } = sent.line;
    const when = finished.slice(0, 10);
    this.#place.world.said.note(
      `${countOf(sent.records, 'record')} sent on ${when} by run ${run}: what is behind is new`,
    );
    return sent;
  }

  #names({ names }: Inputs): readonly string[] {
    return this.#place.pipe === undefined ? names : [this.#place.pipe];
  }

  /** Notes the end of the run; false when that cannot be, and its folder is to tell of it. */
  note({ result, digests, once: kinds, before, isKept }: FinishedRun, inputs: Inputs): boolean {
    const { run, read, rejected, unknown, exitCode } = result;
    if (before > 0 && read === before) return true;
    const finished = new Date(this.#place.world.runtime.now()).toISOString();
    const accepted = result.accepted + result.resumed;
    const sources = ledgerSources(digests, this.#names(inputs));
    const counts = { read, accepted, rejected, unknown, exitCode };
    try {
      const once = [...kinds];
      const line = { run, finished, ...this.#run, sources, ...counts, once };
      appendLedger(this.#place.runs, line, { isDamaged: this.#isDamaged });
      return true;
    } catch (error) {
      return this.#notNoted(run, { error: error as Error, mustStay: isKept && kinds.size > 0 });
    }
  }

  /** The same command with the same content would do harm. */
  #doesHarm(line: LedgerEntry): boolean {
    const same = ['accountId', 'command', 'host', 'meaning'] as const;
    const isSame = same.every((name) => line[name] === this.#run[name]);
    const isRemembered = this.#place.remembers && line.stream === this.#run.stream;
    const harm = isRemembered ? line.once.filter((kind) => kind !== 'event') : line.once;
    return isSame && harm.length > 0 && line.accepted + line.unknown > 0;
  }

  #notNoted(run: string, { error, mustStay }: { error: Error; mustStay: boolean }): boolean {
    const { said, words } = this.#place.world;
    const what = `the end of run ${run} cannot be noted in ${ledgerPath(this.#place.runs)}: ${error.message}`;
    const next = mustStay
      ? `; its folder stays, so that nothing is sent twice: ${words.goOn(run)} notes it`
      : '';
    said.warn(`${what}${next}`);
    return !mustStay;
  }
}

const unreadable = (file: string, damage: string, { words }: JobContext): EngagectlError =>
  new EngagectlError('E-LEDGER', `the ledger ${file} cannot be read`, {
    why: `${damage}; so nobody can tell whether these records, which do harm when sent twice, were sent before`,
    fix: `put the file back as it was; or move it away, or give ${words.option('again')}, when you are sure`,
    file,
  });

/** The inputs of a run as the ledger has them: those that were read to their end; one by one, for there may be many. */
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

/** What stands for the files of a run from a pipe. */
export const pipeName = ({ runName }: Pick<WriteRequest, 'runName'>): string =>
  `stdin (${runName})`;

/** Throws E-USAGE where a name is given to a run that reads files. */
export function refuseFiles({ names, totalBytes }: Inputs, { words }: JobContext): void {
  if (names.length === 1 && totalBytes === undefined) return;
  throw new EngagectlError('E-USAGE', `${words.option('runName')} is for input from one pipe`, {
    why: 'a run from files is found by their names',
    fix: 'leave it out, or read standard input alone',
  });
}

/** An input that is, or begins with, what another run sent. */
interface SentInput extends MatchedText {
  readonly name: string;
  readonly records: number;
  readonly line: LedgerEntry;
}

/** What of the input needs not be sent, as the journal of the run would say it. */
interface SentBefore {
  readonly entries: readonly WriteEntry[];
  readonly records: number;
  readonly line: LedgerEntry;
  /** The input holds nothing else. */
  readonly isAll: boolean;
}

interface Asked {
  /** Runs that sent records with this meaning which do harm when sent twice. */
  readonly lines: readonly LedgerEntry[];
  readonly resume: boolean;
  readonly words: Wording;
}

/**
 * Holds the inputs against what other runs sent: records that do harm when sent twice are not sent
 * by accident. Undefined: no input is, or begins with, one that was sent. With `resume` the first
 * inputs may be: then the run begins behind them. Throws E-ALREADY-SENT, E-INPUT-CHANGED.
 */
export async function sentBefore(inputs: Inputs, asked: Asked): Promise<SentBefore | undefined> {
  const sent: (SentInput | undefined)[] = [];
  const known = knownFrom(asked.lines);
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
  if (!asked.resume) throw alreadySent(first, asked.words);
  if (late) throw sentLate(late, asked.words);
  const last = some.at(-1)!;
  if (!last.isWhole && last.text.endsInLine) throw inputChangedError(last.name, lineGoesOn);
  return sentOf(some, isNew < 0);
}

/** Throws E-ALREADY-SENT where one of `lines` sent other parts of the inputs. */
async function refuseOtherShards(
  inputs: Inputs,
  {
    lines,
    shard,
    words: { option },
  }: Pick<Asked, 'lines' | 'words'> & { readonly shard: string | undefined },
): Promise<void> {
  if (lines.length === 0) return;
  const known = knownFrom(lines);
  for (const [input, name] of inputs.names.entries()) {
    const sent = await matched(inputs, { input, name }, known);
    if (!sent) continue;
    const { run, finished, shard: other } = sent.line;
    const [was, is] = [other, shard].map((one) => (one ? `shard ${one}` : 'a whole'));
    const day = finished.slice(0, 10);
    throw new EngagectlError(
      'E-ALREADY-SENT',
      `${name} was sent on ${day} as ${was}, by run ${run}`,
      {
        why: `as ${is} it would send some of the same records, which do harm when they are sent twice`,
        fix: `divide it as before, or send it knowingly by ${option('again')}`,
        file: name,
      },
    );
  }
}

/** Of a pipe: what the last run of its name sent, if it begins like that. It is not read any further. */
async function pipedBefore(
  inputs: Inputs,
  { lines, name }: { readonly lines: readonly LedgerEntry[]; readonly name: string },
): Promise<SentBefore | undefined> {
  const line = lines.findLast(({ sources }) => sources[0]?.name === name);
  const source = line?.sources[0];
  if (!line || !source || source.records === 0) return undefined;
  const text = textOf(source);
  if (!(await inputs.beginsLike(text))) return undefined;
  return sentOf([{ text, isWhole: true, name, records: source.records, line }], false);
}

/** As the journal of the run would say it. */
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
  // Every input begins with no records at all.
  if (!what || (what.records === 0 && !match.isWhole)) return undefined;
  return { ...match, ...what, name };
}

const textOf = ({ bytes, digest, head, ...source }: LedgerSource): TextDigest => {
  const { offset = bytes, endsInLine = false, line, state, records: ordinal } = source;
  const end = { input: 0, offset, line, ordinal, ...(state !== undefined && { state }) };
  return { input: 0, offset: bytes, hash: digest, endsInLine, ended: { end, head } };
};

/** Its records count as accepted, whatever became of each. */
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
    counts: { ...zeroCommitted(), accepted: records },
    rejects: { bytes: 0, crc: 0 },
    watermark,
    digests,
  };
}

const recordsOf = (sent: readonly SentInput[]): number =>
  sent.reduce((sum, { records }) => sum + records, 0);

const lineGoesOn = 'text was added to its last line, which had no line end, since a run sent it';

function alreadySent({ name, isWhole, line }: SentInput, { option }: Wording): EngagectlError {
  const { run, finished, once } = line;
  const what = isWhole ? 'was sent' : 'begins with what was sent';
  const records = once.includes('event') ? 'events' : 'records';
  return new EngagectlError(
    'E-ALREADY-SENT',
    `${name} ${what} on ${finished.slice(0, 10)} by run ${run}`,
    {
      why: `it holds ${records} that do harm when they are sent twice; nothing was sent now`,
      fix: isWhole
        ? `leave it, or send it knowingly once more by ${option('again')}; ${option('resume')} sends what is added to it, and else nothing`
        : `${option('resume')} sends what was added; ${option('again')} sends all of it once more`,
      resumes: true,
      file: name,
    },
  );
}

/** Behind an input that is new: the run could not begin behind both. */
const sentLate = ({ name, line: { run, finished } }: SentInput, { option }: Wording) =>
  new EngagectlError(
    'E-ALREADY-SENT',
    `${name} was sent on ${finished.slice(0, 10)} by run ${run}`,
    {
      why: 'an input before it is new, and the run begins behind those that were sent',
      fix: `leave it out, or name it before the new ones; ${option('again')} sends all of them`,
      file: name,
    },
  );
