import { CallEvent, isTerminal } from '../../calling/protocol.js';
import { EngagectlError, type ExitCode } from '../../errors.js';
import { runEnd, whenAborted, type JobContext } from '../job-context.js';
import {
  CallError,
  openPhone,
  type CallingAccount,
  type PhoneEvent,
  type PhoneOptions,
} from './phone.js';
import type { CallProperties } from '../../calling/call-request.js';
import type { SignedCall } from '../../calling/index.js';

interface PlaceOptions extends PhoneOptions {
  readonly to: string;
  readonly context: string;
  readonly properties?: CallProperties;
  /** Time after which an unanswered call is cancelled, in milliseconds. */
  readonly cancelAfter?: number;
  /** Duration of a call before hanging up, in milliseconds. */
  readonly hangupAfter?: number;
  /** Delays hanging up until this promise settles, for at most 10 s. */
  readonly hangupWhen?: Promise<unknown>;
}

export interface PlaceResult {
  readonly cuid: string;
  readonly to: string;
  /** Null if the call was never placed. */
  readonly callId: string | null;
  /** Last event, or the name of the error if the call was not placed. */
  readonly ending: string;
  readonly wasInProgress: boolean;
  readonly events: readonly PhoneEvent[];
  readonly seconds: number;
  readonly exitCode: ExitCode;
  readonly error: EngagectlError | undefined;
}

/** Timeout for events of a placed call in milliseconds; ringing and connecting take 40 s. */
const longestSilence = 60_000;
/** Maximum delay by `hangupWhen` in milliseconds. */
const longestDelay = 10_000;
/** Maximum events kept of a call, which has four or five: a router that repeats them must not fill the memory. */
export const mostEvents = 20;
/** Maximum time for a call to end after hanging up, in milliseconds. */
const longestEnd = 20_000;
/** Maximum time for the router to answer what was sent, in milliseconds. */
const longestIdle = 10_000;

/**
 * Places a call and follows it to its end. Aborting the signal hangs up. Throws the errors of
 * `openPhone`; all others are part of the result.
 */
export async function placeCall(
  options: PlaceOptions,
  account: CallingAccount,
  context: Pick<JobContext, 'runtime' | 'messages'>,
  onEvent: (event: PhoneEvent) => void = () => undefined,
): Promise<PlaceResult> {
  const { runtime } = context;
  const { cuid, to, context: callContext } = options;
  const started = runtime.monotonic();
  const course = new CallTracker(
    { direction: 'Outgoing', calleeCuid: to, callContext, begins: CallEvent.CallIsPlaced },
    onEvent,
  );
  const phone = await openPhone(options, account, context, course);
  try {
    const failure = await follow(phone, options, { ...context, account }, course);
    await whenIdle(phone, runtime);
    const { events, wasInProgress } = course;
    const error = failure ?? verdict(to, course);
    return {
      cuid,
      to,
      callId: events[0]?.callId ?? null,
      ending: course.ending ?? nameOf(failure),
      wasInProgress,
      events,
      ...runEnd(error, started, runtime),
    };
  } finally {
    phone.close();
  }
}

/** Waits until the router has answered all frames, for a limited time: one that ended in the meantime never does. */
async function whenIdle(
  phone: SignedCall,
  { sleep }: Pick<JobContext['runtime'], 'sleep'>,
): Promise<void> {
  const done = new AbortController();
  await Promise.race([phone.whenIdle(), sleep(longestIdle, done.signal).then(ignore, ignore)]);
  done.abort();
}

/** Follows the call; returns undefined if its end was reported, otherwise the error. */
async function follow(
  phone: SignedCall,
  { to, context, properties, cancelAfter, hangupAfter, hangupWhen }: PlaceOptions,
  {
    runtime: { signal, sleep },
    account,
  }: Pick<JobContext, 'runtime'> & { readonly account: CallingAccount },
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
    if (error) return new CallError(error, `the call to ${to} was not placed`, account);
    if (cancelAfter !== undefined) {
      void after(cancelAfter).then(() => void (!course.isAnswered && hangup()));
    }
    await Promise.race([course.over, course.inProgress, after(longestSilence)]);
    if (!course.isOver && course.wasInProgress) {
      const isDue = Promise.race([hangupWhen, after(longestDelay)]).then(async () =>
        after(hangupAfter ?? 0),
      );
      const longEnough = hangupAfter === undefined ? [] : [isDue];
      await Promise.race([course.over, whenAborted(signal), ...longEnough]);
      if (!course.isOver) hangup();
      await Promise.race([course.over, after(longestEnd)]);
    }
    return course.isOver ? undefined : noAnswerError(to);
  } finally {
    over.abort();
    signal.removeEventListener('abort', hangup);
  }
}

const ignore = () => undefined;

const noAnswerError = (to: string): EngagectlError =>
  new EngagectlError('E-UNAVAILABLE', `no more events of the call to ${to}`, {
    why: 'the calling system cannot be reached',
    fix: 'retry when the calling system can be reached',
  });

const nameOf = (failure: EngagectlError | undefined): string =>
  failure instanceof CallError ? failure.answered.errorName : 'NO_NETWORK';

/** Builds the error for a call that was not answered or ended early. */
function verdict(to: string, { ending, wasInProgress }: CallTracker): EngagectlError | undefined {
  if (ending === CallEvent.Ended && wasInProgress) return undefined;
  const how = ending === CallEvent.Ended ? 'Ended before it was in progress' : ending;
  return new EngagectlError('E-CALL', `the call to ${to}: ${how}`);
}

/** Attributes of the call to follow, the first one that matches. */
interface Followed extends Pick<PhoneEvent, 'direction' | 'calleeCuid' | 'callContext'> {
  /** First event of the call. */
  readonly begins: CallEvent;
}

/** Tracks the events of one call. Ignores other calls, which may have waited at the router. */
class CallTracker {
  /** The first events, at most `mostEvents`. */
  readonly events: PhoneEvent[] = [];
  readonly #names = new Set<PhoneEvent['event']>();
  readonly over: Promise<void>;
  readonly inProgress: Promise<void>;
  ending: CallEvent | undefined;
  readonly #followed: Followed;
  readonly #onEvent: (event: PhoneEvent) => void;
  #onOver = (): void => undefined;
  #onProgress = (): void => undefined;

  constructor(followed: Followed, onEvent: (event: PhoneEvent) => void) {
    this.#followed = followed;
    this.#onEvent = onEvent;
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
    if (this.events.length < mostEvents) this.events.push(event);
    this.#names.add(event.event);
    this.#onEvent(event);
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
    return this.#names.has(event);
  }
}
