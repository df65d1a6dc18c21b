import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

interface SqliteVersion {
  /** Of the package that is installed; its native part has the same. */
  readonly libsql: string | null;
  readonly sqlite: string | null;
}

/** Of what locks runs and keeps the local service's data; null where it is not installed. */
export async function sqliteVersion(): Promise<SqliteVersion> {
  try {
    const entry = createRequire(import.meta.url).resolve('libsql');
    const manifest = readFileSync(path.join(path.dirname(entry), 'package.json'), 'utf8');
    const { version: libsql } = JSON.parse(manifest) as { version: string };
    const { default: Database } = await import('libsql');
    const database = new Database(':memory:');
    const asked = database.prepare('SELECT sqlite_version() AS sqlite').get();
    database.close();
    return { libsql, sqlite: (asked as { sqlite: string }).sqlite };
  } catch {
    return { libsql: null, sqlite: null };
  }
}
