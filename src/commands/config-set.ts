import path from 'node:path';
import type { Readable } from 'node:stream';
import { text as wholeText } from 'node:stream/consumers';
import { checkedBaseUrl } from '../config/base-url.js';
import { savedRegion, withRegion } from '../config/changes.js';
import {
  checkedAccountId,
  checkedHeaderPrefix,
  checkedPasscode,
  passcodeFromFile,
  withoutNewline,
} from '../config/credentials.js';
import { currentProfile } from '../config/saved-account.js';
import { configPath, readConfig, updateConfig } from '../config/store.js';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { askSecret } from '../ui/ask-secret.js';
import { messages } from '../ui/messages.js';
import type { Settings } from './options.js';

export interface SetFlags {
  readonly accountId?: string;
  readonly passcodeStdin?: boolean;
  readonly passcodeFile?: string;
}

/**
 * `config set` (contract §5). Only flags are saved: a variable belongs to the environment, and may
 * be gone tomorrow.
 */
export async function setRegion(
  flags: SetFlags,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const region = flagOf(settings, 'region');
  if (region === undefined)
    throw new EngagectlError('E-USAGE', 'config set needs --region <name>', {
      why: 'an account and its passcode belong to one region',
      fix: 'engagectl config set --region eu1 --base-url <url> --account-id <id>',
    });

  const saved = await readConfig(runtime);
  const profile = settings.profile ?? currentProfile(saved);
  const values = {
    baseUrl: checked(flagOf(settings, 'baseUrl'), checkedBaseUrl, '--base-url'),
    accountId: checked(flags.accountId, checkedAccountId, '--account-id'),
    headerPrefix: checked(flagOf(settings, 'headerPrefix'), checkedHeaderPrefix, '--header-prefix'),
    timezone: flagOf(settings, 'timezone'),
  };
  // Everything else is checked before anybody types a passcode.
  withRegion(saved, { profile, region, values: { passcode: 'not yet known', ...values } });
  const isNew = savedRegion(saved, profile, region) === undefined;
  const passcode = await readPasscode(flags, runtime, isNew || flags.accountId !== undefined);
  await updateConfig(runtime, (config) =>
    withRegion(config, { profile, region, values: { ...values, passcode } }),
  );
  messages(settings, runtime).note(
    `saved: profile ${profile}, region ${region}, in ${configPath(runtime)}`,
  );
}

const checked = (
  value: string | undefined,
  check: (text: string, source: string) => string,
  flag: string,
): string | undefined => (value === undefined ? undefined : check(value, flag));

type SavedFlag = 'region' | 'baseUrl' | 'headerPrefix' | 'timezone';
const flagOf = (settings: Settings, name: SavedFlag): string | undefined =>
  settings.flags.has(name) ? settings[name] : undefined;

/** Undefined when the saved one stays: a new account id never goes with the old passcode. */
async function readPasscode(
  { passcodeFile, passcodeStdin }: SetFlags,
  runtime: Runtime,
  needed: boolean,
): Promise<string | undefined> {
  if (passcodeFile !== undefined)
    return passcodeFromFile(path.resolve(runtime.cwd, passcodeFile), '--passcode-file');
  if (!needed && passcodeStdin !== true) return undefined;
  if (runtime.stdin.isTTY === true) {
    return checkedPasscode(await askSecret('Passcode (not shown): ', runtime), 'typed');
  }
  if (passcodeStdin !== true)
    throw new EngagectlError('E-CONFIG', 'the passcode is missing', {
      why: 'standard input is no terminal, so nobody can be asked for it',
      fix: 'add --passcode-stdin or --passcode-file <file>',
    });
  return checkedPasscode(withoutNewline(await pipedText(runtime)), '--passcode-stdin');
}

/** All of standard input; throws the signal's reason when it is aborted before the end. */
async function pipedText({ stdin, signal }: Runtime): Promise<string> {
  const leave = () => (stdin as Partial<Readable>).destroy?.();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await wholeText(stdin);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
