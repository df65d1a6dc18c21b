import { constants } from 'node:fs';
import { link, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileError } from './file-error.js';
import type { Sink } from './sink.js';
import { setAside, targetExists, type Target, type TargetRules } from './target.js';

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/**
 * A file under its partial name, 0600, which gets its final name at the end and not before:
 * whoever finds the final name finds a whole document.
 */
export class FileSink implements Sink {
  readonly name: string;
  readonly rewindable = true;
  position = 0;
  readonly #target: Target & { kind: 'file' };
  readonly #overwrite: boolean;
  readonly #file: FileHandle;
  #closed = false;

  static async open(target: Target & { kind: 'file' }, rules: TargetRules): Promise<FileSink> {
    try {
      if (rules.fresh) await setAside(target.partial);
      const file = await open(target.partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      return new FileSink(target, rules, file);
    } catch (error) {
      throw fileError(target.partial, 'created', error);
    }
  }

  private constructor(target: Target & { kind: 'file' }, rules: TargetRules, file: FileHandle) {
    this.name = target.name;
    this.#target = target;
    this.#overwrite = rules.overwrite;
    this.#file = file;
  }

  async write(bytes: Buffer): Promise<void> {
    try {
      await writeAll(this.#file, bytes, this.position);
    } catch (error) {
      throw fileError(this.#target.partial, 'written', error);
    }
    this.position += bytes.length;
  }

  async truncate(position: number): Promise<void> {
    await this.#file.truncate(position);
    this.position = position;
  }

  async finish(): Promise<void> {
    const { name, path, partial } = this.#target;
    try {
      await this.#file.truncate(this.position);
      await this.#file.sync();
      await this.abort();
      if (this.#overwrite) await rename(partial, path);
      else await renameToNew(partial, path);
      await syncFolder(dirname(path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
        throw fileError(name, 'finished', error);
      throw targetExists(name, {
        why: 'it appeared during the run',
        fix: `the export is complete in ${partial}: move it where you want it`,
      });
    }
  }

  async abort(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }
}

/** `write` may stop short, as at a size limit; the next call then says why. */
export async function writeAll(file: FileHandle, bytes: Buffer, position: number | null) {
  for (let done = 0; done < bytes.length;) {
    const at = position === null ? null : position + done;
    done += (await file.write(bytes, done, bytes.length - done, at)).bytesWritten;
  }
}

/** File systems without hard links say one of these. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** `rename` would replace a file that appeared meanwhile; `link` fails then, with EEXIST. */
async function renameToNew(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!noLinks.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    const place = await open(to, O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    await place.close();
    return rename(from, to);
  }
  return unlink(from);
}

/** Without this a power cut may take back the new name. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
