import path from 'node:path';
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  writeSync,
  writevSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';
import { checksumEnd, hexChecksum, withoutChecksum } from '../../bulk/journal/journal-format.js';
import { openToAppend, fsyncFolder } from '../../files/atomic-write.js';
import { EngagectlError } from '../../errors.js';
import { makeStateFolder } from './run-folder.js';
import type { Wording } from '../job-context.js';
import type { NonIdempotentKind } from '../../bulk/outcomes/outcome-counts.js';

/** A write that processed its whole input. */
export interface LedgerEntry {
  readonly schemaVersion: number;
  readonly run: string;
  /** ISO 8601. */
  readonly finished: string;
  readonly command: string;
  readonly accountId: string;
  readonly host: string;
  readonly sources: readonly LedgerSource[];
  /** Fingerprint of the options that change what is sent. */
  readonly meaning: string;
  readonly read: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly exitCode: number;
  /** Kinds of sent records that are not idempotent. */
  readonly once: readonly NonIdempotentKind[];
  /** Shard of the records, like `2/8`. */
  readonly shard?: string;
  /** Time zone of times without an offset, an IANA name; default UTC. Only of uploads. */
  readonly timezone?: string;
  /** Baseline of a run that sent only changes. */
  readonly stream?: string;
  /** Options that change what is sent, of a run of records that are not idempotent; `meaning` is their fingerprint. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Its events are in the event memory. */
  readonly remembered?: true;
}

/** An input of a run. `bytes` is the length of the decoded text. */
export interface LedgerSource {
  readonly name: string;
  readonly bytes: number;
  /** Digests of the whole text and of its beginning; see TextDigest. */
  readonly digest: string;
  readonly head: string;
  readonly records: number;
  /** End of the last record, see Position; default: `bytes`. */
  readonly offset?: number;
  readonly line: number;
  readonly state?: string;
  /** The text did not end with a newline. */
  readonly endsInLine?: true;
}

/** A write that is about to send its first record of a kind that is not idempotent. */
export interface LedgerStart extends Pick<
  LedgerEntry,
  | 'schemaVersion'
  | 'run'
  | 'command'
  | 'accountId'
  | 'host'
  | 'meaning'
  | 'timezone'
  | 'shard'
  | 'options'
> {
  /** ISO 8601. */
  readonly started: string;
  readonly kind: NonIdempotentKind;
  /** It reads so many records at most, and may leave the rest of its inputs unread. */
  readonly limit?: number | undefined;
  /** Beginnings of the inputs; none for a pipe without a name. */
  readonly sources: readonly LedgerHead[];
  /** The run has finished, but did not read all of its inputs. Derived, and written only with a start that is restored. */
  readonly isFinished?: true;
}

/** Beginning of an input: its first `headBytes` bytes, or all if there are fewer. */
export type LedgerHead = Pick<LedgerSource, 'name' | 'bytes' | 'digest' | 'head'>;

/** An unfinished write that will not be resumed. */
export interface DiscardedRun extends Pick<LedgerEntry, 'schemaVersion' | 'run'> {
  /** ISO 8601. */
  readonly discarded: string;
  /** It may have sent events. */
  readonly sentEvents: boolean;
}

/** Members of a ledger line that identify a write. */
export type LedgerRun = Pick<
  LedgerEntry,
  'command' | 'accountId' | 'host' | 'meaning' | 'shard' | 'stream' | 'timezone'
>;

type LedgerCommand = Pick<LedgerRun, 'accountId' | 'command' | 'host'>;

/** Whether two runs wrote with the same command to the same account. */
export const isSameCommand = (one: LedgerCommand, other: LedgerCommand): boolean =>
  (['accountId', 'command', 'host'] as const).every((name) => one[name] === other[name]);

/** Time zone of a run that sent records with times. */
export const zoneNameOf = ({ timezone = 'UTC' }: Pick<LedgerEntry, 'timezone'>): string => timezone;

const schemaVersion = 1;

/** Returns the path of the ledger of a folder of runs. */
export const ledgerPath = (runs: string): string => path.join(path.dirname(runs), 'ledger.ndjson');

export interface LedgerQuery {
  /** Whether a finished run is wanted. */
  readonly matches?: (line: LedgerEntry) => boolean;
  /** The run that was just created, whose folder does not explain a torn line. */
  readonly made?: string | undefined;
  /** Where to begin: the `bytes` of an earlier reading, and the `open` runs it found. */
  readonly from?: number;
  readonly open?: OpenRuns;
}

/**
 * Reads the matching finished runs of the ledger, whose lines may list many thousands of inputs, and the starts
 * of all others. `bytes`: length up to the last line end.
 */
export function readLedger(
  runs: string,
  { matches = () => true, made, from = 0, open = new OpenRuns() }: LedgerQuery = {},
) {
  const lines: LedgerEntry[] = [];
  /** By their fingerprint, so that equal ones are in memory once. */
  const optionsOf = new Map<string, LedgerEntry['options']>();
  const doubtful: DoubtfulLine[] = [];
  let [bytes, number] = [from, 0];
  try {
    for (const { line, isWhole } of linesOf(ledgerPath(runs), from)) {
      number += 1;
      if (isWhole) bytes += line.length + 1;
      const found = parsed(line);
      const run = typeof found === 'string' ? runIn(line.toString()) : found.run;
      for (const one of doubtful) one.isFollowed ||= run !== undefined && one.run === run;
      if (typeof found === 'string') {
        const traits = traitsOf(line.toString());
        doubtful.push({ number, why: found, run, ...traits, isLast: !isWhole });
        continue;
      }
      open.add(found);
      if (!('finished' in found) || !matches(found)) continue;
      const options = optionsOf.get(found.meaning) ?? found.options;
      optionsOf.set(found.meaning, options);
      lines.push({ ...found, ...(found.options && { options }) });
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') return { lines, open, bytes, damage: message };
  }
  const damaged = doubtful.find((line) => !isTorn(line, { runs, made }));
  return { lines, open, bytes, damage: damaged && `line ${damaged.number} ${damaged.why}` };
}

/** Builds the error for records that are not sent because the ledger cannot be read. */
export function damagedLedger(runs: string, damage: string, { option }: Wording): EngagectlError {
  const file = ledgerPath(runs);
  return new EngagectlError('E-LEDGER', `the ledger ${file} cannot be read`, {
    why: `${damage}; these records are not safe to resend, and may have been sent before`,
    fix: `restore the file; or, if they were not sent, move it away or add ${option('again')}`,
    file,
  });
}

/** Yields the lines of a file without their line ends; `isWhole`: there is one. */
function* linesOf(file: string, from: number) {
  const descriptor = openSync(file, 'r');
  try {
    const chunk = Buffer.allocUnsafe(bytesAtOnce);
    let rest = Buffer.alloc(0);
    let position = fstatSync(descriptor).size < from ? 0 : from;
    for (;;) {
      const read = readSync(descriptor, chunk, 0, chunk.length, position);
      if (read === 0) break;
      position += read;
      const text = Buffer.concat([rest, chunk.subarray(0, read)]);
      let start = 0;
      for (let end = text.indexOf(0x0a); end >= 0; end = text.indexOf(0x0a, start)) {
        yield { line: text.subarray(start, end), isWhole: true };
        start = end + 1;
      }
      rest = text.subarray(start);
    }
    if (rest.length > 0) yield { line: rest, isWhole: false };
  } finally {
    closeSync(descriptor);
  }
}

const bytesAtOnce = 64 * 1024;

type LedgerLine = LedgerEntry | LedgerStart | DiscardedRun;

/** Starts of the runs that did not send all of their inputs. */
class OpenRuns {
  /** Runs that sent events before they were discarded. */
  readonly discarded: LedgerStart[] = [];
  readonly #starts = new Map<string, LedgerStart[]>();

  /** Runs that may still send records, were killed, or stopped early. */
  get unfinished(): readonly LedgerStart[] {
    return [...this.#starts.values()].flat();
  }

  /** Unfinished and discarded runs. */
  get all(): readonly LedgerStart[] {
    return [...this.unfinished, ...this.discarded];
  }

  /** Forgets a run whose records may be sent again. */
  discard(run: string): void {
    this.#starts.delete(run);
  }

  add(line: LedgerLine): void {
    const starts = this.#starts.get(line.run) ?? [];
    if ('started' in line) {
      this.#starts.set(line.run, [...starts, line]);
      return;
    }
    if ('discarded' in line && line.sentEvents) this.discarded.push(...starts);
    // Without a journal, or with a limit, a run ends with inputs that it did not read to the end.
    const mayHaveSent = 'finished' in line && line.accepted + line.unknown > 0;
    const left = mayHaveSent
      ? starts.filter(({ sources }) => line.sources.length < sources.length)
      : [];
    const finished = left.map((start) => ({ ...start, isFinished: true }) as const);
    if (finished.length > 0) this.#starts.set(line.run, finished);
    else this.#starts.delete(line.run);
  }
}

/** A line that cannot be read. */
interface DoubtfulLine {
  readonly number: number;
  readonly why: string;
  readonly run: string | undefined;
  /** It has the mark of an incomplete line. */
  readonly isMarked: boolean;
  /** It contains what a power cut leaves. */
  readonly hasNul: boolean;
  readonly isLast: boolean;
  /** A later line is of the same run. */
  isFollowed?: boolean;
}

const traitsOf = (text: string) => ({
  isMarked: text.endsWith(torn),
  hasNul: text.includes('\0'),
});

const runIn = (text: string): string | undefined =>
  /^\{"schemaVersion":\d+,"run":"([\w-]+)"/.exec(text)?.[1];

/**
 * Whether a line is incomplete because its writer was killed: it has the torn mark, the folder of
 * its run exists, or a later line of that run follows. Any other bad line was damaged on disk.
 */
function isTorn(
  { run, isMarked, isFollowed, isLast, hasNul }: DoubtfulLine,
  { runs, made }: { readonly runs: string; readonly made: string | undefined },
): boolean {
  if (isMarked || isFollowed) return true;
  if (run === undefined) return (isLast || hasNul) && hasOthers(runs, made);
  return existsSync(path.join(runs, run));
}

const hasOthers = (runs: string, made: string | undefined): boolean =>
  existsSync(runs) && readdirSync(runs).some((name) => !name.startsWith('.') && name !== made);

/** Mark appended to the incomplete line of a killed process. */
const torn = ' torn';

/** Parses a line; returns the cause if it is invalid. */
function parsed(line: Buffer): LedgerLine | string {
  const json = withoutChecksum(line);
  if (json === undefined) return 'is damaged';
  const found = JSON.parse(json) as LedgerLine;
  if (found.schemaVersion === schemaVersion) return found;
  return `has version ${found.schemaVersion}, and this program supports ${schemaVersion}`;
}

/** A ledger line whose inputs are iterated. */
type NewLine = (
  | Omit<LedgerEntry, 'schemaVersion' | 'sources'>
  | Omit<LedgerStart, 'schemaVersion' | 'sources'>
  | Omit<DiscardedRun, 'schemaVersion'>
) & { readonly sources: Iterable<LedgerHead> };

/** Serializes a line in pieces, because one string of many inputs takes several times the memory. */
function lineOf({ sources, ...run }: NewLine): readonly Buffer[] {
  const head = JSON.stringify({ schemaVersion, ...run }).slice(0, -1);
  const pieces = [Buffer.from(`${head},"sources":[`)];
  let texts: string[] = [];
  const flush = () => {
    if (texts.length > 0)
      pieces.push(Buffer.from(`${pieces.length > 1 ? ',' : ''}${texts.join()}`));
    texts = [];
  };
  for (const source of sources) {
    if (texts.push(JSON.stringify(source)) === sourcesAtOnce) flush();
  }
  flush();
  pieces.push(Buffer.from(']'));
  const sum = pieces.reduce((before, piece) => crc32(piece, before), 0);
  return [...pieces, Buffer.from(`${checksumEnd(hexChecksum('}', sum))}\n`)];
}

const sourcesAtOnce = 100;

/** Appends a line and syncs it to disk. Keeps damaged lines. Throws errors of the file system. */
export function appendLedger(
  runs: string,
  run: NewLine,
  { isDamaged }: { readonly isDamaged: boolean },
): void {
  const file = ledgerPath(runs);
  const line = lineOf(run);
  const before = isDamaged ? '\n' : `${torn}\n`;
  makeStateFolder(path.dirname(file));
  const descriptor = openToAppend(file);
  try {
    const isNew = fstatSync(descriptor).size === 0;
    writeAll(descriptor, endsInLine(descriptor) ? [Buffer.from(before), ...line] : line);
    fsyncSync(descriptor);
    if (isNew) fsyncFolder(path.dirname(file));
  } finally {
    closeSync(descriptor);
  }
}

/** Appends the line of a run that will not be resumed. Throws errors of the file system. */
export function appendDiscarded(
  runs: string,
  { now, ...discarded }: Pick<DiscardedRun, 'run' | 'sentEvents'> & { readonly now: number },
  ledger: { readonly isDamaged: boolean },
): void {
  const line = { ...discarded, discarded: new Date(now).toISOString(), sources: [] };
  appendLedger(runs, line, ledger);
}

/** Writes in one call, so lines of other processes cannot interleave; retries a short write. */
function writeAll(descriptor: number, pieces: readonly Buffer[]): void {
  const total = pieces.reduce((sum, { length }) => sum + length, 0);
  let written = writevSync(descriptor, pieces);
  if (written === total) return;
  const line = Buffer.concat(pieces);
  while (written < total) written += writeSync(descriptor, line, written);
}

/** Whether the file does not end with a newline. */
function endsInLine(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
}
