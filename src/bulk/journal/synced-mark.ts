import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { writeSynced } from '../../files/atomic-write.js';
import { checksum, type SyncedMark } from './journal-format.js';

/** Bytes of one of the two places; a disk writes as many at once. */
const placeBytes = 512;

/**
 * A small file beside a journal that says how much of it was synced: a cut of the journal cannot
 * hide what is gone. It is written in two places in turn, so that one of them is always whole, and
 * it is not synced: an older mark says less, and nothing wrong.
 */
export class SyncedMarkFile {
  readonly #file: number;
  #writes = 0;

  static create(journal: string, mark: SyncedMark): void {
    writeSynced(fileOf(journal), Buffer.concat([placeOf(mark), placeOf(mark)]));
  }

  static isThere = (journal: string): boolean => existsSync(fileOf(journal));

  /** What it says; undefined when it is missing, or damaged in both places. */
  static read(journal: string): SyncedMark | undefined {
    if (!SyncedMarkFile.isThere(journal)) return undefined;
    const content = readFileSync(fileOf(journal));
    const marks = [0, placeBytes].flatMap((at) => parsed(content, at));
    return marks.toSorted((a, b) => b.bytes - a.bytes)[0];
  }

  constructor(journal: string) {
    this.#file = openSync(fileOf(journal), 'r+');
  }

  write(mark: SyncedMark): void {
    this.#writes += 1;
    writeSync(this.#file, placeOf(mark), 0, placeBytes, (this.#writes % 2) * placeBytes);
  }

  close(): void {
    closeSync(this.#file);
  }
}

const fileOf = (journal: string): string => `${journal}.synced`;

function placeOf(mark: SyncedMark): Buffer {
  const json = JSON.stringify(mark);
  return Buffer.from(`${checksum(json)} ${json}`.padEnd(placeBytes - 1) + '\n');
}

function parsed(content: Buffer, at: number): SyncedMark[] {
  const text = content.toString('latin1', at, at + placeBytes);
  const json = text.slice('01234567 '.length).trimEnd();
  return text.startsWith(`${checksum(json)} `) ? [JSON.parse(json) as SyncedMark] : [];
}
