import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePrivateFolder, temporaryPath } from '../../files/atomic-write.js';
import type { Database } from './database.js';

const extension = '.db';

/** Named copies of the store, in its directory or, for a store in memory, in a temporary one. */
export class Snapshots {
  readonly #store: Database;
  /** Undefined before the first snapshot of a store in memory. */
  #folder: string | undefined;
  readonly #isTemporary: boolean;

  constructor(store: Database, dataDir: string | undefined) {
    this.#store = store;
    this.#isTemporary = dataDir === undefined;
    this.#folder = dataDir === undefined ? undefined : join(dataDir, 'snapshots');
  }

  async save(name: string): Promise<void> {
    this.#folder ??= mkdtempSync(join(tmpdir(), 'engagectl-snapshots-'));
    makePrivateFolder(this.#folder);
    const draft = temporaryPath(this.#file(name)); // another service may save the same snapshot
    try {
      await this.#store.copyTo(draft);
      renameSync(draft, this.#file(name));
    } finally {
      // A partial copy must not keep a full disk full.
      rmSync(draft, { force: true });
    }
  }

  /** Returns false if the snapshot does not exist. */
  async restore(name: string): Promise<boolean> {
    if (!this.#has(name)) return false;
    await this.#store.replaceBy(this.#file(name));
    return true;
  }

  /** Returns false if the snapshot does not exist. */
  remove(name: string): boolean {
    if (!this.#has(name)) return false;
    rmSync(this.#file(name));
    return true;
  }

  list(): { readonly name: string; readonly bytes: number; readonly at: string }[] {
    return this.#names().map((name) => {
      const { size, mtime } = statSync(this.#file(name));
      return { name, bytes: size, at: mtime.toISOString() };
    });
  }

  close(): void {
    if (this.#isTemporary && this.#folder !== undefined) rmSync(this.#folder, { recursive: true });
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder ?? '')
        .filter((file) => file.endsWith(extension))
        .map((file) => file.slice(0, -extension.length))
        .toSorted();
    } catch {
      return [];
    }
  }

  #has = (name: string): boolean => this.#names().includes(name);
  #file = (name: string): string => join(this.#folder ?? '', name + extension);
}
