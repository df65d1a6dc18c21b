import { EngagectlError } from '../errors.js';
import type { OutputStream } from '../runtime.js';
import { fileError } from './file-error.js';
import type { FileMark } from './marked-file.js';
import type { Sink } from './sink.js';

/** Writes to stdout at its reader's pace. A reader that left is E-STDOUT-CLOSED. */
export class StdoutSink implements Sink {
  readonly name = 'stdout';
  readonly rewindable = false;
  readonly #stream: OutputStream;
  #bytes = 0;

  constructor(stream: OutputStream) {
    this.#stream = stream;
    // Each failure arrives at its write; without a listener node would end the process too. It
    // stays to the end: a reader that leaves late must not end the process with a stack.
    stream.on('error', ignore);
  }

  get mark(): FileMark {
    return { bytes: this.#bytes, crc: 0 };
  }

  async write(bytes: Buffer): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#stream.write(bytes, (error) => (error ? reject(closedOr(error)) : resolve()));
    });
    this.#bytes += bytes.length;
  }

  truncate(): Promise<void> {
    throw new Error('stdout cannot be taken back');
  }

  async sync(): Promise<void> {}
  async publish(): Promise<void> {}
  async close(): Promise<void> {}
}

const ignore = () => undefined;
const closedCodes = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

function closedOr(error: NodeJS.ErrnoException): EngagectlError {
  if (!closedCodes.has(error.code ?? '')) return fileError('stdout', 'written', error);
  return new EngagectlError('E-STDOUT-CLOSED', 'stdout was closed by its reader', { cause: error });
}
