import { defaultHeaderPrefix } from '../contract/endpoints.js';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { checkedBaseUrl } from './base-url.js';
import {
  checkedHeaderPrefix,
  environmentCredentials,
  savedCredentials,
  type SourcedCredentials,
} from './credentials.js';
import { localCredentials, localFolder } from './local-account.js';
import { passcodeFromCommand } from './passcode-command.js';
import { chooseSaved, localRegion, type Saved } from './saved-account.js';
import { together } from './together.js';
import { setting, type AccountSettings, type Sourced } from './sourced.js';

/** Everything needed to talk to one account of the service. */
export interface Account {
  /** The config profile used; undefined when everything came from flags and environment. */
  readonly profile: string | undefined;
  /** Name within the profile, `local`, or the base URL's host when nothing named one. */
  readonly region: string;
  /** Origin without a slash at the end. Of `local`: port 0, until the service is started. */
  readonly baseUrl: string;
  readonly accountId: string;
  readonly passcode: string;
  readonly headerPrefix: string;
  /** IANA name. */
  readonly timezone: string;
  /** The config profile is marked so: writes ask first, where somebody sits at a terminal. */
  readonly production: boolean;
  /** Where each value came from, for people. */
  readonly sources: Readonly<Record<Exclude<keyof Account, 'profile' | 'sources'>, string>>;
}

type AccountRuntime = Pick<Runtime, 'env' | 'cwd' | 'platform' | 'token' | 'sleep' | 'signal'>;

/**
 * Chooses the account (contract §1): flag, environment, config profile, default, and id and
 * passcode always from one source. E-CONFIG, E-REGION, E-BASE-URL or E-CONFIG-FILE, exit 2.
 * `run` is how a `passcode_command` is carried out, where it is the one that counts.
 */
export async function resolveAccount(
  settings: AccountSettings,
  runtime: AccountRuntime,
  run: typeof passcodeFromCommand = passcodeFromCommand,
): Promise<Account> {
  const baseUrl = baseUrlSetting(settings);
  const region = setting(settings, 'region');
  if (region?.value === localRegion) return localAccount(settings, region, baseUrl, runtime);

  const prefix = setting(settings, 'headerPrefix');
  const [environment, address] = await together(
    async () => (settings.flags.has('profile') ? undefined : environmentCredentials(runtime)),
    () => baseUrl && checked(baseUrl),
    () => prefix && checkedHeaderPrefix(prefix.value, prefix.source),
  );
  if (environment && address) {
    // No config profile takes part, not even for the time zone: it may be another account's.
    const host = { value: new URL(address.value).host, source: 'host of the base URL' };
    const credentials = environment;
    return accountOf(settings, { region: region ?? host, baseUrl: address, credentials });
  }

  const saved = await chooseSaved(settings, runtime);
  const from = { value: saved.region, source: region?.source ?? saved.source };
  const { values, source } = saved;
  if (!values) return localAccount(settings, from, baseUrl, runtime);
  const runCommand = (command: string, of: string) => run(command, of, runtime);
  const [url, credentials] = await together(
    () => address ?? checked({ value: values.baseUrl, source }),
    async () => environment ?? savedCredentials(values, source, runCommand),
    () => prefix ?? (values.headerPrefix && checkedHeaderPrefix(values.headerPrefix, source)),
  );
  return accountOf(settings, { region: from, baseUrl: url, credentials, saved });
}

/**
 * The base URL of the flag or the variable. An explicit `--profile` or `--region local` sets the
 * variable aside: it belongs to the environment's account.
 */
export function baseUrlSetting(settings: AccountSettings): Sourced | undefined {
  const { region, flags } = settings;
  const aside = flags.has('profile') || (flags.has('region') && region === localRegion);
  return aside && !flags.has('baseUrl') ? undefined : setting(settings, 'baseUrl');
}

const checked = ({ value, source }: Sourced): Sourced => ({
  value: checkedBaseUrl(value, source),
  source,
});

async function localAccount(
  settings: AccountSettings,
  region: Sourced,
  baseUrl: Sourced | undefined,
  runtime: AccountRuntime,
): Promise<Account> {
  if (baseUrl)
    throw new EngagectlError('E-CONFIG', 'region "local" and a base URL exclude each other', {
      why: 'region "local" is the embedded service, on an address of its own',
      fix: `leave out ${baseUrl.source}, or name another region`,
    });
  const folder = localFolder(runtime);
  const source = `the local service, kept in ${folder}`;
  const credentials = await localCredentials(folder, runtime);
  return accountOf(settings, {
    region,
    baseUrl: { value: 'http://127.0.0.1:0', source: 'embedded service, any free port' },
    credentials: { ...credentials, sources: { accountId: source, passcode: source } },
  });
}

interface Choice {
  readonly region: Sourced;
  readonly baseUrl: Sourced;
  readonly credentials: SourcedCredentials;
  readonly saved?: Saved;
}

/** Adds the two settings that have a default. */
function accountOf(
  settings: AccountSettings,
  { region, baseUrl, credentials, saved }: Choice,
): Account {
  const choose = (name: 'headerPrefix' | 'timezone', fallback: string): Sourced => {
    const kept = saved?.values?.[name];
    const otherwise =
      saved && kept !== undefined
        ? { value: kept, source: saved.source }
        : { value: fallback, source: 'default' };
    return setting(settings, name) ?? otherwise;
  };
  const headerPrefix = choose('headerPrefix', defaultHeaderPrefix);
  const timezone = choose('timezone', 'UTC');
  const { sources, ...pair } = credentials;
  return {
    profile: saved?.profile,
    region: region.value,
    baseUrl: baseUrl.value,
    ...pair,
    headerPrefix: checkedHeaderPrefix(headerPrefix.value, headerPrefix.source),
    timezone: timezone.value,
    production: saved?.production === true,
    sources: {
      ...sources,
      region: region.source,
      baseUrl: baseUrl.source,
      headerPrefix: headerPrefix.source,
      timezone: timezone.source,
      production: saved?.production === undefined ? 'default' : saved.source,
    },
  };
}
