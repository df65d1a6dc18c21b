import { EngagectlError } from '../../errors.js';
import { shellWord } from '../../wording.js';
import type { Credentials } from '../../config/credentials.js';
import type { Runtime } from '../../runtime.js';
import type { CallOptions } from '../../service/start.js';
import type { Messages } from '../../ui/messages.js';
import type { ServeFlags } from './command.js';

/** The calling system of `serve`. */
export interface ServedCalls {
  /** Undefined: another process routes the calls of this folder. */
  readonly options: CallOptions | undefined;
  /** Where that process says that it listens. */
  readonly otherRouter?: string | undefined;
  /** Tells people and other processes where it is. */
  announce(url: string): Promise<void>;
  release(): void;
}

/** `memory`: nothing is kept, so that no other process can route the same calls. */
export async function servedCalls(
  flags: ServeFlags,
  { folder, memory }: { readonly folder: string; readonly memory: boolean },
  runtime: Runtime,
  told: Messages,
): Promise<ServedCalls> {
  const { announcedRouter, claimRouter } = await import('../../config/call-router-claim.js');
  const claim = memory ? undefined : await claimRouter(folder, runtime);
  if (!memory && !claim) {
    const otherRouter = await announcedRouter(folder);
    const at = otherRouter ? `, at ${otherRouter}` : '';
    told.warn(`calls of ${folder} are routed by another process${at}`);
    return { ...noCalls, otherRouter };
  }
  const account = await accountOf(folder, runtime, told);
  if (!account) {
    claim?.release();
    return noCalls;
  }
  const { credentials, how } = account;
  return {
    options: await optionsOf(flags, credentials, runtime, told),
    announce: async (url) => {
      await claim?.announce(url);
      told.note(`calls: ENGAGECTL_CALL_ACCOUNT_ID=${credentials.accountId} ${how}`);
    },
    release: () => claim?.release(),
  };
}

const noCalls: ServedCalls = {
  options: undefined,
  announce: () => Promise.resolve(),
  release: () => undefined,
};

interface CallAccount {
  readonly credentials: Credentials;
  /** How another command is given the key. */
  readonly how: string;
}

/** Undefined, and said why: the folder cannot keep a secret. Nothing else of the service needs that. */
async function accountOf(
  folder: string,
  runtime: Runtime,
  told: Messages,
): Promise<CallAccount | undefined> {
  const { callingAccount, environmentCredentials } = await import('../../config/credentials.js');
  const { localCredentials, localSecretFile } = await import('../../config/local-account.js');
  const given = await environmentCredentials(runtime, callingAccount);
  if (given) return { credentials: given, how: 'and the API key of this environment' };
  try {
    const credentials = await localCredentials(folder, runtime, callingAccount);
    const file = shellWord(localSecretFile(folder, callingAccount));
    return { credentials, how: `ENGAGECTL_CALL_API_KEY_FILE=${file}` };
  } catch (error) {
    if (!(error instanceof EngagectlError)) throw error;
    told.warn(
      `calls are not served: ${error.message}${error.details.why ? `: ${error.details.why}` : ''}`,
    );
    return undefined;
  }
}

async function optionsOf(
  { calls, callSpeed, callDrops, pushHook }: ServeFlags,
  { accountId, passcode }: Credentials,
  runtime: Runtime,
  told: Messages,
): Promise<CallOptions> {
  const { callTimers } = await import('../../calling/protocol.js');
  const { pushHookOf } = await import('./push-hook.js');
  const { ringing, connecting, gone, ping } = callTimers;
  const faster = (milliseconds: number) => milliseconds / callSpeed;
  return {
    accountId,
    apiKey: passcode,
    timers: {
      ringing: faster(ringing),
      connecting: faster(connecting),
      gone: faster(gone),
      ping: faster(ping),
    },
    dropRate: callDrops,
    isOff: calls === 'off',
    onPush: pushHook === undefined ? undefined : pushHookOf(pushHook, runtime, told),
  };
}
