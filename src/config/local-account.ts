import path from 'node:path';
import {
  checkedPasscode,
  serviceAccount,
  withoutNewline,
  type Credentials,
} from './credentials.js';
import { FileDraft } from '../files/atomic-write.js';
import { refuseUntrusted, trustedFolder } from '../files/ownership.js';
import { stateDirectory, type DirectoryRuntime } from './directories.js';
import { readPrivateFile, makePrivateDirectory } from './config-file.js';
import type { Runtime } from '../runtime.js';

type LocalRuntime = Pick<Runtime, 'platform' | 'token' | 'uid' | 'env'>;

/**
 * Data directory of the embedded service, for `--region local`, and for `serve` unless its `--data`
 * names another one. Throws E-CONFIG-FILE if somebody else may have written to it.
 */
export function localDataDirectory(runtime: DirectoryRuntime, data?: string): string {
  if (data === undefined)
    return trustedFolder(path.join(stateDirectory(runtime), 'local'), runtime);
  const folder = path.resolve(runtime.cwd, data);
  refuseUntrusted(folder, runtime);
  return folder;
}

/** Path of the secret, which ENGAGECTL_PASSCODE_FILE can name, so that the secret is never shown. */
export const localSecretFile = (folder: string, { local } = serviceAccount): string =>
  path.join(folder, local.file);

/**
 * Returns the embedded service's credentials. The secret is created once per directory and kept there
 * (0600).
 */
export async function localCredentials(
  folder: string,
  runtime: LocalRuntime,
  kind = serviceAccount,
): Promise<Credentials> {
  const passcode = await localSecret(localSecretFile(folder, kind), runtime);
  return { accountId: kind.local.accountId, passcode };
}

async function localSecret(file: string, runtime: LocalRuntime): Promise<string> {
  await makePrivateDirectory(path.dirname(file), runtime);
  return (await readSecret(file, runtime)) ?? (await makeSecret(file, runtime));
}

async function readSecret(file: string, runtime: LocalRuntime): Promise<string | undefined> {
  const text = await readPrivateFile(file, runtime);
  return text === undefined ? undefined : checkedPasscode(withoutNewline(text), file);
}

/** Two processes that start at once agree: the file appears atomically, and only once. */
async function makeSecret(file: string, runtime: LocalRuntime): Promise<string> {
  const made = runtime.token();
  const draft = new FileDraft(file);
  try {
    draft.write(`${made}\n`);
    draft.commit({ overwrite: false });
    return made;
  } catch (error) {
    const others = await readSecret(file, runtime);
    if (others !== undefined) return others;
    throw error;
  }
}
