import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { checkedBaseUrl } from './base-url.js';
import { checkAccountPair, checkedHeaderPrefix } from './credentials.js';

/**
 * What is wrong with the variables of the account, but for a file that they name: to be told with
 * what is wrong besides. `flags`: the settings that were given as flags, and set variables aside.
 */
export function environmentFaults(
  { env }: Pick<Runtime, 'env'>,
  flags: ReadonlySet<string>,
): string[] {
  const read = (name: string, check: (value: string, source: string) => unknown) => () => {
    const value = env[name];
    if (value !== undefined) check(value, name);
  };
  const isAside = flags.has('profile');
  return [
    ...(isAside ? [] : [() => checkAccountPair(env)]),
    ...(isAside || flags.has('baseUrl') ? [] : [read('ENGAGECTL_BASE_URL', checkedBaseUrl)]),
    ...(flags.has('headerPrefix') ? [] : [read('ENGAGECTL_HEADER_PREFIX', checkedHeaderPrefix)]),
  ].flatMap(faultOf);
}

function faultOf(check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof EngagectlError) return [error.message];
    throw error;
  }
}
