/** Where the bytes of a document go. Every write is a whole commit: all of a page or, later, none. */
export interface Sink {
  /** For people: the file as it was named, or `stdout`. */
  readonly name: string;
  /** Whether `truncate` works: not on a stream. */
  readonly rewindable: boolean;
  /** Bytes written and not taken back. */
  readonly position: number;
  /** Resolves when the bytes' buffer may be used again. */
  write(bytes: Buffer): Promise<void>;
  truncate(position: number): Promise<void>;
  /** Makes the document durable and gives it its final name. */
  finish(): Promise<void>;
  /** Closes; what has been written stays where it is. Harmless after `finish`. */
  abort(): Promise<void>;
}
