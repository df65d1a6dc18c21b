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
const find = database.prepare('SELECT profile FROM keys WHERE hash = ? AND kind = 0 AND value = ?');
const add = database.prepare(
  `INSERT INTO profiles (identities, object_ids, social_ids, name, phone, data, ts, email)
   VALUES (?, '[]', '[]', ?, ?, ?, 1700000000, ?)`,
);
const claim = database.prepare('INSERT INTO keys (hash, kind, value, profile) VALUES (?, 0, ?, ?)');

const rows = Array.from({ length: Number(profiles) }, (_, n) => profileRow(Number(first) + n));
const before = process.cpuUsage();
for (let at = 0; at < rows.length; at += 1000) {
  database.exec('BEGIN IMMEDIATE');
  for (const { identity, name, phone, email, data } of rows.slice(at, at + 1000)) {
    const hash = fnv1a(identity);
    if (find.get(hash, identity)) throw new Error(`${identity} is there already`);
    const { lastInsertRowid } = add.run(JSON.stringify([identity]), name, phone, data, email);
    claim.get(hash, identity, lastInsertRowid);
  }
  database.exec('COMMIT');
}
const { user, system } = process.cpuUsage(before);
database.close();
console.log((user + system) / 1e6);

function fnv1a(text) {
  let hash = 0x811c9dc5;
  for (const unit of Buffer.from(text)) hash = Math.imul(hash ^ unit, 0x01000193);
  return hash;
}
