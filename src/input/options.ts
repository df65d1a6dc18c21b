import type { InputFormat } from './rows.js';

/** What to read, and how. */
export interface InputOptions {
  /** In this order; none, or `-`, is standard input. */
  readonly files: readonly string[];
  /** Else by the file's extension, else by its content. */
  readonly format?: InputFormat;
  /** Between the cells of a CSV; default `,`. */
  readonly delimiter?: string;
  /** Around the cells of a CSV; default `"`, empty for none. */
  readonly quote?: string;
  /** Makes a character within quotes an ordinary one; default: the quote, doubled. */
  readonly escape?: string;
  /** Begins the lines of a CSV that are no records. */
  readonly comment?: string;
  /** For text that is neither UTF-8 nor UTF-16 with a byte order mark. */
  readonly encoding?: string;
  /** The column that a bare list stands for; without it no list is accepted. */
  readonly listColumn?: string;
  /** Keep digests of what is read, so that another process can go on, and another run knows it. */
  readonly digests?: boolean;
  /** A longer record is a fault. */
  readonly maxRecordBytes: number;
}
