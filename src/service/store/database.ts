import Sqlite from 'libsql';
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateFolder, openToAppend } from '../../files/atomic-write.js';
import { dataTables, tables, schemaVersion } from './schema.js';

type Value = string | number | Uint8Array | null;
type Statement = ReturnType<InstanceType<typeof Sqlite>['prepare']>;
/** Rows come as arrays: libsql takes twice as long to make them objects. */
interface Prepared {
  readonly statement: Statement;
  readonly columns: readonly string[];
}

/** How long one process waits for the short write transactions of another. */
const busyMilliseconds = 15_000;
const pauseMilliseconds = 10;
/** Pages of the log before it is written back, in one piece that holds the loop: 16 MB take some 25 ms. */
const checkpointPages = 4000;
/** Holds the inner pages of a large store, and the event summaries of a million users. */
const cacheKibibytes = 32_768;

/** The SQLite database. Several processes may have it open at once: WAL, and short immediate transactions. */
export class Database {
  readonly #database: InstanceType<typeof Sqlite>;
  /** Apart by what runs them: libsql's `get` gives no new values to a statement that its `all` or `run` ran last. */
  readonly #statements = {
    get: new Map<string, Prepared>(),
    all: new Map<string, Prepared>(),
    run: new Map<string, Prepared>(),
  };
  /** Key of the cursors' signatures, made with the store: cursors survive a restart. */
  readonly cursorSecret: Uint8Array;

  /** Opens or creates the store in the folder; undefined keeps it in memory. */
  constructor(dataDir: string | undefined) {
    this.#database = new Sqlite(dataDir === undefined ? ':memory:' : privateFile(dataDir));
    this.#database.exec(`PRAGMA busy_timeout = ${busyMilliseconds}`);
    this.#useWal();
    // A killed process leaves the store whole. A power cut may not: nothing waits for the disk here.
    this.#database.exec('PRAGMA synchronous = OFF');
    this.#database.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    this.#database.exec(`PRAGMA cache_size = -${cacheKibibytes}`);
    this.transaction(() => this.#createTables());
    this.cursorSecret = this.bytes(`SELECT value FROM secrets WHERE name = 'cursor'`, []);
  }

  /** SQLite does not wait for another process that does the same just then: both could wait for ever. */
  #useWal(): void {
    for (let waited = 0; ; waited += pauseMilliseconds) {
      try {
        this.#database.pragma('journal_mode = WAL');
        return;
      } catch (error) {
        const isBusy = error instanceof Sqlite.SqliteError && error.code === 'SQLITE_BUSY';
        if (!isBusy || waited > busyMilliseconds) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMilliseconds);
      }
    }
  }

  /** The first row, or undefined. `Row` names its columns. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as in `all`, the caller knows its SQL
  get<Row>(sql: string, values: readonly Value[]): Row | undefined {
    const prepared = this.#prepared('get', sql);
    const row = this.#firstRow(prepared, values);
    return row && (rowOf(prepared.columns, row) as Row);
  }

  all<Row>(sql: string, values: readonly Value[]): Row[] {
    const { statement, columns } = this.#prepared('all', sql);
    return (statement.all(values) as Value[][]).map((row) => rowOf(columns, row) as Row);
  }

  /** The one value, a BLOB, of a query that always has one row. */
  bytes(sql: string, values: readonly Value[]): Buffer {
    const [value] = this.#firstRow(this.#prepared('get', sql), values) as [Buffer];
    return value;
  }

  /** By `get`, which makes no object of what has changed, as libsql's `run` does. */
  run(sql: string, values: readonly Value[]): void {
    this.#firstRow(this.#prepared('get', sql), values);
  }

  /** Returns the id of the new row. */
  insert(sql: string, values: readonly Value[]): number {
    return Number(this.#prepared('run', sql).statement.run(values).lastInsertRowid);
  }

  /** Runs `work` in one transaction that no other writer shares: all of it is kept, or nothing. */
  transaction<Result>(work: () => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      // A full disk has ended the transaction already.
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Runs `work` as a transaction would, and keeps nothing. */
  rehearse<Result>(work: () => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      return work();
    } finally {
      this.#database.exec('ROLLBACK');
    }
  }

  /** Removes all data. */
  clear(): void {
    this.transaction(() => this.#empty());
  }

  /** Writes a copy of the store into a file that does not exist. */
  copyTo(file: string): void {
    this.#database.prepare('VACUUM INTO ?').run([file]);
    chmodSync(file, 0o600);
  }

  /** Makes the data that of a copy. Throws what is wrong with it, with a `code`, and has changed nothing then. */
  replaceBy(file: string): void {
    this.#database.prepare('ATTACH ? AS copy').run([file]);
    try {
      this.transaction(() => {
        const format = this.#format('copy');
        if (format !== schemaVersion) throw wrongFormat(format);
        this.#empty();
        for (const table of dataTables)
          this.#database.exec(`INSERT INTO main.${table} SELECT * FROM copy.${table}`);
      });
    } finally {
      this.#database.exec('DETACH copy');
    }
  }

  #empty(): void {
    for (const table of dataTables) this.#database.exec(`DELETE FROM main.${table}`);
  }

  close(): void {
    for (const statements of Object.values(this.#statements)) statements.clear();
    this.#database.close();
  }

  /** libsql's `get` gives no new values either to a statement that has failed: such a one is prepared anew. */
  #firstRow({ statement }: Prepared, values: readonly Value[]): Value[] | undefined {
    try {
      return statement.get(values) as Value[] | undefined;
    } catch (error) {
      this.#statements.get.clear();
      throw error;
    }
  }

  #prepared(by: 'get' | 'all' | 'run', sql: string): Prepared {
    const known = this.#statements[by].get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    const columns = statement.reader ? statement.raw().columns() : [];
    const prepared = { statement, columns: columns.map(({ name }) => name) };
    this.#statements[by].set(sql, prepared);
    return prepared;
  }

  #format(schema: 'main' | 'copy'): number | undefined {
    return this.get<{ user_version: number }>(`PRAGMA ${schema}.user_version`, [])?.user_version;
  }

  #createTables(): void {
    const format = this.#format('main');
    if (format === schemaVersion) return;
    if (format !== 0) throw wrongFormat(format);
    this.#database.exec(tables);
    this.#database.exec(`PRAGMA user_version = ${schemaVersion}`);
    this.run('INSERT INTO secrets VALUES (?, ?)', ['cursor', randomBytes(32)]);
  }
}

/** The code makes it an error of the file, not a defect. */
const wrongFormat = (format: number | undefined): Error =>
  Object.assign(
    new Error(`another version of engagectl made it (format ${format}, not ${schemaVersion})`),
    { code: 'EFORMAT' },
  );

function rowOf(columns: readonly string[], values: readonly Value[]): Record<string, Value> {
  const row: Record<string, Value> = {};
  columns.forEach((column, at) => (row[column] = values[at] as Value));
  return row;
}

/** The database file, made readable for its owner only; SQLite gives its log the same mode. */
function privateFile(dataDir: string): string {
  makePrivateFolder(dataDir);
  const path = join(dataDir, 'service.db');
  closeSync(openToAppend(path));
  return path;
}
