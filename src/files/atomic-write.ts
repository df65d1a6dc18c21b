import path from 'node:path';
import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';

const { O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_WRONLY } = constants;

/** Makes opening a symbolic link fail with ELOOP. Windows has no such flag. */
export const noFollow = constants.O_NOFOLLOW ?? 0;

interface FileMode {
  /** Permissions, narrowed by the umask. */
  readonly mode?: number;
}

/**
 * Replaces or creates a file atomically and durably. A symbolic link of that name is replaced, not
 * followed.
 */
export function replaceFile(file: string, content: string | Uint8Array, options?: FileMode): void {
  const temporary = new AtomicFile(file, options);
  temporary.write(content);
  temporary.commit();
}

/** Creates a file and syncs its content. Fails with EEXIST if the name is taken, by a link as well. */
export function createFile(
  file: string,
  content: string | Uint8Array,
  { mode = 0o600 }: FileMode = {},
): void {
  const descriptor = openSync(file, O_WRONLY | O_CREAT | O_EXCL | noFollow, mode);
  try {
    writeAll(descriptor, content);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a private file for appending and reading; creates it if needed. Fails with ELOOP for a link. */
export const openToAppend = (file: string): number =>
  openSync(file, O_RDWR | O_APPEND | O_CREAT | noFollow, 0o600);

/** Returns a path beside the target that nobody can predict, for its content while it is written. */
export function temporaryPath(target: string): string {
  const random = Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex');
  return path.join(path.dirname(target), `.engagectl-${random}.tmp`);
}

interface AtomicFileOptions extends FileMode {
  /** Each write goes to the end of the file. */
  readonly append?: boolean;
}

/**
 * Content of a file being written, in a temporary file beside it with a random name that nobody can
 * predict. A killed process leaves `.engagectl-….tmp` behind. On failure, removes the temporary file and
 * throws the file system's error.
 */
export class AtomicFile {
  readonly descriptor: number;
  /** Path of the temporary file. */
  readonly path: string;
  readonly #target: string;
  #isOpen = true;

  constructor(target: string, { mode = 0o600, append = false }: AtomicFileOptions = {}) {
    this.#target = target;
    this.path = temporaryPath(target);
    const flags = O_RDWR | O_CREAT | O_EXCL | noFollow | (append ? O_APPEND : 0);
    this.descriptor = openSync(this.path, flags, mode);
  }

  /** Writes all bytes, at `position` or after the previous write. */
  write(content: string | Uint8Array, position?: number): void {
    this.#guard(false, () => writeAll(this.descriptor, content, position));
  }

  /** Syncs the content, which may take long. */
  sync(): void {
    this.#guard(false, () => fsyncSync(this.descriptor));
  }

  /**
   * Syncs the content and renames it to the file's name. Without `overwrite`, fails with EEXIST if the
   * name is taken; `keepIfTaken` then leaves the content in the temporary file. `keepOpen` leaves the
   * descriptor to the caller.
   */
  commit({ overwrite = true, keepOpen = false, keepIfTaken = false } = {}): void {
    this.#guard(keepIfTaken, () => {
      fsyncSync(this.descriptor);
      if (!keepOpen) this.#close();
      if (overwrite) renameSync(this.path, this.#target);
      else renameToNew(this.path, this.#target);
      fsyncFolder(path.dirname(this.#target));
    });
  }

  /** Closes and removes the temporary. Has no effect after `commit`. */
  discard(): void {
    this.#close();
    rmSync(this.path, { force: true });
  }

  #guard(keepIfTaken: boolean, work: () => void): void {
    try {
      work();
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
      if (!isTaken || !keepIfTaken) this.discard();
      throw error;
    }
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.descriptor);
  }
}

/**
 * Writes all bytes. A single write may be short, as at a size limit or on a full disk; the next one then
 * reports why.
 */
export function writeAll(
  descriptor: number,
  content: string | Uint8Array,
  position: number | null = null,
): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length;) {
    const to = position === null ? null : position + at;
    at += writeSync(descriptor, bytes, at, bytes.length - at, to);
  }
}

/** File systems without hard links report one of these. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** Renames, but fails with EEXIST if the new name is taken; `rename` would replace the file. */
export function renameToNew(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!noLinks.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    createFile(to, '');
    renameSync(from, to);
    return;
  }
  unlinkSync(from);
}

/**
 * Renames a file to `….1` or the next number that is free, and replaces no file that another process gives that name at
 * the same time. Returns the new name. Does nothing unless `isWanted`: by default, if it does not exist.
 */
export function setAside(
  file: string,
  isWanted = (): boolean => isThere(file),
): string | undefined {
  for (let n = 1; isWanted(); n += 1) {
    const aside = `${file}.${n}`;
    try {
      createFile(aside, '');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw error;
    }
    try {
      if (isWanted()) {
        renameSync(file, aside); // syncing the new name takes a while
        return aside;
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        unlinkSync(aside);
        throw error;
      }
    }
    unlinkSync(aside); // another process was faster
  }
  return undefined;
}

/** Whether the name is taken, by a dangling link as well. */
const isThere = (name: string): boolean => lstatSync(name, { throwIfNoEntry: false }) !== undefined;

/**
 * Creates a directory (0700) and its missing parents; returns those created. Node's own `recursive`
 * never returns on Linux if an existing parent cannot contain a directory: under /proc, or behind a link
 * to a missing disk.
 */
export function makePrivateFolder(folder: string): readonly string[] {
  const missing: string[] = [];
  for (let at = folder; !isFolder(at) && at !== path.dirname(at); at = path.dirname(at)) {
    missing.unshift(at);
  }
  for (const each of missing) {
    try {
      mkdirSync(each, { mode: 0o700 });
    } catch (error) {
      if (!isFolder(each)) throw error; // unless another process was faster
    }
  }
  return missing;
}

function isFolder(name: string): boolean {
  try {
    return statSync(name).isDirectory();
  } catch {
    return false;
  }
}

/** Makes created and renamed files of a directory survive a power cut. */
export function fsyncFolder(folder: string): void {
  const descriptor = openFolder(folder);
  if (descriptor === undefined) return;
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Undefined on Windows, which cannot open directories: these error codes occur only there. */
function openFolder(folder: string): number | undefined {
  try {
    return openSync(folder, 'r');
  } catch (error) {
    if (['EISDIR', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
