import { asCalled } from '../../as-called.js';
import { checkedBaseUrl } from '../../config/base-url.js';
import { savedRegion } from '../../config/changes.js';
import { savedCredentials } from '../../config/credentials.js';
import { passcodeFromCommand } from '../../config/passcode-command.js';
import { readConfig } from '../../config/store.js';
import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { EngagectlError } from '../../errors.js';
import { checkAccountAt, type AccountCheck } from '../../jobs/check-account.js';
import type { Runtime } from '../../runtime.js';
import type { Settings } from '../settings.js';

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
  const saved = savedRegion(await readConfig(runtime), profile, region);
  if (!saved) return notTried; // meanwhile removed by another process
  try {
    const run = (command: string, source: string) => passcodeFromCommand(command, source, runtime);
    const source = `config profile "${profile}"`;
    const { accountId, passcode } = await savedCredentials(saved, source, run);
    const { headerPrefix = defaultHeaderPrefix } = saved;
    const timeoutMs = settings.flags.has('timeout') ? settings.timeoutMs : patienceMs;
    const baseUrl = checkedBaseUrl(saved.baseUrl, source);
    const account = { accountId, passcode, headerPrefix, timeoutMs, baseUrl };
    const { status, error } = await checkAccountAt(account, runtime);
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
