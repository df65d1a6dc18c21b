import { constants, type BigIntStats } from 'node:fs';
import { lstat, open, unlink, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { EngagectlError, unnamedOption, type OptionName } from '../errors.js';
import { fsyncFolder } from '../files/atomic-write.js';
import { fileWriteError } from '../files/file-errors.js';
import { isOwn } from '../files/ownership.js';

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;

/** A length of a file in bytes, and the CRC-32 of that prefix. */
export interface FileCheckpoint {
  readonly bytes: number;
  readonly crc: number;
}

export const emptyFileCheckpoint: FileCheckpoint = { bytes: 0, crc: 0 };

/** Bytes per read. */
const blockBytes = 1 << 22;

/** How a file is named in errors, and the user who must own it; undefined: anybody, if something else tells that it is ours. */
export interface FileRules {
  readonly option: OptionName;
  readonly uid?: number | undefined;
}

/** An append-only private file (0600) that can be truncated to a checkpoint and resumed. */
export class CheckpointFile {
  readonly path: string;
  readonly #option: OptionName;
  readonly #file: FileHandle;
  #bytes = 0;
  #crc = 0;

  /** Creates the file. Throws E-FILE-WRITE, with the cause EEXIST if it exists. */
  static async create(path: string, option: OptionName): Promise<CheckpointFile> {
    try {
      const file = await open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        fsyncFolder(dirname(path));
      } catch (error) {
        await file.close();
        await unlink(path); // created above
        throw error;
      }
      return new CheckpointFile(path, file, option);
    } catch (error) {
      throw fileWriteError({ file: path, done: 'created', option }, error);
    }
  }

  /**
   * Opens the file and truncates it to `mark`. Creates a new file if the mark is empty, because
   * an existing file may belong to somebody who can read it. Throws E-RUN-CHANGED if the content
   * up to the mark differs.
   */
  static async resume(
    path: string,
    mark: FileCheckpoint,
    rules: FileRules,
  ): Promise<CheckpointFile> {
    const { option } = rules;
    if (mark.bytes === 0) {
      await makeRoom(path, option);
      return CheckpointFile.create(path, option);
    }
    const file = new CheckpointFile(path, await openVerified(path, mark, rules), option);
    try {
      await file.#guarded('written', async () => fsyncFolder(dirname(path)));
      await file.truncate(mark);
    } catch (error) {
      await file.close();
      throw error;
    }
    return file;
  }

  /** Writes the part of another file that `mark` covers to a new file, which stays closed. Throws like `resume`. */
  static async copy(
    from: string,
    to: string,
    { mark, option }: { readonly mark: FileCheckpoint; readonly option: OptionName },
  ): Promise<void> {
    const source = new CheckpointFile(from, await openVerified(from, mark, { option }), option);
    try {
      source.#bytes = mark.bytes;
      const copy = await source.copyTo(await CheckpointFile.create(to, option));
      await copy.close();
    } finally {
      await source.close();
    }
  }

  private constructor(path: string, file: FileHandle, option: OptionName) {
    this.path = path;
    this.#option = option;
    this.#file = file;
  }

  get mark(): FileCheckpoint {
    return { bytes: this.#bytes, crc: this.#crc };
  }

  async write(bytes: Buffer): Promise<void> {
    await this.#guarded('written', () => writeAll(this.#file, bytes, this.#bytes));
    this.#crc = crc32(bytes, this.#crc);
    this.#bytes += bytes.length;
  }

  async truncate({ bytes, crc }: FileCheckpoint): Promise<void> {
    await this.#guarded('written', () => this.#file.truncate(bytes));
    this.#bytes = bytes;
    this.#crc = crc;
  }

  /** Makes all writes durable. */
  async sync(): Promise<void> {
    await this.#guarded('written', () => this.#file.datasync());
  }

  /** Fills `bytes` from the file, starting at `position`. */
  async read(bytes: Buffer, position: number): Promise<void> {
    await this.#guarded('read', () => readAll(this.#file, bytes, position));
  }

  /** See `identityOf`. */
  async identity(): Promise<string> {
    return identityOf(await this.#file.stat({ bigint: true }));
  }

  /** Returns the size of the file, which another program may have changed. */
  async size(): Promise<number> {
    return (await this.#file.stat()).size;
  }

  /** Sets the time of the last status change (ctime), if the file system has modes. */
  async touch(): Promise<void> {
    const { mode } = await this.#file.stat();
    await this.#file.chmod(mode).catch(() => undefined);
  }

  /** Whether the path still names this file. */
  async isInPlace(): Promise<boolean> {
    const found = await lstat(this.path).catch(() => undefined);
    const { ino, dev } = await this.#file.stat();
    return found?.ino === ino && found.dev === dev;
  }

  /** Copies the content to a new file, which is closed if that fails. */
  async copyTo(copy: CheckpointFile): Promise<CheckpointFile> {
    try {
      for (let at = 0; at < this.#bytes; at += blockBytes) {
        const block = Buffer.allocUnsafe(Math.min(blockBytes, this.#bytes - at));
        await this.read(block, at);
        await copy.write(block);
      }
      await copy.sync();
      return copy;
    } catch (error) {
      await copy.close();
      throw error;
    }
  }

  /** Idempotent. */
  close(): Promise<void> {
    return this.#file.close();
  }

  async #guarded<T>(done: 'read' | 'written', work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw fileWriteError({ file: this.path, done, option: this.#option }, error);
    }
  }
}

/**
 * Returns the number of a file and the time of its creation, which it keeps when it is renamed. The number alone is
 * given to another file once this one is removed.
 */
export const identityOf = ({ ino, birthtimeNs }: BigIntStats): string => `${ino} ${birthtimeNs}`;

/** Removes a regular file, in order to create it; leaves links and devices. */
async function makeRoom(path: string, option: OptionName): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isFile()) await removeFile(path, option, 'created');
}

/**
 * Removes a file, if there is one. Throws E-FILE-WRITE, as for a folder or a file of another user. `rm` would take a file
 * that it may not unlink for a folder.
 */
export async function removeFile(
  file: string,
  option: OptionName,
  done: 'removed' | 'created' = 'removed',
): Promise<void> {
  try {
    await unlink(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw fileWriteError({ file, done, option }, error);
  }
}

/** Throws E-RUN-CHANGED unless the file starts with the content of `mark`. */
export async function verifyCheckpoint(
  path: string,
  mark: FileCheckpoint,
  rules: FileRules,
): Promise<void> {
  await (await openVerified(path, mark, rules, O_RDONLY)).close();
}

/**
 * Opens a file that starts with the content of `mark`. It is the file that was verified: another user may give its name
 * to another one. Throws E-RUN-CHANGED; E-FILE-WRITE if it cannot be written.
 */
async function openVerified(
  path: string,
  mark: FileCheckpoint,
  { option, uid }: FileRules,
  access = O_RDWR,
): Promise<FileHandle> {
  const changed = (why: string, cause?: unknown) =>
    new EngagectlError('E-RUN-CHANGED', `${path} changed since the export wrote it`, {
      why,
      fix: `restart the export with ${option('fresh')}`,
      file: path,
      cause,
    });
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const flags = access | O_NOFOLLOW | O_NONBLOCK;
  const file = await open(path, flags).catch((cause: NodeJS.ErrnoException) => {
    const isChanged = ['ENOENT', 'ELOOP', 'ENXIO', 'EISDIR', 'ENOTDIR'].includes(cause.code ?? '');
    if (isChanged || access !== O_RDWR) throw changed('it cannot be opened', cause);
    throw fileWriteError({ file: path, done: 'written', option }, cause);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw changed('it is not a regular file');
    // Its owner could read what is added to it, whoever knows the content up to the mark.
    if (!isOwn(stats.uid, { uid })) throw changed(`it belongs to another user (uid ${stats.uid})`);
    const { size } = stats;
    if (size < mark.bytes) throw changed(`it has ${size} bytes and had ${mark.bytes}`);
    if ((await crcOf(file, mark.bytes)) !== mark.crc) throw changed('its content was edited');
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Whether the file exists and starts with the content of `mark`. */
export const matchesCheckpoint = async (path: string, mark: FileCheckpoint): Promise<boolean> =>
  verifyCheckpoint(path, mark, { option: unnamedOption }).then(
    () => true,
    () => false,
  );

async function crcOf(file: FileHandle, length: number): Promise<number> {
  const buffer = Buffer.allocUnsafe(Math.min(length, blockBytes));
  let crc = 0;
  for (let at = 0; at < length; at += buffer.length) {
    const block = buffer.subarray(0, Math.min(buffer.length, length - at));
    await readAll(file, block, at);
    crc = crc32(block, crc);
  }
  return crc;
}

/** Writes all bytes. `write` may stop short, as at a size limit; the next call then fails. */
export async function writeAll(file: FileHandle, bytes: Buffer, position: number | null) {
  for (let done = 0; done < bytes.length;) {
    const at = position === null ? null : position + done;
    done += (await file.write(bytes, done, bytes.length - done, at)).bytesWritten;
  }
}

async function readAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done);
    if (bytesRead === 0) throw new Error('unexpected end of file');
    done += bytesRead;
  }
}
