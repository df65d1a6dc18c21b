import { RetryStatus, type RetryPolicy } from '../client/retry.js';
import { EngagectlError, interruptionError } from '../errors.js';
import { once } from 'node:events';
import type { Client } from '../client/client.js';
import type { TimeZone } from '../time-zone.js';
import type { Runtime } from '../runtime.js';
import type { ConcurrencyLimiter } from '../bulk/adaptive-concurrency.js';
import type { OutcomeLog } from '../bulk/outcomes/outcome-log.js';

/** What a job works in, besides its own options. */
export interface JobContext {
  readonly runtime: Runtime;
  readonly words: Wording;
  readonly said: Reporter;
  /** How the job was asked for, so that a person can be shown it, and it can be asked for again. */
  readonly argv: readonly string[];
  /** Time zone of jobs that need no account. */
  readonly timezone: string;
  /** Called once, when all that needs no account is in order. The job closes the connection. */
  connect(): Promise<Connection>;
  /** Absolute path of the folder that holds the runs. Throws where there is no place for them. */
  runsFolder(): string;
  /** Of a job that is a part of something larger. */
  readonly ports?: EnginePorts;
}

/** An account to work with. */
export interface Connection {
  readonly client: Client;
  readonly accountId: string;
  /** The host that a run belongs to; of the embedded service, which has other ports every time, its name. */
  readonly host: string;
  /** Of the account: for relative dates and times without an offset. */
  readonly zone: TimeZone;
  readonly policy: RetryPolicy;
  close(): Promise<void>;
}

/** What the requests of a job wait for. */
export function retryStatusOf(
  connection: Pick<Connection, 'host' | 'client'> | undefined,
  { runtime, said }: Pick<JobContext, 'runtime' | 'said'>,
): RetryStatus {
  const { host = 'nobody', client } = connection ?? {};
  const log = (line: string) => said.verbose(line);
  return new RetryStatus(host, { monotonic: runtime.monotonic, log }, client?.silence);
}

/** Who listens to a job while it is under way. */
export interface Reporter {
  note(text: string): void;
  /** `personal`: identities and addresses in the text, the longest first. */
  warn(text: string, about?: object, personal?: readonly string[]): void;
  /** One line about a request or a retry; `about` is what more an object says. */
  verbose(text: string, about?: object): void;
  /** More about a request than that. */
  debug(tell: () => readonly [text: string, about: object] | undefined): void;
}

/** How those who start jobs call what an error or a note tells them to use. */
export interface Wording {
  /** An option, like `--rejects <file>`; `value` stands for what follows its name. */
  readonly option: (name: string, value?: string) => string;
  /** What goes on with an unfinished run. */
  readonly goOn: (run: string) => string;
  /** What to do with the rejects of a run, which `file` holds. */
  readonly correct: (job: string, file: string) => string;
  /** What tells which of the records of unknown outcome have arrived, which `file` holds. */
  readonly lookUp: (file: string) => string;
  /** What names the state folder. */
  readonly stateFolder: string;
}

/** Of a program that uses the library. */
export const libraryWording: Wording = {
  option: (name) => (name === 'noJournal' ? 'no stateFolder' : name),
  goOn: () => 'the same call with resume',
  correct: (job, file) => `${file} says where and why; ${job} them again when they are correct`,
  lookUp: (file) => `look them up in ${file}`,
  stateFolder: 'stateFolder',
};

export type { ConcurrencyLimiter as Budget, OutcomeLog };
/** The budget of one process, for who fills the place with one that knows more. */
export { AimdLimiter as Gate } from '../bulk/adaptive-concurrency.js';

/** Places of the engine that somebody else may fill, for a job that is a part of something larger. */
export interface EnginePorts {
  /** Who may have a request in flight. */
  readonly budget?: () => ConcurrencyLimiter;
  /** Where outcomes are committed; the run's own journal is handed in. */
  readonly outcomes?: (journal: OutcomeLog) => OutcomeLog;
  /** Asked before a page of an export is written. Throws when that is not this process's any more. */
  readonly fence?: () => void;
  /** Of a run that is nobody else's by a lease: it has this name, and takes no lock. */
  readonly leasedRun?: string;
}

/** What foreseen failure work ended with, if any; defects are thrown. */
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

/** Resolves when the signal is aborted. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** Names a run: UTC time to the second and four random characters, e.g. `20261121-044512-7kq2`. */
export function newRunId({ now, random }: Pick<Runtime, 'now' | 'random'>): string {
  const [date = '', time = ''] = new Date(now()).toISOString().split('T');
  const tail = Math.floor(random() * 36 ** 4).toString(36);
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}-${tail.padStart(4, '0')}`;
}
