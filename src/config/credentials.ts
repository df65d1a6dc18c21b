import path from 'node:path';
import { EngagectlError } from '../errors.js';
import { readText } from '../files/read-text.js';
import type { Runtime } from '../runtime.js';
import type { SavedRegion } from './schema.js';

/** An account's two headers. They belong together: they always come from one source. */
export interface Credentials {
  readonly accountId: string;
  readonly passcode: string;
}

/** Where each of the two came from, for people. */
export interface SourcedCredentials extends Credentials {
  readonly sources: { readonly accountId: string; readonly passcode: string };
}

/** The environment's pair; undefined when it has neither half, E-CONFIG when it has only one. */
export async function environmentCredentials({
  env,
  cwd,
  signal,
}: Pick<Runtime, 'env' | 'cwd'> & Partial<Pick<Runtime, 'signal'>>): Promise<
  SourcedCredentials | undefined
> {
  const accountId = env['ENGAGECTL_ACCOUNT_ID'];
  const passcode = env['ENGAGECTL_PASSCODE'];
  const file = env['ENGAGECTL_PASSCODE_FILE'];
  const names = ['ENGAGECTL_PASSCODE', 'ENGAGECTL_PASSCODE_FILE'] as const;
  if (passcode !== undefined && file !== undefined)
    throw new EngagectlError('E-CONFIG', `${names.join(' and ')} are both set`, {
      why: 'only one of them can hold the passcode',
      fix: 'unset one of them',
    });
  const hasPasscode = passcode !== undefined || file !== undefined;
  if (accountId === undefined && !hasPasscode) return undefined;
  if (accountId === undefined || !hasPasscode) {
    const halves = ['ENGAGECTL_ACCOUNT_ID', names.join(' or ')];
    const [set, missing] = hasPasscode ? halves.toReversed() : halves;
    throw new EngagectlError('E-CONFIG', `${set} is set without ${missing}`, {
      why: 'account id and passcode are one unit: a half from here never mixes with a config profile',
      fix: `set ${missing} too; or name a config profile (--profile <name>), which sets the environment's half aside`,
    });
  }
  const [byValue, byFile] = names;
  return {
    accountId: checkedAccountId(accountId, 'ENGAGECTL_ACCOUNT_ID'),
    passcode:
      file === undefined
        ? checkedPasscode(passcode!, byValue)
        : await passcodeFromFile(path.resolve(cwd, file), byFile, signal),
    sources: {
      accountId: 'ENGAGECTL_ACCOUNT_ID',
      passcode: file === undefined ? byValue : byFile,
    },
  };
}

/** The pair of one saved region. E-CONFIG when a header could not carry it, or its command fails. */
export async function savedCredentials(
  { accountId, passcode = '', passcode_command: command }: SavedRegion,
  source: string,
  run: (command: string, source: string) => Promise<string>,
): Promise<SourcedCredentials> {
  const from = command === undefined ? source : `passcode_command of ${source}`;
  return {
    accountId: checkedAccountId(accountId, source),
    passcode: command === undefined ? checkedPasscode(passcode, from) : await run(command, from),
    sources: { accountId: source, passcode: from },
  };
}

/** The file's mode is not checked: mounted secrets are often 0444. One trailing newline is dropped. */
export async function passcodeFromFile(
  file: string,
  source: string,
  signal?: AbortSignal,
): Promise<string> {
  let text: string;
  try {
    text = await readText(file, signal);
  } catch (error) {
    if (error instanceof EngagectlError) throw error;
    throw new EngagectlError('E-CONFIG', `the passcode cannot be read from ${file} (${source})`, {
      why: (error as NodeJS.ErrnoException).code ?? 'the file cannot be read',
      fix: 'name a readable file that holds nothing but the passcode',
      file,
      cause: error,
    });
  }
  return checkedPasscode(withoutNewline(text), source);
}

export const withoutNewline = (text: string): string => text.replace(/\r?\n$/, '');

/** A header can carry printable Latin-1 without a space at either end. */
const headerValue =
  /^[\u0021-\u007E\u00A1-\u00FF](?:[\u0020-\u007E\u00A0-\u00FF]*[\u0021-\u007E\u00A1-\u00FF])?$/;

export const checkedPasscode = (value: string, source: string): string =>
  fitForHeader('the passcode', value, source);
export const checkedAccountId = (value: string, source: string): string =>
  fitForHeader('the account id', value, source);

/** E-CONFIG, which does not show the value, when a header could not carry it. */
function fitForHeader(what: string, value: string, source: string): string {
  if (headerValue.test(value)) return value;
  throw new EngagectlError('E-CONFIG', `${what} (${source}) cannot be sent in a header`, {
    why:
      value === ''
        ? 'it is empty'
        : 'it holds a control character (a newline?), begins or ends with a space, or has a character beyond Latin-1',
    fix: 'copy it again from the account dashboard',
  });
}

/** A header name's alphabet (RFC 9110, token). */
export function checkedHeaderPrefix(prefix: string, source: string): string {
  if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(prefix)) return prefix;
  throw new EngagectlError('E-CONFIG', `header prefix "${prefix}" (${source}) cannot be used`, {
    why: 'a header name holds letters, digits and hyphens',
    fix: 'give a prefix like X-Service',
  });
}
