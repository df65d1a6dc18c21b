import type { OptionName } from '../errors.js';
import type { FileCheckpoint } from './checkpoint-file.js';
import type { RecordPage } from '../text/page-scanner.js';

export type { FileCheckpoint as FileMark, RecordPage };

/**
 * State of an output after a page, as plain JSON for the journal. Length and CRC are those of the
 * partial file, or of the spool for CSV without fixed columns.
 */
export interface Checkpoint extends FileCheckpoint {
  readonly records: number;
  /** Formula cells so far, for CSV with fixed columns. */
  readonly formulas?: number;
}

/** Writes pages of records; ends as one complete document, or leaves the target untouched. */
export interface Output {
  /** The file name as typed, or `stdout`. */
  readonly name: string;
  /** Whether `rewind` is supported: not on a stream. */
  readonly rewindable: boolean;
  /** Warnings for the end of the run, such as the number of formulas. */
  readonly warnings: readonly string[];
  /** Bytes of the document so far; all of it after `seal`. */
  readonly bytes: number;
  /** Writes all of the page's records, in order. Throws E-FILE-WRITE or E-STDOUT-CLOSED. */
  writePage(page: RecordPage): Promise<void>;
  checkpoint(): Checkpoint;
  /** Truncates to the checkpoint. Only if `rewindable`. */
  rewind(checkpoint: Checkpoint): Promise<void>;
  /** Makes everything up to the last checkpoint durable. */
  sync(): Promise<void>;
  /** Completes the document under its partial name and makes it durable. */
  seal(): Promise<FileCheckpoint>;
  /** Renames a sealed document to its final name. Throws E-OUTPUT-EXISTS. */
  publish(): Promise<void>;
  /** Closes everything and keeps a partial file. No effect after `publish`. */
  abort(): Promise<void>;
}

/** Options of a document in any format. */
export interface DocumentOptions {
  /** Undefined, `-` and `/dev/stdout` mean stdout; relative to the runtime's `cwd`. */
  readonly path: string | undefined;
  readonly gzip: boolean;
  /** Replace an existing target. */
  readonly overwrite: boolean;
  /** Set an existing partial file aside instead of refusing it. */
  readonly fresh: boolean;
  /** CSV only: these columns instead of the union over all records. */
  readonly columns?: readonly string[];
  /** CSV only: prefix formula cells with `'`. */
  readonly escapeFormulas: boolean;
  /** Start a CSV with a byte order mark. */
  readonly bom: boolean;
  readonly option: OptionName;
  /** Replaces the format's encoder. */
  readonly encoder?: RecordEncoder;
}

/** Encodes the records of a document in one format. */
export interface RecordEncoder {
  /** Encodes a page. `isFirst`: nothing has been written yet. */
  page(page: RecordPage, isFirst: boolean): Buffer;
  /** Returns the end of the document; `isEmpty` if it has no records. */
  end?(isEmpty: boolean): Buffer;
  /** Present if the format must see all records first; pages are spooled and encoded at the end. */
  look?(page: RecordPage, isFirst: boolean): void;
  /** Returns state for the checkpoint, besides the number of records. */
  known?(): Pick<Checkpoint, 'formulas'>;
  /** Restores the state of a checkpoint. */
  restore?(known: Pick<Checkpoint, 'formulas'>): void;
  warnings?(): readonly string[];
}
