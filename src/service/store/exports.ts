import type { Database } from './database.js';

/** Which parts of a profile a read asks for (endpoints 3 and 6): 1 or 0, as the store has it. */
export interface ProfileParts {
  /** OS and app version, make and model of devices. */
  readonly app: number;
  /** Event summaries. */
  readonly summaries: number;
  /** profileData. */
  readonly properties: number;
}

/** An export that was opened (endpoint 3 or 6), as its row in table `exports`: what its cursors refer to. */
export interface Export extends ProfileParts {
  readonly id: number;
  readonly kind: 'profiles' | 'events';
  readonly event: number;
  /** Epoch seconds: start included, stop not. */
  readonly start: number;
  readonly stop: number;
  /** Records of a page; 0 is all of them. */
  readonly batch: number;
  /** The newest event when the export was opened: later ones do not disturb its pages. */
  readonly newest: number;
  /** Polls still to be answered by code 2. */
  readonly pending: number;
  /** Milliseconds since 1970. */
  readonly opened_at: number;
  readonly used_at: number;
}

const hour = 3_600_000;
/** How long cursors live, in milliseconds (service-facts, Cursors). */
const lives = {
  events: { whole: 4 * hour, idle: hour },
  profiles: { whole: 96 * hour, idle: 96 * hour },
} as const;
/** After this an export is forgotten, and its cursors count as corrupt. */
const remembered = 2 * lives.profiles.whole;

export function insertExport(store: Database, opened: Omit<Export, 'id'>): number {
  return store.transaction(() => {
    store.run('DELETE FROM exports WHERE opened_at < ?', [opened.opened_at - remembered]);
    const columns = Object.keys(opened).join(', ');
    const values = Object.values(opened);
    const marks = values.map(() => '?').join(', ');
    return store.insert(`INSERT INTO exports (${columns}) VALUES (${marks})`, values);
  });
}

/** Finds the export and marks it as used; `pending` is its value before this poll. */
export function useExport(store: Database, id: number, now: number): Export | undefined {
  return store.transaction(() => {
    const opened = store.get<Export>('SELECT * FROM exports WHERE id = ?', [id]);
    if (opened && !isExpired(opened, now)) {
      const sql = 'UPDATE exports SET used_at = ?, pending = max(pending - 1, 0) WHERE id = ?';
      store.run(sql, [now, id]);
    }
    return opened;
  });
}

export const isExpired = (opened: Export, now: number): boolean => now > expiryOf(opened);

/** The last millisecond in which its cursors are answered, when it is not used again. */
export const expiryOf = ({ kind, opened_at, used_at }: Export): number =>
  Math.min(opened_at + lives[kind].whole, used_at + lives[kind].idle);
