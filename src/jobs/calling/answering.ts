import { CallEvent } from '../../calling/call-event.js';
import type { IncomingCall, SignedCall } from '../../calling/calling.js';
import type { World } from '../job-context.js';
import type { PhoneEvent } from './phone.js';

/** What a phone does when it rings. */
export type Answer = 'auto' | 'decline' | 'ignore' | 'prompt';

export interface AnsweringOptions {
  readonly answer: Answer;
  /** Milliseconds that it rings before. */
  readonly answerAfter?: number;
  /** Milliseconds after which a call in progress is ended. */
  readonly hangupAfter?: number;
}

/** Asks a person whether to take a call; rejects when the call is over before. */
export type AskPerson = (call: IncomingCall, over: AbortSignal) => Promise<boolean>;

/** What a phone does by itself: it takes calls, or does not, and hangs up. */
export class Answering {
  readonly #options: AnsweringOptions;
  readonly #sleep: World['runtime']['sleep'];
  readonly #ask: AskPerson | undefined;
  /** Ends what waits for a call; it is over with it. */
  readonly #waits = new Map<string, AbortController>();

  constructor(
    options: AnsweringOptions,
    { sleep }: Pick<World['runtime'], 'sleep'>,
    ask?: AskPerson,
  ) {
    this.#options = options;
    this.#sleep = sleep;
    this.#ask = ask;
  }

  /** It rings. */
  async rings(phone: SignedCall, call: IncomingCall): Promise<void> {
    const { answer, answerAfter = 0 } = this.#options;
    if (answer === 'ignore') return;
    const { signal } = this.#waitOf(call.callId);
    try {
      await this.#sleep(answerAfter, signal);
      const isTaken = answer === 'prompt' ? await this.#ask?.(call, signal) : answer === 'auto';
      if (signal.aborted) return;
      await (isTaken === true ? phone.answer(call.callId) : phone.decline(call.callId));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** What is told of the call. */
  async heard(phone: SignedCall, { event, callId }: PhoneEvent): Promise<void> {
    if (event === 'MissedCallActionClicked') return;
    this.#waits.get(callId)?.abort();
    this.#waits.delete(callId);
    const { hangupAfter } = this.#options;
    if (event !== CallEvent.CallInProgress || hangupAfter === undefined) return;
    const { signal } = this.#waitOf(callId);
    await this.#sleep(hangupAfter, signal).then(
      () => phone.hangup(),
      () => undefined,
    );
  }

  /** Nothing is waited for any more. */
  stop(): void {
    for (const wait of this.#waits.values()) wait.abort();
  }

  #waitOf(callId: string): AbortController {
    const wait = new AbortController();
    this.#waits.set(callId, wait);
    return wait;
  }
}
