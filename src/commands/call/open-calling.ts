import type { SavedCallingAccount } from '../../config/calling-account.js';
import type { Runtime } from '../../runtime.js';
import type { Messages } from '../../ui/messages.js';
import type { OptionTable } from '../flags/option-table.js';
import { notEmpty } from '../flags/option-values.js';
import type { Settings } from '../settings.js';

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

/** A calling system to work with. Who opens, closes. */
export interface Calling extends SavedCallingAccount {
  close(): Promise<void>;
}

/** Milliseconds in which the router hears what phones say without an answer: which events they have seen. */
const lastWords = 100;

/** What is opened behind a calling system, which is closed when that fails. */
export async function closingOnFailure<T>(calling: Calling, opened: Promise<T>): Promise<T> {
  try {
    return await opened;
  } catch (error) {
    await calling.close();
    throw error;
  }
}

/** That of the region; of region `local` the router, here or in another process. */
export async function openCalling(
  settings: Settings,
  { callUrl }: CallingFlags,
  { runtime, messages }: { readonly runtime: Runtime; readonly messages: Messages },
): Promise<Calling> {
  const { resolveCallingAccount } = await import('../../config/calling-account.js');
  const saved = await resolveCallingAccount(settings, callUrl, runtime);
  if (saved) return { ...saved, close: () => Promise.resolve() };
  const { resolveAccount } = await import('../../config/account.js');
  const account = await resolveAccount(settings, runtime);
  const { joinLocalRouter } = await import('./local-router.js');
  const router = await joinLocalRouter(account, runtime, messages);
  const { profile = null, region, headerPrefix } = account;
  const close = async () => {
    await runtime.sleep(lastWords);
    await router.close();
  };
  return { profile, region, headerPrefix, ...router, close };
}
