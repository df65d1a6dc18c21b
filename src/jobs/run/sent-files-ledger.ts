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

/** A write that ended with its whole input worked through. */
export interface LedgerEntry {
  readonly schemaVersion: number;
  readonly run: string;
  /** ISO 8601. */
  readonly finished: string;
  readonly command: string;
  readonly accountId: string;
  readonly host: string;
  readonly sources: readonly LedgerSource[];
  /** Digest of the options that change what is sent. */
  readonly meaning: string;
  readonly read: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly exitCode: number;
  /** Kinds of records it sent that do harm when they are sent twice. */
  readonly once: readonly NonIdempotentKind[];
  /** The part of the records that it sent, like `2/8`. */
  readonly shard?: string;
  /** Of a run that sent only what had changed: where that is remembered. */
  readonly stream?: string;
}

/** An input of a run, whose decoded text is `bytes` long. */
export interface LedgerSource {
  readonly name: string;
  readonly bytes: number;
  /** Of all of it, and of its beginning; see DigestedText. */
  readonly digest: string;
  readonly head: string;
  readonly records: number;
  /** Behind its last record, see Position; its end where that is not said. */
  readonly offset?: number;
  readonly line: number;
  readonly state?: string;
  /** It did not end with a line end. */
  readonly endsInLine?: true;
}

const schemaVersion = 1;

/** The ledger that belongs to a folder of runs. */
export const ledgerPath = (runs: string): string => path.join(path.dirname(runs), 'ledger.ndjson');

/**
 * What the runs of a folder did, as far as it is wanted: a line may name many thousands of inputs. The folder
 * of a run that was `made` just now says nothing of what is torn.
 */
export function readLedger(
  runs: string,
  isWanted: (line: LedgerEntry) => boolean = () => true,
  made?: string,
) {
  const lines: LedgerEntry[] = [];
  /** What keeps other lines from being read, if there are any. */
  let damage: string | undefined;
  let text: string;
  try {
    text = readFileSync(ledgerPath(runs), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { lines, damage: code === 'ENOENT' ? undefined : message };
  }
  let end = 0;
  for (const [index, line] of text.split('\n').entries()) {
    end += line.length + 1;
    if (line === '' && end > text.length) break;
    const found = parsed(line);
    if (typeof found !== 'string') {
      if (isWanted(found)) lines.push(found);
    } else if (!isTorn(line, { runs, made, isLast: end > text.length, later: text.slice(end) })) {
      damage ??= `line ${index + 1} ${found}`;
    }
  }
  return { lines, damage };
}

/**
 * Its writer was killed, or the power was cut, before the disk had it: then it is said so, or the folder
 * of its run is there, or a later line of that run. Any other line was damaged when the disk had it.
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

/** Ends what a killed process left of its line. */
const torn = ' torn';

/** The line, or why it is none. */
function parsed(line: string): LedgerEntry | string {
  const end = line.lastIndexOf(',"checksum":"');
  const json = `${line.slice(0, end)}}`;
  if (end < 0 || !line.endsWith(`,"checksum":"${checksum(json)}"}`)) return 'is damaged';
  const found = JSON.parse(json) as LedgerEntry;
  if (found.schemaVersion === schemaVersion) return found;
  return `is of version ${found.schemaVersion}, and this program knows ${schemaVersion}`;
}

const checksum = (json: string | Buffer, before = 0): string =>
  crc32(json, before).toString(16).padStart(8, '0');

/** A run that ended, with its inputs one by one. */
type EndedRun = Omit<LedgerEntry, 'schemaVersion' | 'sources'> & {
  readonly sources: Iterable<LedgerSource>;
};

/** The line as bytes, in pieces: as one text, that of many thousands of inputs would take several times their room. */
function lineOf({ sources, ...run }: EndedRun): readonly Buffer[] {
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

/** Adds a line, and waits until the disk has it. What is damaged stays so. Throws what stands in the way. */
export function appendLedger(
  runs: string,
  run: EndedRun,
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

/** At once, so that no other process's line can come between; what a full disk did not take, again. */
function writeAll(descriptor: number, pieces: readonly Buffer[]): void {
  const total = pieces.reduce((sum, { length }) => sum + length, 0);
  let written = writevSync(descriptor, pieces);
  if (written === total) return;
  const line = Buffer.concat(pieces);
  while (written < total) written += writeSync(descriptor, line, written);
}

/** Whether something follows its last line end. */
function endsInLine(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
}
