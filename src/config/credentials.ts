import { existsSync } from 'node:fs';
import path from 'node:path';
import { EngagectlError, groupDigits } from '../errors.js';
import { fileErrorReason } from '../files/file-errors.js';
import { collectErrors, validateBaseUrl } from './validation.js';
import { once } from 'node:events';
import type { Runtime } from '../runtime.js';
import type { SavedRegion } from './schema.js';

/** Account id and secret, which always come from one source. */
export interface Credentials {
  readonly accountId: string;
  /** For the calling system: its API key. */
  readonly passcode: string;
}

/** Credentials with the source of each half, for people. */
export interface SourcedCredentials extends Credentials {
  readonly sources: { readonly accountId: string; readonly passcode: string };
}

/** Variables of an account: its id, and its secret or a file that contains it. */
export interface AccountKind {
  readonly id: string;
  readonly secret: string;
  readonly file: string;
  /** Name of the secret. */
  readonly what: 'passcode' | 'API key';
  /** For the embedded service: its id, and the file of its secret. */
  readonly local: { readonly accountId: string; readonly file: string };
}

export const serviceAccount: AccountKind = {
  id: 'ENGAGECTL_ACCOUNT_ID',
  secret: 'ENGAGECTL_PASSCODE',
  file: 'ENGAGECTL_PASSCODE_FILE',
  what: 'passcode',
  local: { accountId: 'LOCAL', file: 'passcode' },
};
/** Account of the calling system. */
export const callingAccount: AccountKind = {
  id: 'ENGAGECTL_CALL_ACCOUNT_ID',
  secret: 'ENGAGECTL_CALL_API_KEY',
  file: 'ENGAGECTL_CALL_API_KEY_FILE',
  what: 'API key',
  local: { accountId: 'LOCAL-CALLS', file: 'call-api-key' },
};

type Surroundings = Pick<Runtime, 'env' | 'cwd'> & Partial<Pick<Runtime, 'signal'>>;

/** Returns the environment's pair; undefined if neither half is set. Throws E-CONFIG if only one is. */
export async function environmentCredentials(
  { env, cwd, signal }: Surroundings,
  kind = serviceAccount,
): Promise<SourcedCredentials | undefined> {
  const { what } = kind;
  const pair = pairIn(kind, env);
  if (pair === undefined) return undefined;
  const source = pair.file === undefined ? kind.secret : kind.file;
  const [accountId, passcode] = await collectErrors(
    () => checkedAccountId(pair.id, kind.id),
    async () =>
      pair.file === undefined
        ? fitForHeader(`the ${what}`, pair.secret, source)
        : secretFromFile(what, path.resolve(cwd, pair.file), source, signal),
  );
  return { accountId, passcode, sources: { accountId: kind.id, passcode: source } };
}

/** Checks the environment's pair as far as possible without reading a file. Throws E-CONFIG. */
function checkAccountPair(env: Surroundings['env']): void {
  const { id, secret } = serviceAccount;
  const pair = pairIn(serviceAccount, env);
  if (pair) checkedAccountId(pair.id, id);
  if (pair?.secret !== undefined) checkedPasscode(pair.secret, secret);
}

type Pair =
  | { readonly id: string; readonly secret: string; readonly file?: undefined }
  | { readonly id: string; readonly file: string; readonly secret?: undefined };

/** Returns both halves as set; undefined if neither is. Throws E-CONFIG. */
function pairIn(names: AccountKind, env: Surroundings['env']): Pair | undefined {
  const { what } = names;
  const [id, secret, file] = [env[names.id], env[names.secret], env[names.file]];
  const eitherSecret = `${names.secret} or ${names.file}`;
  if (secret !== undefined && file !== undefined)
    throw new EngagectlError('E-CONFIG', `${names.secret} and ${names.file} are both set`, {
      why: `the ${what} can come from only one of them`,
      fix: 'unset one of them',
    });
  const hasSecret = secret !== undefined || file !== undefined;
  if (id === undefined && !hasSecret) return undefined;
  if (id === undefined || !hasSecret) {
    const halves = [names.id, eitherSecret];
    const [set, missing] = hasSecret ? halves.toReversed() : halves;
    throw new EngagectlError('E-CONFIG', `${set} is set without ${missing}`, {
      why: `account id and ${what} are one unit: a half from here never mixes with a config profile`,
      fix: `set ${missing} too; or name a config profile (--profile <name>), which sets the environment's half aside`,
    });
  }
  return file === undefined ? { id, secret: secret! } : { id, file };
}

/**
 * Returns the credentials of a saved region. Throws E-CONFIG if a header could not carry them, or their
 * command fails.
 */
export async function savedCredentials(
  { accountId, passcode = '', passcode_command: command }: SavedRegion,
  source: string,
  run: (command: string, source: string) => Promise<string>,
): Promise<SourcedCredentials> {
  const from = command === undefined ? source : `passcode_command of ${source}`;
  const [id, secret] = await collectErrors(
    () => checkedAccountId(accountId, source),
    async () => (command === undefined ? checkedPasscode(passcode, from) : run(command, from)),
  );
  return { accountId: id, passcode: secret, sources: { accountId: source, passcode: from } };
}

/** Returns the calling account of a saved region; undefined if there is none. */
export function savedCallCredentials(
  { callAccountId, callApiKey }: SavedRegion,
  source: string,
): SourcedCredentials | undefined {
  if (callAccountId === undefined || callApiKey === undefined) return undefined;
  return {
    accountId: checkedAccountId(callAccountId, source),
    passcode: fitForHeader('the API key', callApiKey, source),
    sources: { accountId: source, passcode: source },
  };
}

export const passcodeFromFile = (
  file: string,
  source: string,
  signal?: AbortSignal,
): Promise<string> => secretFromFile('passcode', file, source, signal);

/**
 * Reads a secret file. Its mode is not checked, because mounted secrets are often 0444. One trailing
 * newline is dropped.
 */
export async function secretFromFile(
  what: AccountKind['what'] | 'token key',
  file: string,
  source: string,
  signal?: AbortSignal,
): Promise<string> {
  const { readTextFile } = await import('../files/read-file.js');
  let text: string;
  try {
    text = await readTextFile(file, signal);
  } catch (error) {
    if (error instanceof EngagectlError) throw error;
    const advice = {
      why: fileErrorReason(error),
      fix: `name a readable file that contains only the ${what}`,
    };
    // Somebody may have set a variable to the secret itself, which is no file, and must not be printed.
    if (!existsSync(file) && !source.startsWith('--'))
      throw new EngagectlError('E-CONFIG', `${source} names no file`, advice);
    throw new EngagectlError('E-CONFIG', `the ${what} cannot be read from ${file} (${source})`, {
      ...advice,
      file,
      cause: error,
    });
  }
  return fitForHeader(`the ${what}`, withoutNewline(text), source);
}

export const withoutNewline = (text: string): string => text.replace(/\r?\n$/, '');

/** A header can carry printable Latin-1 without leading or trailing spaces. */
const headerValue =
  /^[\u0021-\u007E\u00A1-\u00FF](?:[\u0020-\u007E\u00A0-\u00FF]*[\u0021-\u007E\u00A1-\u00FF])?$/;

export const checkedPasscode = (value: string, source: string): string =>
  fitForHeader('the passcode', value, source);
export const checkedAccountId = (value: string, source: string): string =>
  fitForHeader('the account id', value, source);

/** Maximum characters of a passcode, as the redaction has it: those of cloud services have up to 3,000. */
const longestSecret = 4096;

/** Throws E-CONFIG, without the value, if a header could not carry it, or if it is too long. */
function fitForHeader(what: string, value: string, source: string): string {
  if (value.length > longestSecret)
    throw new EngagectlError('E-CONFIG', `${what} (${source}) is too long`, {
      why: `it has ${groupDigits(value.length)} characters, more than ${groupDigits(longestSecret)}: it is probably something else`,
      fix: 'copy it again from the account dashboard',
    });
  if (headerValue.test(value)) return value;
  throw new EngagectlError('E-CONFIG', `${what} (${source}) cannot be sent in a header`, {
    why:
      value === ''
        ? 'it is empty'
        : 'it contains a control character (a newline?), a leading or trailing space, or a character outside Latin-1',
    fix: 'copy it again from the account dashboard',
  });
}

/** Validates a header name (RFC 9110, token). */
export function checkedHeaderPrefix(prefix: string, source: string): string {
  if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(prefix)) return prefix;
  throw new EngagectlError('E-CONFIG', `header prefix "${prefix}" (${source}) cannot be used`, {
    why: 'a header name consists of letters, digits and hyphens',
    fix: 'give a prefix like X-Service',
  });
}

/**
 * Returns the problems of the account's variables, except for files they name, to report them together
 * with other problems. `flags`: settings given as flags, which take precedence.
 */
export function environmentProblems(
  { env }: Pick<Runtime, 'env'>,
  flags: ReadonlySet<string>,
): string[] {
  const read = (name: string, check: (value: string, source: string) => unknown) => () => {
    const value = env[name];
    if (value !== undefined) check(value, name);
  };
  const isAside = flags.has('profile');
  return [
    ...(isAside ? [] : [() => checkAccountPair(env)]),
    ...(isAside || flags.has('baseUrl') ? [] : [read('ENGAGECTL_BASE_URL', validateBaseUrl)]),
    ...(flags.has('headerPrefix') ? [] : [read('ENGAGECTL_HEADER_PREFIX', checkedHeaderPrefix)]),
  ].flatMap(failureOf);
}

function failureOf(check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof EngagectlError) return [error.message];
    throw error;
  }
}

/** Unlocking a secret store may require the user. */
const patienceMs = 60_000;

/**
 * Runs a shell command and returns the passcode from the first line of its standard output. Its standard
 * input is empty, because records may be on ours; its standard error is not shown, because its content
 * is unknown. Throws E-CONFIG if it fails, prints nothing or takes longer than a minute.
 */
export async function passcodeFromCommand(
  command: string,
  source: string,
  runtime: Pick<Runtime, 'env' | 'cwd' | 'sleep' | 'signal'>,
): Promise<string> {
  const { spawn } = await import('node:child_process'); // few commands need it
  const child = spawn(command, {
    shell: true,
    cwd: runtime.cwd,
    env: withoutSecrets(runtime.env),
    stdio: ['ignore', 'pipe', 'ignore'],
    windowsHide: true,
  });
  const done = new AbortController();
  try {
    const stop = AbortSignal.any([runtime.signal, done.signal]);
    const tooLong = runtime.sleep(patienceMs, stop).then(() => {
      throw failed(source, `it was not done within ${patienceMs / 1000} s`);
    });
    const ended = once(child, 'close').catch((error: unknown) => {
      throw failed(source, `it cannot be started (${(error as NodeJS.ErrnoException).code})`);
    });
    const output = firstLine(child.stdout);
    const [code, killedBy] = (await Promise.race([ended, tooLong])) as [number | null, string];
    if (code !== 0) throw failed(source, code === null ? `${killedBy} ended it` : `exit ${code}`);
    const passcode = await output;
    if (passcode === '') throw failed(source, 'its first line of output is empty');
    if (passcode.length > longestSecret)
      throw failed(
        source,
        `its first line of output has more than ${groupDigits(longestSecret)} characters`,
      );
    return checkedPasscode(passcode, source);
  } finally {
    done.abort();
    child.kill();
    child.stdout.destroy();
  }
}

/** Another program gets no secrets that it does not need. */
const withoutSecrets = (env: Runtime['env']): Runtime['env'] =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !secretVariables.has(name)));

const secretVariables = new Set(['ENGAGECTL_PASSCODE', 'ENGAGECTL_CALL_API_KEY']);

/** Returns the first line without its line end. Reads on, because the command would wait for a reader. */
async function firstLine(output: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  try {
    for await (const chunk of output.setEncoding('utf8')) {
      if (text.length <= longestSecret) text += String(chunk);
    }
  } catch {
    // Aborted: nobody waits for it.
  }
  return /^[^\r\n]*/.exec(text)?.[0] ?? '';
}

const failed = (source: string, why: string): EngagectlError =>
  new EngagectlError('E-CONFIG', `the passcode cannot be had from the ${source}`, {
    why,
    fix: 'run the command in a shell to see what is wrong; config set --passcode-command changes it',
  });
