import Sqlite from 'libsql';
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateFolder, openToAppend } from '../../files/atomic-write.js';
import { foreignJournal } from '../../files/file-lock.js';
import { dataTables, tables, schemaVersion } from './schema.js';

type Value = string | number | Uint8Array | null;
type Statement = ReturnType<InstanceType<typeof Sqlite>['prepare']>;
/** A statement that returns rows as arrays: libsql takes twice as long to create objects. */
interface Prepared {
  readonly statement: Statement;
  readonly columns: readonly string[];
}

/** Time to wait for write transactions of other processes. */
const busyMilliseconds = 15_000;
const pauseMilliseconds = 10;
/** The statements as SQLite keeps them: without the comments before them. */
const ownTables = tables
  .replaceAll(/^--.*\n/gm, '')
  .split(';')
  .flatMap((statement) => statement.trim() || []);
const emptyTables = dataTables.map((table) => `DELETE FROM main.${table}`);
/** Pages of the write-ahead log per checkpoint, which blocks the event loop: 16 MB take about 25 ms. */
const checkpointPages = 4000;
/** Fits the inner pages of a large store and the event summaries of a million users. */
const cacheKibibytes = 32_768;

/** The SQLite database. Several processes may have it open at once: WAL, and short immediate transactions. */
export class Database {
  readonly #database: InstanceType<typeof Sqlite>;
  /**
   * All statements, kept until the end: the garbage collection of one waits for a statement that runs on another thread.
   * Separate by method: libsql's `get` does not rebind a statement that `all` or `run` executed last.
   */
  readonly #statements = {
    get: new Map<string, Prepared>(),
    all: new Map<string, Prepared>(),
    run: new Map<string, Prepared>(),
  };
  #background: Promise<void> | undefined;
  /** Key of the cursor signatures, created with the store so that cursors survive a restart. */
  readonly cursorSecret: Uint8Array;

  /** Opens or creates the store in a directory; undefined keeps it in memory. */
  constructor(dataDir: string | undefined) {
    this.#database = new Sqlite(dataDir === undefined ? ':memory:' : privateFile(dataDir));
    this.#database.exec(`PRAGMA busy_timeout = ${busyMilliseconds}`);
    const isMade = this.#hasTables(); // before anything is written to a database that may be another program's
    this.#useWal();
    // Survives a killed process but not a power cut: test data is not worth waiting for the disk.
    this.#database.exec('PRAGMA synchronous = OFF');
    this.get(`PRAGMA wal_autocheckpoint = ${checkpointPages}`, []);
    this.#database.exec(`PRAGMA cache_size = -${cacheKibibytes}`);
    if (!isMade) this.transaction(() => this.#createTables());
    this.cursorSecret = this.bytes(`SELECT value FROM secrets WHERE name = 'cursor'`, []);
  }

  /** Retries by hand: SQLite does not apply the busy timeout to this pragma, to avoid deadlocks. */
  #useWal(): void {
    for (let waited = 0; ; waited += pauseMilliseconds) {
      try {
        this.get('PRAGMA journal_mode = WAL', []);
        return;
      } catch (error) {
        const isBusy = error instanceof Sqlite.SqliteError && error.code === 'SQLITE_BUSY';
        if (!isBusy || waited > busyMilliseconds) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMilliseconds);
      }
    }
  }

  /** Returns the first row, or undefined. `Row` names its columns. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as in `all`, the caller declares the columns
  get<Row>(sql: string, values: readonly Value[]): Row | undefined {
    const prepared = this.#prepared('get', sql);
    const row = this.#firstRow(prepared, values);
    return row && (rowOf(prepared.columns, row) as Row);
  }

  all<Row>(sql: string, values: readonly Value[]): Row[] {
    const { statement, columns } = this.#prepared('all', sql);
    return (statement.all(values) as Value[][]).map((row) => rowOf(columns, row) as Row);
  }

  /** Returns the BLOB of a query with exactly one row and column. */
  bytes(sql: string, values: readonly Value[]): Buffer {
    const [value] = this.#firstRow(this.#prepared('get', sql), values) as [Buffer];
    return value;
  }

  /** Executes through `get`, because libsql's `run` allocates a result object. */
  run(sql: string, values: readonly Value[]): void {
    this.#firstRow(this.#prepared('get', sql), values);
  }

  /** Inserts a row and returns its id. */
  insert(sql: string, values: readonly Value[]): number {
    return Number(this.#prepared('run', sql).statement.run(values).lastInsertRowid);
  }

  /** Runs `work` in an immediate transaction and commits it; rolls back if it throws. */
  transaction<Result>(work: () => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite has already rolled back after some errors, such as a full disk.
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Runs `work` in a transaction and rolls it back. */
  dryRun<Result>(work: () => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      return work();
    } finally {
      this.#database.exec('ROLLBACK');
    }
  }

  /** Settles when the statements that run on another thread are done; undefined if there are none. */
  get background(): Promise<void> | undefined {
    return this.#background;
  }

  /** Removes all data, on another thread. */
  async clear(): Promise<void> {
    await this.#transactionInBackground(emptyTables);
  }

  /** Writes a copy of the store to a new file, on another thread. */
  async copyTo(file: string): Promise<void> {
    await this.#execInBackground(`VACUUM INTO '${file.replaceAll("'", "''")}'`);
    chmodSync(file, 0o600);
  }

  /** Replaces the data with that of a copy, on another thread. On an error (with a `code`) nothing has changed. */
  async replaceBy(file: string): Promise<void> {
    // SQLite would look for a journal beside the file that a link leads to.
    if (lstatSync(file).isSymbolicLink()) throw fileError('it is a symbolic link');
    refuseForeignJournal(file);
    this.run('ATTACH ? AS copy', [file]);
    try {
      const format = this.#format('copy');
      if (format !== schemaVersion) throw wrongFormat(format);
      if (!this.#hasOwnTables('copy')) throw fileError('its tables are not those of a snapshot');
      const copies = dataTables.map(
        (table) => `INSERT INTO main.${table} SELECT * FROM copy.${table}`,
      );
      await this.#transactionInBackground([...emptyTables, ...copies]);
    } finally {
      this.#database.exec('DETACH copy');
    }
  }

  async #transactionInBackground(statements: readonly string[]): Promise<void> {
    try {
      await this.#execInBackground(['BEGIN IMMEDIATE', ...statements, 'COMMIT'].join(';'));
    } catch (error) {
      if (this.#database.open && this.#database.inTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /**
   * Executes statements of seconds without holding the event loop. Whoever uses the store meanwhile holds it until they
   * are done, so callers have the mutex of requests.
   */
  async #execInBackground(sql: string): Promise<void> {
    const { default: Promised } = await import('libsql/promise');
    // On a closed connection, `exec` of libsql aborts the process.
    if (!this.#database.open) throw new Error('the service is closed');
    // Both classes of libsql wrap the same connection, as the member `db`.
    const execution = Promised.prototype.exec.call(
      this.#database as never,
      sql,
    ) as unknown as Promise<void>;
    const forget = () => (this.#background = undefined);
    this.#background = execution.then(forget, forget);
    await execution;
  }

  close(): void {
    for (const statements of Object.values(this.#statements)) statements.clear();
    this.#database.close();
  }

  /** Prepares statements again after an error, because libsql's `get` does not rebind a failed statement. */
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

  /** Whether the tables and indexes are ours, and nothing else is: views, and indexes of expressions, may take any memory. */
  #hasOwnTables(schema: 'main' | 'copy'): boolean {
    const sql = `SELECT sql FROM ${schema}.sqlite_master WHERE sql IS NOT NULL`;
    const found = this.all<{ sql: string }>(sql, []).map((one) => one.sql);
    return found.toSorted().join('\n') === ownTables.toSorted().join('\n');
  }

  #format(schema: 'main' | 'copy'): number | undefined {
    return this.get<{ user_version: number }>(`PRAGMA ${schema}.user_version`, [])?.user_version;
  }

  /** Whether the tables were created. Throws for a database of another program or version. */
  #hasTables(): boolean {
    // In this order: another service may be creating the tables, and sets the format with them.
    const isEmpty = this.get('SELECT 1 FROM sqlite_master', []) === undefined;
    const format = this.#format('main');
    if (format === 0 && !isEmpty) throw fileError('another program made it');
    if (format === 0) return false;
    if (format !== schemaVersion) throw wrongFormat(format);
    if (!this.#hasOwnTables('main'))
      throw fileError('its tables are not those of a data directory');
    return true;
  }

  #createTables(): void {
    if (this.#hasTables()) return; // by another service, meanwhile
    this.#database.exec(tables);
    this.#database.exec(`PRAGMA user_version = ${schemaVersion}`);
    this.run('INSERT INTO secrets VALUES (?, ?)', ['cursor', randomBytes(32)]);
  }
}

/** Whether an error means that the disk of the store is full. The transaction that met it is rolled back. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Sqlite.SqliteError && error.code === 'SQLITE_FULL';

const wrongFormat = (format: number | undefined): Error =>
  fileError(`another version of engagectl made it (format ${format}, not ${schemaVersion})`);

/** The code marks the error as one of the file, not of the service. */
const fileError = (message: string): Error =>
  Object.assign(new Error(message), { code: 'EFORMAT' });

function rowOf(columns: readonly string[], values: readonly Value[]): Record<string, Value> {
  const row: Record<string, Value> = {};
  columns.forEach((column, at) => (row[column] = values[at] as Value));
  return row;
}

/** Creates the database file, readable for its owner only; SQLite gives its log the same mode. */
function privateFile(dataDir: string): string {
  makePrivateFolder(dataDir);
  const path = join(dataDir, 'service.db');
  closeSync(openToAppend(path));
  refuseForeignJournal(path);
  const found = (name: string) => lstatSync(join(dataDir, name), { throwIfNoEntry: false });
  if (found('snapshots')?.isSymbolicLink() === true)
    throw fileError('its folder snapshots is a symbolic link');
  // SQLite would write to whatever is there.
  for (const name of ['service.db-wal', 'service.db-shm']) {
    const log = found(name);
    if (log && !(log.isFile() && log.nlink === 1))
      throw fileError(`its ${name} is a link, or no file`);
  }
  return path;
}

/** Somebody else may have made the directory: a data directory or a snapshot is copied from one machine to another. */
function refuseForeignJournal(file: string): void {
  const journal = foreignJournal(file);
  if (journal) throw fileError(`${journal} names another file, which would be removed`);
}
