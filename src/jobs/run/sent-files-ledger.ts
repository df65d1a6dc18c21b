import path from 'node:path';
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  readdirSync,
  readFileSync,
  readSync,
  writeSync,
  writevSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';
import { openToAppend, fsyncFolder } from '../../files/atomic-write.js';
import { makeStateFolder } from './run-folder.js';
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
  /** Baseline of a run that sent only changes. */
  readonly stream?: string;
  /** Options that change what is sent, of a run of events; `meaning` is their fingerprint. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Its events are in the event memory. */
  readonly remembered?: true;
  /**
   * Runs that sent the events of all sources, if every event was accepted. Only then a later run may skip
   * the sources.
   */
  readonly runs?: readonly string[];
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
  'schemaVersion' | 'run' | 'command' | 'accountId' | 'host' | 'meaning' | 'shard' | 'options'
> {
  /** ISO 8601. */
  readonly started: string;
  readonly kind: NonIdempotentKind;
  /** Beginnings of the inputs; none for a pipe. */
  readonly sources: readonly LedgerHead[];
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

const schemaVersion = 1;

/** Returns the path of the ledger of a folder of runs. */
export const ledgerPath = (runs: string): string => path.join(path.dirname(runs), 'ledger.ndjson');

/**
 * Reads the matching finished runs of the ledger, whose lines may list many thousands of inputs, and the starts
 * of all others. `made` is the run that was just created, whose folder does not explain a torn line.
 */
export function readLedger(
  runs: string,
  matches: (line: LedgerEntry) => boolean = () => true,
  made?: string,
) {
  const lines: LedgerEntry[] = [];
  const open = new OpenRuns();
  /** Cause of lines that could not be read. */
  let damage: string | undefined;
  let text: string;
  try {
    text = readFileSync(ledgerPath(runs), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { lines, open, damage: code === 'ENOENT' ? undefined : message };
  }
  let end = 0;
  for (const [index, line] of text.split('\n').entries()) {
    end += line.length + 1;
    if (line === '' && end > text.length) break;
    const found = parsed(line);
    if (typeof found !== 'string') {
      open.add(found);
      if ('finished' in found && matches(found)) lines.push(found);
    } else if (!isTorn(line, { runs, made, isLast: end > text.length, later: text.slice(end) })) {
      damage ??= `line ${index + 1} ${found}`;
    }
  }
  return { lines, open, damage };
}

type LedgerLine = LedgerEntry | LedgerStart | DiscardedRun;

/** Starts of the runs that did not send all of their inputs. */
class OpenRuns {
  /** Runs that may still send records, were killed, or stopped early. */
  unfinished: readonly LedgerStart[] = [];
  /** Runs that sent events before they were discarded. */
  discarded: readonly LedgerStart[] = [];

  add(line: LedgerLine): void {
    if ('started' in line) {
      this.unfinished = [...this.unfinished, line];
      return;
    }
    // Without a journal, a run that stopped early ends with inputs that it did not read to the end.
    const isOf = ({ run, sources }: LedgerStart) =>
      run === line.run && ('discarded' in line || line.sources.length >= sources.length);
    if ('discarded' in line && line.sentEvents) {
      this.discarded = [...this.discarded, ...this.unfinished.filter(isOf)];
    }
    if (this.unfinished.some(isOf)) this.unfinished = this.unfinished.filter((one) => !isOf(one));
  }
}

/**
 * Whether a line is incomplete because its writer was killed: it has the torn mark, the folder of
 * its run exists, or a later line of that run follows. Any other bad line was damaged on disk.
 */
function isTorn(
  line: string,
  {
    runs,
    made,
    ...place
  }: { runs: string; made?: string | undefined; isLast: boolean; later: string },
): boolean {
  if (line.endsWith(torn)) return true;
  const run = /^\{"schemaVersion":\d+,"run":"([\w-]+)"/.exec(line)?.[1];
  if (run === undefined) return (place.isLast || line.includes('\0')) && hasOthers(runs, made);
  return existsSync(path.join(runs, run)) || place.later.includes(`"run":"${run}"`);
}

const hasOthers = (runs: string, made: string | undefined): boolean =>
  existsSync(runs) && readdirSync(runs).some((name) => !name.startsWith('.') && name !== made);

/** Mark appended to the incomplete line of a killed process. */
const torn = ' torn';

/** Parses a line; returns the cause if it is invalid. */
function parsed(line: string): LedgerLine | string {
  const end = line.lastIndexOf(',"checksum":"');
  const json = `${line.slice(0, end)}}`;
  if (end < 0 || !line.endsWith(`,"checksum":"${checksum(json)}"}`)) return 'is damaged';
  const found = JSON.parse(json) as LedgerLine;
  if (found.schemaVersion === schemaVersion) return found;
  return `has version ${found.schemaVersion}, and this program supports ${schemaVersion}`;
}

const checksum = (json: string | Buffer, before = 0): string =>
  crc32(json, before).toString(16).padStart(8, '0');

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
  return [...pieces, Buffer.from(`,"checksum":"${checksum('}', sum)}"}\n`)];
}

const sourcesAtOnce = 1000;

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
