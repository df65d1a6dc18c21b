import { callingCredentials, resolveAccount } from '../../config/account.js';
import { maskedPasscode } from '../../config/profiles.js';
import { configDirectory, stateDirectory } from '../../config/directories.js';
import { configPath } from '../../config/config-file.js';
import { textTable } from '../../ui/format.js';
import { printAnswer } from '../../ui/messages.js';
import type { Runtime } from '../../runtime.js';
import type { GlobalOptions } from '../shared/global-options.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const showOptions = [
  'Options:',
  ['--sources', 'also show the other settings and the directories'],
] as const satisfies OptionTable;
type ShowFlags = FlagsOf<typeof showOptions>;

export const show: CommandSpec<ShowFlags> = {
  summary: 'show the selected account and the source of each value',
  examples: `
    # show the selected account
    engagectl config show
    # show all settings of another region
    engagectl config show --region us1 --sources
  `,
  options: showOptions,
  run: showAccount,
};

/**
 * `config show`: prints the selected account and the source of each value; with `--sources`, also the
 * other settings and the directories. Does not run a `passcode_command`.
 */
async function showAccount({ flags, runtime, ...call }: Invocation<ShowFlags>): Promise<void> {
  const settings = call.settings();
  const { profile, sources, ...account } = await resolveAccount(settings, runtime, {
    run: maskedSecret,
  });
  const file = configPath(runtime);
  const calling = await callingCredentials(settings, runtime, profile);
  const calls = calling && { callAccountId: calling.accountId, callApiKey: maskedPasscode };
  const callSources = calling && {
    callAccountId: calling.sources.accountId,
    callApiKey: calling.sources.passcode,
  };
  const redacted = { ...account, passcode: maskedPasscode, ...calls };
  const others = flags.sources ? nonAccountSettings(settings, runtime) : [];
  const object = {
    profile,
    ...redacted,
    ...Object.fromEntries(others.map(({ key, value }) => [key, value])),
    sources: {
      ...sources,
      ...callSources,
      ...Object.fromEntries(others.map(({ key, source }) => [key, source])),
    },
    file,
  };
  const rows = [
    ['region', redacted.region, sources.region],
    ['base URL', redacted.baseUrl, sources.baseUrl],
    ['account id', redacted.accountId, sources.accountId],
    ['passcode', redacted.passcode, sources.passcode],
    ['header prefix', redacted.headerPrefix, sources.headerPrefix],
    ['time zone', redacted.timezone, sources.timezone],
    ['remember', redacted.remember, sources.remember],
    ['production', redacted.production ? 'yes' : 'no', sources.production],
    ...(calls
      ? [
          ['calling account', calls.callAccountId, callSources?.callAccountId],
          ['call API key', calls.callApiKey, callSources?.callApiKey],
        ]
      : []),
    ...others.map(({ label, text, source }) => [label, text, source]),
  ].map(([name = '', value = '', source = '']) => [name, value, `from ${source}`]);
  printAnswer(settings, runtime, object, { text: `${textTable(rows)}config file: ${file}\n` });
}

/** Stands in for the output of a `passcode_command`. */
const maskedSecret = (): Promise<string> => Promise.resolve(maskedPasscode);

interface OtherSetting {
  readonly label: string;
  readonly key: string;
  readonly value: string | number;
  readonly text: string;
  readonly source: string;
}

/** Name of each setting, its flag and its variable. */
const options = [
  ['timeoutMs', 'timeout'],
  ['maxAttempts', 'max-attempts'],
  ['retryForMs', 'retry-for'],
  ['retryBaseMs', 'retry-base'],
] as const;

const folders = [
  ['configFolder', 'config folder', configDirectory, 'ENGAGECTL_CONFIG_DIR'],
  ['stateFolder', 'state directory', stateDirectory, 'ENGAGECTL_STATE_DIR'],
] as const;

function nonAccountSettings(settings: GlobalOptions, runtime: Runtime): OtherSetting[] {
  const { env } = runtime;
  const numbers = options.map(([key, words]) => {
    const value = settings[key];
    const variable = `ENGAGECTL_${words.toUpperCase().replace('-', '_')}`;
    const byFlag = settings.flags.has(key.replace(/Ms$/, ''));
    const otherwise = env[variable] === undefined ? 'default' : variable;
    return {
      label: words.replace('-', ' '),
      key,
      value,
      text: key.endsWith('Ms') ? `${value / 1000}s` : String(value),
      source: byFlag ? `--${words}` : otherwise,
    };
  });
  const places = folders.map(([key, label, folderOf, variable]) => {
    const value = folderOf(runtime);
    const source = env[variable] === undefined ? "the platform's own place" : variable;
    return { label, key, value, text: value, source };
  });
  return [...numbers, ...places];
}
