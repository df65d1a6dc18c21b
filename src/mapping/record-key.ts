import { CellText } from './cell-text.js';
import { keyParts } from './identity.js';
import { JsonText } from './json-text.js';
import { token } from './json-tokens.js';
import type { RecordBlock } from './records.js';

const nul = Buffer.of(0);

/** Finds the keys of records in their texts, as the service reads them: without JSON's escapes. */
export class RecordKeys {
  readonly #json = new JsonText();
  readonly #text = new CellText();

  /**
   * The key of record `index`: identity, objectId, FBID or GPID, the first one that is there; of a
   * subscription type, NUL, value; of a demerge the identity that the record is.
   */
  of({ json, bounds }: RecordBlock, index: number): Buffer {
    const record = this.#json;
    record.read(json, bounds[2 * index]!, bounds[2 * index + 1]!);
    if (record.kind === token.quote) {
      return this.#bytes(record.unescaped(record.start + 1, record.end - 1, this.#text));
    }
    const part = keyParts.find((name) => record.find(name) >= 0);
    if (part !== undefined) return this.#member(part);
    return Buffer.concat([this.#member('type'), nul, this.#member('value')]);
  }

  #member(name: string): Buffer {
    return this.#bytes(this.#json.stringAt(this.#json.find(name), this.#text)!);
  }

  /** A copy: what is unescaped is only lent. */
  #bytes({ bytes, start, end }: CellText): Buffer {
    return Buffer.from(bytes.subarray(start, end));
  }
}
