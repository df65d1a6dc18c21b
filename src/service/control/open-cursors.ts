import { expiryOf, type Export } from '../store/exports.js';
import type { Control } from './control-route.js';

const mostLooked = 1000;

/**
 * `GET /_local/cursors`: of the latest 1000 exports those whose cursors are still answered, the latest first.
 * `event` is null for a standard event that nobody has done; `batch` 0 is a page of everything.
 */
export const listCursors: Control = (_, { store, clock }) => {
  // The name as JSON: a text that comes from the store itself ends before a NUL in it.
  const latest = store.all<Export & { readonly name: string }>(
    `SELECT x.*, json_quote(n.name) AS name FROM exports x LEFT JOIN event_names n ON n.id = x.event
     ORDER BY x.id DESC LIMIT ?`,
    [mostLooked],
  );
  const now = clock.now();
  const cursors = latest
    .filter((opened) => now <= expiryOf(opened))
    .map((opened) => ({
      kind: opened.kind,
      event: JSON.parse(opened.name) as unknown,
      from: isoText(opened.start * 1000),
      before: isoText(opened.stop * 1000),
      batch: opened.batch,
      pendingPolls: opened.pending,
      openedAt: isoText(opened.opened_at),
      usedAt: isoText(opened.used_at),
      expiresAt: isoText(expiryOf(opened)),
    }));
  return JSON.stringify({ cursors });
};

const isoText = (milliseconds: number): string => new Date(milliseconds).toISOString();
