import path from 'node:path';
import { text as wholeText } from 'node:stream/consumers';
import { Option, type Command } from 'commander';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { messages } from '../ui/messages.js';
import { resolveSettings, type Settings } from './options.js';

interface SetFlags {
  readonly accountId?: string;
  readonly passcodeStdin?: boolean;
  readonly passcodeFile?: string;
}

/** `config set`: saves the account of one region (contract §5). */
export function registerConfigSet(config: Command, runtime: Runtime): void {
  config
    .command('set')
    .summary('save or change the account of one region')
    .description(
      'Saves the account of one region. What is not given stays as it was. On a terminal the passcode is asked for; no flag takes it.',
    )
    .option('--account-id <id>', 'account (project) id')
    .option('--passcode-stdin', 'read the passcode from standard input')
    .addOption(
      new Option('--passcode-file <file>', 'read the passcode from a file').conflicts(
        'passcodeStdin',
      ),
    )
    .addHelpText(
      'before',
      `Examples:
  engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1
  pass show service/eu1 | engagectl config set --region eu1 --account-id ACC-1 --passcode-stdin
  engagectl config set --profile staging --region us1 --timezone America/New_York
`,
    )
    .action((flags: SetFlags, command: Command) =>
      setRegion(flags, resolveSettings(command, runtime), runtime),
    );
}

/** Only flags are saved: a variable belongs to the environment, and may be gone tomorrow. */
async function setRegion(flags: SetFlags, settings: Settings, runtime: Runtime): Promise<void> {
  const region = flagOf(settings, 'region');
  if (region === undefined)
    throw new EngagectlError('E-USAGE', 'config set needs --region <name>', {
      why: 'an account and its passcode belong to one region',
      fix: 'engagectl config set --region eu1 --base-url <url> --account-id <id>',
    });
  const { checkedBaseUrl } = await import('../config/base-url.js');
  const { checkedAccountId, checkedHeaderPrefix } = await import('../config/credentials.js');
  const { currentProfile } = await import('../config/saved-account.js');
  const { configPath, readConfig, updateConfig } = await import('../config/store.js');
  const { savedRegion, withRegion } = await import('../config/changes.js');

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
  const { checkedPasscode, passcodeFromFile, withoutNewline } =
    await import('../config/credentials.js');
  if (passcodeFile !== undefined)
    return passcodeFromFile(path.resolve(runtime.cwd, passcodeFile), '--passcode-file');
  if (!needed && passcodeStdin !== true) return undefined;
  if (runtime.stdin.isTTY === true) {
    const { askSecret } = await import('../ui/ask-secret.js');
    return checkedPasscode(await askSecret('Passcode (not shown): ', runtime), 'typed');
  }
  if (passcodeStdin !== true)
    throw new EngagectlError('E-CONFIG', 'the passcode is missing', {
      why: 'standard input is no terminal, so nobody can be asked for it',
      fix: 'add --passcode-stdin or --passcode-file <file>',
    });
  return checkedPasscode(withoutNewline(await wholeText(runtime.stdin)), '--passcode-stdin');
}
