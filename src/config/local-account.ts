import path from 'node:path';
import { constants } from 'node:fs';
import { copyFile, link, unlink, writeFile } from 'node:fs/promises';
import {
  checkedPasscode,
  serviceAccount,
  withoutNewline,
  type Credentials,
} from './credentials.js';
import { stateFolder, type Surroundings } from './directories.js';
import { readPrivate, privateFolder } from './config-file.js';
import type { Runtime } from '../runtime.js';

type LocalRuntime = Pick<Runtime, 'platform' | 'token'>;

/** Where the embedded service keeps its data for `--region local`, and `serve` by default. */
export const localFolder = (runtime: Surroundings): string =>
  path.join(stateFolder(runtime), 'local');

/** A file that ENGAGECTL_PASSCODE_FILE can name, so that the secret is never shown. */
export const localSecretFile = (folder: string, { local } = serviceAccount): string =>
  path.join(folder, local.file);

/** The embedded service's credentials: the secret is made once per folder and kept there, 0600. */
export async function localCredentials(
  folder: string,
  runtime: LocalRuntime,
  kind = serviceAccount,
): Promise<Credentials> {
  const passcode = await localSecret(localSecretFile(folder, kind), runtime);
  return { accountId: kind.local.accountId, passcode };
}

async function localSecret(file: string, runtime: LocalRuntime): Promise<string> {
  await privateFolder(path.dirname(file), runtime);
  return (await readSecret(file, runtime)) ?? (await makeSecret(file, runtime));
}

async function readSecret(file: string, runtime: LocalRuntime): Promise<string | undefined> {
  const text = await readPrivate(file, runtime);
  return text === undefined ? undefined : checkedPasscode(withoutNewline(text), file);
}

/** Two first commands at once agree: the file appears whole under its name, and only once. */
async function makeSecret(file: string, runtime: LocalRuntime): Promise<string> {
  const made = runtime.token();
  const draft = `${file}.${runtime.token()}`;
  await writeFile(draft, `${made}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, file);
    return made;
  } catch (error) {
    const others = await readSecret(file, runtime);
    if (others !== undefined) return others;
    if (!noLinks.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await copyFile(draft, file, constants.COPYFILE_EXCL);
    return made;
  } finally {
    await unlink(draft);
  }
}

/** File systems without hard links say one of these. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);
