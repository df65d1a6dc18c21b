import { hash } from 'node:crypto';

const modulus = 2 ** 48;

/** A sum over records that does not depend on their order, nor on how their JSON is spelled. */
export class Digest {
  #sum = 0;
  #records = 0;

  add(record) {
    const text = hash('md5', JSON.stringify(record, sortedKeys), 'hex');
    this.#sum = (this.#sum + Number.parseInt(text.slice(0, 12), 16)) % modulus;
    this.#records += 1;
  }

  get value() {
    return { records: this.#records, digest: this.#sum.toString(16) };
  }
}

function sortedKeys(_key, value) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
