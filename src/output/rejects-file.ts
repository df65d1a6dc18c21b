import { createReadStream, existsSync, fstatSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { isCutRejectText, isRejectsText, rejectColumns } from '../contract/file-formats.js';
import { EngagectlError, type OptionName } from '../errors.js';
import {
  AtomicFile,
  fsyncFolder,
  renameToNew,
  setAside,
  temporaryPath,
} from '../files/atomic-write.js';
import { isWriteDenied } from '../files/file-errors.js';
import { readChecked } from '../files/ownership.js';
import {
  emptyFileCheckpoint,
  identityOf,
  CheckpointFile,
  type FileCheckpoint,
} from './checkpoint-file.js';
import {
  isMap,
  parseLossless,
  stringifyLossless,
  type LosslessJson,
} from '../text/lossless-json.js';
import { typedColumns } from '../text/json-flattener.js';
import { escapeCsvCell, quoteCsvCell } from './formats.js';

interface RejectsOptions {
  readonly option: OptionName;
  /** Columns of the input; writes CSV instead of NDJSON. */
  readonly columns?: readonly string[] | undefined;
  /** Called with each rejected record. */
  readonly onReject?: ((reject: Reject) => void) | undefined;
  /** Names of the inputs, which tell the lines of this run from others; not needed if it is never resumed. */
  readonly sources?: readonly string[] | undefined;
  readonly warn?: ((text: string) => void) | undefined;
}

/** Length and CRC of a rejects file, and which file it was (`identityOf`), which earlier versions did not write. */
export interface RejectsMark extends FileCheckpoint {
  readonly identity?: string;
}

/** Place of a line in the file, without the header of a CSV, in bytes. */
interface WrittenLine {
  readonly ordinal: number;
  readonly start: number;
  readonly end: number;
}

/** Maximum bytes of a file that is sorted. */
const sortedMaximum = 16 * 1024 * 1024;

/** Bytes behind the mark that are read: a killed run leaves less. */
const uncommittedMaximum = 64 * 1024 * 1024;

/**
 * The rejects file, created with mode 0600 at the first reject. An older file is renamed to `….1`,
 * or to the next number that is free: it may hold the only list of the records of unknown outcome.
 * A file that changed since this object was made is of another run, whose summary names it: it stays,
 * and the new file gets the number. No other run renames a file with a number.
 * After a disk error nothing more is written: rejects missing in the file must not be committed.
 */
export class RejectsFile {
  readonly #path: string;
  /** Absolute path without the number; empty if no file is written. */
  readonly #unnumbered: string;
  /** State of the file that had the name at the start. */
  readonly #older: string | undefined;
  /** End of the name, such as `.1`; empty if the file has no number. */
  #number = '';
  readonly #how: RejectsOptions;
  #marked: CheckpointFile | undefined;
  #identity = '';
  #lines: string[] = [];
  #waiting = 0;
  #synced = true;
  #failure: EngagectlError | undefined;
  /** Lines in the order of the file; undefined for a file too long to be sorted, or of an earlier attempt. */
  #written: WrittenLine[] | undefined = [];

  /** Without `file`, nothing is written. */
  constructor(path: string, file: string | undefined, how: RejectsOptions) {
    this.#path = path;
    this.#unnumbered = file ?? '';
    this.#older = file && stateOf(file);
    this.#how = how;
  }

  /** Path for messages. Final after `restore`, because another run may give the file a number. */
  get path(): string {
    return this.#path + this.#number;
  }

  /** Absolute path; empty if no file is written. */
  get file(): string {
    return this.#unnumbered + this.#number;
  }

  /**
   * Reopens the file of an earlier attempt, truncated to the length in the journal: the rest is of a crash, and is
   * written again. If only another file is there, which begins with the same lines, or the rest has lines of others, it is
   * renamed to `….1`, and the run continues in a copy of those lines. Throws E-REJECTS-CHANGED if its content changed,
   * E-RUN-CHANGED if it has another name.
   * `isMoved`: the file came with the folder of the run, where no other run writes.
   */
  async resume({
    file,
    mark,
    isMoved = false,
  }: {
    readonly file: string | undefined;
    readonly mark: RejectsMark;
    readonly isMoved?: boolean;
  }) {
    if (file === undefined) return;
    // Rejects that a killed process or another run left in the meantime.
    if (mark.bytes === 0) return this.#guard(async () => void setAside(file));
    const journaled = endOf(file, this.#unnumbered);
    if (journaled === undefined) throw otherFile(file, this.#how.option);
    try {
      this.#number = numberOf(this.#unnumbered, mark.identity) ?? journaled;
      const isOther = !isMoved && !isOwn(this.file, mark);
      const isShared = !isMoved && !isOther && (await hasForeignLines(this.file, mark, this.#how));
      const former = (isOther || isShared) && (await this.#setAsideForCopy(mark));
      await this.#use(await CheckpointFile.resume(this.file, mark, this.#how));
      if (isShared && former) this.#warnOfLines(former);
    } catch (error) {
      throw this.#failed(error);
    }
    this.#written = undefined;
  }

  /** Sets the file aside, and writes the lines of this run to a new one of its name. Returns the path of the old one. */
  async #setAsideForCopy(mark: FileCheckpoint): Promise<string> {
    const { file } = this;
    const copy = temporaryPath(file);
    try {
      await CheckpointFile.copy(file, copy, { mark, option: this.#how.option });
      const aside = setAside(file) ?? file;
      renameToNew(copy, file);
      fsyncFolder(dirname(file));
      return this.#path + aside.slice(this.#unnumbered.length);
    } finally {
      rmSync(copy, { force: true });
    }
  }

  /**
   * Continues in a copy if another program appended lines, which the next ones would overwrite. Throws
   * E-REJECTS-CHANGED if the file is shorter than what the run wrote.
   */
  async #keepForeignLines(marked: CheckpointFile): Promise<void> {
    const { mark } = this;
    if ((await this.#checkedSize(marked)) === mark.bytes) return;
    const number = numberOf(this.#unnumbered, this.#identity);
    let former = `the moved ${this.path}`;
    if (number === undefined) await this.#use(await marked.copyTo(await this.#createFile()));
    else {
      this.#number = number; // another run may have renamed it
      former = await this.#setAsideForCopy(mark);
      await this.#use(await CheckpointFile.resume(this.file, mark, this.#how));
    }
    await marked.close();
    this.#warnOfLines(former);
  }

  /** Returns the size of the file. Throws E-REJECTS-CHANGED if lines of the run are gone. */
  async #checkedSize(marked: CheckpointFile): Promise<number> {
    const size = await marked.size();
    const { bytes } = marked.mark;
    if (size >= bytes) return size;
    const why = `it has ${size} bytes, and the run wrote ${bytes}`;
    throw rejectsChanged(this.path, this.#how.option, why);
  }

  #warnOfLines(former: string): void {
    const why = `${former} has lines that another program may have added`;
    this.#how.warn?.(`${why}; the run continues in ${this.path}`);
  }

  async #use(marked: CheckpointFile): Promise<void> {
    this.#marked = marked;
    this.#identity = await marked.identity();
  }

  /** Whether the file was created. */
  get exists(): boolean {
    return this.#marked !== undefined;
  }

  /** Number of lines not written. */
  get missing(): number {
    return this.#lines.length;
  }

  /** Characters added and not yet written. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Whether all added lines are synced. */
  get isSynced(): boolean {
    return this.#synced && this.#lines.length === 0;
  }

  /** Length and CRC of the file, and which file it is. */
  get mark(): RejectsMark {
    return this.#marked ? { ...this.#marked.mark, identity: this.#identity } : emptyFileCheckpoint;
  }

  /** Queues a line for `write`. `ordinal`: place of the record in the input. */
  add(reject: Reject, ordinal: number): void {
    const { columns, onReject } = this.#how;
    onReject?.(reject);
    if (this.file === '') return;
    // After a failure, lines are only counted.
    const line = this.#failure ? '' : columns ? rejectRow(reject, columns) : lineOf(reject);
    this.#lines.push(line);
    this.#waiting += line.length;
    const bytes = Buffer.byteLength(line);
    const start = this.#written?.at(-1)?.end ?? 0;
    if (start + bytes > sortedMaximum) this.#written = undefined;
    this.#written?.push({ ordinal, start, end: start + bytes });
  }

  /**
   * Creates the file for the first lines. Returns undefined if it exists or there are no lines: while somebody awaits
   * a promise, other lines could be added.
   */
  create(): Promise<void> | undefined {
    if (this.#failure) throw this.#failure;
    if (this.#marked || this.#lines.length === 0) return undefined;
    return this.#guard(async () => this.#use(await this.#createFile()));
  }

  /** Writes the lines queued at the time of the call. Not concurrently. Throws E-FILE-WRITE, E-REJECTS-CHANGED. */
  async write(): Promise<void> {
    const created = this.create();
    if (created) await created;
    const lines = this.#lines.length;
    if (lines === 0) return;
    const { columns } = this.#how;
    const header = columns && this.mark.bytes === 0 ? rejectHeader(columns) : '';
    const text = this.#lines.join('');
    const bytes = Buffer.from(header + text);
    this.#synced = false;
    await this.#guard(async () => {
      await this.#keepForeignLines(this.#marked!);
      await this.#marked!.write(bytes);
    });
    this.#lines.splice(0, lines);
    this.#waiting -= text.length;
  }

  /** Creates the file, with a number if another run has the name. */
  async #createFile(): Promise<CheckpointFile> {
    const older = this.#older;
    try {
      setAside(this.#unnumbered, () => older !== undefined && stateOf(this.#unnumbered) === older);
    } catch (error) {
      // In a folder such as /tmp, the file of another user cannot be renamed.
      if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
    }
    for (let n = 0; ; n += 1) {
      this.#number = n === 0 ? '' : `.${n}`;
      try {
        return await CheckpointFile.create(this.file, this.#how.option);
      } catch (error) {
        const { code } = (error as EngagectlError).cause as NodeJS.ErrnoException;
        if (code !== 'EEXIST') throw error;
      }
    }
  }

  /** Writes and syncs. */
  async sync(): Promise<void> {
    await this.write();
    if (this.#synced) return;
    await this.#guard(async () => this.#marked?.sync());
    this.#synced = true;
  }

  /**
   * Finds the file if another run renamed it, and writes it again if another program removed, renamed or replaced it:
   * its lines went to the old one. Throws E-FILE-WRITE, and E-REJECTS-CHANGED if lines of the run are gone.
   */
  async restore(): Promise<void> {
    const marked = this.#marked;
    if (!marked) return;
    await this.#guard(async () => void (await this.#checkedSize(marked)));
    await marked.touch(); // a run that started before leaves it in place
    if (await marked.isInPlace()) return;
    await this.#guard(async () => {
      const number = numberOf(this.#unnumbered, this.#identity);
      if (number === undefined) {
        await this.#use(await marked.copyTo(await this.#createFile()));
        await marked.close();
      } else this.#number = number;
    });
  }

  /**
   * Puts the lines of a closed file in the order of the input: outcomes arrive in another one. Call when the run is
   * over, because its journal refers to the lines as they were written. Leaves the file as it is if that fails.
   */
  sort(): void {
    const written = this.missing > 0 ? [] : (this.#written ?? []);
    const sorted = written.toSorted((a, b) => a.ordinal - b.ordinal);
    if (sorted.every((line, at) => line === written[at])) return;
    try {
      const text = readOwn(this.file, this.mark);
      const head = text.length - written.at(-1)!.end; // header of a CSV
      if (text.length !== this.mark.bytes || crc32(text) !== this.mark.crc) return;
      const lines = sorted.map(({ start, end }) => text.subarray(head + start, head + end));
      const temporary = new AtomicFile(this.file);
      temporary.write(Buffer.concat([text.subarray(0, head), ...lines]));
      temporary.sync();
      // Another run may have put its own file there while this one was written.
      if (isOwn(this.file, this.mark)) temporary.commit();
      else temporary.discard();
    } catch {
      // the disk is full, for example
    }
  }

  /** Closes the file without writing: lines that are not journaled must not get into it. */
  async close(): Promise<void> {
    await this.#marked?.close();
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #failed(error: unknown): EngagectlError {
    if (error instanceof EngagectlError && error.id === 'E-REJECTS-CHANGED')
      return (this.#failure = error);
    if (error instanceof EngagectlError && error.id === 'E-RUN-CHANGED')
      return (this.#failure = rejectsChanged(this.path, this.#how.option));
    const cause = error instanceof EngagectlError ? error.cause : error;
    const repair = isWriteDenied(cause) ? 'make its folder writable' : 'free disk space';
    this.#failure = new EngagectlError(
      'E-FILE-WRITE',
      `cannot write the rejects file ${this.path}`,
      {
        why: cause instanceof Error ? cause.message : String(cause),
        fix:
          this.mark.bytes === 0
            ? `${repair}, or choose another file with ${this.#how.option('rejects', '<file>')}; add ${this.#how.option('resume')} if records were sent already`
            : `${repair}, then rerun with ${this.#how.option('resume')}`,
        resumes: this.mark.bytes > 0,
        file: this.path,
        cause,
      },
    );
    return this.#failure;
  }
}

/** Returns the number at the end of a file name, such as `.1`, or nothing; undefined for another name. */
function endOf(name: string, unnumbered: string): string | undefined {
  const end = name.slice(unnumbered.length);
  return name.startsWith(unnumbered) && /^(?:\.\d+)?$/.test(end) ? end : undefined;
}

/** Returns the number that the file with this identity has now; undefined if it is not there. */
function numberOf(unnumbered: string, identity: string | undefined): string | undefined {
  const folder = dirname(unnumbered);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names
    .flatMap((name) => endOf(name, basename(unnumbered)) ?? [])
    .find((end) => {
      const found = lstatSync(unnumbered + end, { bigint: true, throwIfNoEntry: false });
      return found && identityOf(found) === identity;
    });
}

/**
 * Sets the file of an earlier attempt aside, but no file that another run has put in its place. Returns where its lines
 * are; undefined if they are gone.
 */
export function setAsideOwn(file: string, mark: RejectsMark): string | undefined {
  for (const unnumbered of [file, file.replace(/\.\d+$/, '')]) {
    const number = numberOf(unnumbered, mark.identity);
    if (number === undefined || unnumbered + number === file) continue;
    return hasLines(unnumbered + number, mark) ? unnumbered + number : undefined;
  }
  const aside = isOwn(file, mark) ? setAside(file) : undefined;
  return aside !== undefined && hasLines(aside, mark) ? aside : undefined;
}

/** Whether the lines of a run are still in its rejects file: nobody has removed, emptied or shortened it. */
export const hasLines = (file: string, { bytes }: FileCheckpoint): boolean =>
  (lstatSync(file, { throwIfNoEntry: false })?.size ?? -1) >= bytes;

/** Returns which file is there, and its last change; undefined if there is none. */
function stateOf(file: string): string | undefined {
  try {
    const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
    return found && `${identityOf(found)} ${found.ctimeNs}`;
  } catch {
    return undefined; // the default name is too long
  }
}

/** Reads the file of the run. Throws an Error for what another user or program has given its name, such as a pipe. */
const readOwn = (file: string, { identity, bytes }: RejectsMark): Buffer =>
  readChecked(file, (descriptor) => {
    const found = fstatSync(descriptor, { bigint: true });
    if (identityOf(found) !== identity || Number(found.size) !== bytes) throw new Error('changed');
  });

/** Whether the file is the one that the journal is of. For an earlier version, one that has nothing else in it. */
function isOwn(file: string, { identity, bytes }: RejectsMark): boolean {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (!found) return true; // resuming reports it
  return identity === undefined ? found.size <= bytes : identity === identityOf(found);
}

/** Whether lines behind the mark are of others than a killed run. Rows of a CSV do not tell. */
async function hasForeignLines(
  file: string,
  { bytes }: FileCheckpoint,
  { sources, columns }: RejectsOptions,
): Promise<boolean> {
  const size = lstatSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= bytes || sources === undefined || columns) return false;
  if (size - bytes > uncommittedMaximum) return true;
  const rest = await text(createReadStream(file, { start: bytes }));
  return !isRejectsText(rest, sources);
}

const rejectsChanged = (
  path: string,
  option: OptionName,
  why = 'the run would append to it',
): EngagectlError =>
  new EngagectlError('E-REJECTS-CHANGED', `${path} changed since the run started`, {
    why,
    fix: `restore it and rerun with ${option('resume')}, or move it away and restart with ${option('fresh')}, which sends again what was sent (events: with ${option('again')})`,
    resumes: true,
    file: path,
  });

const otherFile = (journaled: string, option: OptionName): EngagectlError =>
  new EngagectlError('E-RUN-CHANGED', `the run was started with the rejects file ${journaled}`, {
    why: 'the rejects would be split over two files',
    fix: `rerun with ${option('rejects', journaled)}`,
    file: journaled,
  });

function lineOf(reject: Reject): string {
  const { source, line, stage, code, error, record, recordBase64, ...cells } = reject;
  const head = JSON.stringify({ source, line, stage, code, error }).slice(0, -1);
  if (recordBase64 !== undefined) return `${head},"recordBase64":"${recordBase64}"}\n`;
  const named = cells.columns ? `,${JSON.stringify(cells).slice(1, -1)}` : '';
  return `${head},"record":${record ?? 'null'}${named}}\n`;
}

/** Returns the header row of a CSV rejects file. */
export const rejectHeader = (columns: readonly string[]): string =>
  rowOf([...columns, ...rejectColumns]);

/**
 * Encodes a reject as a row under the input's header. A line with a parse error is copied unchanged,
 * so that it can be corrected in place. The error behind it is quoted, so that a quote that is open in the
 * line ends there, and not in the next row, of which only the inside of cells would be left as rows.
 */
export function rejectRow(reject: Reject, columns: readonly string[]): string {
  const { line, stage, code, error, record = 'null', recordBase64 } = reject;
  const kind = code === undefined ? stage : `${stage} ${code}`;
  const bytes = recordBase64 === undefined ? '' : `; base64: ${recordBase64}`;
  const about = `${kind}: ${error}${bytes}`;
  const read = parseLossless(record);
  if (typeof read === 'string')
    return `${betweenCommas(read, reject, columns.length)},${line},${quoteCsvCell(about)}\n`;
  const cells = isMap(read) ? read : new Map<string, LosslessJson>();
  const row = columns.map((name) => {
    const value = cells.get(name);
    const text = textOf(value);
    // an upload of a CSV export reads text that looks like another value as text if it is quoted
    const isTyped = typeof value === 'string' && isJsonValue(value) && typedColumns.test(name);
    return isTyped ? quoteCsvCell(text) : escapeCsvCell(text);
  });
  return `${row.join(',')},${rowOf([String(line), about])}`;
}

/** Text that looks like JSON: a number, a boolean, an object without members, or a list. */
const isJsonValue = (text: string): boolean =>
  /^(?:true|false|-?\d[\d.eE+-]*|\{\s*\}|\[.*\])$/s.test(text);

/**
 * Converts a line of another CSV dialect cell by cell; returns a line of ours and of a list as it was read, so that it
 * is rejected again until it is corrected. A line that is cut or cannot be split, or of which our dialect would make a
 * valid row, becomes one cell, which is none.
 */
function betweenCommas(
  line: string,
  { delimiter = ',', quote = '"', escape = quote }: Reject,
  columns: number,
): string {
  const oneCell = `${quoteCsvCell(line)}${columns === 1 ? ',' : ''}`;
  if (isCutRejectText(line)) return oneCell;
  const isRfc4180 = quote === '"' && escape === quote;
  // A list has no cells. What its quotes mean there must not make one valid cell of the line here.
  if (delimiter === '') return isRfc4180 ? line : `${line},`;
  if (delimiter === ',' && isRfc4180) return line;
  const cells: string[] = [];
  for (let at = 0; at <= line.length; at += delimiter.length) {
    const isQuoted = quote !== '' && line.startsWith(quote, at);
    const cell = isQuoted
      ? quotedCell(line, at, { quote, escape })
      : plainCell(line, at, delimiter);
    if (cell === undefined) return oneCell;
    ({ end: at } = cell);
    if (at < line.length && !line.startsWith(delimiter, at)) return oneCell;
    const isOurs = isQuoted || cell.text.includes(',') || quote !== '"';
    const isWrong = !isQuoted && quote !== '' && cell.text.includes(quote);
    if (isOurs && isWrong) return oneCell;
    cells.push(isOurs ? escapeCsvCell(cell.text) : cell.text);
  }
  return cells.join(',');
}

/** A cell without its quotes and escapes, and the place behind it. */
interface LineCell {
  readonly text: string;
  readonly end: number;
}

function plainCell(line: string, at: number, delimiter: string): LineCell {
  const found = line.indexOf(delimiter, at);
  const end = found < 0 ? line.length : found;
  return { text: line.slice(at, end), end };
}

/** Returns the cell whose quote is at `start`; undefined if the quote is not closed. */
function quotedCell(
  line: string,
  start: number,
  { quote, escape }: { readonly quote: string; readonly escape: string },
): LineCell | undefined {
  let text = '';
  for (let at = start + quote.length; at < line.length;) {
    const isEscape = escape !== '' && line.startsWith(escape, at);
    const escaped = at + escape.length;
    if (isEscape && (escape !== quote || line.startsWith(quote, escaped))) {
      text += line.slice(escaped, escaped + 1);
      at = escaped + 1;
    } else if (line.startsWith(quote, at)) return { text, end: at + quote.length };
    else text += line[at++];
  }
  return undefined;
}

const textOf = (value: LosslessJson | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : stringifyLossless(value);

const rowOf = (cells: readonly string[]): string => `${cells.map(escapeCsvCell).join(',')}\n`;

/** A record that was not accepted. */
export interface RejectedRecord {
  /** Input file, or `stdin`. */
  readonly source: string;
  /** First line of the record, 1-based. */
  readonly line: number;
  readonly stage: 'parse' | 'validate' | 'service' | 'unknown' | 'alreadySent' | 'notSent';
  /** Error code of the service. */
  readonly code?: number | undefined;
  readonly error: string;
  /** JSON text of the input record. */
  readonly record?: string;
  /** Set instead of `record` for bytes that are not UTF-8. */
  readonly recordBase64?: string;
}

export type RejectStage = RejectedRecord['stage'];

/** One line of the rejects file. */
export interface Reject extends RejectedRecord {
  /** Column names of a CSV line with a parse error (none: of JSON that was held back), … */
  readonly columns?: readonly string[] | undefined;
  /** … and its dialect where it differs from RFC 4180. */
  readonly delimiter?: string | undefined;
  readonly quote?: string | undefined;
  readonly escape?: string | undefined;
}
