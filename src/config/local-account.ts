import { randomBytes } from 'node:crypto';
import { link, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Runtime } from '../runtime.js';
import type { Credentials } from './credentials.js';
import { stateFolder } from './folders.js';
import { notUsable, readPrivate } from './private-file.js';
import { privateFolder } from './store.js';

/** Where the embedded service keeps its data for `--region local`, and `serve` by default. */
export const localFolder = (runtime: Pick<Runtime, 'env' | 'cwd'>): string =>
  path.join(stateFolder(runtime), 'local');

const schema = z.strictObject({ accountId: z.string().min(1), passcode: z.string().min(1) });

/** The embedded service's credentials: made once per folder and kept there, mode 0600. */
export async function localCredentials(folder: string): Promise<Credentials> {
  const file = path.join(await privateFolder(folder), 'credentials.json');
  return (await read(file)) ?? (await make(file));
}

async function read(file: string): Promise<Credentials | undefined> {
  const text = await readPrivate(file);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw notUsable(file, 'it is damaged');
  }
}

/** Two first commands at once agree: the file appears whole under its name, and only once. */
async function make(file: string): Promise<Credentials> {
  const made = {
    accountId: `LOCAL-${randomBytes(4).toString('hex').toUpperCase()}`,
    passcode: randomBytes(24).toString('base64url'),
  };
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${JSON.stringify(made)}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, file);
    return made;
  } catch (error) {
    const winner = await read(file);
    if (winner === undefined) throw error;
    return winner;
  } finally {
    await unlink(draft);
  }
}
