import type { OptionName } from '../errors.js';
import type { FileCheckpoint } from './checkpoint-file.js';
import type { RecordPage } from '../text/page-scanner.js';

export type { FileCheckpoint as FileMark, RecordPage };

/**
 * Where an output stands after a whole page. Plain JSON, so that a journal can keep it and a
 * later process can go on from it. The mark is that of the partial file; of a CSV without fixed
 * columns, that of its spool.
 */
export interface Checkpoint extends FileCheckpoint {
  readonly records: number;
  /** Cells of a CSV with fixed columns so far that a spreadsheet would run. */
  readonly formulas?: number;
}

/** Takes pages of records and ends as one complete document, or as an untouched target. */
export interface Output {
  /** For people: the file as it was named, or `stdout`. */
  readonly name: string;
  /** Whether `rewind` can take back what was written: not on a stream. */
  readonly rewindable: boolean;
  /** Things to tell the user at the end, such as the number of formulas found. */
  readonly warnings: readonly string[];
  /** Bytes of the document so far; of all of it after `finish`. */
  readonly bytes: number;
  /** Writes all of the page's records, in order. Throws E-FILE-WRITE or E-STDOUT-CLOSED. */
  writePage(page: RecordPage): Promise<void>;
  checkpoint(): Checkpoint;
  /** Takes back every page written after the checkpoint. Only when `rewindable`. */
  rewind(checkpoint: Checkpoint): Promise<void>;
  /** What the last checkpoint names is on the disk. */
  sync(): Promise<void>;
  /** Completes the document, still under its partial name, and makes it durable. */
  seal(): Promise<FileCheckpoint>;
  /** Gives a sealed document its final name. Throws E-OUTPUT-EXISTS. */
  publish(): Promise<void>;
  /** Lets go of everything, leaving a partial file as it is. Harmless after `publish`. */
  abort(): Promise<void>;
}

/** What is wanted of a document, in any format. */
export interface DocumentOptions {
  /** Undefined, `-` and `/dev/stdout` mean stdout; relative to the runtime's `cwd`. */
  readonly path: string | undefined;
  readonly gzip: boolean;
  /** Replace an existing target. */
  readonly overwrite: boolean;
  /** Set an existing partial aside instead of refusing it. */
  readonly fresh: boolean;
  /** CSV only: these columns instead of the union over all records. */
  readonly columns?: readonly string[];
  /** CSV only: cells that a spreadsheet would run get a leading `'`. */
  readonly escapeFormulas: boolean;
  /** Begin a CSV with a byte order mark. */
  readonly bom: boolean;
  readonly option: OptionName;
  /** Instead of that of a format. */
  readonly encoder?: RecordEncoder;
}

/** How a format writes the records of a document. */
export interface RecordEncoder {
  /** The page's records. `isFirst`: nothing of the document has been written yet. */
  page(page: RecordPage, isFirst: boolean): Buffer;
  /** What completes the document; `isEmpty` when it has no records. */
  end?(isEmpty: boolean): Buffer;
  /** Of a format that must see all records first: they wait in a spool, and are written at the end. `isFirst`: from the beginning. */
  look?(page: RecordPage, isFirst: boolean): void;
  /** What a later process has to know beside the number of records. */
  known?(): Pick<Checkpoint, 'formulas'>;
  /** Goes back, or on, to where that was known. */
  restore?(known: Pick<Checkpoint, 'formulas'>): void;
  warnings?(): readonly string[];
}
