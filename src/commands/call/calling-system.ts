import { EngagectlError } from '../../errors.js';
import { messages, type Messages } from '../../ui/messages.js';
import { notEmpty, choice } from '../flags/value-parsers.js';
import { openLines } from '../../jobs/record-output.js';
import { inertJson } from '../../ui/sanitize.js';
import { jobWords } from '../shared/job-context.js';
import type { Account } from '../../config/account.js';
import type { CallsAccount } from '../../jobs/calling/call-log.js';
import type { Call } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';
import type { Runtime } from '../../runtime.js';

export const callingOptions = [
  'Calling system:',
  [
    '--call-url <url>',
    "its address, wss://… (default: the host of the region's base URL)",
    notEmpty,
  ],
] as const satisfies OptionTable;
export type CallingFlags = FlagsOf<typeof callingOptions>;

/** Works with the calling system of the region; of region `local` with its router, here or in another process. */
export async function withCalling<Result>(
  {
    flags: { callUrl },
    settings,
    runtime,
  }: Pick<Call<CallingFlags>, 'flags' | 'settings' | 'runtime'>,
  work: (calling: CallsAccount, said: Messages) => Promise<Result>,
): Promise<Result> {
  const set = settings();
  const said = messages(set, runtime);
  const [{ resolveAccount }, { callingAccount }, { localRegion }] = await Promise.all([
    import('../../config/account.js'),
    import('../../config/credentials.js'),
    import('../../config/profiles.js'),
  ]);
  const account = await resolveAccount({ ...set, callUrl }, runtime, { kind: callingAccount });
  const how = { headerPrefix: account.headerPrefix, timeoutMs: set.timeoutMs, policy: set };
  if (account.region !== localRegion) {
    refuseAnybody(account, runtime);
    return work({ ...account, ...how, url: account.baseUrl }, said);
  }
  const { joinLocalRouter } = await import('./local-router.js');
  const router = await joinLocalRouter(account, runtime, said);
  try {
    return await work({ ...router, ...how }, said);
  } finally {
    await router.close();
  }
}

/** Sockets do as that variable says. Throws E-CONFIG. */
function refuseAnybody({ baseUrl }: Account, { env }: Call['runtime']): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || baseUrl.startsWith('http:')) return;
  throw new EngagectlError('E-CONFIG', 'NODE_TLS_REJECT_UNAUTHORIZED=0 is set', {
    why: 'the API key would go to whoever answers at that address',
    fix: 'unset it; for a private certificate authority set NODE_EXTRA_CA_CERTS=<file.pem>',
  });
}

/** Flags of every command that plays a phone. */
export const phoneOptions = [
  'Phone:',
  ['--cuid <cuid>', 'whose phone it is', { parse: notEmpty, required: true }],
  [
    '--platform <platform>',
    'android or ios: whose rules and numbers of errors apply',
    { parse: choice('android', 'ios'), default: 'android' },
  ],
  [
    '--microphone <permission>',
    'granted or denied',
    { parse: choice('granted', 'denied'), default: 'granted' },
  ],
  ['--play <file.wav>', 'say this to the other side; both sides need --play or --record', notEmpty],
  ['--record <file.wav>', 'keep what the other side says', notEmpty],
  ...callingOptions,
] as const satisfies OptionTable;

/** Writes values to stdout, a line of JSON each, in their order and at once. */
export class EventLines {
  /** Aborted, with the error, when stdout takes no more. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #write: (line: string) => Promise<void>;
  #written: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime) {
    this.signal = this.#stop.signal;
    this.#write = openLines(runtime, jobWords);
  }

  readonly put = (value: object): void => {
    this.#written = this.#written
      .then(async () => this.#write(`${inertJson(value)}\n`))
      .catch((error: unknown) => this.#stop.abort(error));
  };

  /** Resolves when all of it was taken. Throws E-STDOUT-CLOSED, E-FILE-WRITE. */
  async flushed(): Promise<void> {
    await this.#written;
    this.signal.throwIfAborted();
  }
}

/** The runtime of work that also stops when its lines are not taken any more. */
export const stoppedWith = (runtime: Runtime, lines: EventLines): Runtime =>
  Object.create(runtime, {
    signal: { value: AbortSignal.any([runtime.signal, lines.signal]) },
  }) as Runtime;
