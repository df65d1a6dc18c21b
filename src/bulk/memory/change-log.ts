import path from 'node:path';
import { closeSync, fdatasync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { syncFolder } from '../../files/atomic-write.js';
import { bytesOf, DoubtfulFile, entryBytes, entryWords, filled } from './entry-file.js';

const syncData = promisify(fdatasync);

/** Numbers before the entries of a block: what it is, how many follow, their checksum, and its own. */
const blockWords = 4;
const magic = 0x4d_45_42_31;

/**
 * What a run did to a memory, in the order in which it was done: blocks of entries. An entry whose
 * record is 0 is a doubt: a record with this key is about to be sent, and nobody knows any more
 * what the service has. Doubts are synced before their request goes out.
 */
export class ChangeLog {
  readonly path: string;
  readonly #file: number;

  /** A new one. */
  constructor(file: string) {
    this.path = file;
    this.#file = openSync(file, 'wx', 0o600);
    syncFolder(path.dirname(file));
  }

  /** The entries count once they are written: what is lost of those that were accepted is a doubt. */
  write(entries: Int32Array): void {
    const count = entries.length / entryWords;
    const payload = bytesOf(entries);
    const head = Uint32Array.of(magic, count, crc32(payload), 0);
    head[blockWords - 1] = crc32(bytesOf(head.subarray(0, blockWords - 1)));
    const bytes = Buffer.concat([bytesOf(head), payload]);
    for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at);
  }

  async sync(): Promise<void> {
    await syncData(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/**
 * The blocks of a log, each only lent. What a kill left of the last one is passed over: the end of
 * it is missing, or was never written. Throws DoubtfulFile for any other damage, which is not looked
 * for where it is known that there is none.
 */
export function* blocksOf(
  file: string,
  { isKnown = false }: { readonly isKnown?: boolean } = {},
): Generator<Int32Array> {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    let room = new Int32Array(entryWords * 1024);
    for (let at = 0; at < size;) {
      const head = new Uint32Array(blockWords);
      if (!filled(descriptor, head, at)) return;
      const [, count = 0, sum] = head;
      const isHead = head[0] === magic && head[3] === crc32(bytesOf(head.subarray(0, 3)));
      if (!isHead && isEmpty(descriptor, at, size)) return;
      if (!isHead) throw new DoubtfulFile('a line of what was accepted is damaged');
      at += 4 * blockWords;
      if (at + entryBytes * count > size) return;
      if (room.length < entryWords * count) room = new Int32Array(entryWords * count);
      const entries = room.subarray(0, entryWords * count);
      filled(descriptor, entries, at);
      const isWhole = isKnown || crc32(bytesOf(entries)) === sum;
      if (!isWhole) throw new DoubtfulFile('a line of what was accepted is damaged');
      yield entries;
      at += entryBytes * count;
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Zeros only: the file was made longer, and the disk never had the rest. */
function isEmpty(descriptor: number, from: number, size: number): boolean {
  const bytes = Buffer.alloc(64 * 1024);
  for (let at = from; at < size;) {
    const read = readSync(descriptor, bytes, 0, bytes.length, at);
    if (read === 0) return true;
    if (bytes.subarray(0, read).some((byte) => byte !== 0)) return false;
    at += read;
  }
  return true;
}
