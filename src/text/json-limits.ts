/** Limits of a JSON text, checked before it is parsed. */
export interface JsonLimits {
  /** Nesting of objects and arrays. */
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
 * Counts depth and values of a JSON text as it arrives, without building anything: `JSON.parse` needs a
 * hundred bytes of memory per pair of brackets. Does not validate the text.
 */
export class JsonSize {
  /** Maximum depth so far. */
  depth = 0;
  /** Number of values, at least 1. */
  values = 1;
  #open = 0;
  #isInString = false;
  #isEscaped = false;

  /** Counts the next bytes, up to the first that is too deep; false if a limit is exceeded. */
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
