import type { Runtime } from '../runtime.js';
import {
  environmentCallCredentials,
  savedCallCredentials,
  type SourcedCallCredentials,
} from './credentials.js';
import { chooseSaved } from './saved-account.js';
import type { AccountSettings } from './sourced.js';

/**
 * The account of the calling system; undefined where there is none. `profile` is the config profile in use, if one is. An explicit `--profile` sets the
 * environment's aside.
 */
export async function callingCredentials(
  settings: AccountSettings,
  runtime: Pick<Runtime, 'env' | 'cwd' | 'platform' | 'signal'>,
  profile: string | undefined,
): Promise<SourcedCallCredentials | undefined> {
  const environment = settings.flags.has('profile')
    ? undefined
    : await environmentCallCredentials(runtime);
  if (environment || profile === undefined) return environment;
  const { values, source } = await chooseSaved(settings, runtime);
  return values && savedCallCredentials(values, source);
}
