import { EngagectlError } from '../../errors.js';
import { messages, type Messages } from '../../ui/messages.js';
import { notEmpty } from '../flags/value-parsers.js';
import type { Account } from '../../config/account.js';
import type { CallsAccount } from '../../jobs/calling/call-log.js';
import type { Call } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

export const callingOptions = [
  'Calling system:',
  [
    '--call-url <url>',
    "its address, wss://… (default: the host of the region's base URL)",
    notEmpty,
  ],
] as const satisfies OptionTable;
export type CallingFlags = FlagsOf<typeof callingOptions>;

/** Works with the calling system of the region; of region `local` with its router, here or in another process. */
export async function withCalling<Result>(
  {
    flags: { callUrl },
    settings,
    runtime,
  }: Pick<Call<CallingFlags>, 'flags' | 'settings' | 'runtime'>,
  work: (calling: CallsAccount, said: Messages) => Promise<Result>,
): Promise<Result> {
  const set = settings();
  const said = messages(set, runtime);
  const [{ resolveAccount }, { callingAccount }, { localRegion }] = await Promise.all([
    import('../../config/account.js'),
    import('../../config/credentials.js'),
    import('../../config/profiles.js'),
  ]);
  const account = await resolveAccount({ ...set, callUrl }, runtime, { kind: callingAccount });
  const how = { headerPrefix: account.headerPrefix, timeoutMs: set.timeoutMs, policy: set };
  if (account.region !== localRegion) {
    refuseAnybody(account, runtime);
    return work({ ...account, ...how, url: account.baseUrl }, said);
  }
  const { joinLocalRouter } = await import('./local-router.js');
  const router = await joinLocalRouter(account, runtime, said);
  try {
    return await work({ ...router, ...how }, said);
  } finally {
    await router.close();
  }
}

/** Sockets do as that variable says. Throws E-CONFIG. */
function refuseAnybody({ baseUrl }: Account, { env }: Call['runtime']): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || baseUrl.startsWith('http:')) return;
  throw new EngagectlError('E-CONFIG', 'NODE_TLS_REJECT_UNAUTHORIZED=0 is set', {
    why: 'the API key would go to whoever answers at that address',
    fix: 'unset it; for a private certificate authority set NODE_EXTRA_CA_CERTS=<file.pem>',
  });
}
