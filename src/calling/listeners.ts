import type { CallStats } from './environment.js';
import type { CallDirection, CallEvent, CallDetails } from './protocol.js';
import type { Logger } from './logger.js';

export interface CallEventResult {
  /** The same if the event is delivered again, after the process was killed before it was acknowledged. */
  readonly eventId: string;
  readonly direction: CallDirection;
  readonly callEvent: CallEvent;
  readonly callDetails: CallDetails;
}

export interface MissedCallActionClickResult {
  /** The same if the click is delivered again. */
  readonly eventId: string;
  readonly action: { readonly actionId: string; readonly actionLabel: string };
  readonly callDetails: CallDetails;
}

export type NetworkQuality = 'good' | 'poor' | 'bad';

/** Quality of the voice that arrives in a call. */
export interface NetworkQualityResult {
  readonly quality: NetworkQuality;
  readonly stats: CallStats;
  readonly callDetails: CallDetails;
}

/** State of the connection to the router. */
export interface ConnectionResult {
  /**
   * `connecting`: for the first time. `reconnecting`: the socket was lost, or an attempt failed. `closed`: until the
   * next `initialize`.
   */
  readonly state: 'connecting' | 'connected' | 'reconnecting' | 'reconnected' | 'closed';
  /** Time of the next attempt of `reconnecting`, in epoch milliseconds. */
  readonly nextAttemptAt?: number;
}

/** A ringing call, for the app's call screen. */
export interface IncomingCall {
  readonly callId: string;
  readonly callDetails: CallDetails;
  /** Time at which it becomes missed, in epoch milliseconds of the router's clock. */
  readonly expiresAt: number;
}

/** Payload of each listener. */
export interface ListenerPayloads {
  readonly SignedCallOnCallStatusChanged: CallEventResult;
  readonly SignedCallOnMissedCallActionClicked: MissedCallActionClickResult;
  readonly SignedCallOnNetworkQualityChanged: NetworkQualityResult;
  readonly SignedCallOnConnectionChanged: ConnectionResult;
}
export type ListenerName = keyof ListenerPayloads;

export const listenerNames = {
  SignedCallOnCallStatusChanged: 'SignedCallOnCallStatusChanged',
  SignedCallOnMissedCallActionClicked: 'SignedCallOnMissedCallActionClicked',
  SignedCallOnNetworkQualityChanged: 'SignedCallOnNetworkQualityChanged',
  SignedCallOnConnectionChanged: 'SignedCallOnConnectionChanged',
} as const satisfies { readonly [Name in ListenerName]: Name };

type Handler<Name extends ListenerName> = (payload: ListenerPayloads[Name]) => unknown;

/** Listeners of the app, one for each name. Errors of a handler are logged. */
export class Listeners {
  readonly #handlers = new Map<ListenerName, Handler<never>>();
  readonly #log: () => Logger;
  #onIncoming: ((call: IncomingCall) => unknown) | undefined;
  /** Ringing call that has not been shown yet. */
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
    if (handler === undefined) this.#log().debug(`no listener for ${name}`);
    else callSafely(() => handler(payload), name, this.#log());
  }

  /** Sets the handler of incoming calls. A call that is already ringing is passed to it at once. */
  onIncomingCall(callback: (call: IncomingCall) => unknown): void {
    expectFunction(callback);
    this.#onIncoming = callback;
    if (this.#ringing !== undefined) this.ring(this.#ringing);
  }

  ring(call: IncomingCall): void {
    const show = this.#onIncoming;
    this.#ringing = show === undefined ? call : undefined;
    if (show === undefined) this.#log().debug('no handler for incoming calls');
    else callSafely(() => show(call), 'onIncomingCall', this.#log());
  }

  stopRinging(): void {
    this.#ringing = undefined;
  }
}

/** Calls a function of the app; logs what it throws or rejects with. */
export function callSafely(run: () => unknown, name: string, log: Logger): void {
  const report = (error: unknown) => log.info(`the handler of ${name} threw: ${String(error)}`);
  try {
    Promise.resolve(run()).catch(report);
  } catch (error) {
    report(error);
  }
}

function expectFunction(callback: unknown): void {
  if (typeof callback !== 'function') throw new TypeError('The callback must be a function');
}

function expectName(name: string): void {
  if (Object.keys(listenerNames).includes(name)) return;
  const known = Object.keys(listenerNames).join(', ');
  throw new TypeError(`Unknown listener ${name}: use one of ${known}`);
}
