import type { InputFormat } from './row-block.js';

/** How an input is read. */
export interface ReadingOptions {
  /** Else by the file's extension, else by its content. */
  readonly inputFormat?: InputFormat;
  /** Between the cells of a CSV; default `,`. */
  readonly delimiter?: string;
  /** Around the cells of a CSV; default `"`, empty for none. */
  readonly quote?: string;
  /** Before a quote in a quoted cell; default: the quote. */
  readonly escape?: string;
  /** Begins the lines of a CSV that are no records. */
  readonly comment?: string;
  /** For text that is neither UTF-8 nor UTF-16 with a byte order mark. */
  readonly encoding?: string;
}

/** What to read, and how. */
export interface InputOptions extends ReadingOptions {
  /** In this order; none, or `-`, is standard input. */
  readonly files: readonly string[];
  /** The column that a bare list stands for; without it no list is accepted. */
  readonly listColumn?: string | undefined;
  /** Keep digests of what is read, so that another process can go on, and another run knows it. */
  readonly digests?: boolean;
  /** A longer record is a fault. */
  readonly maxRecordBytes: number;
}
