import type { Account } from '../config/account.js';
import type { Messages } from '../ui/messages.js';
import { jobWords } from './job/job-words.js';
import type { Settings } from './settings.js';

/** Says with what values requests are made, whether they were given or not. */
export function tellRequestSettings(
  { accountId, region, profile, baseUrl, timezone, sources }: Account,
  { timeoutMs, maxAttempts, retryForMs, retryBaseMs }: Settings,
  { maxInFlight, messages }: { readonly maxInFlight: number; readonly messages: Messages },
): void {
  const from = profile === undefined ? '' : `, profile ${profile}`;
  const about = { accountId, region, baseUrl, timezone, maxInFlight };
  const limits = { timeoutMs, maxAttempts, retryForMs, retryBaseMs };
  messages.verbose(
    `account ${accountId} (${sources.accountId}), region ${region}${from}, ${baseUrl}; ` +
      `time zone ${timezone}; at most ${maxInFlight} in flight, timeout ${timeoutMs / 1000} s, ` +
      `${maxAttempts} attempts in ${retryForMs / 1000} s, first back-off ${retryBaseMs} ms`,
    { ...about, ...limits },
  );
}

/** Says the values of a command's own flags, given or not, as they could be typed. */
export function tellFlags(command: string, flags: object, messages: Messages): void {
  const known = Object.entries(flags).flatMap(([name, value]: [string, unknown]) => {
    const isPlain = typeof value === 'string' || typeof value === 'number';
    return isPlain ? jobWords.option(name, String(value)) : [];
  });
  messages.verbose([command, ...known].join(' '), { flags });
}
