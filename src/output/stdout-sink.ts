import { EngagectlError } from '../errors.js';
import type { OutputStream } from '../runtime.js';
import { fileError } from './file-error.js';
import type { Sink } from './sink.js';

/** Writes to stdout at its reader's pace. A reader that left is E-STDOUT-CLOSED. */
export class StdoutSink implements Sink {
  readonly name = 'stdout';
  readonly rewindable = false;
  position = 0;
  readonly #stream: OutputStream;

  constructor(stream: OutputStream) {
    this.#stream = stream;
    // Each failure arrives at its write; without a listener node would end the process too.
    stream.on('error', ignore);
  }

  async write(bytes: Buffer): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#stream.write(bytes, (error) => (error ? reject(closedOr(error)) : resolve()));
    });
    this.position += bytes.length;
  }

  truncate(): Promise<void> {
    throw new Error('stdout cannot be taken back');
  }

  finish(): Promise<void> {
    return this.abort();
  }

  /** Keeps the listener: a reader that leaves late must not end the process with a stack. */
  abort(): Promise<void> {
    return Promise.resolve();
  }
}

const ignore = () => undefined;
const closedCodes = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

function closedOr(error: NodeJS.ErrnoException): EngagectlError {
  if (!closedCodes.has(error.code ?? '')) return fileError('stdout', 'written', error);
  return new EngagectlError('E-STDOUT-CLOSED', 'stdout was closed by its reader', { cause: error });
}
