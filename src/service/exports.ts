import type { Store } from './store.js';

/** Which parts of a profile a read asks for (endpoints 3 and 6). */
export interface ProfileParts {
  /** OS and app version, make and model of devices. */
  readonly app: boolean;
  /** Event summaries. */
  readonly summaries: boolean;
  /** profileData. */
  readonly properties: boolean;
}

/** An export that was opened (endpoint 3 or 6): what its cursors refer to. */
export interface Export {
  readonly id: number;
  readonly kind: 'profiles' | 'events';
  readonly event: number;
  /** Epoch seconds: start included, stop not. */
  readonly start: number;
  readonly stop: number;
  /** Records of a page; 0 is all of them. */
  readonly batch: number;
  readonly parts: ProfileParts;
  /** The newest event when the export was opened: later ones do not disturb its pages. */
  readonly newest: number;
  /** Polls still to be answered by code 2. */
  readonly pending: number;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  readonly usedAt: number;
}

type ExportRow = Omit<Export, 'parts' | 'openedAt' | 'usedAt'> &
  Readonly<Record<'app' | 'summaries' | 'properties' | 'opened_at' | 'used_at', number>>;

const hour = 3_600_000;
/** How long cursors live, in milliseconds (service-facts, Cursors). */
const lives = {
  events: { whole: 4 * hour, idle: hour },
  profiles: { whole: 96 * hour, idle: 96 * hour },
} as const;
/** After this an export is forgotten, and its cursors count as corrupt. */
const remembered = 2 * lives.profiles.whole;

export function insertExport(store: Store, opened: Omit<Export, 'id' | 'usedAt'>): number {
  const { kind, event, start, stop, batch, parts, newest, pending, openedAt } = opened;
  const flags = [parts.app, parts.summaries, parts.properties].map(Number);
  return store.transaction(() => {
    store.run('DELETE FROM exports WHERE opened_at < ?', [openedAt - remembered]);
    return store.run(
      `INSERT INTO exports (kind, event, start, stop, batch, app, summaries, properties, newest,
         pending, opened_at, used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [kind, event, start, stop, batch, ...flags, newest, pending, openedAt, openedAt],
    );
  });
}

/** Finds the export and marks it as used; `pending` is its value before this poll. */
export function useExport(store: Store, id: number, now: number): Export | undefined {
  return store.transaction(() => {
    const row = store.get<ExportRow>('SELECT * FROM exports WHERE id = ?', [id]);
    if (!row) return undefined;
    const { app, summaries, properties, opened_at: openedAt, used_at: usedAt, ...rest } = row;
    const parts = { app: app === 1, summaries: summaries === 1, properties: properties === 1 };
    const used = { ...rest, parts, openedAt, usedAt };
    if (!isExpired(used, now)) {
      store.run('UPDATE exports SET used_at = ?, pending = max(pending - 1, 0) WHERE id = ?', [
        now,
        id,
      ]);
    }
    return used;
  });
}

export function isExpired({ kind, openedAt, usedAt }: Export, now: number): boolean {
  return now - openedAt > lives[kind].whole || now - usedAt > lives[kind].idle;
}
