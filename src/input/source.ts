import { constants, createReadStream, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';

/** Small enough that the event loop turns between reads, large enough to be fast. */
const readBytes = 128 * 1024;

/** Where bytes come from: a file, or standard input. */
export interface Source {
  /** As the user named it; `stdin` for standard input. */
  readonly name: string;
  /** Bytes on disk; undefined where that is unknown (pipes). */
  readonly size: number | undefined;
  /** Starts to read; a source without a size (a pipe) can be read only once. */
  open(): OpenSource;
}

export interface OpenSource {
  /** Throws EngagectlError E-FILE-READ. */
  readonly chunks: AsyncGenerator<Buffer>;
  /** Bytes given out so far. */
  bytesRead(): number;
  /** Ends reading at once, also while a read is waiting for a pipe. */
  close(): void;
}

/** Finds the file, without reading it. Throws EngagectlError E-FILE-READ. */
export async function fileSource(name: string, cwd: string): Promise<Source> {
  const path = resolve(cwd, name);
  const found = await stat(path).catch((error: unknown) => {
    throw unreadable(name, error);
  });
  if (found.isDirectory()) throw isDirectory(name);
  const size = found.isFile() ? found.size : undefined;
  const open = (): OpenSource =>
    openStream(
      name,
      found.isFIFO() ? fifoStream(path) : createReadStream(path, { highWaterMark: readBytes }),
    );
  return { name, size, open };
}

/**
 * A FIFO is waited for by polling: an open or a read that blocks would hold a thread that nothing
 * ends but a writer, so that not even process.exit would.
 */
function fifoStream(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

export function stdinSource(stdin: Runtime['stdin']): Source {
  const name = 'stdin';
  return { name, size: undefined, open: () => openStream(name, stdin) };
}

function openStream(name: string, stream: NodeJS.ReadableStream): OpenSource {
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
  const close = (): void => {
    if ('destroy' in stream && typeof stream.destroy === 'function') stream.destroy();
  };
  return { chunks: chunks(), bytesRead: () => bytesRead, close };
}

const fixes: Readonly<Record<string, string>> = {
  ENOENT: 'check the name; a relative path starts at the current folder',
  EACCES: 'make the file readable for this user (chmod u+r), or run as its owner',
  EPERM: 'make the file readable for this user, or run as its owner',
};
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
};

function unreadable(name: string, cause: unknown): EngagectlError {
  if (cause instanceof EngagectlError) return cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'EISDIR') return isDirectory(name);
  const reason = reasons[code] ?? (cause instanceof Error ? cause.message : String(cause));
  return new EngagectlError('E-FILE-READ', `${name} cannot be read: ${reason}`, {
    file: name,
    fix: fixes[code] ?? 'check the disk or the program that writes this input, then run again',
    cause,
  });
}

const isDirectory = (name: string): EngagectlError =>
  new EngagectlError('E-FILE-READ', `${name} is a directory, not a file`, {
    file: name,
    fix: `name the files in it, for example ${name.replace(/\/+$/, '')}/*.csv`,
  });
