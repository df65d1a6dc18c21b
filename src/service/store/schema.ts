/** SQL of the index run of a row: 4096 consecutive ids. */
export const indexRun = (id: string): string => `${id} >> 12`;

/**
 * SQL that selects a column, as id, of the rows that match a condition, run by run of an index. A million rows
 * have 250 runs, which take about 1.5 ms.
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
 * Tables of the store. Profiles have sequential ids, so that new ones are appended; the index of random keys is
 * narrow. Events are stored in export order. JSON is stored as uploaded and concatenated into responses.
 */
export const tables = `
-- identities, object_ids, social_ids: JSON arrays of strings. name: JSON text of any value.
-- data: members of profileData, as JSON text without braces. ts: epoch seconds of the latest upload.
-- platforms: JSON array of the platform entries of a seed; NULL: derived from object_ids. public_id: id of the user in
-- event records of a seed; NULL: id.
CREATE TABLE profiles (
  id INTEGER PRIMARY KEY, identities TEXT NOT NULL, object_ids TEXT NOT NULL,
  social_ids TEXT NOT NULL, email TEXT COLLATE NOCASE, name TEXT, phone TEXT, data TEXT NOT NULL,
  ts INTEGER NOT NULL, platforms TEXT, public_id INTEGER
);
-- Sorted within each run of 4096 rows: new entries are on a few pages at the end, whereas an index of all
-- rows would write a random page for each.
CREATE INDEX profiles_by_email ON profiles (${indexRun('id')}, email) WHERE email IS NOT NULL;
-- kind: see kindNumber (profiles.ts). hash: hash of the value, the lookup key: each new user writes a random page,
-- and an index of a million hashes fits the cache.
CREATE TABLE keys (
  id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, kind INTEGER NOT NULL, value TEXT NOT NULL,
  profile INTEGER NOT NULL
);
CREATE INDEX keys_by_hash ON keys (hash);
-- Covers the search by prefix.
CREATE INDEX keys_by_value ON keys (${indexRun('id')}, kind, value, profile);
-- Addresses unsubscribed at the address level; all others are subscribed.
CREATE TABLE blocked (
  type TEXT NOT NULL, address TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY (type, address)
) WITHOUT ROWID;
-- newest: id of the latest uploaded event of this name.
CREATE TABLE event_names (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, newest INTEGER NOT NULL
);
-- ts: epoch seconds. id: sequence number within the event name; exports rely on increasing ids.
-- props: JSON object. device: members of the device, session: session_props of a seed; NULL: the user's first device, no
-- session. Rows with a negative id are no events: they mark when a user performed one, known from a summary of a seed.
CREATE TABLE events (
  event INTEGER NOT NULL, ts INTEGER NOT NULL, id INTEGER NOT NULL, profile INTEGER NOT NULL,
  props TEXT NOT NULL, device TEXT, session TEXT, PRIMARY KEY (event, ts, id)
) WITHOUT ROWID;
CREATE INDEX events_by_profile ON events (event, profile, ts);
-- given: 1 for a summary of a seed, which events of the seed do not change.
CREATE TABLE summaries (
  profile INTEGER NOT NULL, event INTEGER NOT NULL, count INTEGER NOT NULL,
  first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, given INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (profile, event)
) WITHOUT ROWID;
-- Open exports, to which cursors refer. Times in milliseconds since 1970; start and stop in epoch seconds.
CREATE TABLE exports (
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, event INTEGER NOT NULL, start INTEGER NOT NULL,
  stop INTEGER NOT NULL, batch INTEGER NOT NULL, app INTEGER NOT NULL, summaries INTEGER NOT NULL,
  properties INTEGER NOT NULL, newest INTEGER NOT NULL, pending INTEGER NOT NULL,
  opened_at INTEGER NOT NULL, used_at INTEGER NOT NULL
);
-- Users registered for calls. device: JSON of a Device. inbox: JSON of an Inbox.
CREATE TABLE call_users (
  cuid TEXT PRIMARY KEY, device TEXT NOT NULL, logged_out INTEGER NOT NULL,
  registered_at INTEGER NOT NULL, inbox TEXT NOT NULL
) WITHOUT ROWID;
-- record: JSON of a CallRecord. clicked: selected action of the missed-call notification.
CREATE TABLE calls (
  id INTEGER PRIMARY KEY, call_id TEXT NOT NULL UNIQUE, placed_at INTEGER NOT NULL,
  is_over INTEGER NOT NULL, record TEXT NOT NULL, clicked TEXT
);
CREATE INDEX calls_by_time ON calls (placed_at);
CREATE INDEX calls_going_on ON calls (call_id) WHERE is_over = 0;
CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL);
`;

/** Tables that a reset empties: all except the secrets. */
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

/** Version of the tables. Stores of other versions are not opened. */
export const schemaVersion = 7;
