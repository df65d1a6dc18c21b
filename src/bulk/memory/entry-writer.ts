import path from 'node:path';
import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { syncFolder } from '../../files/atomic-write.js';
import { bytesOf, entryWords, headBytes, headOf, type EntryHead } from './entry-file.js';

const roomEntries = 65_536;

/** Writes a file of entries, which takes its name when it is whole. */
export class EntryWriter {
  readonly #path: string;
  readonly #file: number;
  readonly #room = new Int32Array(entryWords * roomEntries);
  #filled = 0;
  #count = 0;
  #sum = 0;

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(draftOf(path), 'w', 0o600);
    writeSync(this.#file, Buffer.alloc(headBytes));
  }

  /** The entry at `words[at]`; in the order of the keys. */
  add(words: Int32Array, at: number): void {
    if (this.#filled === this.#room.length) this.#flush();
    for (let word = 0; word < entryWords; word += 1) {
      this.#room[this.#filled + word] = words[at + word]!;
    }
    this.#filled += entryWords;
    this.#count += 1;
  }

  /** Puts it in its place, synced. */
  finish(about: Pick<EntryHead, 'seed' | 'owner'>): void {
    this.#flush();
    const head = headOf({ ...about, count: this.#count, sum: this.#sum });
    writeSync(this.#file, head, 0, head.length, 0);
    fsyncSync(this.#file);
    renameSync(draftOf(this.#path), this.#path);
    syncFolder(path.dirname(this.#path));
  }

  close(): void {
    closeSync(this.#file);
  }

  #flush(): void {
    const bytes = bytesOf(this.#room.subarray(0, this.#filled));
    this.#sum = crc32(bytes, this.#sum);
    for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at);
    this.#filled = 0;
  }
}

const draftOf = (file: string): string => `${file}.new`;
