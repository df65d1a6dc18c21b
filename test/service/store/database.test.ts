import Sqlite from 'libsql';
import { linkSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { Database } from '../../../src/service/store/database.js';
import { eventRecord, makeFolder, run } from '../running.js';

it.each([
  ['a key', 'keys', 'value'],
  ["an event's name", 'event_names', 'name'],
  ['a summary', 'summaries', 'first_seen'],
])('writes only the next record after %s could not be written', async (_, table, column) => {
  const dataDir = makeFolder();
  const service = await run({ dataDir, onDefect: () => undefined });
  const disk = new Sqlite(path.join(dataDir, 'service.db'));
  expect(await service.upload(eventRecord('a', 'Early', 1))).toMatchObject({ processed: 1 });

  disk.exec(`CREATE TRIGGER is_full BEFORE INSERT ON ${table} WHEN NEW.${column} IN ('b', 'Late', 2)
    BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  expect(await service.upload(eventRecord('b', 'Late', 2))).toMatchObject({ http: 500 });
  disk.exec('DROP TRIGGER is_full');
  disk.close();

  expect(await service.upload(eventRecord('c', 'Next', 3))).toMatchObject({ processed: 1 });
  expect(await service.profile('identity', 'b')).toBeUndefined();
  expect(await service.profile('identity', 'c')).toMatchObject({
    all_identities: ['c'],
    events: { Next: { count: 1, first_seen: 3, last_seen: 3 } },
  });
});

it.each([
  ['a trigger', 'CREATE TRIGGER boom AFTER INSERT ON events BEGIN DELETE FROM profiles; END'],
  ['a view', 'CREATE VIEW more AS SELECT 1'],
  ['a view in place of a table', 'DROP TABLE blocked; CREATE VIEW blocked AS SELECT 1'],
  ['a generated column', 'ALTER TABLE blocked ADD COLUMN more AS (zeroblob(1000000000))'],
  ['an index of an expression', 'CREATE INDEX more ON blocked (hex(zeroblob(450000000)))'],
  ['another table', 'CREATE TABLE more (id INTEGER)'],
])('opens no data directory with %s', (_, sql) => {
  const dataDir = makeFolder();
  new Database(dataDir).close();
  const disk = new Sqlite(path.join(dataDir, 'service.db'));
  disk.exec(sql);
  disk.close();
  expect(() => new Database(dataDir)).toThrow('its tables are not those of a data directory');
});

it('leaves a database of another program as it is', () => {
  const dataDir = makeFolder();
  const file = path.join(dataDir, 'service.db');
  const disk = new Sqlite(file);
  disk.exec('CREATE TABLE customers (id INTEGER)');
  disk.close();
  const before = readFileSync(file);
  expect(() => new Database(dataDir)).toThrow('another program made it');
  expect(readFileSync(file)).toEqual(before);
  expect(readdirSync(dataDir)).toEqual(['service.db']);
});

it.each(['service.db-wal', 'service.db-shm'])(
  'opens no data directory whose %s is a link',
  (name) => {
    const dataDir = makeFolder();
    new Database(dataDir).close();
    const other = path.join(makeFolder(), 'thesis.txt');
    writeFileSync(other, 'chapter 1\n');
    rmSync(path.join(dataDir, name), { force: true });
    linkSync(other, path.join(dataDir, name));
    expect(() => new Database(dataDir)).toThrow(`its ${name} is a link, or no file`);
    expect(readFileSync(other, 'utf8')).toBe('chapter 1\n');
  },
);

it('opens no data directory whose snapshots are a link', () => {
  const dataDir = makeFolder();
  symlinkSync(makeFolder(), path.join(dataDir, 'snapshots'));
  expect(() => new Database(dataDir)).toThrow('its folder snapshots is a symbolic link');
});

it('binds the values of each call of one SQL text, whatever ran before', () => {
  const store = new Database(undefined);
  onTestFinished(() => store.close());
  const sql = "INSERT INTO secrets VALUES (?, 'x')";
  store.insert(sql, ['a']);
  store.run(sql, ['b']);
  const named = 'SELECT name FROM secrets WHERE name = ?';
  expect(store.all(named, ['a'])).toEqual([{ name: 'a' }]);
  expect(store.get(named, ['b'])).toEqual({ name: 'b' });
});

it('keeps its statements, whose collection would wait for those on another thread', async () => {
  const { prototype } = Sqlite;
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { prepare } = prototype;
  onTestFinished(() => void (prototype.prepare = prepare));
  const statements = new Map<string, WeakRef<object>>();
  prototype.prepare = function (this: Sqlite.Database, sql: string) {
    const statement = prepare.call(this, sql);
    statements.set(sql, new WeakRef(statement));
    return statement;
  } as typeof prepare;
  const dataDir = makeFolder();
  const store = new Database(dataDir);
  onTestFinished(() => store.close());
  const copy = path.join(dataDir, 'copy.db');
  await store.copyTo(copy);
  await store.clear();
  await store.replaceBy(copy);
  await nextTurn(); // a WeakRef keeps its object until then
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  expect(statements.size).toBeGreaterThan(3);
  expect([...statements].filter(([, statement]) => !statement.deref())).toEqual([]);
});
