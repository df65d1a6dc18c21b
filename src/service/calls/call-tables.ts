import type { Database } from '../store/database.js';

/** Tables of the calling system. They stand beside the others, and are made when it first starts. */
const tables = [
  // device: JSON of a Device. inbox: JSON of an Inbox.
  `CREATE TABLE IF NOT EXISTS call_users (
    cuid TEXT PRIMARY KEY, device TEXT NOT NULL, logged_out INTEGER NOT NULL,
    registered_at INTEGER NOT NULL, inbox TEXT NOT NULL
  ) WITHOUT ROWID`,
  // record: JSON of a CallRecord. clicked: the chosen action of the missed-call notification.
  `CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, call_id TEXT NOT NULL UNIQUE, placed_at INTEGER NOT NULL,
    is_over INTEGER NOT NULL, record TEXT NOT NULL, clicked TEXT
  )`,
  'CREATE INDEX IF NOT EXISTS calls_by_time ON calls (placed_at)',
  'CREATE INDEX IF NOT EXISTS calls_going_on ON calls (call_id) WHERE is_over = 0',
];

export function makeCallTables(store: Database): void {
  store.transaction(() => {
    for (const table of tables) store.run(table, []);
  });
}
