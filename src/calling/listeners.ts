import type { CallDirection, CallEvent, CallDetails } from './protocol.js';
import type { Logger } from './environment.js';

export interface CallEventResult {
  readonly direction: CallDirection;
  readonly callEvent: CallEvent;
  readonly callDetails: CallDetails;
}

export interface MissedCallActionClickResult {
  readonly action: { readonly actionId: string; readonly actionLabel: string };
  readonly callDetails: CallDetails;
}

/** A call that rings. A phone shows it on a screen of its own. */
export interface IncomingCall {
  readonly callId: string;
  readonly callDetails: CallDetails;
  /** When it is missed, in milliseconds since 1970 on the router's clock. */
  readonly expiresAt: number;
}

/** What each listener is called with. */
export interface ListenerPayloads {
  readonly SignedCallOnCallStatusChanged: CallEventResult;
  readonly SignedCallOnMissedCallActionClicked: MissedCallActionClickResult;
}
export type ListenerName = keyof ListenerPayloads;

export const listenerNames = {
  SignedCallOnCallStatusChanged: 'SignedCallOnCallStatusChanged',
  SignedCallOnMissedCallActionClicked: 'SignedCallOnMissedCallActionClicked',
} as const satisfies { readonly [Name in ListenerName]: Name };

type Handler<Name extends ListenerName> = (payload: ListenerPayloads[Name]) => unknown;

/** One handler for each name: adding replaces, removing clears. A handler that throws breaks nothing. */
export class Listeners {
  readonly #handlers = new Map<ListenerName, Handler<never>>();
  readonly #log: () => Logger;
  #onIncoming: ((call: IncomingCall) => unknown) | undefined;
  /** The call that rings and has not been shown. */
  #ringing: IncomingCall | undefined;

  constructor(log: () => Logger) {
    this.#log = log;
  }

  add<Name extends ListenerName>(name: Name, callback: Handler<Name>): void {
    expectName(name);
    expectFunction(callback);
    this.#handlers.set(name, callback);
  }

  remove(name: ListenerName): void {
    expectName(name);
    this.#handlers.delete(name);
  }

  fire<Name extends ListenerName>(name: Name, payload: ListenerPayloads[Name]): void {
    const handler = this.#handlers.get(name) as Handler<Name> | undefined;
    if (handler === undefined) this.#log().debug(`nobody listens to ${name}`);
    else callSafely(() => handler(payload), name, this.#log());
  }

  /** Who shows incoming calls. One that rings already is shown at once. */
  onIncomingCall(callback: (call: IncomingCall) => unknown): void {
    expectFunction(callback);
    this.#onIncoming = callback;
    if (this.#ringing !== undefined) this.ring(this.#ringing);
  }

  ring(call: IncomingCall): void {
    const show = this.#onIncoming;
    this.#ringing = show === undefined ? call : undefined;
    if (show === undefined) this.#log().debug('nobody shows incoming calls');
    else callSafely(() => show(call), 'onIncomingCall', this.#log());
  }

  stopRinging(): void {
    this.#ringing = undefined;
  }
}

/** Calls what belongs to the app. What it throws, at once or as a promise, is logged. */
function callSafely(run: () => unknown, name: string, log: Logger): void {
  const complain = (error: unknown) => log.info(`the handler of ${name} threw: ${String(error)}`);
  try {
    Promise.resolve(run()).catch(complain);
  } catch (error) {
    complain(error);
  }
}

function expectFunction(callback: unknown): void {
  if (typeof callback !== 'function') throw new TypeError('The callback must be a function');
}

function expectName(name: string): void {
  if (Object.keys(listenerNames).includes(name)) return;
  const known = Object.keys(listenerNames).join(' and ');
  throw new TypeError(`There is no listener ${name}: there are ${known}`);
}
