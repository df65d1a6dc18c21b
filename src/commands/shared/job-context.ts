import path from 'node:path';
import { stateFolder } from '../../config/directories.js';
import { connect, type Connection } from './connect.js';
import type { Words, World } from '../../jobs/job-context.js';
import type { Runtime } from '../../runtime.js';
import type { Messages } from '../../ui/messages.js';
import type { Settings } from './global-options.js';

/** How errors and notes of jobs call what a person types. */
export const jobWords: Words = {
  option: (name, value) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === undefined ? flag : `${flag} ${value}`;
  },
  goOn: (run) => `engagectl runs resume ${run}`,
  correct: (_, file) => `correct ${file}, and give it to the same command`,
  lookUp: (file) => `look them up in ${file}`,
  stateFolder: 'ENGAGECTL_STATE_DIR',
};

/** What a command line is for the rejects of its run. */
export interface RejectCommands {
  /** The same for another input. */
  readonly again?: ((file: string) => string) | undefined;
  /** What looks up the records of unknown outcome; undefined where nothing can. */
  readonly settle?: ((file: string) => string | undefined) | undefined;
}

/** The same of one command line. */
const jobWordsOf = ({ again, settle }: RejectCommands): Words => ({
  ...jobWords,
  correct: (job, file) =>
    again ? `correct ${file}, then: ${again(file)}` : jobWords.correct(job, file),
  lookUp: (file) => {
    const command = settle?.(file);
    return command ? `${command} tells which have arrived` : jobWords.lookUp(file);
  },
});

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
