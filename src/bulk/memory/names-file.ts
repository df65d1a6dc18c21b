import { closeSync, createReadStream, existsSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { keySpaces, keyOfRecord, type RecordKey } from '../../text/record-hash.js';

/** Keys that were accepted for the first time, a line each: a hash does not tell whose it is. */
export class NamesFile {
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Lines as `nameLine` makes them. */
  add(lines: string): void {
    if (lines === '') return;
    this.#file ??= openSync(this.#path, 'a', 0o600);
    const bytes = Buffer.from(lines, 'latin1');
    for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at);
  }

  /** Those that can be read; what a kill left of a line is passed over. */
  async *all(): AsyncGenerator<RecordKey> {
    if (!existsSync(this.#path)) return;
    const lines = createInterface({ input: createReadStream(this.#path), crlfDelay: Infinity });
    for await (const line of lines) {
      const name = parsed(line);
      if (name) yield name;
    }
  }

  close(): void {
    if (this.#file === undefined) return;
    fsyncSync(this.#file);
    closeSync(this.#file);
    this.#file = undefined;
  }
}

const head = Buffer.from('{"identity":"');
const [quote, backslash] = [0x22, 0x5c];

/** A line for the record `json[start, end)`; its bytes as characters. */
export function nameLine(json: Buffer, start: number, end: number): string {
  if (json.compare(head, 0, head.length, start, start + head.length) === 0) {
    const from = start + head.length;
    let at = from;
    while (at < end && json[at] !== quote && json[at] !== backslash) at += 1;
    if (json[at] === quote) return `["identity","${json.toString('latin1', from, at)}"]\n`;
  }
  const { space, key } = keyOfRecord(json.toString('utf8', start, end));
  return `${Buffer.from(JSON.stringify([space, key])).toString('latin1')}\n`;
}

function parsed(line: string): RecordKey | undefined {
  try {
    const [space, key] = JSON.parse(line) as [RecordKey['space'], string];
    return Object.hasOwn(keySpaces, space) && typeof key === 'string' ? { space, key } : undefined;
  } catch {
    return undefined;
  }
}
