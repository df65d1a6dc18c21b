import path from 'node:path';
import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';

const { O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_TRUNC, O_WRONLY } = constants;

/** Makes opening a symbolic link fail with ELOOP. Windows has no such flag. */
export const noFollow = constants.O_NOFOLLOW ?? 0;

interface FileMode {
  /** Permissions, which the umask narrows. */
  readonly mode?: number;
}

/**
 * Replaces a file, or creates it: readers find the old content or the new one, whole, and the new one
 * survives a power cut. A symbolic link of that name is replaced, not followed.
 */
export function replaceFile(file: string, content: string | Uint8Array, options?: FileMode): void {
  const draft = new FileDraft(file, options);
  draft.write(content);
  draft.commit();
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

/** Opens a private file to add to its end, and to read it; creates it if need be. Fails with ELOOP at a link. */
export const openToAppend = (file: string): number =>
  openSync(file, O_RDWR | O_APPEND | O_CREAT | noFollow, 0o600);

interface DraftOptions extends FileMode {
  /** Each write goes to the end of the file. */
  readonly append?: boolean;
}

/**
 * The content of a file while it is being written: beside the file, under a random name that nobody can
 * have planted a link at. A killed process leaves `.engagectl-….tmp` behind. Whatever fails removes
 * the draft and throws what the file system says.
 */
export class FileDraft {
  readonly descriptor: number;
  readonly #target: string;
  readonly #path: string;
  #isOpen = true;

  constructor(target: string, { mode = 0o600, append = false }: DraftOptions = {}) {
    this.#target = target;
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex');
    this.#path = path.join(path.dirname(target), `.engagectl-${random}.tmp`);
    const flags = O_WRONLY | O_CREAT | O_EXCL | noFollow | (append ? O_APPEND : 0);
    this.descriptor = openSync(this.#path, flags, mode);
  }

  /** Writes all of it: at `position`, or behind what was written last. */
  write(content: string | Uint8Array, position?: number): void {
    this.#guard(() => writeAll(this.descriptor, content, position));
  }

  /**
   * Syncs the content and gives it the file's name. Without `overwrite`, fails with EEXIST if the name is
   * taken. `keepOpen` leaves the descriptor to the caller.
   */
  commit({ overwrite = true, keepOpen = false } = {}): void {
    this.#guard(() => {
      fsyncSync(this.descriptor);
      if (!keepOpen) this.#close();
      if (overwrite) renameSync(this.#path, this.#target);
      else renameToNew(this.#path, this.#target);
      fsyncFolder(path.dirname(this.#target));
    });
  }

  /** Closes and removes the draft. Has no effect after `commit`. */
  discard(): void {
    this.#close();
    rmSync(this.#path, { force: true });
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.descriptor);
  }
}

/** A single write may stop short, as at a size limit or on a full disk; the next one then says why. */
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

/** Fails with EEXIST if the new name is taken, where `rename` would replace what is there. */
export function renameToNew(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!noLinks.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    closeSync(openSync(to, O_WRONLY | O_CREAT | O_EXCL | noFollow, 0o600));
    renameSync(from, to);
    return;
  }
  unlinkSync(from);
}

/**
 * Makes a folder (0700) and those it lies in; returns the ones that were missing. Node's own
 * `recursive` never returns on Linux where a parent exists and cannot hold a folder: under /proc,
 * behind a link to a disk that is not there.
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
      if (!isFolder(each)) throw error; // else another process was quicker
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

/** Makes the content of a file survive a power cut. */
export function fsyncFile(file: string): void {
  const descriptor = openSync(file, O_RDWR | noFollow);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes new and renamed files of a folder survive a power cut. */
export function fsyncFolder(folder: string): void {
  const descriptor = openFolder(folder);
  if (descriptor === undefined) return;
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Undefined on Windows, which does not open folders: only there these are the codes of it. */
function openFolder(folder: string): number | undefined {
  try {
    return openSync(folder, 'r');
  } catch (error) {
    if (['EISDIR', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Writes a private file in place and syncs it. Fails with ELOOP at a symbolic link. */
export function writeFileSynced(file: string, content: string | Buffer): void {
  const descriptor = openSync(file, O_WRONLY | O_CREAT | O_TRUNC | noFollow, 0o600);
  try {
    writeAll(descriptor, content);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
