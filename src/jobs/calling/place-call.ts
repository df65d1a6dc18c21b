import { CallEvent, isTerminal } from '../../calling/protocol.js';
import { EngagectlError, exitCodes, type ExitCode } from '../../errors.js';
import { whenAborted, type JobContext } from '../job-context.js';
import { CallError } from './call-errors.js';
import { openPhone, type CallingAccount, type PhoneEvent, type PhoneOptions } from './phone.js';
import type { CallProperties } from '../../calling/call-request.js';
import type { SignedCall } from '../../calling/index.js';

interface PlaceOptions extends PhoneOptions {
  readonly to: string;
  readonly context: string;
  readonly properties?: CallProperties;
  /** Milliseconds after which a call that nobody answers is cancelled. */
  readonly cancelAfter?: number;
  /** Milliseconds after which a call in progress is ended. */
  readonly hangupAfter?: number;
}

export interface PlaceResult {
  readonly cuid: string;
  readonly to: string;
  /** Null when the call was never placed. */
  readonly callId: string | null;
  /** The last event, or the name of the error for which the call was not placed. */
  readonly ending: string;
  readonly wasInProgress: boolean;
  readonly events: readonly PhoneEvent[];
  readonly seconds: number;
  readonly exitCode: ExitCode;
  readonly error: EngagectlError | undefined;
}

/** For which nothing may be heard of a call that was placed: ringing and connecting take 40 s. */
const longestSilence = 60_000;
/** For which the end of a call may take that was hung up. */
const longestEnd = 20_000;

/**
 * Places a call and follows it to its end. The signal hangs up. Throws what the caller was not let
 * in for; what becomes of the call is the result.
 */
export async function placeCall(
  options: PlaceOptions,
  account: CallingAccount,
  world: Pick<JobContext, 'runtime' | 'said'>,
  heard: (event: PhoneEvent) => void = () => undefined,
): Promise<PlaceResult> {
  const { runtime } = world;
  const { cuid, to, context: callContext } = options;
  const started = runtime.monotonic();
  const course = new CallTracker(
    { direction: 'Outgoing', calleeCuid: to, callContext, begins: CallEvent.CallIsPlaced },
    heard,
  );
  const phone = await openPhone(options, account, world, course);
  try {
    const failure = await follow(phone, options, world, course);
    await phone.whenIdle();
    const { events, wasInProgress } = course;
    const error = failure ?? verdict(to, course);
    return {
      cuid,
      to,
      callId: events[0]?.callId ?? null,
      ending: course.ending ?? nameOf(failure),
      wasInProgress,
      events,
      seconds: Math.round(runtime.monotonic() - started) / 1000,
      exitCode: error?.exitCode ?? exitCodes.ok,
      error,
    };
  } finally {
    phone.close();
  }
}

/** Undefined when the call came to an end that it was told of. */
async function follow(
  phone: SignedCall,
  { to, context, properties, cancelAfter, hangupAfter }: PlaceOptions,
  { runtime: { signal, sleep } }: Pick<JobContext, 'runtime'>,
  course: CallTracker,
): Promise<EngagectlError | undefined> {
  const over = new AbortController();
  const after = async (milliseconds: number) =>
    sleep(milliseconds, over.signal).then(ignore, ignore);
  const hangup = () => phone.hangup();
  signal.throwIfAborted();
  signal.addEventListener('abort', hangup, { once: true });
  try {
    const { error } = await phone.call(to, context, properties);
    if (error && signal.aborted) throw signal.reason;
    if (error) return new CallError(error, `the call to ${to} was not placed`);
    if (cancelAfter !== undefined) {
      void after(cancelAfter).then(() => void (!course.isAnswered && hangup()));
    }
    await Promise.race([course.over, course.inProgress, after(longestSilence)]);
    if (!course.isOver && course.wasInProgress) {
      const longEnough = hangupAfter === undefined ? [] : [after(hangupAfter)];
      await Promise.race([course.over, whenAborted(signal), ...longEnough]);
      if (!course.isOver) hangup();
      await Promise.race([course.over, after(longestEnd)]);
    }
    return course.isOver ? undefined : silence(to);
  } finally {
    over.abort();
    signal.removeEventListener('abort', hangup);
  }
}

const ignore = () => undefined;

const silence = (to: string): EngagectlError =>
  new EngagectlError('E-UNAVAILABLE', `nothing more was heard of the call to ${to}`, {
    why: 'the calling system is out of reach',
    fix: 'call again when it can be reached',
  });

const nameOf = (failure: EngagectlError | undefined): string =>
  failure instanceof CallError ? failure.answered.errorName : 'NO_NETWORK';

/** A call was what it should be when it was in progress, and ended. */
function verdict(to: string, { ending, wasInProgress }: CallTracker): EngagectlError | undefined {
  if (ending === CallEvent.Ended && wasInProgress) return undefined;
  const how = ending === CallEvent.Ended ? 'Ended before it was in progress' : ending;
  return new EngagectlError('E-CALL', `the call to ${to}: ${how}`);
}

/** The call that is followed: the first one of this kind from its first event on. */
interface Followed extends Pick<PhoneEvent, 'direction' | 'calleeCuid' | 'callContext'> {
  /** Its first event. */
  readonly begins: CallEvent;
}

/** What becomes of one call. What is told of others, which waited at the router, is passed over. */
class CallTracker {
  readonly events: PhoneEvent[] = [];
  readonly over: Promise<void>;
  readonly inProgress: Promise<void>;
  ending: CallEvent | undefined;
  readonly #followed: Followed;
  readonly #heard: (event: PhoneEvent) => void;
  #onOver = (): void => undefined;
  #onProgress = (): void => undefined;

  constructor(followed: Followed, heard: (event: PhoneEvent) => void) {
    this.#followed = followed;
    this.#heard = heard;
    this.over = new Promise((resolve) => (this.#onOver = resolve));
    this.inProgress = new Promise((resolve) => (this.#onProgress = resolve));
  }

  get isOver(): boolean {
    return this.ending !== undefined;
  }

  get isAnswered(): boolean {
    return this.#has(CallEvent.Answered);
  }

  get wasInProgress(): boolean {
    return this.#has(CallEvent.CallInProgress);
  }

  readonly event = (event: PhoneEvent): void => {
    if (event.event === 'MissedCallActionClicked' || !this.#isOfCall(event)) return;
    this.events.push(event);
    this.#heard(event);
    if (event.event === CallEvent.CallInProgress) this.#onProgress();
    if (!isTerminal(event.event)) return;
    this.ending ??= event.event;
    this.#onOver();
  };

  #isOfCall(event: PhoneEvent): boolean {
    const [first] = this.events;
    if (first) return first.callId === event.callId;
    const { direction, calleeCuid, callContext, begins } = this.#followed;
    const isTo = event.calleeCuid === calleeCuid && event.callContext === callContext;
    return isTo && event.direction === direction && event.event === begins;
  }

  #has(event: CallEvent): boolean {
    return this.events.some((one) => one.event === event);
  }
}
