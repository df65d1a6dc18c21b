import { asCalled } from '../../wording.js';
import { savedAccount } from '../../config/account.js';
import { savedRegion } from '../../config/profiles.js';
import { readConfig } from '../../config/config-file.js';
import { EngagectlError } from '../../errors.js';
import { askAccount } from '../shared/connect.js';
import type { AccountCheck } from '../../jobs/connection.js';
import type { Runtime } from '../../runtime.js';
import type { Settings } from '../shared/global-options.js';

/** What became of the attempt to use what was saved. */
interface Tried {
  readonly status: AccountCheck['status'] | 'not tried';
  readonly message?: string;
}

export const notTried: Tried = { status: 'not tried' };

/** Nobody waits longer to hear whether what was saved fits, unless --timeout says so. */
const patienceMs = 5000;

/**
 * Whether account, passcode and region fit together: one harmless request, which is not repeated.
 * It is saved whatever comes of it, so that this can be done without a network.
 */
export async function trySaved(
  { profile, region }: { readonly profile: string; readonly region: string },
  settings: Settings,
  runtime: Runtime,
): Promise<Tried> {
  if (!savedRegion(await readConfig(runtime), profile, region)) return notTried; // meanwhile removed by another process
  try {
    const timeoutMs = settings.flags.has('timeout') ? settings.timeoutMs : patienceMs;
    const account = await savedAccount({ profile, region }, runtime);
    const { accountId, baseUrl } = account;
    const { status, error } = await askAccount(account, { ...settings, timeoutMs }, runtime);
    if (status === 'accepted') {
      const message = `account ${accountId} and its passcode fit region ${region} (${baseUrl})`;
      return { status, message };
    }
    const what = status === 'refused' ? 'does not fit' : 'could not be tried';
    return {
      status,
      message: `account ${accountId} ${what}: ${error?.message ?? ''}; ${asCalled(advice(profile, region), runtime.program)}`,
    };
  } catch (error) {
    if (!(error instanceof EngagectlError) || runtime.signal.aborted) throw error;
    const { message, details } = error;
    const why = [message, details.why].filter(Boolean).join(': ');
    return { status: 'no answer', message: `the account could not be tried: ${why}` };
  }
}

const advice = (profile: string, region: string): string =>
  `engagectl config check --profile ${profile} --region ${region} says more`;
