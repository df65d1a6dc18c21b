import { CellText } from './cell-text.js';
import { keyParts } from './identity.js';
import { JsonText } from './json-text.js';
import { token } from './json-tokens.js';
import type { RecordBlock } from './records.js';
import { sameBytes } from './same-bytes.js';
import type { KeyHash } from './shard.js';

/** How most records begin. */
const openings = [
  '{"identity":"',
  '{"type":"profile","identity":"',
  '{"type":"event","identity":"',
];
const opened = openings.map((text) => Buffer.from(text));
const backslash = 0x5c;
const nul = Buffer.of(0);

/** Finds the keys of records in their texts, as the service reads them: without JSON's escapes. */
export class RecordKeys {
  readonly #json = new JsonText();
  readonly #text = new CellText();

  /**
   * Hashes the key of record `index`: identity, objectId, FBID or GPID, the first one that is there;
   * of a subscription type, NUL, value; of a demerge the identity that the record is.
   */
  hash({ json, bounds }: RecordBlock, index: number, hash: KeyHash): KeyHash {
    const start = bounds[2 * index]!;
    const end = bounds[2 * index + 1]!;
    hash.reset();
    const keyStart = plainStart(json, start);
    const keyEnd = keyStart < 0 ? -1 : plainEnd(json, keyStart);
    if (keyEnd >= 0) return hash.add(json, keyStart, keyEnd);
    this.#json.read(json, start, end);
    return this.#hashRead(hash);
  }

  #hashRead(hash: KeyHash): KeyHash {
    const json = this.#json;
    if (json.kind === token.quote) {
      const { bytes, start, end } = json.unescaped(json.start + 1, json.end - 1, this.#text);
      return hash.add(bytes, start, end);
    }
    const part = keyParts.find((name) => json.find(name) >= 0);
    if (part !== undefined) return this.#add(part, hash);
    return this.#add('value', this.#add('type', hash).add(nul, 0, 1));
  }

  #add(member: string, hash: KeyHash): KeyHash {
    const text = this.#json.stringAt(this.#json.find(member), this.#text);
    return text ? hash.add(text.bytes, text.start, text.end) : hash;
  }
}

/** Where the identity begins in a record that begins as most do, else -1. */
function plainStart(json: Buffer, start: number): number {
  for (const opening of opened) {
    const end = start + opening.length;
    if (sameBytes(json, start, end, opening)) return end;
  }
  return -1;
}

/** The end of a string without escapes, else -1. */
function plainEnd(json: Buffer, start: number): number {
  for (let at = start; ; at++) {
    if (json[at] === token.quote) return at;
    if (json[at] === backslash) return -1;
  }
}
