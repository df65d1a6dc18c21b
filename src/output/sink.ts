import type { FileMark } from './marked-file.js';

/** Where the bytes of a document go. */
export interface Sink {
  /** For people: the file as it was named, or `stdout`. */
  readonly name: string;
  /** Whether `truncate` works: not on a stream. */
  readonly rewindable: boolean;
  /** What was written and not taken back; a stream keeps no CRC. */
  readonly mark: FileMark;
  /** Resolves when the bytes' buffer may be used again. */
  write(bytes: Buffer): Promise<void>;
  truncate(mark: FileMark): Promise<void>;
  /** What was written survives a power cut. */
  sync(): Promise<void>;
  /** Closes, and gives the document its final name. Throws E-OUTPUT-EXISTS. */
  publish(): Promise<void>;
  /** Closes; what was written stays where it is, a file without content goes. Harmless after `publish`. */
  close(): Promise<void>;
}
