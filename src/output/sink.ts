import { isatty } from 'node:tty';
import { rm, constants, open, type FileHandle } from 'node:fs/promises';
import { CheckpointFile, writeAll, type FileCheckpoint } from './checkpoint-file.js';
import {
  publishFile,
  partialExists,
  vanished,
  type FileTarget,
  type StreamTarget,
} from './partial-file.js';
import { EngagectlError, interruptionError, type OptionName } from '../errors.js';
import { fileWriteError } from '../files/file-errors.js';
import { sanitize, sanitizeJsonText } from '../wording.js';
import type { OutputStream, Runtime } from '../runtime.js';

/** Destination of sequential writes. */
export interface SinkFile {
  /** Length and CRC of the content; the CRC of a stream is 0. */
  readonly mark: FileCheckpoint;
  /** Resolves when the buffer may be reused. */
  write(bytes: Buffer): Promise<void>;
  /** Truncates to the mark. Not supported by streams. */
  truncate(mark: FileCheckpoint): Promise<void>;
  /** Makes all writes durable. */
  sync(): Promise<void>;
}

/** Destination of a document. */
export interface Sink {
  /** The file name as typed, or `stdout`. */
  readonly name: string;
  /** Whether the file can be truncated. */
  readonly rewindable: boolean;
  readonly file: SinkFile;
  /** Closes the file and renames it to its final name. Throws E-OUTPUT-EXISTS, and E-FILE-WRITE if it was renamed. */
  publish(): Promise<void>;
  /** Closes the file and keeps it unless it is empty. Idempotent, and without effect after `publish`. */
  close(): Promise<void>;
}

interface FileSinkOptions {
  readonly overwrite: boolean;
  /** Continue the partial file of an earlier process from here. */
  readonly resume: FileCheckpoint | undefined;
}

/**
 * Opens a file (0600) under its partial name. It is renamed when complete, so the final name always
 * refers to a complete document.
 */
export async function openFileSink(
  target: FileTarget,
  { overwrite, resume }: FileSinkOptions,
): Promise<Sink> {
  const file = await openPartial(target, resume);
  let isDone = false;
  return {
    name: target.name,
    rewindable: true,
    file,
    publish: async () => {
      isDone = true;
      // Another process may have set the file aside (`--fresh`), and write its own document under this name.
      const isOurs = await file.isInPlace();
      await file.close();
      if (!isOurs) throw vanished(target);
      await publishFile(target, { overwrite });
    },
    close: async () => {
      if (isDone) return;
      isDone = true;
      const isUnused = file.mark.bytes === 0 && (await file.isInPlace());
      await file.close();
      if (isUnused) await rm(target.partial, { force: true });
    },
  };
}

async function openPartial(target: FileTarget, resume?: FileCheckpoint): Promise<CheckpointFile> {
  if (resume) return CheckpointFile.resume(target.partial, resume, target);
  try {
    return await CheckpointFile.create(target.partial, target.option);
  } catch (error) {
    // Another process created it since the run started.
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    throw code === 'EEXIST' ? partialExists(target) : error;
  }
}

/**
 * Escapes control characters for a terminal, as JSON escapes or as in messages. Files and pipes
 * receive the bytes unchanged.
 */
function sanitizer(isJson: boolean): (bytes: Buffer) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return (bytes) =>
    decoder
      .decode(bytes, { stream: true })
      .split('\r\n') // a line end of CSV
      .map(isJson ? sanitizeJsonText : sanitize)
      .join('\r\n');
}

/** Opens stdout with backpressure. Throws E-STDOUT-CLOSED when its reader is gone. */
export function openStdout(stream: OutputStream, option: OptionName, isJson = true): Sink {
  // Each failure is reported by its write. Without a listener Node would also end the process; it
  // stays registered, since a reader may leave late.
  stream.on('error', () => undefined);
  const write = (bytes: Buffer | string) =>
    new Promise<void>((resolve, reject) => {
      stream.write(bytes, (error) => (error ? reject(closedOr(error, option)) : resolve()));
    });
  const sanitized = stream.isTTY === true ? sanitizer(isJson) : undefined;
  return streamSink(
    'stdout',
    sanitized ? async (bytes) => write(sanitized(bytes)) : write,
    async () => undefined,
  );
}

type Waiting = Pick<Runtime, 'sleep' | 'signal'>;

/** Poll interval for the reader of a FIFO, milliseconds. */
const fifoPollMs = 50;

/**
 * Opens a FIFO once it has a reader. A blocking open would occupy a thread until a reader comes, and
 * not even process.exit would end it.
 */
async function openRead(
  { path, inode }: Pick<StreamTarget, 'path' | 'inode'>,
  { sleep, signal }: Waiting,
): Promise<FileHandle> {
  const openChecked = async (flags: number) => {
    const file = await open(path, flags); // without O_CREAT: never a new regular file
    const { dev, ino } = await file.stat();
    if (`${dev} ${ino}` === inode) return file;
    await file.close();
    throw new Error('another file has its name now');
  };
  for (;;) {
    if (signal.aborted) throw interruptionError(signal.reason);
    try {
      const reader = await openChecked(constants.O_WRONLY | constants.O_NONBLOCK);
      try {
        return await openChecked(constants.O_WRONLY);
      } finally {
        await reader.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
    }
    await sleep(fifoPollMs, signal);
  }
}

/** Opens a FIFO or a device. */
export async function openStream(
  { name, path, inode, option }: StreamTarget,
  { isJson, ...context }: Waiting & { readonly isJson: boolean },
): Promise<Sink> {
  const file = await openRead({ path, inode }, context).catch((error: unknown) => {
    if (error instanceof EngagectlError) throw error;
    throw fileWriteError({ file: name, done: 'opened', option }, error);
  });
  const sanitized = isatty(file.fd) ? sanitizer(isJson) : undefined;
  const write = (bytes: Buffer) =>
    writeAll(file, sanitized ? Buffer.from(sanitized(bytes)) : bytes, null).catch(
      (error: unknown) => {
        throw fileWriteError({ file: name, done: 'written', option }, error);
      },
    );
  return streamSink(name, write, () => file.close());
}

/** Creates a sink that cannot be truncated. */
function streamSink(
  name: string,
  writeBytes: (bytes: Buffer) => Promise<void>,
  close: () => Promise<void>,
): Sink {
  const file = {
    mark: { bytes: 0, crc: 0 },
    write: async (bytes: Buffer) => {
      await writeBytes(bytes);
      file.mark = { bytes: file.mark.bytes + bytes.length, crc: 0 };
    },
    truncate: () => {
      throw new Error(`${name} cannot be truncated`);
    },
    sync: async () => undefined,
  };
  return { name, rewindable: false, file, publish: close, close };
}

const closedCodes = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

function closedOr(error: NodeJS.ErrnoException, option: OptionName): EngagectlError {
  if (!closedCodes.has(error.code ?? '')) {
    return fileWriteError({ file: 'stdout', done: 'written', option }, error);
  }
  return new EngagectlError('E-STDOUT-CLOSED', 'stdout was closed by its reader', { cause: error });
}
