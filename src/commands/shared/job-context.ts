import path from 'node:path';
import { stateFolder } from '../../config/directories.js';
import { connect, type Connection } from './connect.js';
import { jobWordsOf, type RejectCommands } from '../job/job-words.js';
import type { World } from '../../jobs/job-context.js';
import type { Runtime } from '../../runtime.js';
import type { Messages } from '../../ui/messages.js';
import type { Settings } from './global-options.js';

/** Where the journals of unfinished runs are. Throws E-CONFIG where this user has no home. */
export const runsFolder = (runtime: Runtime): string => path.join(stateFolder(runtime), 'runs');

/** What a job that a command line asks for works in. */
export interface CommandWorld extends World {
  /** Once it is connected. */
  readonly connection: Connection | undefined;
}

export function jobWorld(
  settings: Settings,
  runtime: Runtime,
  options: RejectCommands & { readonly maxInFlight: number; readonly messages: Messages },
): CommandWorld {
  let connection: Connection | undefined;
  return {
    runtime,
    words: jobWordsOf(options),
    said: options.messages,
    argv: settings.argv,
    timezone: settings.timezone ?? 'UTC',
    get connection() {
      return connection;
    },
    connect: async () => (connection = await connect(settings, runtime, options)),
    runsFolder: () => runsFolder(runtime),
  };
}

/** Of a summary; null where only a check was made, without an account. */
export function accountFields({ connection }: CommandWorld) {
  if (!connection) return { profile: null, region: null, accountId: null };
  const { profile, region, accountId } = connection.account;
  return { profile: profile ?? null, region, accountId };
}
