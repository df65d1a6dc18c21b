import { localFolder } from '../../config/local-account.js';
import { limits } from '../../contract/limits.js';
import type { Account } from '../../config/account.js';
import type { Runtime } from '../../runtime.js';
import type { CallOptions, RunningService } from '../../service/start.js';
import type { Messages } from '../../ui/messages.js';

interface Local {
  readonly runtime: Runtime;
  readonly messages: Messages;
  /** Any free one by default. */
  readonly port?: number;
  /** Undefined: it has no calling. */
  readonly calls?: CallOptions;
}

/**
 * The service of `--region local` inside this process. Its data lies under the state folder, shared
 * with `serve` and with other commands at the same time.
 */
export async function startLocalService(
  { headerPrefix, accountId, passcode, timezone }: Account,
  { runtime, messages, port = 0, calls }: Local,
): Promise<RunningService> {
  const { startService } = await import('../shared/local-service.js');
  return startService({
    dataDir: localFolder(runtime),
    port,
    headerPrefixes: [headerPrefix],
    accountId,
    passcode,
    timezone,
    latencyMs: 0,
    pendingPolls: 0,
    failRate: 0,
    maxConcurrent: { upload: limits.uploadsInFlight, other: limits.othersInFlight },
    variants: {},
    calls,
    keptBodyText: 0, // nobody asks it what was sent
    random: runtime.random,
    now: runtime.now,
    onDefect: (error) => messages.warn(`defect of the local service: ${String(error)}`),
  });
}
