import { savedAccount, type Account } from '../../config/account.js';
import { checkedBaseUrl } from '../../config/validation.js';
import { entry } from '../../config/profiles.js';
import { readConfig } from '../../config/config-file.js';
import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { EngagectlError } from '../../errors.js';
import { askAccount } from '../shared/connect.js';
import type { Runtime } from '../../runtime.js';
import type { AccountCheck } from '../../jobs/connection.js';
import type { Settings } from '../shared/global-options.js';

/** Another region of the config profile, and what it says. */
export interface TriedRegion {
  readonly region: string;
  readonly baseUrl: string;
  /** The account saved for it. */
  readonly accountId: string;
  /** To the account saved for it. */
  readonly ownAnswer: Answer;
  /** To the account that was refused elsewhere. */
  readonly answer: Answer;
}
type Answer = AccountCheck['status'] | 'cannot be used';

/**
 * Asks the other regions saved in the account's config profile, one after the other: each with its
 * own credentials, and with those of `account`. The passcode goes to addresses only that the user
 * saved in this very profile, by https or to this machine.
 */
export async function tryOtherRegions(
  account: Account,
  settings: Settings,
  runtime: Runtime,
): Promise<TriedRegion[]> {
  const { profile, region } = account;
  if (profile === undefined) return [];
  const regions = entry((await readConfig(runtime)).profiles, profile)?.regions ?? {};
  const ask = async (one: Account | undefined): Promise<Answer> =>
    (one && (await askAccount(one, settings, runtime)).status) ?? 'cannot be used';
  const tried: TriedRegion[] = [];
  for (const [name, { baseUrl, accountId, headerPrefix = defaultHeaderPrefix }] of Object.entries(
    regions,
  )) {
    if (name === region) continue;
    const own = await usable(async () => savedAccount({ profile, region: name }, runtime));
    const there = await usable(() => ({
      ...account,
      region: name,
      baseUrl: checkedBaseUrl(baseUrl, `config profile "${profile}"`),
      headerPrefix,
    }));
    const ownAnswer = await ask(own);
    const isSame = own?.accountId === account.accountId && own.passcode === account.passcode;
    const answer = isSame ? ownAnswer : await ask(there);
    tried.push({ region: name, baseUrl, accountId, ownAnswer, answer });
  }
  return tried;
}

/** Of another region a fault of the configuration is a finding, not an end. */
async function usable<T>(make: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof EngagectlError && error.id.startsWith('E-CONFIG')) return undefined;
    if (error instanceof EngagectlError && error.id === 'E-BASE-URL') return undefined;
    throw error;
  }
}
