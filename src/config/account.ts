import { defaultHeaderPrefix } from '../contract/endpoints.js';
import { EngagectlError } from '../errors.js';
import { validateBaseUrl, collectErrors } from './validation.js';
import {
  callingAccount,
  checkedHeaderPrefix,
  environmentCredentials,
  savedCallCredentials,
  savedCredentials,
  serviceAccount,
  passcodeFromCommand,
  type AccountKind,
  type SourcedCredentials,
} from './credentials.js';
import { localCredentials, localDataDirectory } from './local-account.js';
import { findSavedAccount, localRegion, type SavedAccount } from './profiles.js';
import { quoteForShell } from '../wording.js';
import type { Runtime } from '../runtime.js';

/** Everything needed to talk to one account of the service, or of the calling system. */
export interface Account {
  /** The config profile in use; undefined if everything came from flags and environment. */
  readonly profile: string | undefined;
  /** Name within the profile, `local`, or the host of the base URL if none was named. */
  readonly region: string;
  /** Origin without a trailing slash. For `local`, port 0 until the service is started. */
  readonly baseUrl: string;
  readonly accountId: string;
  readonly passcode: string;
  readonly headerPrefix: string;
  /** IANA name. */
  readonly timezone: string;
  /** Time for which sent events are remembered, like `90d`. */
  readonly remember: string;
  /** Whether the config profile is marked production: writes ask for confirmation on a terminal. */
  readonly production: boolean;
  /** Source of each value, for people. */
  readonly sources: Readonly<Record<Exclude<keyof Account, 'profile' | 'sources'>, string>>;
}

type AccountRuntime = Pick<
  Runtime,
  'env' | 'cwd' | 'platform' | 'uid' | 'token' | 'sleep' | 'signal'
>;

interface AccountRequest {
  readonly kind?: AccountKind;
  /** Runs a `passcode_command`, if it is the source in effect. */
  readonly run?: typeof passcodeFromCommand;
}

/**
 * Resolves the account: flag, environment, config profile, default, with id and secret always from one
 * source. The calling system's account is resolved likewise, except for region `local`, whose router
 * uses the service's. Throws E-CONFIG, E-REGION, E-BASE-URL or E-CONFIG-FILE, exit 2.
 */
export async function resolveAccount(
  settings: AccountSettings,
  runtime: AccountRuntime,
  { kind = serviceAccount, run = passcodeFromCommand }: AccountRequest = {},
): Promise<Account> {
  const baseUrl = baseUrlSetting(settings);
  const region = flagOrVariable(settings, 'region');
  if (region?.value === localRegion) return localAccount(settings, region, baseUrl, runtime);

  const prefix = flagOrVariable(settings, 'headerPrefix');
  const [environment, address] = await collectErrors(
    async () => ofEnvironment(settings, runtime, kind),
    () => baseUrl && checked(baseUrl),
    () => prefix && checkedHeaderPrefix(prefix.value, prefix.source),
  );
  if (environment && address) {
    // No config profile is used, not even for the time zone: it may be another account's.
    const host = { value: new URL(address.value).host, source: 'host of the base URL' };
    const credentials = environment;
    return accountOf(settings, { region: region ?? host, baseUrl: address, credentials });
  }

  const saved = await findSavedAccount(settings, runtime);
  const from = { value: saved.region, source: region?.source ?? saved.source };
  const { values, source } = saved;
  if (!values) return localAccount(settings, from, baseUrl, runtime);
  if (address && !environment) refuseForeignAddress(address, values.baseUrl, source);
  const ofSaved = async (region: typeof values) =>
    kind === callingAccount
      ? (savedCallCredentials(region, source) ?? noCallingAccount(saved))
      : savedCredentials(region, source, (command, of) => run(command, of, runtime));
  const [url, credentials] = await collectErrors(
    () => address ?? checked({ value: values.baseUrl, source }),
    async () => environment ?? (await ofSaved(values)),
    () => prefix ?? (values.headerPrefix && checkedHeaderPrefix(values.headerPrefix, source)),
  );
  return accountOf(settings, { region: from, baseUrl: url, credentials, saved });
}

/** Returns the saved region of a config profile, regardless of flags and variables. */
export const savedAccount = (
  place: { readonly profile: string; readonly region: string },
  runtime: AccountRuntime,
): Promise<Account> => resolveAccount({ ...place, flags: new Set(['profile', 'region']) }, runtime);

/**
 * Describes the calling system's account for display; undefined if there is none. `profile` is the
 * config profile in use, if any.
 */
export async function callingCredentials(
  settings: AccountSettings,
  runtime: AccountRuntime,
  profile: string | undefined,
): Promise<SourcedCredentials | undefined> {
  const environment = await ofEnvironment(settings, runtime, callingAccount);
  if (environment || profile === undefined) return environment;
  const { values, source } = await findSavedAccount(settings, runtime);
  return values && savedCallCredentials(values, source);
}

/** An explicit `--profile` disregards the environment. */
const ofEnvironment = async (
  { flags }: AccountSettings,
  runtime: AccountRuntime,
  kind: AccountKind,
) => (flags.has('profile') ? undefined : environmentCredentials(runtime, kind));

/**
 * Returns the address given by flag or variable. An explicit `--profile` or `--region local` disregards
 * the variable, which belongs to the environment's account. ws counts as http, and wss as https.
 */
function baseUrlSetting(settings: AccountSettings): SourcedValue | undefined {
  const { region, flags, callUrl } = settings;
  if (callUrl !== undefined)
    return { value: callUrl.replace(/^ws(?=s?:)/i, 'http'), source: '--call-url' };
  const aside = flags.has('profile') || (flags.has('region') && region === localRegion);
  return aside && !flags.has('baseUrl') ? undefined : flagOrVariable(settings, 'baseUrl');
}

/** Refuses to send saved credentials to an address that a variable names: the environment may be another's. */
function refuseForeignAddress({ value, source }: SourcedValue, saved: string, of: string): void {
  if (source !== names.baseUrl.variable || value === validateBaseUrl(saved, of)) return;
  throw new EngagectlError('E-CONFIG', `${source} is not the address saved in ${of}`, {
    why: 'saved credentials go to the saved address only, or to one typed on the command line',
    fix: `unset ${source}; or type it: --base-url ${quoteForShell(value)}`,
  });
}

const checked = ({ value, source }: SourcedValue): SourcedValue => ({
  value: validateBaseUrl(value, source),
  source,
});

async function localAccount(
  settings: AccountSettings,
  region: SourcedValue,
  baseUrl: SourcedValue | undefined,
  runtime: AccountRuntime,
): Promise<Account> {
  const what = settings.callUrl === undefined ? 'a base URL' : '--call-url';
  if (baseUrl)
    throw new EngagectlError('E-CONFIG', `region "local" and ${what} exclude each other`, {
      why: 'region "local" is the embedded service, on an address of its own',
      fix: `leave out ${baseUrl.source}, or name another region`,
    });
  const folder = localDataDirectory(runtime);
  const source = `the local service, kept in ${folder}`;
  const credentials = await localCredentials(folder, runtime);
  return accountOf(settings, {
    region,
    baseUrl: { value: 'http://127.0.0.1:0', source: 'embedded service, any free port' },
    credentials: { ...credentials, sources: { accountId: source, passcode: source } },
  });
}

interface Choice {
  readonly region: SourcedValue;
  readonly baseUrl: SourcedValue;
  readonly credentials: SourcedCredentials;
  readonly saved?: SavedAccount;
}

/** Adds the settings that have a default. */
function accountOf(
  settings: AccountSettings,
  { region, baseUrl, credentials, saved }: Choice,
): Account {
  const choose = (
    name: 'headerPrefix' | 'timezone' | 'remember',
    fallback: string,
  ): SourcedValue => {
    const kept = saved?.values?.[name];
    const otherwise =
      saved && kept !== undefined
        ? { value: kept, source: saved.source }
        : { value: fallback, source: 'default' };
    return flagOrVariable(settings, name) ?? otherwise;
  };
  const headerPrefix = choose('headerPrefix', defaultHeaderPrefix);
  const timezone = choose('timezone', 'UTC');
  const remember = choose('remember', '90d');
  const { sources, ...pair } = credentials;
  return {
    profile: saved?.profile,
    region: region.value,
    baseUrl: baseUrl.value,
    ...pair,
    headerPrefix: checkedHeaderPrefix(headerPrefix.value, headerPrefix.source),
    timezone: timezone.value,
    remember: remember.value,
    production: saved?.production === true,
    sources: {
      ...sources,
      region: region.source,
      baseUrl: baseUrl.source,
      headerPrefix: headerPrefix.source,
      timezone: timezone.source,
      remember: remember.source,
      production: saved?.production === undefined ? 'default' : saved.source,
    },
  };
}

function noCallingAccount({ region, source }: SavedAccount): never {
  throw new EngagectlError(
    'E-CONFIG',
    `${source}, region "${region}", has no account of the calling system`,
    {
      why: 'calls have an account id and an API key of their own',
      fix: `engagectl config set --region ${quoteForShell(region)} --call-account-id <id> --call-api-key-file <file>; or try it without: --region local`,
    },
  );
}

/** Global options that select an account; each can be a flag or a variable. */
interface AccountSettings {
  readonly profile?: string;
  readonly region?: string;
  readonly baseUrl?: string;
  readonly headerPrefix?: string;
  readonly timezone?: string;
  readonly remember?: string;
  /** `--call-url`: address of the calling system, instead of the base URL. */
  readonly callUrl?: string | undefined;
  /** Names of the settings given as flags. */
  readonly flags: ReadonlySet<string>;
}

/** A value with its source, for people. */
interface SourcedValue {
  readonly value: string;
  readonly source: string;
}

const names = {
  region: { flag: '--region', variable: 'ENGAGECTL_REGION' },
  baseUrl: { flag: '--base-url', variable: 'ENGAGECTL_BASE_URL' },
  headerPrefix: { flag: '--header-prefix', variable: 'ENGAGECTL_HEADER_PREFIX' },
  timezone: { flag: '--timezone', variable: 'ENGAGECTL_TIMEZONE' },
  remember: { flag: '--remember', variable: 'ENGAGECTL_REMEMBER' },
} as const;

/** Returns a setting given by flag or variable; undefined if neither is given. */
export function flagOrVariable(
  settings: AccountSettings,
  name: keyof typeof names,
): SourcedValue | undefined {
  const value = settings[name];
  if (value === undefined) return undefined;
  const { flag, variable } = names[name];
  return { value, source: settings.flags.has(name) ? flag : variable };
}
