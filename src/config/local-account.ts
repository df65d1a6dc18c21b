import path from 'node:path';
import {
  checkedPasscode,
  secretFromFile,
  serviceAccount,
  withoutNewline,
  type Credentials,
} from './credentials.js';
import { limits } from '../contract/limits.js';
import { EngagectlError } from '../errors.js';
import { AtomicFile } from '../files/atomic-write.js';
import { fileErrorReason } from '../files/file-errors.js';
import { refuseUntrusted, trustedFolder } from '../files/ownership.js';
import { otherDataDirectory, stateDirectory, type DirectoryRuntime } from './directories.js';
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

/** Variable that names the file of the key that signs the tokens of callers. */
const tokenKeyVariable = 'ENGAGECTL_CALL_TOKEN_KEY_FILE';

type TokenKeyRuntime = LocalRuntime & Pick<Runtime, 'cwd'>;

/**
 * Returns the key that signs the tokens of callers, and its file: that of ENGAGECTL_CALL_TOKEN_KEY_FILE, or else one in
 * the data directory, which is created once (0600). Throws E-CONFIG.
 */
export async function callTokenKey(
  folder: string,
  runtime: TokenKeyRuntime,
): Promise<{ readonly key: string; readonly file: string }> {
  const file = localTokenKeyFile(folder);
  return {
    file: runtime.env[tokenKeyVariable] ?? file,
    key: (await namedTokenKey(runtime)) ?? checkedTokenKey(await localSecret(file, runtime), file),
  };
}

/** Like `callTokenKey`, but undefined if there is no key. Without a folder, only the environment is considered. */
export async function existingCallTokenKey(
  folder: string | undefined,
  runtime: TokenKeyRuntime,
): Promise<string | undefined> {
  const named = await namedTokenKey(runtime);
  if (named !== undefined || folder === undefined) return named;
  const file = localTokenKeyFile(folder);
  const key = await readSecret(file, runtime);
  return key === undefined ? undefined : checkedTokenKey(key, file);
}

const localTokenKeyFile = (folder: string): string => path.join(folder, 'call-token-key');

async function namedTokenKey({ env, cwd }: TokenKeyRuntime): Promise<string | undefined> {
  const named = env[tokenKeyVariable];
  if (named === undefined) return undefined;
  const key = await secretFromFile('token key', path.resolve(cwd, named), tokenKeyVariable);
  return checkedTokenKey(key, named);
}

function checkedTokenKey(key: string, file: string): string {
  const bytes = Buffer.byteLength(key);
  if (bytes >= limits.callTokenKeyBytes) return key;
  throw new EngagectlError('E-CONFIG', `the token key in ${file} is too short`, {
    why: `it has ${bytes} bytes, and HS256 needs ${limits.callTokenKeyBytes}`,
    fix: 'create a key with: openssl rand -hex 32',
    file,
  });
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
  const temporary = new AtomicFile(file);
  try {
    temporary.write(`${made}\n`);
    temporary.commit({ overwrite: false });
    return made;
  } catch (error) {
    const others = await readSecret(file, runtime);
    if (others !== undefined) return others;
    throw new EngagectlError('E-FILE-WRITE', `cannot write ${file}`, {
      why: fileErrorReason(error),
      fix: otherDataDirectory,
      file,
      cause: error,
    });
  }
}
