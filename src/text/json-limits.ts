/** What a JSON text may come to before anybody makes values of it. */
export interface JsonLimits {
  /** Objects and arrays within each other. */
  readonly depth: number;
  readonly values: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/**
 * Counts depth and values of a JSON text while it arrives, without building anything: `JSON.parse` takes a hundred bytes of
 * memory for each pair of brackets. Whether it is JSON is not looked at.
 */
export class JsonSize {
  /** The deepest so far. */
  depth = 0;
  /** At least as many as there are. */
  values = 1;
  #open = 0;
  #isInString = false;
  #isEscaped = false;

  /** Counts the next bytes, up to one that is too deep; false when there is more than the limits allow. */
  fits(bytes: Buffer, limits: JsonLimits): boolean {
    let [open, values, isInString, isEscaped] = [
      this.#open,
      this.values,
      this.#isInString,
      this.#isEscaped,
    ];
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at]!;
      if (isEscaped) isEscaped = false;
      else if (byte === quote) isInString = !isInString;
      else if (isInString) isEscaped = byte === backslash;
      else if (byte === comma) values += 1;
      else if (byte === openArray || byte === openObject) {
        values += 1;
        open += 1;
        if (open > this.depth) this.depth = open;
        if (open > limits.depth) break;
      } else if (byte === closeArray || byte === closeObject) open -= 1;
    }
    [this.#open, this.values, this.#isInString, this.#isEscaped] = [
      open,
      values,
      isInString,
      isEscaped,
    ];
    return this.depth <= limits.depth && values <= limits.values;
  }
}
