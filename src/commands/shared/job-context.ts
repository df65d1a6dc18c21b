import { runsFolder } from '../../config/directories.js';
import { connectAccount, connectTo, type AccountConnection } from './connect.js';
import type { Account } from '../../config/account.js';
import { quoteForShell } from '../../wording.js';
import type { Wording, JobContext } from '../../jobs/job-context.js';
import type { Runtime } from '../../runtime.js';
import type { Messages } from '../../ui/messages.js';
import type { GlobalOptions } from './global-options.js';

/** Wording of errors and notes of jobs in terms of the command line. */
export const cliAdvice: Wording = {
  option: (name, value) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (value === undefined) return flag;
    return `${flag} ${/^<[a-z.]+>$/.test(value) ? value : quoteForShell(value)}`;
  },
  resumeRun: (run, timezone) =>
    `engagectl runs resume ${quoteForShell(run)}${timezone === undefined ? '' : ` --timezone ${quoteForShell(timezone)}`}`,
  correct: (_, file) => `correct ${file}, and give it to the same command`,
  sendRest: (_, file) => `give ${file} to the same command`,
  lookUp: (file) => `look them up in ${file}`,
  resend: () => '--retry-unknown resends them from that file',
  stateFolder: 'ENGAGECTL_STATE_DIR',
};

/** Command lines that handle the rejects of a run. */
export interface FollowUpCommands {
  /** Returns the same command line for another input; `retriesUnknown`: with `--retry-unknown`. */
  readonly again?: ((file: string, retriesUnknown?: boolean) => string) | undefined;
  /** Returns the command that looks up records of unknown outcome; undefined if there is none. */
  readonly settle?: ((file: string) => string | undefined) | undefined;
}

/** Returns the wording for one command line. */
const cliAdviceFor = ({ again, settle }: FollowUpCommands): Wording => ({
  ...cliAdvice,
  correct: (job, file) =>
    again ? `correct ${file}, then: ${again(file)}` : cliAdvice.correct(job, file),
  sendRest: (job, file) =>
    again ? `to send the others that were read: ${again(file)}` : cliAdvice.sendRest(job, file),
  lookUp: (file) => {
    const command = settle?.(file);
    return command ? `find out which ones arrived: ${command}` : cliAdvice.lookUp(file);
  },
  resend: (file) => (again ? `to resend them: ${again(file, true)}` : cliAdvice.resend(file)),
});

/** The context of a job started from the command line. */
export interface CommandContext extends JobContext {
  /** Set once the command is connected. */
  readonly connection: AccountConnection | undefined;
}

export function jobContext(
  settings: GlobalOptions,
  runtime: Runtime,
  {
    account,
    ...options
  }: FollowUpCommands & {
    readonly maxInFlight: number;
    readonly messages: Messages;
    /** Default: the account that the settings select, resolved when it is needed. */
    readonly account?: Account;
  },
): CommandContext {
  let connection: AccountConnection | undefined;
  return {
    runtime,
    words: cliAdviceFor(options),
    messages: options.messages,
    argv: settings.argv,
    timezone: settings.timezone ?? 'UTC',
    get connection() {
      return connection;
    },
    connect: async () =>
      (connection = account
        ? await connectTo(account, settings, runtime, options)
        : await connectAccount(settings, runtime, options)),
    runsFolder: () => runsFolder(runtime),
  };
}

/** Account fields of a summary; null for a check without an account. */
export function accountFields({ connection }: CommandContext) {
  if (!connection) return { profile: null, region: null, accountId: null };
  const { profile, region, accountId } = connection.account;
  return { profile: profile ?? null, region, accountId };
}
