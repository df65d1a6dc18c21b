/** What is found of an entry whose record is to be sent. */
export const found = { unknown: 0, changed: 1, same: 2 } as const;

/** Entries with which others are compared. */
export interface KnownEntries {
  /**
   * What is found of each entry, as numbers of `found`. What is the same counts as changed where
   * `mayRest` is 0, and where another record of its key was changed before. Lent until the next call.
   */
  compare(entries: Int32Array, mayRest: Uint8Array): Uint8Array;
  /** How many were met by others. */
  readonly seen: number;
  /** 1 for each entry whose key is known. Lent likewise. */
  has(entries: Int32Array): Uint8Array;
  /** The key of this entry is known, and was met by no other so far. */
  isMissed(entry: Int32Array): boolean;
  close(): void;
}
