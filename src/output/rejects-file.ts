import { existsSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EngagectlError, type OptionName } from '../errors.js';
import { fsyncFolder } from '../files/atomic-write.js';
import { emptyFileCheckpoint, CheckpointFile, type FileCheckpoint } from './checkpoint-file.js';
import { escapeCsvCell } from './formats.js';

interface RejectsOptions {
  readonly option: OptionName;
  /** Of the input, for a file of CSV. */
  readonly columns?: readonly string[] | undefined;
  /** Is told of each. */
  readonly heard?: ((reject: Reject) => void) | undefined;
}

/**
 * The rejects file: created at the first reject with mode 0600; an older one is renamed to `….1`
 * first. After an error of the disk nothing more is written: what is not in the file must not
 * count as settled.
 */
export class RejectsFile {
  /** As the user may name it. */
  readonly path: string;
  /** The same, absolute. */
  readonly file: string;
  readonly #how: RejectsOptions;
  #marked: CheckpointFile | undefined;
  #lines: string[] = [];
  #waiting = 0;
  #hasWay = false;
  #synced = true;
  #failure: EngagectlError | undefined;

  /** `file` undefined: none is written. */
  constructor(path: string, file: string | undefined, how: RejectsOptions) {
    this.path = path;
    this.file = file ?? '';
    this.#how = how;
  }

  /**
   * Goes on with the file that an earlier part of the run began, cut back to what its journal
   * knows. Throws E-REJECTS-CHANGED when that part is not what it was, E-RUN-CHANGED when it is
   * another file.
   */
  async resume({
    file,
    mark,
  }: {
    readonly file: string | undefined;
    readonly mark: FileCheckpoint;
  }) {
    if (file === undefined) return;
    if (mark.bytes === 0) return this.#guard(() => rm(file, { force: true }));
    if (file !== this.file) throw otherFile(file, this.#how.option);
    try {
      this.#marked = await CheckpointFile.resume(file, mark, this.#how.option);
    } catch (error) {
      const isOfDisk = error instanceof EngagectlError && error.id === 'E-FILE-WRITE';
      throw isOfDisk ? this.#failed(error) : rejectsChanged(this.path, this.#how.option);
    }
    this.#hasWay = true;
  }

  /** True from the first reject on that was written. */
  get exists(): boolean {
    return this.#marked !== undefined;
  }

  /** Lines that are not written, or that the disk did not take. */
  get missing(): number {
    return this.#lines.length;
  }

  /** Characters that were added and are not written. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The disk has all lines that were added. */
  get isSynced(): boolean {
    return this.#synced && this.#lines.length === 0;
  }

  /** What stands in the file. */
  get mark(): FileCheckpoint {
    return this.#marked?.mark ?? emptyFileCheckpoint;
  }

  /** Collects a line; `write` writes it. */
  add(reject: Reject): void {
    const { columns, heard } = this.#how;
    heard?.(reject);
    if (this.file === '') return;
    // What will never be written is only counted.
    const line = this.#failure ? '' : columns ? rejectRow(reject, columns) : lineOf(reject);
    this.#lines.push(line);
    this.#waiting += line.length;
  }

  /**
   * Renames an older file. True when the next `write` is the one that creates the file: whoever
   * keeps a journal notes it before that.
   */
  makeWay(): boolean {
    if (this.#failure) throw this.#failure;
    if (this.#hasWay || this.#lines.length === 0) return false;
    try {
      if (existsSync(this.file)) {
        renameSync(this.file, `${this.file}.1`);
        fsyncFolder(dirname(this.file)); // the journal will count on the name
      }
    } catch (error) {
      throw this.#failed(error);
    }
    this.#hasWay = true;
    return true;
  }

  /** Writes the lines that are there when it is called. One at a time. Throws E-FILE-WRITE. */
  async write(): Promise<void> {
    this.makeWay();
    const lines = this.#lines.length;
    if (lines === 0) return;
    const { columns } = this.#how;
    const header = columns && !this.#marked ? rejectHeader(columns) : '';
    const text = this.#lines.join('');
    const bytes = Buffer.from(header + text);
    this.#synced = false;
    await this.#guard(async () => {
      this.#marked ??= await CheckpointFile.create(this.file, this.#how.option);
      await this.#marked.write(bytes);
    });
    this.#lines.splice(0, lines);
    this.#waiting -= text.length;
  }

  /** The same, and waits until the disk has them. */
  async sync(): Promise<void> {
    await this.write();
    if (this.#synced) return;
    await this.#guard(async () => this.#marked?.sync());
    this.#synced = true;
  }

  /** Writes nothing more: what a journal could not be told of must not come into the file. */
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
    const cause = error instanceof EngagectlError ? error.cause : error;
    this.#failure = new EngagectlError(
      'E-FILE-WRITE',
      `cannot write the rejects file ${this.path}`,
      {
        why: cause instanceof Error ? cause.message : String(cause),
        fix:
          this.mark.bytes === 0
            ? `free space or name another place with ${this.#how.option('rejects', '<file>')}`
            : `free space; the same command with ${this.#how.option('resume')} goes on`,
        resumes: this.mark.bytes > 0,
        file: this.path,
        cause,
      },
    );
    return this.#failure;
  }
}

const rejectsChanged = (path: string, option: OptionName): EngagectlError =>
  new EngagectlError('E-REJECTS-CHANGED', `${path} was changed since the run began`, {
    why: 'the rest of the run would be added to it',
    fix: `restore it and go on with ${option('resume')}, or move it away and start anew with ${option('fresh')}`,
    resumes: true,
    file: path,
  });

const otherFile = (begun: string, option: OptionName): EngagectlError =>
  new EngagectlError('E-RUN-CHANGED', `the run was begun with the rejects file ${begun}`, {
    why: 'its records would be spread over two files',
    fix: `go on with ${option('rejects', begun)}`,
    file: begun,
  });

function lineOf(reject: Reject): string {
  const { source, line, stage, code, error, record, recordBase64, ...cells } = reject;
  const head = JSON.stringify({ source, line, stage, code, error }).slice(0, -1);
  if (recordBase64 !== undefined) return `${head},"recordBase64":"${recordBase64}"}\n`;
  const named = cells.columns ? `,${JSON.stringify(cells).slice(1, -1)}` : '';
  return `${head},"record":${record ?? 'null'}${named}}\n`;
}

/** Columns of a rejects file of CSV behind those of the input; uploads ignore them. */
export const rejectColumns = ['engagectl_line', 'engagectl_error'];

/** The header of a rejects file of CSV. */
export const rejectHeader = (columns: readonly string[]): string =>
  rowOf([...columns, ...rejectColumns]);

/**
 * A reject as a row under the header of its input. A line that could not be read stands there as it
 * was read, so that it can be corrected in its place.
 */
export function rejectRow(reject: Reject, columns: readonly string[]): string {
  const { line, stage, code, error, record = 'null', recordBase64 } = reject;
  const kind = code === undefined ? stage : `${stage} ${code}`;
  const bytes = recordBase64 === undefined ? '' : `; base64: ${recordBase64}`;
  const about = rowOf([String(line), `${kind}: ${error}${bytes}`]);
  const read = JSON.parse(record) as unknown;
  if (typeof read === 'string') return `${betweenCommas(read, reject)},${about}`;
  const members = typeof read === 'object' && read !== null ? read : {};
  const cells = new Map(Object.entries(members));
  return `${rowOf(columns.map((name) => textOf(cells.get(name)))).slice(0, -1)},${about}`;
}

/** The line of another dialect cell by cell, as far as they can be told apart; of ours as it is. */
function betweenCommas(line: string, { delimiter = ',', quote = '"', escape = quote }: Reject) {
  if (delimiter === ',' && quote === '"' && escape === quote) return line;
  const isOpen = (cell: string): boolean =>
    quote !== '' && cell.startsWith(quote) && !(cell.length > 1 && cell.endsWith(quote));
  const cells: string[] = [];
  for (const piece of line.split(delimiter)) {
    const last = cells.at(-1);
    if (last !== undefined && isOpen(last)) cells.splice(-1, 1, `${last}${delimiter}${piece}`);
    else cells.push(piece);
  }
  const told = isOpen(cells.at(-1)!) ? line.split(delimiter) : cells;
  return told
    .map((cell) => {
      const isQuoted = quote !== '' && cell.startsWith(quote) && !isOpen(cell);
      if (isQuoted) return escapeCsvCell(cell.slice(1, -1).replaceAll(`${escape}${quote}`, quote));
      return cell.includes(',') ? escapeCsvCell(cell) : cell;
    })
    .join(',');
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

const rowOf = (cells: readonly string[]): string => `${cells.map(escapeCsvCell).join(',')}\n`;

export type RejectStage = 'parse' | 'validate' | 'service' | 'unknown' | 'notSent';

/** One line of the rejects file; `record` is JSON text of what was read. */
export interface Reject {
  readonly source: string;
  readonly line: number;
  readonly stage: RejectStage;
  readonly code?: number | undefined;
  readonly error: string;
  /** JSON text of the member `record`. */
  readonly record?: string;
  /** Instead of `record`: bytes that are no UTF-8. */
  readonly recordBase64?: string;
  /** Of a line of a CSV that could not be read: what its cells would have been called, … */
  readonly columns?: readonly string[] | undefined;
  /** … and what stands between and around them, where it is not what RFC 4180 says. */
  readonly delimiter?: string | undefined;
  readonly quote?: string | undefined;
  readonly escape?: string | undefined;
}
