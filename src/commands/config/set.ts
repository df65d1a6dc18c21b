import path from 'node:path';
import { validateBaseUrl, collectErrors } from '../../config/validation.js';
import { savedRegion, withProduction, withRegion, currentProfile } from '../../config/profiles.js';
import {
  checkedAccountId,
  checkedHeaderPrefix,
  secretFromFile,
  checkedPasscode,
  passcodeFromFile,
  withoutNewline,
} from '../../config/credentials.js';
import { configPath, readConfig, updateConfig } from '../../config/config-file.js';
import { EngagectlError } from '../../errors.js';
import { maskError } from '../../ui/mask.js';
import { printAnswer, messagePrinter } from '../../ui/messages.js';
import { jsonAnswer } from '../../ui/sanitize.js';
import { text as wholeText } from 'node:stream/consumers';
import { askSecret } from '../../ui/prompt.js';
import { isSwitchOn } from '../../ui/display-settings.js';
import { withProgramName } from '../../wording.js';
import { savedAccount } from '../../config/account.js';
import { checkAccess } from '../shared/connect.js';
import { quoteForShell } from '../../wording.js';
import type { Runtime } from '../../runtime.js';
import type { GlobalOptions } from '../shared/global-options.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';
import type { Readable } from 'node:stream';
import type { SavedRegion } from '../../config/schema.js';
import type { AccountCheck } from '../../jobs/connection.js';

const setOptions = [
  'Options:',
  ['--account-id <id>', 'account (project) id', { common: true }],
  ['--passcode-stdin', 'read the passcode from standard input', { common: true }],
  [
    '--passcode-file <file>',
    'read the passcode from a file',
    { conflicts: 'passcodeStdin', common: true },
  ],
  [
    '--passcode-command <command>',
    'save a shell command that prints the passcode, like "pass show engagectl/eu1"',
    { conflicts: ['passcodeStdin', 'passcodeFile'], common: true },
  ],
  ['--call-account-id <id>', 'account id of the calling system'],
  ['--call-api-key-file <file>', 'read the API key of the calling system from a file'],
  [
    '--production',
    'mark the profile as production: writes ask for confirmation on a terminal',
    { common: true },
  ],
  ['--no-production', 'remove the production mark'],
  ['--no-check', 'do not test the saved account', { common: true }],
] as const satisfies OptionTable;
type SetFlags = FlagsOf<typeof setOptions>;

export const set: CommandSpec<SetFlags> = {
  summary: 'save or change the account of a region',
  description:
    'Saves the account of one region and tests it with one read-only request of at most 5 s (--timeout). If ' +
    'the account does not work, or the service cannot be reached, it is saved with a warning, exit code 0. ' +
    'Settings that are not given keep their values. On a terminal, the command asks for the passcode; no flag takes it.',
  examples: `
    # save an account; asks for the passcode without showing it
    engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1
    # in a job, without a terminal
    engagectl config set --region eu1 --account-id ACC-1 --passcode-file ./passcode
    # kept in a secret store, never in a file
    engagectl config set --region eu1 --account-id ACC-1 --passcode-command "pass show engagectl/eu1"
    # change one thing of another profile
    engagectl config set --profile staging --region us1 --timezone America/New_York
  `,
  options: setOptions,
  run: setRegion,
};

/** `config set`. Saves flags only: a variable belongs to the environment and may be gone tomorrow. */
async function setRegion({ flags, runtime, ...call }: Invocation<SetFlags>): Promise<void> {
  const settings = call.settings();
  const region = flagOf(settings, 'region');
  if (region === undefined && onlySetsProduction(flags, settings))
    return markProfile(flags.production === true, settings, runtime);
  if (region === undefined)
    throw new EngagectlError('E-USAGE', 'config set needs --region <name>', {
      why: 'an account and its passcode belong to one region',
      fix: 'engagectl config set --region eu1 --base-url <url> --account-id <id>',
    });

  const saved = await readConfig(runtime);
  const profile = settings.profile ?? currentProfile(saved);
  const typed = {
    baseUrl: flagOf(settings, 'baseUrl'),
    accountId: flags.accountId,
    headerPrefix: flagOf(settings, 'headerPrefix'),
    timezone: flagOf(settings, 'timezone'),
    remember: flagOf(settings, 'remember'),
    callAccountId: flags.callAccountId,
  };
  const notYetRead = { passcode: '-', callApiKey: flags.callApiKeyFile };
  // Validate everything else before anybody types a passcode.
  const [baseUrl, callApiKey] = await collectErrors(
    () => checked(typed.baseUrl, validateBaseUrl, '--base-url'),
    async () => callKey(flags, runtime),
    () => checked(typed.accountId, checkedAccountId, '--account-id'),
    () => checked(typed.headerPrefix, checkedHeaderPrefix, '--header-prefix'),
    () => checked(typed.callAccountId, checkedAccountId, '--call-account-id'),
    () => withRegion(saved, { profile, region, values: { ...typed, ...notYetRead } }),
  );
  const values = { ...typed, baseUrl, callApiKey };
  const isNew = savedRegion(saved, profile, region) === undefined;
  const secret = await readPasscode(flags, runtime, isNew || flags.accountId !== undefined);
  await updateConfig(runtime, (config) => {
    const changed = withRegion(config, { profile, region, values: { ...values, ...secret } });
    const { production } = flags;
    return production === undefined ? changed : withProduction(changed, profile, production);
  });
  const file = configPath(runtime);
  const messages = messagePrinter(settings, runtime);
  messages.note(`saved: profile ${profile}, region ${region}, in ${file}`);
  const isNews = tried.some((name) => ({ ...values, ...secret })[name] !== undefined);
  const check =
    flags.check && isNews
      ? await checkSavedAccount({ profile, region }, settings, runtime)
      : notTried;
  if (settings.json) runtime.stdout.write(jsonAnswer({ file, saved: { profile, region }, check }));
  else if (check.status === 'accepted') messages.note(check.message ?? '');
  if (check.status === 'refused' || check.status === 'no answer')
    messages.warn(check.message ?? '');
}

/** Settings that the service can check. */
const tried = ['baseUrl', 'accountId', 'passcode', 'passcode_command', 'headerPrefix'] as const;

async function callKey({ callApiKeyFile: file }: SetFlags, { cwd, signal }: Runtime) {
  if (file === undefined) return undefined;
  return secretFromFile('API key', path.resolve(cwd, file), '--call-api-key-file', signal);
}

/** Whether `--production` is the only change; it concerns the profile, not a region. */
const onlySetsProduction = (flags: SetFlags, settings: GlobalOptions): boolean =>
  flags.production !== undefined &&
  Object.keys(flags).every((name) => name === 'production' || name === 'check') &&
  savedFlags.every((name) => !settings.flags.has(name));

async function markProfile(
  production: boolean,
  settings: GlobalOptions,
  runtime: Runtime,
): Promise<void> {
  const profile = settings.profile ?? currentProfile(await readConfig(runtime));
  await updateConfig(runtime, (config) => withProduction(config, profile, production));
  const what = production ? 'writes ask first' : 'remove the production mark';
  const saved = { file: configPath(runtime), saved: { profile, production } };
  printAnswer(settings, runtime, saved, {
    note: `saved: profile ${profile}: on a terminal ${what}`,
  });
}

const checked = (
  value: string | undefined,
  check: (text: string, source: string) => string,
  flag: string,
): string | undefined => (value === undefined ? undefined : check(value, flag));

const savedFlags = ['region', 'baseUrl', 'headerPrefix', 'timezone', 'remember'] as const;
const flagOf = (settings: GlobalOptions, name: (typeof savedFlags)[number]): string | undefined =>
  settings.flags.has(name) ? settings[name] : undefined;

type Secret = Pick<SavedRegion, 'passcode' | 'passcode_command'>;

/**
 * Reads the passcode to save. Empty if the saved one stays; a new account id never keeps the old
 * passcode.
 */
async function readPasscode(
  { passcodeFile, passcodeStdin, passcodeCommand }: SetFlags,
  runtime: Runtime,
  needed: boolean,
): Promise<Secret> {
  if (passcodeCommand !== undefined) return { passcode_command: passcodeCommand };
  if (passcodeFile !== undefined)
    return {
      passcode: await passcodeFromFile(
        path.resolve(runtime.cwd, passcodeFile),
        '--passcode-file',
        runtime.signal,
      ),
    };
  if (!needed && passcodeStdin !== true) return {};
  if (runtime.stdin.isTTY === true && !isSwitchOn(runtime.env['ENGAGECTL_NO_INPUT'])) {
    return {
      passcode: checkedPasscode(await askSecret('Passcode (not shown): ', runtime), 'typed'),
    };
  }
  if (passcodeStdin !== true)
    throw new EngagectlError('E-CONFIG', 'the passcode is missing', {
      why: 'it cannot be prompted for: standard input is not a terminal, or --no-input is set',
      fix: 'add --passcode-stdin, --passcode-file <file> or --passcode-command <command>',
    });
  const piped = withoutNewline(await pipedText(runtime));
  return { passcode: checkedPasscode(piped, '--passcode-stdin') };
}

/** Reads all of standard input. Throws the signal's reason if aborted. */
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

/** Result of the check of saved credentials. */
interface Tried {
  readonly status: AccountCheck['status'] | 'not tried';
  readonly message?: string;
}

const notTried: Tried = { status: 'not tried' };

/** Maximum time for the check, unless --timeout is given. */
const patienceMs = 5000;

/**
 * Checks with one read-only request, without retries, that account, passcode and region match. They are
 * saved whatever the result, so that this works without a network.
 */
async function checkSavedAccount(
  { profile, region }: { readonly profile: string; readonly region: string },
  settings: GlobalOptions,
  runtime: Runtime,
): Promise<Tried> {
  if (!savedRegion(await readConfig(runtime), profile, region)) return notTried; // another process may have removed it
  try {
    const timeoutMs = settings.flags.has('timeout') ? settings.timeoutMs : patienceMs;
    const account = await savedAccount({ profile, region }, runtime);
    const { accountId, baseUrl } = account;
    const { status, error } = await checkAccess(account, { ...settings, timeoutMs }, runtime);
    if (status === 'accepted') {
      const message = `account ${accountId} and its passcode fit region ${region} (${baseUrl})`;
      return { status, message };
    }
    const what = status === 'refused' ? 'does not fit' : 'could not be tried';
    return {
      status,
      message: `account ${accountId} ${what}: ${maskError(error, settings)?.message ?? ''}; ${withProgramName(advice(profile, region), runtime.program)}`,
    };
  } catch (error) {
    if (!(error instanceof EngagectlError) || runtime.signal.aborted) throw error;
    const { message, details } = error;
    const why = [message, details.why].filter(Boolean).join(': ');
    return { status: 'no answer', message: `the account could not be tried: ${why}` };
  }
}

const advice = (profile: string, region: string): string =>
  `engagectl config check --profile ${quoteForShell(profile)} --region ${quoteForShell(region)} says more`;
