import { noOutcomes } from '../../bulk/outcomes/outcome-counts.js';
import { EngagectlError } from '../../errors.js';
import { changedInput } from '../../input/text-digest.js';
import { KnownTexts, type MatchedText } from '../../input/digest-check.js';
import type { WriteEntry } from '../../bulk/outcomes/journal-entries.js';
import type { Inputs } from '../../input/inputs.js';
import type { Position, TextDigest } from '../../input/row-block.js';
import type { LedgerLine, LedgerSource } from './sent-files-ledger.js';
import type { Words } from '../job-context.js';

/** An input that is, or begins with, what another run sent. */
interface SentInput extends MatchedText {
  readonly name: string;
  readonly records: number;
  readonly line: LedgerLine;
}

/** What of the input needs not be sent, as the journal of the run would say it. */
export interface SentBefore {
  readonly entries: readonly WriteEntry[];
  readonly records: number;
  readonly line: LedgerLine;
  /** The input holds nothing else. */
  readonly isAll: boolean;
}

interface Asked {
  /** Runs that sent records with this meaning which do harm when sent twice. */
  readonly lines: readonly LedgerLine[];
  readonly resume: boolean;
  readonly words: Words;
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
  if (!last.isWhole && last.text.endsInLine) throw changedInput(last.name, lineGoesOn);
  return sentOf(some, isNew < 0);
}

/** Throws E-ALREADY-SENT where one of `lines` sent other parts of the inputs. */
export async function refuseOtherParts(
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
export async function pipedBefore(
  inputs: Inputs,
  { lines, name }: { readonly lines: readonly LedgerLine[]; readonly name: string },
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
  readonly of: ReadonlyMap<TextDigest, { readonly records: number; readonly line: LedgerLine }>;
}

function knownFrom(lines: readonly LedgerLine[]): Known {
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
    counts: { ...noOutcomes(), accepted: records },
    rejects: { bytes: 0, crc: 0 },
    watermark,
    digests,
  };
}

const recordsOf = (sent: readonly SentInput[]): number =>
  sent.reduce((sum, { records }) => sum + records, 0);

const lineGoesOn = 'text was added to its last line, which had no line end, since a run sent it';

function alreadySent({ name, isWhole, line }: SentInput, { option }: Words): EngagectlError {
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
      file: name,
    },
  );
}

/** Behind an input that is new: the run could not begin behind both. */
const sentLate = ({ name, line: { run, finished } }: SentInput, { option }: Words) =>
  new EngagectlError(
    'E-ALREADY-SENT',
    `${name} was sent on ${finished.slice(0, 10)} by run ${run}`,
    {
      why: 'an input before it is new, and the run begins behind those that were sent',
      fix: `leave it out, or name it before the new ones; ${option('again')} sends all of them`,
      file: name,
    },
  );
