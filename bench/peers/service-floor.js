// node service-floor.js <store> <profiles> <first>: SQLite alone takes the rows of so many new profiles into a copy of
// the service's store, as the service has it, in transactions of 1000. Prints the seconds of CPU that took.
import Sqlite from 'libsql';
import { profileRow } from '../service-records.js';

const [store, profiles, first] = process.argv.slice(2);
const database = new Sqlite(store);
database.pragma('journal_mode = WAL');
database.pragma('wal_autocheckpoint = 4000');
database.exec('PRAGMA synchronous = OFF');
database.exec('PRAGMA cache_size = -32768');
const find = database.prepare('SELECT profile FROM keys WHERE kind = ? AND value = ?');
const add = database.prepare(
  `INSERT INTO profiles (identities, object_ids, social_ids, name, phone, data, ts, email)
   VALUES (?, '[]', '[]', ?, ?, ?, 1700000000, ?)`,
);
const claim = database.prepare('INSERT INTO keys (kind, value, profile) VALUES (?, ?, ?)');

const rows = Array.from({ length: Number(profiles) }, (_, n) => profileRow(Number(first) + n));
const before = process.cpuUsage();
for (let at = 0; at < rows.length; at += 1000) {
  database.exec('BEGIN IMMEDIATE');
  for (const { identity, name, phone, email, data } of rows.slice(at, at + 1000)) {
    if (find.get(0, identity)) throw new Error(`${identity} is there already`);
    const { lastInsertRowid } = add.run(JSON.stringify([identity]), name, phone, data, email);
    claim.run(0, identity, lastInsertRowid);
  }
  database.exec('COMMIT');
}
const { user, system } = process.cpuUsage(before);
database.close();
console.log((user + system) / 1e6);
