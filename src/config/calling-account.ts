import { defaultHeaderPrefix } from '../contract/endpoints.js';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { baseUrlSetting } from './account.js';
import { checkedBaseUrl } from './base-url.js';
import {
  checkedHeaderPrefix,
  environmentCallCredentials,
  savedCallCredentials,
  type CallCredentials,
  type SourcedCallCredentials,
} from './credentials.js';
import { chooseSaved, localRegion } from './saved-account.js';
import { setting, type AccountSettings, type Sourced } from './sourced.js';

/** Everything needed to talk to a calling system. */
export interface SavedCallingAccount extends CallCredentials {
  readonly profile: string | null;
  readonly region: string;
  /** Origin: sockets go to the same host as requests. */
  readonly url: string;
  readonly headerPrefix: string;
}

type CallingRuntime = Pick<Runtime, 'env' | 'cwd' | 'platform' | 'signal'>;

/**
 * Chooses the calling system and its account (calling.md §7), by the rules of `resolveAccount`.
 * Undefined: that of region `local`. Throws E-CONFIG, E-REGION, E-BASE-URL, E-CONFIG-FILE.
 */
export async function resolveCallingAccount(
  settings: AccountSettings,
  callUrl: string | undefined,
  runtime: CallingRuntime,
): Promise<SavedCallingAccount | undefined> {
  const flag = callUrl === undefined ? undefined : { value: callUrl, source: '--call-url' };
  const isLocal = setting(settings, 'region')?.value === localRegion;
  if (isLocal && flag) throw excluded();
  if (isLocal) return undefined;
  const environment = await ofEnvironment(settings, runtime);
  const address = flag ?? baseUrlSetting(settings);
  if (environment && address) {
    const url = checkedUrl(address, runtime);
    const region = settings.region ?? new URL(url).host;
    return { profile: null, region, url, ...environment, headerPrefix: prefixOf(settings) };
  }
  const saved = await chooseSaved(settings, runtime);
  const { profile, region, values, source } = saved;
  if (!values && flag) throw excluded();
  if (!values) return undefined;
  const credentials = environment ?? savedCallCredentials(values, source);
  if (!credentials) throw noAccount(region, source);
  const url = checkedUrl(address ?? { value: values.baseUrl, source }, runtime);
  return { profile, region, url, ...credentials, headerPrefix: prefixOf(settings, values) };
}

/**
 * The account of the calling system for people to look at; undefined where there is none. `profile` is the config
 * profile in use, if one is.
 */
export async function callingCredentials(
  settings: AccountSettings,
  runtime: CallingRuntime,
  profile: string | undefined,
): Promise<SourcedCallCredentials | undefined> {
  const environment = await ofEnvironment(settings, runtime);
  if (environment || profile === undefined) return environment;
  const { values, source } = await chooseSaved(settings, runtime);
  return values && savedCallCredentials(values, source);
}

/** An explicit `--profile` sets it aside. */
const ofEnvironment = async ({ flags }: AccountSettings, runtime: CallingRuntime) =>
  flags.has('profile') ? undefined : environmentCallCredentials(runtime);

function prefixOf(
  settings: AccountSettings,
  saved?: { readonly headerPrefix?: string | undefined },
) {
  const given = setting(settings, 'headerPrefix');
  const prefix = given?.value ?? saved?.headerPrefix ?? defaultHeaderPrefix;
  return checkedHeaderPrefix(prefix, given?.source ?? 'config profile');
}

/** ws is http, and wss https, as far as the rules for addresses go. */
function checkedUrl({ value, source }: Sourced, { env }: CallingRuntime): string {
  const url = checkedBaseUrl(value.replace(/^ws(?=s?:)/i, 'http').replace(/\/$/, ''), source);
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || url.startsWith('http:')) return url;
  throw new EngagectlError('E-CONFIG', 'NODE_TLS_REJECT_UNAUTHORIZED=0 is set', {
    why: 'the API key would go to whoever answers at that address',
    fix: 'unset it; for a private certificate authority set NODE_EXTRA_CA_CERTS=<file.pem>',
  });
}

const excluded = (): EngagectlError =>
  new EngagectlError('E-CONFIG', 'region "local" and --call-url exclude each other', {
    why: 'region "local" is the embedded service, on an address of its own',
    fix: 'leave out --call-url, or name another region',
  });

const noAccount = (region: string, source: string): EngagectlError =>
  new EngagectlError(
    'E-CONFIG',
    `${source}, region "${region}", has no account of the calling system`,
    {
      why: 'calls have an account id and an API key of their own',
      fix: `engagectl config set --region ${region} --call-account-id <id> --call-api-key-file <file>; or try it without: --region local`,
    },
  );
