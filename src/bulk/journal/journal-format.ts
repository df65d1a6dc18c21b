import { crc32 } from 'node:zlib';
import { EngagectlError, type OptionName } from '../../errors.js';

/** The JSON of a line `<checksum> <JSON>`. */
interface JournalLine {
  /** Line number, 1-based. */
  readonly line: number;
  /** Incremented by each owner of the journal. */
  readonly epoch: number;
  /** Bytes of the file that were synced when the line was written. */
  readonly synced: number;
  readonly entries: readonly JournalEntry[];
  /** In the first line: the run that the journal belongs to. */
  readonly about?: unknown;
}

/** How much of a journal was synced, and the checksum of the last synced line. */
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
  /** The valid lines at the start. */
  readonly good: Buffer;
  /** Their number, and the checksum of the last one. */
  readonly lines: number;
  readonly last: string;
  /** Epoch of the last owner; 0 before the first. */
  readonly epoch: number;
}

/** Checksum before the first line. */
export const noChecksum = '00000000';

/** Computes the CRC-32, continuing from a previous one. */
export const checksum = (json: string | Buffer, before = noChecksum): string =>
  crc32(json, Number.parseInt(before, 16)).toString(16).padStart(8, '0');

/** Formats a line and its checksum, which also covers the previous line's. */
export function formatLine(line: JournalLine, before: string): readonly [string, string] {
  const json = JSON.stringify(line);
  const sum = checksum(json, before);
  return [`${sum} ${json}\n`, sum];
}

/**
 * Parses a journal. Throws E-JOURNAL if a line that was synced, according to the mark or a later line,
 * is damaged or missing, or if a newer version wrote an unknown kind of entry.
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

/** Returns the owner recorded in the first line, if that is valid. */
export function readJournalHeader(content: Buffer): unknown {
  for (const { line } of linesOf(content)) return line?.about;
  return undefined;
}

/** Yields complete lines with their checksums; `line` is undefined if the checksum does not match. */
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
    why: 'lines that were synced to disk are missing, so the progress of the run is unknown',
    fix: `nothing was sent now; restore the file, or start from scratch with ${option('fresh')}, which repeats everything the run did: events and demerges are sent a second time`,
    file,
    ...(line !== undefined && { line }),
  });
};

const unknownKind = (file: string, line: number, { kind }: JournalEntry): EngagectlError =>
  new EngagectlError('E-JOURNAL', `line ${line} of the journal ${file} is not known`, {
    why: `another version of engagectl wrote ${JSON.stringify(kind) ?? 'an entry without a kind'} there`,
    fix: 'resume with the version that wrote it; nothing was sent, and the journal is unchanged',
    file,
    line,
  });

/** A journal entry; its kind is a key of a table. */
export interface JournalEntry {
  readonly kind: string;
}

/**
 * Reducers by kind of entry. To add a kind, add a member; an older version refuses a journal that
 * contains it, and loses nothing.
 */
type EntryReducers<State> = Readonly<Record<string, (known: State, entry: never) => void>>;

/** Any entry of a table. */
export type EntryOf<Table> = {
  [Kind in keyof Table & string]: Table[Kind] extends (known: never, entry: infer Entry) => void
    ? { readonly kind: Kind } & Entry
    : never;
}[keyof Table & string];

/** The known kinds of entries. */
export type KnownKinds<Entry extends JournalEntry> = Readonly<Record<Entry['kind'], unknown>>;

/** Applies entries to a state. */
export function replay<State>(
  table: EntryReducers<State>,
  entries: readonly JournalEntry[],
  known: State,
): State {
  for (const entry of entries) table[entry.kind]?.(known, entry as never);
  return known;
}
