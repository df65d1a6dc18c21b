import { countOf, groupDigits } from '../../errors.js';
import { zeroCommitted, type NonIdempotentKind } from '../../bulk/outcomes/outcome-counts.js';
import { headBytes, type DigestTable } from '../../input/text-digest.js';
import { KnownTexts, type MatchedText } from '../../input/digest-check.js';
import {
  alreadySent,
  lastLineChanged,
  sentBeyond,
  sentLate,
  type SentBeyond,
  type StartedInput,
} from './already-sent-errors.js';
import { unlessUnreadable } from './open-event-memory.js';
import { cleanRows } from '../../input/row-block.js';
import type { Inputs } from '../../input/inputs.js';
import type {
  LedgerEntry,
  LedgerHead,
  LedgerSource,
  LedgerStart,
} from '../run/sent-files-ledger.js';
import type { Wording } from '../job-context.js';
import type { WriteResult } from '../job-results.js';
import type { Tally } from '../../bulk/outcomes/tally.js';
import type { WriteEntry } from '../../bulk/outcomes/journal-entries.js';
import type { Position, TextDigest } from '../../input/row-block.js';
import type { RecordBlock } from '../../mapping/record-block.js';
import type { WriteContext } from './write-request.js';

/** An input that equals, or begins with, an input of another run. */
interface SentInput extends Omit<MatchedText, 'known'> {
  readonly name: string;
  readonly records: number;
  readonly line: LedgerEntry;
}

/** Part of the input that was sent before, as journal entries. */
export interface SentBefore {
  readonly entries: readonly WriteEntry[];
  readonly records: number;
  readonly line: LedgerEntry;
  /** The input contains nothing else. */
  readonly isAll: boolean;
}

/** How a run is compared with others. */
export interface SentSearch {
  readonly resume: boolean;
  readonly isKept: boolean;
  /** Position before which an earlier attempt of this run has read everything; undefined: it need not be compared. */
  readonly read: Position | undefined;
}

interface SentQuery {
  /** Runs with the same fingerprint that sent records which are not idempotent, and not only events that are remembered. */
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
  for (const [input, name] of inputs.names.entries())
    sent.push(await matched(inputs, { input, name }, known));
  const first = sent.find(hasRecords);
  if (!first) return undefined;
  const isNew = sent.findIndex((one) => one?.isWhole !== true);
  const some = sent
    .slice(0, isNew < 0 ? sent.length : isNew + 1)
    .filter((one) => one !== undefined);
  const late = isNew < 0 ? undefined : sent.slice(isNew + 1).find(hasRecords);
  if (!query.resume) throw alreadySent(first, query.words);
  if (late) throw sentLate(late, query.words);
  const last = some.at(-1);
  if (last?.extendsLine) throw lastLineChanged(last, query.words);
  return sentOf(some, isNew < 0);
}

/** Whether an input was sent. One without records neither stops nor skips anything. */
const hasRecords = (one: SentInput | undefined): one is SentInput =>
  one !== undefined && one.records > 0;

interface PipeQuery {
  readonly name: string;
  /** Whether a pipe matches that is being read, if too little of it was read to tell. */
  readonly ifUnread?: boolean;
}

/**
 * Matches a pipe with a text that it starts with, reading only as far as that text was read: the longest one that was sent
 * since the last run of its name, which may have been sent from a file, or by a pipe with another name. A text shorter
 * than a head does not count as that run: one that read more may have sent it, too.
 */
export async function pipedBefore(
  inputs: Inputs,
  { lines, name, ifUnread }: PipeQuery & { readonly lines: readonly LedgerEntry[] },
): Promise<SentBefore | undefined> {
  const found: { readonly line: LedgerEntry; readonly source: LedgerSource }[] = [];
  for (const line of lines.toReversed()) {
    for (const source of line.sources) {
      if (source.records > 0 && (await inputs.startsLike(textOf(source), ifUnread)))
        found.push({ line, source });
    }
  }
  const own = found.findIndex(({ source }) => source.name === name && source.bytes >= headBytes);
  const known = own < 0 ? found : found.slice(0, own + 1);
  const [longest] = known.toSorted((a, b) => b.source.bytes - a.source.bytes);
  if (!longest) return undefined;
  const { line, source } = longest;
  const sent = { ...source, text: textOf(source), isWhole: true, extendsLine: false, name, line };
  return sentOf([sent], false);
}

/**
 * Throws E-ALREADY-SENT if one of `lines` sent more of an input than the run that is resumed has read: that run got a
 * part of it, such as a file that was still being copied.
 */
export async function refuseSentBeyond(
  inputs: Inputs,
  read: Position | undefined,
  { lines, run, words }: Pick<SentQuery, 'lines' | 'words'> & { readonly run: string },
): Promise<undefined> {
  if (!read) return;
  const sent = await (inputs.totalBytes === undefined
    ? pipeSentBeyond(inputs, read, lines)
    : findSentBeyond(inputs, read, lines));
  if (!sent) return;
  throw sentBeyond(sent, { run, words });
}

async function pipeSentBeyond(
  inputs: Inputs,
  { offset }: Position,
  lines: readonly LedgerEntry[],
): Promise<SentBeyond | undefined> {
  for (const line of lines) {
    for (const source of line.sources) {
      if ((source.offset ?? source.bytes) <= offset) continue;
      if (await inputs.startsLike(textOf(source)))
        return { name: 'stdin', line, isOnlyHere: false };
    }
  }
  return undefined;
}

async function findSentBeyond(
  inputs: Inputs,
  read: Position,
  lines: readonly LedgerEntry[],
): Promise<SentBeyond | undefined> {
  const known = knownFrom(lines);
  let isOnlyHere = false;
  for (const [input, name] of lines.length === 0 ? [] : inputs.names.entries()) {
    const sent = await matched(inputs, { input, name }, known);
    const end = sent?.text.ended?.end.offset ?? 0;
    const isBeyond = input > read.input || (input === read.input && end > read.offset);
    if (hasRecords(sent) && isBeyond) return { name, line: sent.line, isOnlyHere };
    isOnlyHere ||= input <= read.input && sent?.isWhole !== true;
  }
  return undefined;
}

/** Builds the journal entries of a part that was sent before. */
function sentOf(sent: readonly SentInput[], isAll: boolean): SentBefore {
  const lines = sent.filter(hasRecords).map((one) => one.line);
  const line = lines.at(-1)!;
  const once = new Set(lines.flatMap((one) => one.once));
  const kinds = [...once].map((of) => ({ kind: 'intent', records: [], of }) as const);
  const entries = [settlementOf(sent), ...kinds];
  return { entries, records: recordsOf(sent), line, isAll };
}

/** Whether an input counts that a run sent. */
type InputFilter = (input: number) => Promise<boolean>;

const anyInput: InputFilter = async () => true;

/**
 * Finds the first input that equals, or begins with, an input of one of these runs, unless one of the runs `but` sent as
 * much of it.
 */
export async function findSentInput(
  inputs: Inputs,
  lines: readonly LedgerEntry[],
  but: readonly LedgerEntry[] = [],
  counts = anyInput,
): Promise<SentInput | undefined> {
  if (lines.length === 0) return undefined;
  const known = knownFrom([...lines, ...but]); // of equal texts, the last one is found
  for (const [input, name] of inputs.names.entries()) {
    const sent = await matched(inputs, { input, name }, known);
    if (hasRecords(sent) && !but.includes(sent.line) && (await counts(input))) return sent;
  }
  return undefined;
}

/** Finds the first input with the beginning of an input of a run that has not finished. */
export async function findStartedInput(
  inputs: Inputs,
  starts: readonly LedgerStart[],
  counts = anyInput,
): Promise<StartedInput | undefined> {
  const of = new Map(
    starts.flatMap((start) =>
      start.sources.flatMap((source) =>
        source.bytes === 0 ? [] : [[beginningOf(source), start] as const],
      ),
    ),
  );
  const texts = new KnownTexts([...of.keys()]);
  for (const [input, name] of texts.isEmpty ? [] : inputs.names.entries()) {
    const match = await inputs.match(input, texts);
    const start = match && of.get(match.known);
    if (start && (await counts(input))) return { name, start };
  }
  return undefined;
}

type Options = Readonly<Record<string, unknown>>;

/** Runs that may have sent the same records of a kind with other options. */
interface SentOtherwise {
  readonly kind: NonIdempotentKind;
  /** Options of this run. */
  readonly options: Options;
  readonly lines: readonly LedgerEntry[];
  /** Those that did not finish, or sent a part of their input. */
  readonly starts: readonly LedgerStart[];
  /** Runs with the same options, after which this one continues. */
  readonly own: readonly LedgerEntry[] | undefined;
}

/** Runs that may have sent the same records with other options: those that finished, and which of the others count. */
export interface OtherwiseSent {
  readonly kind: NonIdempotentKind;
  readonly lines: readonly LedgerEntry[];
  readonly isWanted?: (run: string) => boolean;
  /** Runs with the same options, after which this one continues. */
  readonly own?: readonly LedgerEntry[];
}

/** Finds the first input of which a run with other options sent the same records. */
export async function findSentOtherwise(
  writing: WriteContext,
  { kind, options, lines, starts, own }: SentOtherwise,
): Promise<SentInput | StartedInput | undefined> {
  const { inputs } = writing;
  const formOf = (line: LedgerEntry | LedgerStart) =>
    kind === 'event' || areSameChoices('user', line.options!, options) ? '' : line.meaning;
  const forms = new Map([...lines, ...starts].map((line) => [formOf(line), line.options!]));
  // Only one of several runs with the same text is found, so each form that may have other users is looked up by itself.
  for (const [form, was] of forms) {
    const isOfForm = (line: LedgerEntry | LedgerStart) => formOf(line) === form;
    const counts: InputFilter = async (input) => form === '' || sendsSameUser(writing, was, input);
    const found =
      (await findSentInput(inputs, lines.filter(isOfForm), own, counts)) ??
      (await findStartedInput(inputs, starts.filter(isOfForm), counts));
    if (found) return found;
  }
  return undefined;
}

/**
 * Whether a row of the input has a record for the same user as with other options, and both are neither events nor
 * idempotent. Reads the input once more.
 */
async function sendsSameUser(
  { kind, connection, reopen }: WriteContext,
  was: Options,
  input: number,
): Promise<boolean> {
  const { zone } = connection!;
  const form = await kind.formOf!(was);
  const [mapper, earlier] = [kind.mapper(zone), form.mapper(zone)];
  const again = await reopen();
  try {
    for await (const rows of again.blocks({ input, offset: 0, line: 1, ordinal: 0 })) {
      if (rows.end.input !== input) break;
      const read = cleanRows(rows, form.cleaning);
      const users = new Set(unlessUnreadable(() => usersOf(earlier.map(read))));
      if (usersOf(mapper.map(rows)).some((user) => users.has(user))) return true;
    }
    return false;
  } finally {
    await again.close();
  }
}

/** Returns the rows of records that are neither events nor idempotent, each with the keys of its user. */
function usersOf({ row, count, keys, otherKeys, idempotent, kinds }: RecordBlock): string[] {
  return [...row.subarray(0, count)].flatMap((index, at) =>
    idempotent[at] === 1 || kinds[at] === 1
      ? []
      : [keys[at], ...(otherKeys?.get(at) ?? [])].map((key) => `${index} ${key}`),
  );
}

/** Finds a run that has not sent all of a text which begins like the pipe `name`. */
export async function findStartedPipe(
  inputs: Inputs,
  starts: readonly LedgerStart[],
  { name, ifUnread }: PipeQuery,
): Promise<StartedInput | undefined> {
  for (const start of starts) {
    for (const source of start.sources) {
      if (source.bytes > 0 && (await inputs.startsLike(beginningOf(source), ifUnread)))
        return { name, start };
    }
  }
  return undefined;
}

/** Whether all inputs of a run are among these, by their beginnings. A pipe is the only one. */
export async function areAllInputs(inputs: Inputs, { sources }: LedgerStart): Promise<boolean> {
  const texts = sources.filter(({ bytes }) => bytes > 0).map(beginningOf);
  if (inputs.totalBytes === undefined) return texts.length < 2;
  const missing = new Set(texts);
  const known = new KnownTexts(texts);
  for (const input of inputs.names.keys()) {
    const match = await inputs.match(input, known);
    if (match) missing.delete(match.known);
  }
  return missing.size === 0;
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
  const what = match && known.of.get(match.known);
  // An empty input is a prefix of every input.
  if (!what || (what.records === 0 && !match.isWhole)) return undefined;
  return { ...match, ...what, name };
}

/** Reads the beginnings of the inputs. */
export async function headsOf(
  inputs: Inputs,
  names: readonly string[],
): Promise<readonly LedgerHead[]> {
  const heads: LedgerHead[] = [];
  for (const [input, name] of names.entries()) {
    heads.push({ name, ...(await inputs.head(input)) });
  }
  return heads;
}

/** Yields the ledger entries of inputs that were read to the end. There may be many. */
export function* ledgerSources(
  digests: DigestTable,
  names: readonly string[],
): Generator<LedgerSource> {
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

/** Returns the digest that a ledger entry of an input contains. */
const textOf = ({ bytes, digest, head, ...source }: LedgerSource): TextDigest => {
  const { offset = bytes, endsInLine = false, line, state, records: ordinal } = source;
  const end = { input: 0, offset, line, ordinal, ...(state !== undefined && { state }) };
  return { input: 0, offset: bytes, hash: digest, endsInLine, ended: { end, head } };
};

const beginningOf = (source: LedgerHead): TextDigest => textOf({ ...source, records: 0, line: 1 });

/** Builds a journal entry for all sent records, whatever their outcome. */
function settlementOf(sent: readonly SentInput[]): Extract<WriteEntry, { kind: 'settlement' }> {
  const records = recordsOf(sent);
  let ordinal = 0;
  let watermark: Position = { input: 0, offset: 0, line: 1, ordinal };
  const digests = sent.map(({ text, ...one }, input) => {
    const ended = text.ended!;
    ordinal += one.records;
    watermark = { ...ended.end, input, ordinal };
    const endsInLine = text.endsInLine && one.isWhole; // else a line end follows
    return { ...text, input, endsInLine, ended: { ...ended, end: watermark } };
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

/** Says which run sent the part, and that not all of it was accepted: the counts of this run do not tell. */
export function sentNote({ records, line: { run, finished, rejected, unknown } }: SentBefore) {
  const others = [
    ...(rejected > 0 ? [`${groupDigits(rejected)} rejected`] : []),
    ...(unknown > 0 ? [`${groupDigits(unknown)} with an unknown outcome`] : []),
  ];
  const that = others.length === 0 ? '' : ` (in that run: ${others.join(', ')})`;
  const first = `the first ${countOf(records, 'record')}`;
  return `run ${run} sent ${first} on ${finished.slice(0, 10)}${that}; sending the rest`;
}

/**
 * Whether another run sends what this one came to, and this one has sent nothing that must be remembered. Nothing is left
 * of it then, so that the next one is compared anew.
 */
export const isOvertaken = (
  { error }: Pick<WriteResult, 'error'>,
  { log }: Tally,
  sent: SentBefore | undefined,
): boolean =>
  error?.id === 'E-ALREADY-SENT' &&
  [...log.nonIdempotent].every((of) => sent?.line.once.includes(of));

/**
 * Options that choose which events or other records an input has, which events a row, and whose record it is. With other
 * options, the same ones are sent in another form.
 */
const choices: Readonly<Record<NonIdempotentKind | 'row' | 'user', readonly string[]>> = {
  row: ['identity', 'objectId'],
  event: ['eventName', 'identity', 'objectId'],
  other: ['records'],
  user: ['kind', 'identity', 'objectId'],
};

/** Whether two runs chose the same. */
export const areSameChoices = (of: keyof typeof choices, was: Options, is: Options): boolean =>
  choices[of].every((name) => JSON.stringify(was[name]) === JSON.stringify(is[name]));
