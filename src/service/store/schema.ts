/** The run of an index that a row's entry is in: 4096 rows each. */
export const indexRun = (id: string): string => `${id} >> 12`;

/**
 * SQL for a column, as id, of the rows that meet the condition, run by run of an index, in the order of
 * the index within each: 250 places of it for a million rows, some 1.5 ms.
 */
export const rowsByIndexRun = (
  table: 'profiles' | 'keys',
  column: string,
  condition: string,
): string =>
  `WITH RECURSIVE runs (run) AS (
     SELECT 0 UNION ALL SELECT run + 1 FROM runs WHERE run < (SELECT ${indexRun('max(id)')} FROM ${table})
   )
   SELECT ${column} AS id FROM runs CROSS JOIN ${table} t ON ${indexRun('t.id')} = run AND ${condition}`;

/**
 * Tables of the store. Profiles get sequential integer ids, so that new ones are appended; what leads to
 * them from a random key is narrow. Events lie in the order in which they are
 * exported. JSON stays text as it was uploaded and is concatenated into answers.
 */
export const tables = `
-- identities, object_ids, social_ids: JSON arrays of strings. name: JSON text of any value.
-- data: members of profileData, as JSON text without braces. ts: epoch seconds of what was uploaded last.
CREATE TABLE profiles (
  id INTEGER PRIMARY KEY, identities TEXT NOT NULL, object_ids TEXT NOT NULL,
  social_ids TEXT NOT NULL, email TEXT COLLATE NOCASE, name TEXT, phone TEXT, data TEXT NOT NULL,
  ts INTEGER NOT NULL
);
-- Texts at random places are sorted within each run of 4096 rows alone (runs.ts): new ones lie on a few pages at the
-- end, where an index of all of them would have a page written for each.
CREATE INDEX profiles_by_email ON profiles (${indexRun('id')}, email) WHERE email IS NOT NULL;
-- kind: the number of a ProfileKey's (profiles.ts). hash: its value's, by which it is found: each new user writes a
-- page at a random place, and the cache holds an index of a million hashes.
CREATE TABLE keys (
  id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, kind INTEGER NOT NULL, value TEXT NOT NULL,
  profile INTEGER NOT NULL
);
CREATE INDEX keys_by_hash ON keys (hash);
-- For the search by how a key begins, which reads nothing else.
CREATE INDEX keys_by_value ON keys (${indexRun('id')}, kind, value, profile);
-- Addresses that are Unsubscribed at the address level; all others are Subscribed.
CREATE TABLE blocked (
  type TEXT NOT NULL, address TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY (type, address)
) WITHOUT ROWID;
-- newest: the id of the event of this name that was uploaded last.
CREATE TABLE event_names (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, newest INTEGER NOT NULL
);
-- ts: epoch seconds. id: counts the events of one name; exports rely on ids that only grow.
-- props: JSON object.
CREATE TABLE events (
  event INTEGER NOT NULL, ts INTEGER NOT NULL, id INTEGER NOT NULL, profile INTEGER NOT NULL,
  props TEXT NOT NULL, PRIMARY KEY (event, ts, id)
) WITHOUT ROWID;
CREATE INDEX events_by_profile ON events (event, profile, ts);
CREATE TABLE summaries (
  profile INTEGER NOT NULL, event INTEGER NOT NULL, count INTEGER NOT NULL,
  first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, PRIMARY KEY (profile, event)
) WITHOUT ROWID;
-- What a cursor refers to. Times in milliseconds since 1970; start and stop in epoch seconds.
CREATE TABLE exports (
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, event INTEGER NOT NULL, start INTEGER NOT NULL,
  stop INTEGER NOT NULL, batch INTEGER NOT NULL, app INTEGER NOT NULL, summaries INTEGER NOT NULL,
  properties INTEGER NOT NULL, newest INTEGER NOT NULL, pending INTEGER NOT NULL,
  opened_at INTEGER NOT NULL, used_at INTEGER NOT NULL
);
-- Who registered for calls. device: JSON of a Device. inbox: JSON of an Inbox.
CREATE TABLE call_users (
  cuid TEXT PRIMARY KEY, device TEXT NOT NULL, logged_out INTEGER NOT NULL,
  registered_at INTEGER NOT NULL, inbox TEXT NOT NULL
) WITHOUT ROWID;
-- record: JSON of a CallRecord. clicked: the chosen action of the missed-call notification.
CREATE TABLE calls (
  id INTEGER PRIMARY KEY, call_id TEXT NOT NULL UNIQUE, placed_at INTEGER NOT NULL,
  is_over INTEGER NOT NULL, record TEXT NOT NULL, clicked TEXT
);
CREATE INDEX calls_by_time ON calls (placed_at);
CREATE INDEX calls_going_on ON calls (call_id) WHERE is_over = 0;
CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL);
`;

/** All of them but the secrets, which outlive a reset. */
export const dataTables = [
  'profiles',
  'keys',
  'blocked',
  'event_names',
  'events',
  'summaries',
  'exports',
  'call_users',
  'calls',
] as const;

/** A store of another version is not opened. */
export const schemaVersion = 6;
