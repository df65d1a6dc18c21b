import { crc32 } from 'node:zlib';
import { EngagectlError, type OptionName } from '../../errors.js';
import type { JournalEntry } from './entry-table.js';

/** What a line `<CRC-32> <JSON>` holds. */
interface JournalLine {
  /** Rises with each owner of the journal. */
  readonly epoch: number;
  /** Bytes of the file that were on the disk when the line was written. */
  readonly synced: number;
  readonly entries: readonly JournalEntry[];
}

interface ParseOptions {
  readonly path: string;
  readonly kinds: Readonly<Record<string, unknown>>;
  readonly option: OptionName;
}

export interface ParsedJournal {
  readonly entries: readonly JournalEntry[];
  /** The good lines at the beginning. */
  readonly good: Buffer;
  /** Of the last owner; 0 before the first. */
  readonly epoch: number;
}

export function journalLine(line: JournalLine): string {
  const json = JSON.stringify(line);
  return `${checksum(json)} ${json}\n`;
}

/**
 * The good lines. Throws E-JOURNAL when one is damaged of which a later one knows that it was on
 * the disk, or when one was written by a version that knows more kinds of entries.
 */
export function parseJournal(
  content: Buffer,
  { path, kinds, option }: ParseOptions,
): ParsedJournal {
  const entries: JournalEntry[] = [];
  let bytes = 0;
  let epoch = 0;
  let damagedLine: number | undefined;
  let number = 0;
  for (const { text, end } of linesOf(content)) {
    number += 1;
    const line = parseLine(text);
    if (!line) damagedLine ??= number;
    else if (damagedLine === undefined) {
      for (const entry of line.entries) {
        if (!Object.hasOwn(kinds, entry.kind)) throw unknownKind(path, number, entry);
        entries.push(entry);
      }
      bytes = end;
      epoch = Math.max(epoch, line.epoch);
    } else if (line.synced > bytes) throw damaged(path, damagedLine, option);
  }
  return { entries, good: content.subarray(0, bytes), epoch };
}

/** The complete lines, without and with their line feed. */
function* linesOf(content: Buffer): Generator<{ text: Buffer; end: number }> {
  for (let start = 0, end = 0; (end = content.indexOf('\n', start) + 1) > 0; start = end) {
    yield { text: content.subarray(start, end - 1), end };
  }
}

function parseLine(text: Buffer): JournalLine | undefined {
  const json = text.subarray(9);
  if (text.toString('latin1', 0, 9) !== `${checksum(json)} `) return undefined;
  return JSON.parse(json.toString()) as JournalLine;
}

const checksum = (json: string | Buffer): string => crc32(json).toString(16).padStart(8, '0');

const damaged = (file: string, line: number, option: OptionName): EngagectlError =>
  new EngagectlError('E-JOURNAL', `the journal ${file} is damaged in line ${line}`, {
    why: 'its checksum does not fit, so it cannot tell how far the run came',
    fix: `start anew with ${option('fresh')}`,
    file,
    line,
  });

const unknownKind = (file: string, line: number, { kind }: JournalEntry): EngagectlError =>
  new EngagectlError('E-JOURNAL', `line ${line} of the journal ${file} is not known`, {
    why: `another version of engagectl wrote ${JSON.stringify(kind) ?? 'an entry without a kind'} there`,
    fix: 'go on with the version that wrote it; nothing was sent, and the journal is as it was',
    file,
    line,
  });
