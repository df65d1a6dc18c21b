import { EngagectlError } from '../../errors.js';
import { askAccount } from '../shared/connect.js';
import type { Account } from '../../config/account.js';
import type { Runtime } from '../../runtime.js';
import type { Settings } from '../shared/global-options.js';
import type { Warning } from '../../jobs/doctor/checks.js';

interface Answer {
  readonly message: string;
  /** The answer's header `Date`. */
  readonly date: string | undefined;
}

/** One harmless authenticated request. Throws E-CREDENTIALS, E-UNAVAILABLE or E-ANSWER. */
export async function askOnce(
  account: Account,
  settings: Settings,
  runtime: Runtime,
): Promise<Answer> {
  let date: string | undefined;
  const started = runtime.monotonic();
  const { status, request, error } = await askAccount(account, settings, runtime, (headers) => {
    date = headers['date']?.toString();
  });
  const milliseconds = Math.round(runtime.monotonic() - started);
  if (!error) return { message: `${request}: accepted (${milliseconds} ms)`, date };
  if (status !== 'refused') throw error;
  throw new EngagectlError('E-CREDENTIALS', error.message, {
    why: error.details.why,
    fix: 'engagectl config check tries the other regions, and says what to type',
  });
}

/** Further off, relative dates and times that are made here are wrong. */
const skewMs = 60_000;

/** This machine's clock against the service's. */
export function checkClock(
  date: string | undefined,
  { now }: Pick<Runtime, 'now'>,
): string | Warning {
  const there = Date.parse(date ?? '');
  if (Number.isNaN(there)) return 'not compared: no answer said what time it is';
  const seconds = Math.round((now() - there) / 1000);
  if (Math.abs(seconds) * 1000 <= skewMs) return `within ${skewMs / 1000} s of the service's`;
  const side = seconds > 0 ? 'ahead of' : 'behind';
  return {
    warning: `${Math.abs(seconds)} s ${side} the service's`,
    fix: 'set the clock (timedatectl set-ntp true): relative dates and --ts now depend on it',
  };
}
