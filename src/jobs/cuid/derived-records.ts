import { JsonWriter } from '../../mapping/json-writer.js';
import type { NamedValues } from '../../mapping/named-values.js';
import type { RecordPage } from '../../output/output.js';
import type { Stretch } from '../../text/cuid-set.js';
import type { Derived, DerivedRows } from './derived-rows.js';

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
