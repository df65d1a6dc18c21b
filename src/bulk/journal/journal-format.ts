import { crc32 } from 'node:zlib';
import { EngagectlError, type OptionName } from '../../errors.js';

/** What a line `<checksum> <JSON>` holds. */
interface JournalLine {
  /** From 1 on. */
  readonly line: number;
  /** Rises with each owner of the journal. */
  readonly epoch: number;
  /** Bytes of the file that were on the disk when the line was written. */
  readonly synced: number;
  readonly entries: readonly JournalEntry[];
  /** Of the first line: whose journal it is. */
  readonly about?: unknown;
}

/** How much of a journal the disk has, and the checksum of the last line of that. */
export interface FsyncMark {
  readonly bytes: number;
  readonly checksum: string;
}

interface ParseOptions {
  readonly path: string;
  readonly kinds: Readonly<Record<string, unknown>>;
  readonly option: OptionName;
  readonly mark: FsyncMark;
}

export interface ParsedJournal {
  readonly entries: readonly JournalEntry[];
  /** The good lines at the beginning. */
  readonly good: Buffer;
  /** How many they are, and the checksum of the last one. */
  readonly lines: number;
  readonly last: string;
  /** Of the last owner; 0 before the first. */
  readonly epoch: number;
}

/** What comes before the first line. */
export const noChecksum = '00000000';

/** CRC-32, going on from another one. */
export const checksum = (json: string | Buffer, before = noChecksum): string =>
  crc32(json, Number.parseInt(before, 16)).toString(16).padStart(8, '0');

/** A line and its checksum, which covers the checksum of the line before. */
export function formatLine(line: JournalLine, before: string): readonly [string, string] {
  const json = JSON.stringify(line);
  const sum = checksum(json, before);
  return [`${sum} ${json}\n`, sum];
}

/**
 * The good lines. Throws E-JOURNAL when one is damaged or missing that was on the disk, as the mark
 * or a later line knows, or when one was written by a version that knows more kinds of entries.
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

/** Whose journal it is, as its first line says where that is whole. */
export function readJournalHeader(content: Buffer): unknown {
  for (const { line } of linesOf(content)) return line?.about;
  return undefined;
}

/** The complete lines with their checksums; `line` is undefined where that does not fit. */
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
  return new EngagectlError('E-JOURNAL', `the journal ${file} ${what}`, {
    why: 'what the run did and the disk had does not stand there any more, so it cannot tell how far the run came',
    fix: `nothing was sent; put the file back as it was, or start anew with ${option('fresh')}, which does again all that the run did: events and demerges a second time`,
    file,
    ...(line !== undefined && { line }),
  });
};

const unknownKind = (file: string, line: number, { kind }: JournalEntry): EngagectlError =>
  new EngagectlError('E-JOURNAL', `line ${line} of the journal ${file} is not known`, {
    why: `another version of engagectl wrote ${JSON.stringify(kind) ?? 'an entry without a kind'} there`,
    fix: 'go on with the version that wrote it; nothing was sent, and the journal is as it was',
    file,
    line,
  });

/** What a journal says, in the order in which it became true. Its kind is one of a table. */
export interface JournalEntry {
  readonly kind: string;
}

/**
 * The kinds of entries of a journal: a name for each, and what an entry adds to what is known. A
 * new kind is a new line here; an older version that meets one refuses the journal, and loses
 * nothing.
 */
type EntryReducers<State> = Readonly<Record<string, (known: State, entry: never) => void>>;

/** Any entry of a table. */
export type EntryOf<Table> = {
  [Kind in keyof Table & string]: Table[Kind] extends (known: never, entry: infer Entry) => void
    ? { readonly kind: Kind } & Entry
    : never;
}[keyof Table & string];

/** A table whose entries a journal may hold. */
export type KnownKinds<Entry extends JournalEntry> = Readonly<Record<Entry['kind'], unknown>>;

/** Adds what the entries say to what is known. */
export function replay<State>(
  table: EntryReducers<State>,
  entries: readonly JournalEntry[],
  known: State,
): State {
  for (const entry of entries) table[entry.kind]?.(known, entry as never);
  return known;
}
