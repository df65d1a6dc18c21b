import { refuseUnverifiedTls } from '../../errors.js';
import { messagePrinter, type Messages } from '../../ui/messages.js';
import { nonEmpty, choice } from '../flags/value-parsers.js';
import { openLineWriter } from '../../jobs/record-output.js';
import { sanitizedJson } from '../../ui/sanitize.js';
import { cliAdvice } from '../shared/job-context.js';
import type { Account } from '../../config/account.js';
import type { CallsAccount } from '../../jobs/calling/call-log.js';
import type { Invocation } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';
import type { Runtime } from '../../runtime.js';

export const callingOptions = [
  'Calling system:',
  [
    '--call-url <url>',
    "URL of the calling system, wss://… (default: host of the region's base URL)",
    nonEmpty,
  ],
] as const satisfies OptionTable;
export type CallingFlags = FlagsOf<typeof callingOptions>;

/**
 * Connects to the calling system of the region. For region `local` it joins the router of this machine, or runs it
 * in this process.
 */
export async function withCallingSystem<Result>(
  {
    flags: { callUrl },
    settings,
    runtime,
  }: Pick<Invocation<CallingFlags>, 'flags' | 'settings' | 'runtime'>,
  work: (calling: CallsAccount, messages: Messages) => Promise<Result>,
): Promise<Result> {
  const set = settings();
  const messages = messagePrinter(set, runtime);
  const [{ resolveAccount }, { callingAccount }, { localRegion }] = await Promise.all([
    import('../../config/account.js'),
    import('../../config/credentials.js'),
    import('../../config/profiles.js'),
  ]);
  const account = await resolveAccount({ ...set, callUrl }, runtime, { kind: callingAccount });
  const { localDataDirectory } = await import('../../config/local-account.js');
  const folder = account.region === localRegion ? localDataDirectory(runtime) : undefined;
  const how = {
    headerPrefix: account.headerPrefix,
    timeoutMs: set.timeoutMs,
    policy: set,
    signToken: await tokenSigner(folder, runtime),
  };
  if (account.region !== localRegion) {
    refuseUnverifiedSystem(account, runtime);
    return work({ ...account, ...how, url: account.baseUrl }, messages);
  }
  const { joinLocalRouter } = await import('./local-router.js');
  const router = await joinLocalRouter(account, runtime, messages);
  try {
    refuseUnverifiedSystem({ baseUrl: router.url }, runtime);
    return await work({ ...router, ...how }, messages);
  } finally {
    await router.close();
  }
}

/** A phone signs a new token for each socket. */
const phoneTokenMs = 60_000;

/** Returns a function that signs the tokens of phones; undefined without a key. */
async function tokenSigner(
  folder: string | undefined,
  runtime: Runtime,
): Promise<((cuid: string) => string) | undefined> {
  const { existingCallTokenKey } = await import('../../config/local-account.js');
  const key = await existingCallTokenKey(folder, runtime);
  if (key === undefined) return undefined;
  const { signCallToken } = await import('../../service/calls/registration.js');
  return (cuid) => signCallToken({ cuid, key, now: runtime.now(), ttlMs: phoneTokenMs });
}

/** Throws E-CONFIG if NODE_TLS_REJECT_UNAUTHORIZED=0 disables the verification of certificates. */
function refuseUnverifiedSystem(
  { baseUrl }: Pick<Account, 'baseUrl'>,
  { env }: Invocation['runtime'],
): void {
  if (baseUrl.startsWith('http:')) return;
  refuseUnverifiedTls(env, 'anyone who answers at that address could read calls and credentials');
}

/** Flags of commands that act as a phone. */
export const phoneOptions = [
  'Phone:',
  ['--cuid <cuid>', 'identity of this phone', { parse: nonEmpty, required: true }],
  [
    '--platform <platform>',
    'android or ios: selects the rules and error codes',
    { parse: choice('android', 'ios'), default: 'android' },
  ],
  [
    '--microphone <permission>',
    'granted or denied',
    { parse: choice('granted', 'denied'), default: 'granted' },
  ],
  ['--play <file.wav>', 'audio to send; both sides need --play or --record', nonEmpty],
  ['--record <file.wav>', 'file for the received audio', { parse: nonEmpty, writes: true }],
  ...callingOptions,
] as const satisfies OptionTable;

/** Writes values to stdout as NDJSON, in order and without buffering. */
export class EventStream {
  /** Aborted, with the error as reason, when stdout fails. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #write: (line: string) => Promise<void>;
  #written: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime) {
    this.signal = this.#stop.signal;
    this.#write = openLineWriter(runtime, cliAdvice);
  }

  readonly put = (value: object): void => {
    this.#written = this.#written
      .then(async () => this.#write(`${sanitizedJson(value)}\n`))
      .catch((error: unknown) => this.#stop.abort(error));
  };

  /** Resolves when everything is written. Throws E-STDOUT-CLOSED, E-FILE-WRITE. */
  async flushed(): Promise<void> {
    await this.#written;
    this.signal.throwIfAborted();
  }
}

/** Returns a runtime whose signal also aborts when the event stream fails. */
export const stopWithOutput = (runtime: Runtime, lines: EventStream): Runtime =>
  Object.create(runtime, {
    signal: { value: AbortSignal.any([runtime.signal, lines.signal]) },
  }) as Runtime;
