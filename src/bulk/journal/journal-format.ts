import { basename, dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { EngagectlError, unnamedOption, type OptionName } from '../../errors.js';

/** Content of a line `<checksum> <JSON>`. */
interface JournalLine {
  /** Line number, from 1. */
  readonly line: number;
  /** Fencing token of the owner that wrote the line; each new owner raises it. */
  readonly epoch: number;
  /** Bytes of lines that were on disk when this line was written. */
  readonly synced: number;
  readonly entries: readonly JournalEntry[];
  /** Header of the run; only in the first line. */
  readonly about?: unknown;
}

/** Lines that are on disk: their length in bytes, and the checksum of the last one. */
export interface SyncedMark {
  readonly bytes: number;
  readonly checksum: string;
}

interface ParseOptions {
  readonly path: string;
  readonly kinds: Readonly<Record<string, unknown>>;
  readonly option: OptionName;
  readonly mark: SyncedMark;
}

export interface ParsedJournal {
  readonly entries: readonly JournalEntry[];
  /** Bytes of the valid lines at the beginning. */
  readonly good: Buffer;
  /** Number of valid lines, and the checksum of the last one. */
  readonly lines: number;
  readonly last: string;
  /** Epoch of the last owner; 0 before the first. */
  readonly epoch: number;
}

/** Checksum before the first line. */
export const noChecksum = '00000000';

/** Computes a CRC-32 in hexadecimal that continues another one. */
export const hexChecksum = (json: string | Buffer, before = 0): string =>
  crc32(json, before).toString(16).padStart(8, '0');

const checksum = (json: string | Buffer, before = noChecksum): string =>
  hexChecksum(json, Number.parseInt(before, 16));

/** Formats the end of an object whose last member is the checksum of its JSON text without that member. */
export const checksumEnd = (sum: string): string => `,"checksum":"${sum}"}`;

const checksumEndBytes = checksumEnd(noChecksum).length;

/** Returns the JSON text without its checksum; undefined if it does not end in the right one. */
export function withoutChecksum(line: Buffer): string | undefined {
  const end = Math.max(0, line.length - checksumEndBytes);
  const sum = hexChecksum('}', crc32(line.subarray(0, end)));
  if (line.toString('latin1', end) !== checksumEnd(sum)) return undefined;
  return `${line.toString('utf8', 0, end)}}`;
}

/** Formats a line; returns it and its checksum, which covers the checksum of the line before. */
export function formatLine(line: JournalLine, before: string): readonly [string, string] {
  const json = JSON.stringify(line);
  const sum = checksum(json, before);
  return [`${sum} ${json}\n`, sum];
}

/** Bytes of one of the two slots for the synced mark: at most one sector, so a write is atomic. */
export const markBytes = 512;

/**
 * Bytes before the first line. A journal starts with two slots for the synced mark, written
 * alternately, so that a torn write leaves the other one. Mark and lines are one file: a new owner
 * replaces both by one rename, and a mark of an earlier owner is never read with later lines.
 */
export const linesStart = 2 * markBytes;

/** Formats the slot of a synced mark. */
export function formatMark(mark: SyncedMark): Buffer {
  const json = JSON.stringify(mark);
  return Buffer.from(`${checksum(json)} ${json}`.padEnd(markBytes - 1) + '\n');
}

/** Formats a whole journal whose lines are all on disk. */
export const formatJournal = (lines: Buffer, lastChecksum: string): Buffer => {
  const slot = formatMark({ bytes: lines.length, checksum: lastChecksum });
  return Buffer.concat([slot, slot, lines]);
};

/** Returns the mark that covers the most lines; undefined if no slot is valid. */
export function readMark(content: Buffer): SyncedMark | undefined {
  const marks = [0, markBytes].flatMap((at) => parseMark(content.subarray(at, at + markBytes)));
  return marks.toSorted((a, b) => b.bytes - a.bytes)[0];
}

function parseMark(slot: Buffer): SyncedMark[] {
  const text = slot.toString('latin1');
  const json = text.slice('01234567 '.length).trimEnd();
  if (slot.length < markBytes || !text.startsWith(`${checksum(json)} `)) return [];
  const mark = JSON.parse(json) as Partial<SyncedMark>;
  return typeof mark.bytes === 'number' ? [mark as SyncedMark] : []; // else a first line of format 1
}

/**
 * Parses the valid lines. Throws E-JOURNAL if a line is damaged or missing that was on disk
 * according to the mark or a later line, or if it contains an entry of an unknown kind.
 */
export function parseJournal(
  content: Buffer,
  { path, kinds, option, mark }: ParseOptions,
): ParsedJournal {
  const entries: JournalEntry[] = [];
  let bytes = 0;
  let lines = 0;
  let last = noChecksum;
  let epoch = 0;
  let isMarked = mark.bytes === 0;
  let damagedLine: number | undefined;
  for (const { line, sum, end } of linesOf(content)) {
    if (damagedLine !== undefined || line?.line !== lines + 1) {
      damagedLine ??= lines + 1;
      if (line && line.synced > bytes) throw corruptJournalError(path, damagedLine, option);
      continue;
    }
    for (const entry of line.entries) {
      if (!Object.hasOwn(kinds, entry.kind)) throw unknownKind(path, line.line, entry);
      entries.push(entry);
    }
    ({ epoch, line: lines } = line);
    bytes = end;
    last = sum;
    if (mark.bytes === bytes) isMarked = mark.checksum === last;
  }
  if (!isMarked) throw corruptJournalError(path, damagedLine ?? lines + 1, option);
  return { entries, good: content.subarray(0, bytes), lines, last, epoch };
}

/**
 * Parses the lines up to the first damaged one, whatever the mark covers, for a repair. Throws
 * E-JOURNAL if one contains an entry of an unknown kind.
 */
export function salvageLines(
  content: Buffer,
  { path, kinds }: Pick<ParseOptions, 'path' | 'kinds'>,
): ParsedJournal {
  const lines = linesIn(content);
  let end = 0;
  let last = noChecksum;
  for (const { line, sum, end: lineEnd } of linesOf(lines)) {
    if (!line) break;
    [end, last] = [lineEnd, sum];
  }
  const mark = { bytes: end, checksum: last };
  return parseJournal(lines.subarray(0, end), { path, kinds, option: unnamedOption, mark });
}

/** Adds a line with these entries behind the valid lines. */
export function addLine(found: ParsedJournal, entries: readonly JournalEntry[]): ParsedJournal {
  const { epoch, good } = found;
  const line = { line: found.lines + 1, epoch, synced: good.length, entries };
  const [text, last] = formatLine(line, found.last);
  return {
    entries: [...found.entries, ...entries],
    good: Buffer.concat([good, Buffer.from(text)]),
    lines: line.line,
    last,
    epoch,
  };
}

/** Returns the part of a file that contains lines; in format 1, all of it. */
function linesIn(content: Buffer): Buffer {
  const first = linesOf(content).next();
  if (!first.done && first.value.line?.line === 1) return content;
  return content.subarray(linesStart);
}

/** Reads the run header from the first line; undefined if that line is damaged. */
export function readJournalHeader(content: Buffer): unknown {
  for (const { line } of linesOf(linesIn(content))) return line?.about;
  return undefined;
}

/** Iterates over the complete lines; `line` is undefined if the checksum does not match. */
function* linesOf(
  content: Buffer,
): Generator<{ line: JournalLine | undefined; sum: string; end: number }> {
  let before = noChecksum;
  for (let start = 0, end = 0; (end = content.indexOf('\n', start) + 1) > 0; start = end) {
    const sum = content.toString('latin1', start, Math.min(start + 8, end - 1));
    const json = content.subarray(start + 9, Math.max(start + 9, end - 1));
    const isWhole = content[start + 8] === 0x20 && sum === checksum(json, before);
    yield { line: isWhole ? (JSON.parse(json.toString()) as JournalLine) : undefined, sum, end };
    before = /^[\da-f]{8}$/.test(sum) ? sum : noChecksum;
  }
}

export const corruptJournalError = (
  file: string,
  line: number | undefined,
  option: OptionName,
): EngagectlError => {
  const what = line === undefined ? 'is damaged or missing' : `is damaged in line ${line}`;
  const run = basename(dirname(file));
  return new EngagectlError('E-JOURNAL', `the journal ${file} ${what}`, {
    why: 'entries that were on disk are missing, so the progress of the run is not known',
    fix: `restore the file; or commit what it proves and report the rest as unknown with "engagectl runs repair ${run}"; or restart with ${option('fresh')}, which resends everything, events and demerges included`,
    file,
    ...(line !== undefined && { line }),
  });
};

const unknownKind = (file: string, line: number, { kind }: JournalEntry): EngagectlError =>
  new EngagectlError('E-JOURNAL', `line ${line} of the journal ${file} has an unknown entry`, {
    why: `another version of engagectl wrote ${JSON.stringify(kind) ?? 'an entry without a kind'}`,
    fix: 'resume with the version that wrote it; nothing was sent, and the journal is unchanged',
    file,
    line,
  });

/** An entry of a journal. Its kind is a key of a table of reducers. */
export interface JournalEntry {
  readonly kind: string;
}

/**
 * Reducers by kind of entry: each adds an entry to the state. To add a kind, add a line; an older
 * version that meets one refuses the journal and loses nothing.
 */
type EntryReducers<State> = Readonly<Record<string, (state: State, entry: never) => void>>;

/** Any entry of a table of reducers. */
export type EntryOf<Table> = {
  [Kind in keyof Table & string]: Table[Kind] extends (state: never, entry: infer Entry) => void
    ? { readonly kind: Kind } & Entry
    : never;
}[keyof Table & string];

/** Kinds of entries that a journal may contain. */
export type KnownKinds<Entry extends JournalEntry> = Readonly<Record<Entry['kind'], unknown>>;

/** Applies the entries to a state. */
export function replay<State>(
  reducers: EntryReducers<State>,
  entries: readonly JournalEntry[],
  state: State,
): State {
  for (const entry of entries) reducers[entry.kind]?.(state, entry as never);
  return state;
}
