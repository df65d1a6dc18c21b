import type { SavedCallingAccount } from '../../config/calling-account.js';
import { messages, type Messages } from '../../ui/messages.js';
import type { Call } from '../command-spec.js';
import type { OptionTable } from '../flags/option-table.js';
import { notEmpty } from '../flags/option-values.js';

export interface CallingFlags {
  readonly callUrl?: string;
}

export const callingOptions: OptionTable = [
  'Calling system:',
  [
    '--call-url <url>',
    "its address, wss://… (default: the host of the region's base URL)",
    notEmpty,
  ],
];

/** Works with the calling system of the region; of region `local` with its router, here or in another process. */
export async function withCalling<Result>(
  {
    flags: { callUrl },
    settings,
    runtime,
  }: Pick<Call<CallingFlags>, 'flags' | 'settings' | 'runtime'>,
  work: (calling: SavedCallingAccount, said: Messages) => Promise<Result>,
): Promise<Result> {
  const set = settings();
  const said = messages(set, runtime);
  const { resolveCallingAccount } = await import('../../config/calling-account.js');
  const saved = await resolveCallingAccount(set, callUrl, runtime);
  if (saved) return work(saved, said);
  const { resolveAccount } = await import('../../config/account.js');
  const account = await resolveAccount(set, runtime);
  const { joinLocalRouter } = await import('./local-router.js');
  const router = await joinLocalRouter(account, runtime, said);
  const { profile = null, region, headerPrefix } = account;
  try {
    return await work({ profile, region, headerPrefix, ...router }, said);
  } finally {
    await router.close();
  }
}
