import { rm, constants, open, type FileHandle } from 'node:fs/promises';
import { MarkedFile, writeAll, type FileMark } from './checkpoint-file.js';
import { publish, partialExists, type FileTarget, type StreamTarget } from './partial-file.js';
import { EngagectlError, interruption, type OptionName } from '../errors.js';
import { fileError } from '../files/file-errors.js';
import type { OutputStream, Runtime } from '../runtime.js';

/** What bytes are written to, one write after the other. */
export interface Written {
  /** What was written and not taken back; a stream keeps no CRC. */
  readonly mark: FileMark;
  /** Resolves when the bytes' buffer may be used again. */
  write(bytes: Buffer): Promise<void>;
  /** Takes back what was written after the mark: not on a stream. */
  truncate(mark: FileMark): Promise<void>;
  /** What was written survives a power cut. */
  sync(): Promise<void>;
}

/** Where a document goes. */
export interface Sink {
  /** For people: the file as it was named, or `stdout`. */
  readonly name: string;
  /** Whether what was written can be taken back. */
  readonly rewindable: boolean;
  readonly file: Written;
  /** Closes, and gives the document its final name. Throws E-OUTPUT-EXISTS. */
  publish(): Promise<void>;
  /** Closes; what was written stays where it is, a file without content goes. Harmless after `publish`. */
  close(): Promise<void>;
}

interface FileSinkOptions {
  readonly overwrite: boolean;
  /** Go on from here in a partial that an earlier process left. */
  readonly resume: FileMark | undefined;
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
      await publish(target, { overwrite });
    },
    close: async () => {
      if (isPublished) return;
      await file.close();
      if (file.mark.bytes === 0) await rm(target.partial, { force: true });
    },
  };
}

async function openPartial(target: FileTarget, resume?: FileMark): Promise<MarkedFile> {
  if (resume) return MarkedFile.resume(target.partial, resume, target.option);
  try {
    return await MarkedFile.create(target.partial, target.option);
  } catch (error) {
    // It was not there when the run began: another process was faster.
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    throw code === 'EEXIST' ? partialExists(target) : error;
  }
}

/** Stdout, written at its reader's pace. A reader that left is E-STDOUT-CLOSED. */
export function openStdout(stream: OutputStream, option: OptionName): Sink {
  // Each failure arrives at its write; without a listener node would end the process too. It
  // stays to the end: a reader that leaves late must not end the process with a stack.
  stream.on('error', () => undefined);
  const write = (bytes: Buffer) =>
    new Promise<void>((resolve, reject) => {
      stream.write(bytes, (error) => (error ? reject(closedOr(error, option)) : resolve()));
    });
  return streamSink('stdout', write, async () => undefined);
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
    if (signal.aborted) throw interruption(signal.reason);
    try {
      const reader = await open(path, constants.O_WRONLY | constants.O_NONBLOCK);
      try {
        return await open(path, 'w');
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
  world: Waiting,
): Promise<Sink> {
  const file = await openRead(path, world).catch((error: unknown) => {
    if (error instanceof EngagectlError) throw error;
    throw fileError({ file: name, done: 'opened', option }, error);
  });
  const write = (bytes: Buffer) =>
    writeAll(file, bytes, null).catch((error: unknown) => {
      throw fileError({ file: name, done: 'written', option }, error);
    });
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
    return fileError({ file: 'stdout', done: 'written', option }, error);
  }
  return new EngagectlError('E-STDOUT-CLOSED', 'stdout was closed by its reader', { cause: error });
}
