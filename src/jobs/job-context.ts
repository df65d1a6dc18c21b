import { RetryStatus, type RetryPolicy } from '../client/retry.js';
import {
  EngagectlError,
  exitCodes,
  interruptionError,
  type ExitCode,
  type QuotedText,
} from '../errors.js';
import { once } from 'node:events';
import type { Client } from '../client/client.js';
import type { TimeZone } from '../time-zone.js';
import type { Runtime } from '../runtime.js';
import type { ConcurrencyLimiter } from '../bulk/adaptive-concurrency.js';
import type { RequestObserver } from '../bulk/request-history.js';
import type { OutcomeLog } from '../bulk/outcomes/outcome-log.js';

/** Everything a job needs besides its own options. */
export interface JobContext {
  readonly runtime: Runtime;
  readonly words: Wording;
  readonly messages: Reporter;
  /** Command line of the job, to show it and to resume it. */
  readonly argv: readonly string[];
  /** Time zone of jobs that need no account. */
  readonly timezone: string;
  /** Called once, after all checks that need no account. The job closes the connection. */
  connect(): Promise<Connection>;
  /** Absolute path of the folder of runs. Throws E-CONFIG if there is none. */
  runsFolder(): string;
  /** Throws E-USAGE for output files that the command line names for something else, too. */
  readonly refuseOutputs?: (files: readonly string[]) => Promise<void>;
  /** Replacements for parts of the engine, for a job that is part of a larger one. */
  readonly ports?: EnginePorts;
}

/** An open connection to one account. */
export interface Connection {
  readonly client: Client;
  readonly accountId: string;
  /** Host that a run belongs to. The embedded service, whose port changes, uses its name instead. */
  readonly host: string;
  /** Time zone of the account, for relative dates and for times without an offset. */
  readonly zone: TimeZone;
  /** Time for which sent events are remembered, in milliseconds. */
  readonly rememberMs: number;
  readonly policy: RetryPolicy;
  close(): Promise<void>;
}

/** Creates the record of what the requests of a job are waiting for. */
export function retryStatusOf(
  connection: Pick<Connection, 'host' | 'client'> | undefined,
  { runtime, messages }: Pick<JobContext, 'runtime' | 'messages'>,
): RetryStatus {
  const { host = 'nobody', client } = connection ?? {};
  const log = (line: string) => messages.verbose(line);
  return new RetryStatus(host, { monotonic: runtime.monotonic, log }, client?.stall);
}

/** Receives the messages of a running job. */
export interface Reporter {
  /** `about` holds the details as an object. */
  note(text: string, about?: object): void;
  /** `quoted`: what is to be masked in the text. */
  warn(text: string, about?: object, quoted?: QuotedText): void;
  /** One line about a request or a retry. `about` holds the details as an object. */
  verbose(text: string, about?: object): void;
  /** More details about a request; built only if they are logged. */
  debug(entry: () => readonly [text: string, about: object] | undefined): void;
}

/** Names of options and commands in errors and notes, which differ for CLI and library. */
export interface Wording {
  /** Formats an option, like `--rejects <file>`; `value` follows the name. */
  readonly option: (name: string, value?: string) => string;
  /** How to resume an unfinished run; `timezone`: in another time zone than the current one. */
  readonly resumeRun: (run: string, timezone?: string) => string;
  /** How to correct and resend the rejects in `file`. */
  readonly correct: (job: string, file: string) => string;
  /** How to send the records in `file` that were not sent. */
  readonly sendRest: (job: string, file: string) => string;
  /** How to find out which records of unknown outcome in `file` have arrived. */
  readonly lookUp: (file: string) => string;
  /** How to resend the records of unknown outcome in `file`. */
  readonly resend: (file: string) => string;
  /** Name of the setting for the state directory. */
  readonly stateFolder: string;
}

/** Wording for programs that use the library. */
export const libraryWording: Wording = {
  option: (name) => (name === 'noJournal' ? 'no stateFolder' : name),
  resumeRun: (_, timezone) =>
    `the same call and resume: true${timezone === undefined ? '' : `, connected with timezone: '${timezone}'`}`,
  correct: (job, file) => `correct the records in ${file}, then ${job} them again`,
  sendRest: (job, file) => `${job} the records in ${file}`,
  lookUp: (file) => `look them up in ${file}`,
  resend: () => 'retryUnknown resends them from that file',
  stateFolder: 'stateFolder',
};

export type { OutcomeLog, RequestObserver };

/** Whether a fleet worker runs the job: another worker may resume it at any time, from the same journal. */
export const isLeased = ({ ports }: { readonly ports?: EnginePorts | undefined }): boolean =>
  ports?.leasedRun !== undefined;

/** Replacements for parts of the engine, for a job that is part of a larger one. */
export interface EnginePorts {
  /** Limits the requests in flight. */
  readonly limiter?: () => ConcurrencyLimiter;
  /** Commits outcomes; receives the journal of the run. */
  readonly outcomes?: (journal: OutcomeLog) => OutcomeLog;
  /** Called before a page of an export is written. Throws if this process has lost its lease. */
  readonly fence?: () => void;
  /** Informed of each request. */
  readonly requests?: RequestObserver;
  /** Returns the absolute path from which an input is read. */
  readonly inputPath?: (file: string) => string;
  /** Whether a record, by its ordinal in the input, is an event that another run sends. */
  readonly isAlreadySent?: ((ordinal: number) => boolean) | undefined;
  /** Id of a run that a lease protects. Such a run takes no lock. */
  readonly leasedRun?: string;
}

/** Returns the expected error that the work ended with, if any. Rethrows defects. */
export async function catchFailure(
  work: Promise<unknown>,
  signal: AbortSignal,
): Promise<EngagectlError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof EngagectlError) return error;
    if (signal.aborted) return interruptionError(signal.reason);
    throw error;
  }
}

/** Returns how a job ended, for its result. `started` is the monotonic time in milliseconds. */
export function runEnd(
  error: EngagectlError | undefined,
  started: number,
  { monotonic }: Pick<Runtime, 'monotonic'>,
): { seconds: number; exitCode: ExitCode; error: EngagectlError | undefined } {
  const seconds = Math.round(monotonic() - started) / 1000;
  return { seconds, exitCode: error?.exitCode ?? exitCodes.ok, error };
}

/** Resolves when the signal is aborted. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** Creates a run id: UTC time in seconds and four random characters, `20261121-044512-7kq2`. */
export function newRunId({ now, random }: Pick<Runtime, 'now' | 'random'>): string {
  const [date = '', time = ''] = new Date(now()).toISOString().split('T');
  const tail = Math.floor(random() * 36 ** 4).toString(36);
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}-${tail.padStart(4, '0')}`;
}
