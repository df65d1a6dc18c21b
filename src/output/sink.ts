import type { FileMark } from './checkpoint-file.js';

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
