import { createReadStream, statSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { EngagectlError } from '../errors.js';
import { openFifo } from '../files/read-file.js';
import { fileReadError } from '../files/file-errors.js';
import { refuseDuplicatePaths } from '../files/path-checks.js';
import { shellPath } from '../wording.js';
import type { Runtime } from '../runtime.js';

/** Small enough to let the event loop run between reads, large enough to keep the overhead per read low. */
const readBytes = 256 * 1024;

/** A source of bytes: a file, or standard input. */
export interface Source {
  /** As the user named it; `stdin` for standard input. */
  readonly name: string;
  /** Bytes on disk; undefined for pipes. */
  readonly size: number | undefined;
  /** Starts reading; a source without a size (a pipe) can be read only once. */
  open(): OpenSource;
}

export interface OpenSource {
  /** Chunks, each valid until the next one is requested. Throws EngagectlError E-FILE-READ. */
  readonly chunks: AsyncGenerator<Buffer>;
  /** Returns the bytes yielded so far. */
  bytesRead(): number;
  /** Whether the name referred to another file when the end was reached. Files only. */
  wasReplaced?(): boolean;
  /** Stops reading at once, even while a read is waiting for a pipe. */
  close(): void;
}

/** Looks up a file without reading it. Throws EngagectlError E-FILE-READ. */
function fileSource(name: string, pathOf: PathOf): Source {
  if (name === '') throw noName();
  const path = pathOf(name);
  let found: Stats;
  try {
    found = statSync(path);
  } catch (error) {
    throw unreadable(name, error);
  }
  if (found.isDirectory()) throw isDirectory(name);
  if (found.isFile()) return knownFile(name, found.size, path);
  const streamOf = found.isFIFO() ? openFifo : createReadStream;
  return { name, size: undefined, open: () => openStream(name, streamOf(path)) };
}

/** Returns the source of a file whose size is known. */
const knownFile = (name: string, size: number, path: string): Source => ({
  name,
  size,
  open: () => openFile({ name, path, size }),
});

/** Bytes at the end of a read that the next one reads again, to find out whether the file was rewritten. */
const overlapBytes = 4096;

/**
 * Reads ahead into one of two buffers while the other one is processed. A file that ends before
 * its known size was truncated in the meantime, and one whose last bytes are no longer those that
 * were read was rewritten: its next bytes do not continue the record that was begun. Both are errors.
 */
function openFile({ name, path, size }: { name: string; path: string; size: number }): OpenSource {
  // No larger than the file, because there may be thousands of small ones.
  const length = Math.min(readBytes, size + 1);
  const buffers = [Buffer.allocUnsafe(length), Buffer.allocUnsafe(length)] as const;
  const overlap = Math.min(overlapBytes, length >> 1);
  let replaced = false;
  async function* read(): AsyncGenerator<Buffer> {
    const file = await open(path);
    let reading = file.read(buffers[0], 0, length, 0);
    let total = 0;
    let known = Buffer.alloc(0); // the end of what was read
    try {
      for (let turn = 0; ; turn = 1 - turn) {
        const { bytesRead, buffer } = await reading;
        const isShorter = bytesRead < known.length;
        if (!isShorter && !known.equals(buffer.subarray(0, known.length))) throw rewritten(name);
        const chunk = buffer.subarray(known.length, bytesRead);
        total += chunk.length;
        if (isShorter || (chunk.length === 0 && total < size)) throw shorter(name, total, size);
        if (chunk.length === 0) {
          replaced = (await file.stat()).ino !== statSync(path, { throwIfNoEntry: false })?.ino;
          return;
        }
        known = chunk.subarray(Math.max(0, chunk.length - overlap));
        reading = file.read(buffers[1 - turn]!, 0, length, total - known.length);
        yield chunk;
      }
    } finally {
      await reading.catch(() => undefined); // a read ahead that nobody waits for may fail
      await file.close();
    }
  }
  const chunks = counted(name, read());
  const close = (): void => void chunks.chunks.return(undefined).catch(() => undefined);
  return { ...chunks, close, wasReplaced: () => replaced };
}

function stdinSource(stdin: Runtime['stdin']): Source {
  const name = 'stdin';
  return { name, size: undefined, open: () => openStream(name, stdin) };
}

function openStream(name: string, stream: NodeJS.ReadableStream): OpenSource {
  const close = (): void => {
    if ('destroy' in stream && typeof stream.destroy === 'function') stream.destroy();
  };
  return { ...counted(name, stream), close };
}

function counted(
  name: string,
  stream: AsyncIterable<Buffer | string>,
): Pick<OpenSource, 'chunks' | 'bytesRead'> {
  let bytesRead = 0;
  async function* chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of stream) {
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
        bytesRead += bytes.length;
        yield bytes;
      }
    } catch (error) {
      throw unreadable(name, error);
    }
  }
  return { chunks: chunks(), bytesRead: () => bytesRead };
}

const fixes: Readonly<Record<string, string>> = {
  ENOENT: 'check the name; a relative path starts at the current directory',
  EACCES: 'make the file readable for this user (chmod u+r), or run as its owner',
  EPERM: 'make the file readable for this user, or run as its owner',
};

function unreadable(name: string, cause: unknown): EngagectlError {
  if (cause instanceof EngagectlError) return cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'EISDIR') return isDirectory(name);
  const fix = fixes[code] ?? 'check the disk or the program that writes this input, then run again';
  return fileReadError(name, fix, cause);
}

const shorter = (name: string, is: number, was: number): EngagectlError =>
  new EngagectlError('E-FILE-READ', `${name} became shorter while it was read`, {
    file: name,
    why: `it ended after ${is} of ${was} bytes: another program truncated or rewrote it`,
    fix: 'wait until nothing writes to it, then run again',
  });

const rewritten = (name: string): EngagectlError =>
  new EngagectlError('E-FILE-READ', `${name} was rewritten while it was read`, {
    file: name,
    why: 'another program changed a part that was already read',
    fix: 'wait until nothing writes to it, then run again',
  });

const noName = (): EngagectlError =>
  new EngagectlError('E-USAGE', 'the name of an input file is empty', {
    why: 'one of the arguments is "": perhaps a variable that is not set',
    fix: 'name the file, or - for standard input',
  });

const isDirectory = (name: string): EngagectlError =>
  new EngagectlError('E-FILE-READ', `${name} is a directory, not a file`, {
    file: name,
    why: 'records are read from files',
    fix: `name the files in it, for example ${shellPath(name.replace(/\/+$/, ''))}/*.csv`,
  });

type PathOf = (file: string) => string;

interface Place extends Pick<Runtime, 'stdin' | 'cwd'> {
  /** Returns the absolute path of a file. */
  readonly pathOf: PathOf;
}

/** The inputs by number. Of a file no more is kept than its size: there may be many thousands. */
export class SourceList {
  readonly names: readonly string[];
  readonly #pathOf: PathOf;
  readonly #sizes: Float64Array;
  /** Those that can be read only once. */
  readonly #pipes = new Map<number, Source>();

  /**
   * Finds them; `-` is standard input. Throws E-FILE-READ, which names all that are missing; E-USAGE
   * where one is named twice.
   */
  constructor(names: readonly string[], { stdin, cwd, pathOf }: Place) {
    this.names = names.includes('-') ? names.map((name) => (name === '-' ? 'stdin' : name)) : names;
    this.#pathOf = pathOf;
    this.#sizes = new Float64Array(names.length);
    const failures: EngagectlError[] = [];
    for (const [input, name] of names.entries()) {
      try {
        const source = name === '-' ? stdinSource(stdin) : fileSource(name, pathOf);
        if (source.size === undefined) this.#pipes.set(input, source);
        else this.#sizes[input] = source.size;
      } catch (error) {
        if (!(error instanceof EngagectlError)) throw error;
        failures.push(error);
      }
    }
    if (failures[0]) throw combined(failures[0], failures);
    refuseDuplicatePaths(names, cwd);
  }

  at(input: number): Source {
    const name = this.names[input]!;
    return this.#pipes.get(input) ?? knownFile(name, this.#sizes[input]!, this.#pathOf(name));
  }

  /** Returns what differs once a file is changed or replaced; undefined for pipes, and for files that are gone. */
  stampOf(input: number): string | undefined {
    if (this.#pipes.has(input)) return undefined;
    const path = this.#pathOf(this.names[input]!);
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ');
  }

  /** Bytes on disk; undefined when one of them is a pipe. */
  get totalBytes(): number | undefined {
    if (this.#pipes.size > 0) return undefined;
    return this.#sizes.reduce((sum, size) => sum + size, 0);
  }
}

function combined(first: EngagectlError, failures: readonly EngagectlError[]): EngagectlError {
  if (failures.length === 1) return first;
  const listed = failures
    .slice(0, maxListed)
    .map(({ message, details: { why } }) => [message, why].filter(Boolean).join(': '));
  const more = failures.length - listed.length;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return new EngagectlError(first.id, [...listed, ...rest].join('; '), {
    ...first.details,
    why: 'all inputs are checked before the first is read',
  });
}

/** Maximum number of files listed in a message. */
const maxListed = 10;
