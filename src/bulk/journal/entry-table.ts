/** What a journal says, in the order in which it became true. Its kind is one of a table. */
export interface JournalEntry {
  readonly kind: string;
}

/**
 * The kinds of entries of a journal: a name for each, and what an entry adds to what is known. A
 * new kind is a new line here; an older version that meets one refuses the journal, and loses
 * nothing.
 */
export type EntryTable<State> = Readonly<Record<string, (known: State, entry: never) => void>>;

/** Any entry of a table. */
export type EntryOf<Table> = {
  [Kind in keyof Table & string]: Table[Kind] extends (known: never, entry: infer Entry) => void
    ? { readonly kind: Kind } & Entry
    : never;
}[keyof Table & string];

/** A table whose entries a journal may hold. */
export type KnownKinds<Entry extends JournalEntry> = Readonly<Record<Entry['kind'], unknown>>;

/** Adds what the entries say to what is known. */
export function replay<State>(
  table: EntryTable<State>,
  entries: readonly JournalEntry[],
  known: State,
): State {
  for (const entry of entries) table[entry.kind]?.(known, entry as never);
  return known;
}
