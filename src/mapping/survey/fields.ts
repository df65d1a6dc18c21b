import type { JsonText } from '../json-text.js';
import { sameBytes } from '../same-bytes.js';
import { Field, type Part } from './field.js';

/** Keys that are looked at; the others are passed over, so that memory stays flat. */
const mostFields = 2000;

/** What was seen of each key. */
export class Fields implements Iterable<Field> {
  /** Keys beyond those that are looked at were seen. */
  tooMany = false;
  readonly #known = new Map<string, Field>();
  /** Of the member at each place, in the record before: mostly the same again. */
  readonly #before: Record<Part, { readonly spelling: Buffer; readonly field: Field }[]> = {
    record: [],
    profileData: [],
    evtData: [],
  };

  /** In the order in which they first appeared. */
  [Symbol.iterator](): Iterator<Field> {
    return this.#known.values();
  }

  has(part: Part, key: string): boolean {
    return this.#known.has(`${part} ${key}`);
  }

  /** The field of an object's member; undefined beyond those that are looked at. */
  at(part: Part, json: JsonText, index: number): Field | undefined {
    const { bytes } = json;
    const [start, end] = [json.keyStart(index), json.keyEnd(index)];
    const before = this.#before[part][index];
    if (before && sameBytes(bytes, start, end, before.spelling)) {
      return before.field;
    }
    const field = this.#named(part, keyAt(json, index));
    const spelling = Buffer.from(bytes.subarray(start, end));
    if (field) this.#before[part][index] = { spelling, field };
    return field;
  }

  #named(part: Part, key: string): Field | undefined {
    const name = `${part} ${key}`;
    const known = this.#known.get(name);
    if (known) return known;
    if (this.#known.size >= mostFields) {
      this.tooMany = true;
      return undefined;
    }
    const field = new Field(part, key);
    this.#known.set(name, field);
    return field;
  }
}

export function keyAt(json: JsonText, index: number): string {
  const spelling = json.bytes.toString('utf8', json.keyStart(index), json.keyEnd(index));
  return spelling.includes('\\') ? (JSON.parse(`"${spelling}"`) as string) : spelling;
}
