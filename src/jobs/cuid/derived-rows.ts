import { JsonWriter } from '../../text/json-writer.js';
import type { RowBlock } from '../../input/row-block.js';
import type { RecordPage } from '../../output/output.js';
import type { CuidMaker } from './cuid-derivation.js';
import type { NamedValues } from '../../mapping/row-values.js';
import type { Stretch } from '../../text/cuid-set.js';

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

const closing = Buffer.from('}');
const comma = 0x2c;

/** JSON objects, byte for byte. */
export class DerivedRecords implements DerivedRows {
  readonly #values: NamedValues<string>;
  readonly #out = new JsonWriter();
  #held: (Stretch & { readonly isEmpty: boolean })[] = [];

  constructor(values: NamedValues<string>) {
    this.#values = values;
  }

  hold(): void {
    const { bytes, start, end, count } = this.#values.json;
    this.#held.push({ bytes, start, end, isEmpty: count === 0 });
  }

  page({ kept, made }: Derived): RecordPage {
    const out = this.#out;
    out.length = 0;
    const bounds = new Int32Array(2 * kept.length);
    for (const [n, index] of kept.entries()) {
      const { bytes, start, end, isEmpty } = this.#held[index]!;
      const cuid = made.cuid(index);
      bounds[2 * n] = out.length;
      out.raw(bytes, start, end - closing.length);
      out.ascii(isEmpty ? '"cuid":"' : ',"cuid":"');
      out.raw(cuid.bytes, cuid.start, cuid.end);
      out.ascii('"}');
      bounds[2 * n + 1] = out.length;
      out.byte(comma); // becomes the newline
    }
    this.#held = [];
    return { bytes: out.bytes, bounds, count: kept.length };
  }
}
