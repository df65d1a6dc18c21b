import path from 'node:path';
import { checkedBaseUrl, together } from '../../config/validation.js';
import { savedRegion, withProduction, withRegion, currentProfile } from '../../config/profiles.js';
import { checkedAccountId, checkedHeaderPrefix, secretFromFile } from '../../config/credentials.js';
import { configPath, readConfig, updateConfig } from '../../config/config-file.js';
import { EngagectlError } from '../../errors.js';
import { answer, messages } from '../../ui/messages.js';
import { jsonAnswer } from '../../ui/sanitize.js';
import { notTried, trySaved } from './try-saved.js';
import { givenPasscode } from './given-passcode.js';
import type { Runtime } from '../../runtime.js';
import type { Call } from '../shared/command-spec.js';
import type { SetFlags } from './command.js';
import type { Settings } from '../shared/global-options.js';

/**
 * `config set` (contract §5). Only flags are saved: a variable belongs to the environment, and may
 * be gone tomorrow.
 */
export async function setRegion({ flags, runtime, ...call }: Call<SetFlags>): Promise<void> {
  const settings = call.settings();
  const region = flagOf(settings, 'region');
  if (region === undefined && isOnlyMark(flags, settings))
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
    callAccountId: flags.callAccountId,
  };
  const notYetRead = { passcode: '-', callApiKey: flags.callApiKeyFile };
  // Everything else is checked before anybody types a passcode.
  const [baseUrl, callApiKey] = await together(
    () => checked(typed.baseUrl, checkedBaseUrl, '--base-url'),
    async () => callKey(flags, runtime),
    () => checked(typed.accountId, checkedAccountId, '--account-id'),
    () => checked(typed.headerPrefix, checkedHeaderPrefix, '--header-prefix'),
    () => checked(typed.callAccountId, checkedAccountId, '--call-account-id'),
    () => withRegion(saved, { profile, region, values: { ...typed, ...notYetRead } }),
  );
  const values = { ...typed, baseUrl, callApiKey };
  const isNew = savedRegion(saved, profile, region) === undefined;
  const secret = await givenPasscode(flags, runtime, isNew || flags.accountId !== undefined);
  await updateConfig(runtime, (config) => {
    const changed = withRegion(config, { profile, region, values: { ...values, ...secret } });
    const { production } = flags;
    return production === undefined ? changed : withProduction(changed, profile, production);
  });
  const file = configPath(runtime);
  const told = messages(settings, runtime);
  told.note(`saved: profile ${profile}, region ${region}, in ${file}`);
  const isNews = tried.some((name) => ({ ...values, ...secret })[name] !== undefined);
  const check =
    flags.check && isNews ? await trySaved({ profile, region }, settings, runtime) : notTried;
  if (settings.json) runtime.stdout.write(jsonAnswer({ file, saved: { profile, region }, check }));
  else if (check.status === 'accepted') told.note(check.message ?? '');
  if (check.status === 'refused' || check.status === 'no answer') told.warn(check.message ?? '');
}

/** What the service has an opinion about. */
const tried = ['baseUrl', 'accountId', 'passcode', 'passcode_command', 'headerPrefix'] as const;

async function callKey({ callApiKeyFile: file }: SetFlags, { cwd, signal }: Runtime) {
  if (file === undefined) return undefined;
  return secretFromFile('API key', path.resolve(cwd, file), '--call-api-key-file', signal);
}

/** `config set --production` by itself is about the profile, not about a region of it. */
const isOnlyMark = (flags: SetFlags, settings: Settings): boolean =>
  flags.production !== undefined &&
  Object.keys(flags).every((name) => name === 'production' || name === 'check') &&
  savedFlags.every((name) => !settings.flags.has(name));

async function markProfile(
  production: boolean,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const profile = settings.profile ?? currentProfile(await readConfig(runtime));
  await updateConfig(runtime, (config) => withProduction(config, profile, production));
  const what = production ? 'writes ask first' : 'writes do not ask';
  const saved = { file: configPath(runtime), saved: { profile, production } };
  answer(settings, runtime, saved, { note: `saved: profile ${profile}: on a terminal ${what}` });
}

const checked = (
  value: string | undefined,
  check: (text: string, source: string) => string,
  flag: string,
): string | undefined => (value === undefined ? undefined : check(value, flag));

const savedFlags = ['region', 'baseUrl', 'headerPrefix', 'timezone'] as const;
const flagOf = (settings: Settings, name: (typeof savedFlags)[number]): string | undefined =>
  settings.flags.has(name) ? settings[name] : undefined;
