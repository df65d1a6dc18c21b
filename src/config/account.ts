import { EngagectlError } from '../errors.js';
import { defaultHeaderPrefix } from '../contract/endpoints.js';
import type { Runtime } from '../runtime.js';
import { checkedBaseUrl } from './base-url.js';
import {
  checkedAccountId,
  checkedHeaderPrefix,
  checkedPasscode,
  environmentCredentials,
  type Credentials,
  type EnvironmentCredentials,
} from './credentials.js';
import { localCredentials, localFolder } from './local-account.js';
import { chooseSaved, localRegion, type Saved } from './saved-account.js';

/** The slice of the global options that chooses an account: each a flag, or a variable. */
export interface AccountSettings {
  readonly profile?: string;
  readonly region?: string;
  readonly baseUrl?: string;
  readonly headerPrefix?: string;
  readonly timezone?: string;
  /** Which of them were given as flags. */
  readonly flags: ReadonlySet<string>;
}

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
  /** Where each value came from, for people. */
  readonly sources: Readonly<Record<AccountField, string>>;
}
export type AccountField =
  'region' | 'baseUrl' | 'accountId' | 'passcode' | 'headerPrefix' | 'timezone';

type AccountRuntime = Pick<Runtime, 'env' | 'cwd'>;

/**
 * Chooses the account (contract §1): flag, environment, config profile, default, and id and
 * passcode always from one source. E-CONFIG, E-REGION, E-BASE-URL or E-CONFIG-FILE, exit 2.
 */
export async function resolveAccount(
  settings: AccountSettings,
  runtime: AccountRuntime,
): Promise<Account> {
  const baseUrl = baseUrlSetting(settings);
  if (settings.region === localRegion) return localAccount(settings, baseUrl, runtime);

  const environment = settings.flags.has('profile')
    ? undefined
    : await environmentCredentials(runtime);
  if (environment && baseUrl !== undefined)
    return assemble({ settings, baseUrl, environment, saved: undefined });

  const saved = await chooseSaved(settings, runtime);
  if (saved.region === localRegion) return localAccount(settings, baseUrl, runtime);
  return assemble({ settings, baseUrl, environment, saved });
}

/**
 * The base URL of the flag or the variable. An explicit `--profile` or `--region local` sets the
 * variable aside: it belongs to the environment's account.
 */
function baseUrlSetting({ baseUrl, region, flags }: AccountSettings): string | undefined {
  if (baseUrl === undefined || flags.has('baseUrl')) return baseUrl;
  const explicitLocal = flags.has('region') && region === localRegion;
  return flags.has('profile') || explicitLocal ? undefined : baseUrl;
}

async function localAccount(
  settings: AccountSettings,
  baseUrl: string | undefined,
  runtime: AccountRuntime,
): Promise<Account> {
  if (baseUrl !== undefined)
    throw new EngagectlError('E-CONFIG', 'region "local" and a base URL exclude each other', {
      why: 'region "local" is the embedded service, on an address of its own',
      fix: `leave out ${sourceOf(settings, 'baseUrl')}, or name another region`,
    });
  const folder = localFolder(runtime);
  const made = `made for region "local", kept in ${folder}`;
  const { accountId, passcode } = await localCredentials(folder);
  return {
    ...general(settings, undefined),
    profile: undefined,
    region: localRegion,
    baseUrl: 'http://127.0.0.1:0',
    accountId,
    passcode,
    sources: {
      ...general(settings, undefined).sources,
      region: sourceOf(settings, 'region') ?? 'chosen by config use',
      baseUrl: 'embedded service, on a free port of each command',
      accountId: made,
      passcode: made,
    },
  };
}

interface Parts {
  readonly settings: AccountSettings;
  readonly baseUrl: string | undefined;
  readonly environment: EnvironmentCredentials | undefined;
  readonly saved: Saved | undefined;
}

function assemble({ settings, baseUrl, environment, saved }: Parts): Account {
  const savedIn = saved?.source ?? '';
  const baseUrlSource = baseUrl === undefined ? savedIn : (sourceOf(settings, 'baseUrl') ?? '');
  const origin = checkedBaseUrl(baseUrl ?? saved?.values.baseUrl ?? '', baseUrlSource);
  const { headerPrefix, timezone, sources } = general(settings, saved);
  const { accountId, passcode } = environment ?? savedCredentials(saved);
  return {
    profile: saved?.profile,
    region: saved?.region ?? settings.region ?? new URL(origin).host,
    baseUrl: origin,
    accountId,
    passcode,
    headerPrefix,
    timezone,
    sources: {
      ...sources,
      region: sourceOf(settings, 'region') ?? (saved ? savedIn : 'host of the base URL'),
      baseUrl: baseUrlSource,
      accountId: environment ? 'ENGAGECTL_ACCOUNT_ID' : savedIn,
      passcode: environment?.passcodeSource ?? savedIn,
    },
  };
}

function savedCredentials(saved: Saved | undefined): Credentials {
  const source = saved?.source ?? '';
  return {
    accountId: checkedAccountId(saved?.values.accountId ?? '', source),
    passcode: checkedPasscode(saved?.values.passcode ?? '', source),
  };
}

/** The two settings that have a default. */
function general(settings: AccountSettings, saved: Saved | undefined) {
  const pick = (field: 'headerPrefix' | 'timezone', fallback: string) => {
    const set = settings[field];
    if (set !== undefined) return { value: set, source: sourceOf(settings, field) ?? '' };
    const value = saved?.values[field];
    return value === undefined || saved === undefined
      ? { value: fallback, source: 'default' }
      : { value, source: saved.source };
  };
  const headerPrefix = pick('headerPrefix', defaultHeaderPrefix);
  const timezone = pick('timezone', 'UTC');
  return {
    headerPrefix: checkedHeaderPrefix(headerPrefix.value, headerPrefix.source),
    timezone: timezone.value,
    sources: { headerPrefix: headerPrefix.source, timezone: timezone.source },
  };
}

const variables = {
  region: 'ENGAGECTL_REGION',
  baseUrl: 'ENGAGECTL_BASE_URL',
  headerPrefix: 'ENGAGECTL_HEADER_PREFIX',
  timezone: 'ENGAGECTL_TIMEZONE',
} as const;
const flagNames = {
  region: '--region',
  baseUrl: '--base-url',
  headerPrefix: '--header-prefix',
  timezone: '--timezone',
} as const;

/** The flag or variable a setting came from; undefined when it is not set. */
function sourceOf(settings: AccountSettings, field: keyof typeof variables): string | undefined {
  if (settings[field] === undefined) return undefined;
  return settings.flags.has(field) ? flagNames[field] : variables[field];
}
