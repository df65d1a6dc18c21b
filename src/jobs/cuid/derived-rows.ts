import type { RowBlock } from '../../input/rows.js';
import type { RecordPage } from '../../output/output.js';
import type { CuidMaker } from './cuid-maker.js';

/** Rows as they were read, each with a cuid more. */
export interface DerivedRows {
  /** Keeps of the row that is being read what `page` will need. */
  hold(): void;
  /** The rows that are kept, each with its cuid; lent until the next call. */
  page(derived: Derived): RecordPage;
}

/** Rows of which cuids were made. */
export interface Derived {
  readonly rows: RowBlock;
  /** Of each cuid that was made, its row. */
  readonly taken: readonly number[];
  /** The cuids that are kept, by their numbers. */
  readonly kept: readonly number[];
  readonly made: Pick<CuidMaker, 'cuids' | 'cuid'>;
}
