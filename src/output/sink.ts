import { isatty } from 'node:tty';
import { rm, constants, open, type FileHandle } from 'node:fs/promises';
import { CheckpointFile, writeAll, type FileCheckpoint } from './checkpoint-file.js';
import { publishFile, partialExists, type FileTarget, type StreamTarget } from './partial-file.js';
import { EngagectlError, interruptionError, type OptionName } from '../errors.js';
import { fileWriteError } from '../files/file-errors.js';
import { inert, inertJsonText } from '../wording.js';
import type { OutputStream, Runtime } from '../runtime.js';

/** What bytes are written to, one write after the other. */
export interface SinkFile {
  /** What was written and not taken back; a stream keeps no CRC. */
  readonly mark: FileCheckpoint;
  /** Resolves when the bytes' buffer may be used again. */
  write(bytes: Buffer): Promise<void>;
  /** Takes back what was written after the mark: not on a stream. */
  truncate(mark: FileCheckpoint): Promise<void>;
  /** What was written survives a power cut. */
  sync(): Promise<void>;
}

/** Where a document goes. */
export interface Sink {
  /** For people: the file as it was named, or `stdout`. */
  readonly name: string;
  /** Whether what was written can be taken back. */
  readonly rewindable: boolean;
  readonly file: SinkFile;
  /** Closes, and gives the document its final name. Throws E-OUTPUT-EXISTS. */
  publish(): Promise<void>;
  /** Closes; what was written stays where it is, a file without content goes. Harmless after `publish`. */
  close(): Promise<void>;
}

interface FileSinkOptions {
  readonly overwrite: boolean;
  /** Go on from here in a partial that an earlier process left. */
  readonly resume: FileCheckpoint | undefined;
}

/**
 * A file under its partial name, 0600, which gets its final name at the end and not before:
 * whoever finds the final name finds a whole document.
 */
export async function openFileSink(
  target: FileTarget,
  { overwrite, resume }: FileSinkOptions,
): Promise<Sink> {
  const file = await openPartial(target, resume);
  let isPublished = false;
  return {
    name: target.name,
    rewindable: true,
    file,
    publish: async () => {
      isPublished = true;
      await file.close();
      await publishFile(target, { overwrite });
    },
    close: async () => {
      if (isPublished) return;
      await file.close();
      if (file.mark.bytes === 0) await rm(target.partial, { force: true });
    },
  };
}

async function openPartial(target: FileTarget, resume?: FileCheckpoint): Promise<CheckpointFile> {
  if (resume) return CheckpointFile.resume(target.partial, resume, target.option);
  try {
    return await CheckpointFile.create(target.partial, target.option);
  } catch (error) {
    // It was not there when the run began: another process was faster.
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    throw code === 'EEXIST' ? partialExists(target) : error;
  }
}

/**
 * Makes bytes harmless for a terminal: characters that steer it are escaped, as JSON does or as in messages.
 * Files and pipes get records byte for byte.
 */
function sanitizer(isJson: boolean): (bytes: Buffer) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return (bytes) =>
    decoder
      .decode(bytes, { stream: true })
      .split('\r\n') // a line end of CSV
      .map(isJson ? inertJsonText : inert)
      .join('\r\n');
}

/** Stdout, written at its reader's pace. A reader that left is E-STDOUT-CLOSED. */
export function openStdout(stream: OutputStream, option: OptionName, isJson = true): Sink {
  // Each failure arrives at its write; without a listener node would end the process too. It
  // stays to the end: a reader that leaves late must not end the process with a stack.
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

/** Milliseconds between two looks for the reader of a FIFO. */
const lookAgain = 50;

/**
 * Opens once a FIFO has a reader. To wait for it in the open would hold a thread that nothing ends
 * but a reader, so that not even process.exit would.
 */
async function openRead(path: string, { sleep, signal }: Waiting): Promise<FileHandle> {
  for (;;) {
    if (signal.aborted) throw interruptionError(signal.reason);
    try {
      const reader = await open(path, constants.O_WRONLY | constants.O_NONBLOCK);
      try {
        return await open(path, constants.O_WRONLY); // never a file that took its place
      } finally {
        await reader.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
    }
    await sleep(lookAgain, signal);
  }
}

/** A FIFO or a device, written directly. */
export async function openStream(
  { name, path, option }: StreamTarget,
  { isJson, ...world }: Waiting & { readonly isJson: boolean },
): Promise<Sink> {
  const file = await openRead(path, world).catch((error: unknown) => {
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

/** What is written cannot be taken back, and whoever reads it decides what is kept. */
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
      throw new Error(`${name} cannot be taken back`);
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
