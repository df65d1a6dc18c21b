import { CallEvent, isTerminal } from '../../calling/call-event.js';
import type { PhoneEvent } from './phone.js';

/** The call that is followed: the first one of this kind from its first event on. */
export interface Followed extends Pick<PhoneEvent, 'direction' | 'calleeCuid' | 'callContext'> {
  /** Its first event. */
  readonly begins: CallEvent;
}

/** What becomes of one call. What is told of others, which waited at the router, is passed over. */
export class CallCourse {
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
