import { CallLifecycle, sideOf } from './call-lifecycle.js';
import { UserDirectory, type Session, type RegisteredUser } from './users.js';
import { Registration, replyTo, type Reply } from './registration.js';
import { TurnTransaction } from './turn-transaction.js';
import type { Side, Trigger } from './call-state.js';
import type { ClientFrame } from '../../calling/protocol.js';
import type { CallSteering } from './steering.js';
import type { Database } from '../store/database.js';
import type { Timers } from '../clock.js';
import type { CallingRules } from './call-options.js';

/** Dependencies of the router. */
interface RouterContext {
  readonly store: Database;
  readonly timers: Timers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onDefect: (error: unknown) => void;
  readonly steering: CallSteering;
}

type Frame<T extends ClientFrame['t']> = Extract<ClientFrame, { readonly t: T }>;

/** Handles the frames of all clients. It accesses sockets only through `Session`. */
export class CallRouter {
  readonly rules: CallingRules;
  readonly turn: TurnTransaction;
  readonly directory: UserDirectory;
  readonly #registration: Registration;
  readonly #lifecycle: CallLifecycle;
  readonly #attempts: CallAttempts;
  readonly #steering: CallSteering;
  #isStopped = false;

  constructor(rules: CallingRules, { store, timers, now, onDefect, steering }: RouterContext) {
    this.rules = rules;
    this.#steering = steering;
    this.turn = new TurnTransaction(store, onDefect);
    this.directory = new UserDirectory(store, this.turn, now);
    const { turn, directory } = this;
    this.#attempts = new CallAttempts(rules.limits.callsPerMinute, now);
    const context = { rules, store, turn, directory, timers, now, steering };
    this.#lifecycle = new CallLifecycle(context);
    this.#registration = new Registration(context, this.#lifecycle);
    this.#lifecycle.endAbandoned();
    turn.end();
  }

  /** Handles a valid frame. */
  receive(session: Session, frame: ClientFrame): void {
    if (this.#isStopped) return;
    const { user } = session;
    const reply = replyTo(session, frame.id, this.turn);
    if (frame.t === 'hello') this.#registration.challenge(session, frame.nonce, reply);
    else if (frame.t === 'auth') {
      if (user) reply.reject('WRONG_ORDER', 'this socket is already authenticated');
      else this.#registration.authenticate(session, frame, reply);
    } else if (user) this.#handle(user, frame, reply);
    else if (frame.t !== 'seen') reply.reject('WRONG_ORDER', 'auth must come first');
  }

  /** Rejects a frame with invalid members. */
  reject(session: Session, id: number, message: string): void {
    if (!this.#isStopped) replyTo(session, id, this.turn).reject('BAD_REQUEST', message);
  }

  /** Handles a closed socket. */
  disconnected(session: Session): void {
    if (!this.#isStopped) this.#registration.disconnected(session);
  }

  /** Drops the socket of a cuid; returns false if it has none. */
  drop(cuid: string): boolean {
    const session = this.directory.find(cuid)?.session;
    if (session === undefined) return false;
    this.#registration.disconnected(session);
    session.drop();
    return true;
  }

  /** Stores all state and ignores everything from then on. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.directory.saveAll();
    this.turn.end();
  }

  #handle(
    user: RegisteredUser,
    frame: Exclude<ClientFrame, Frame<'hello' | 'auth'>>,
    reply: Reply,
  ): void {
    switch (frame.t) {
      case 'call':
        return this.#place(user, frame, reply);
      case 'answer':
        return this.#receiverStep(user, frame.callId, { type: 'answer' }, reply);
      case 'decline': {
        const { t: type, id: _, callId, ...code } = frame;
        return this.#receiverStep(user, callId, { type, ...code }, reply);
      }
      case 'ready':
        return this.#step(user, frame.callId, (by) => ({ type: 'ready', by }), reply);
      case 'sdp':
        return this.#forward(user, frame, reply);
      case 'hangup':
        return this.#hangUp(user, frame.callId, reply);
      case 'logout':
        return this.#registration.logOut(user, reply);
      case 'seen':
        return user.inbox.acknowledge(frame.seq);
      case 'probe':
        return reply.ok();
      case 'ice':
        return this.#registration.sendIceServers(user, reply);
      case 'bye':
        return this.#registration.deregister(user, reply);
      default:
        return frame satisfies never;
    }
  }

  #place(user: RegisteredUser, frame: Frame<'call'>, reply: Reply): void {
    const { t: _t, id: _id, to, context: callContext, ...images } = frame;
    if (user.loggedOut) return reply.reject('WRONG_ORDER', 'this cuid is logged out');
    if (this.rules.isOff)
      return reply.reject('FEATURE_OFF', 'calling is disabled for this account');
    if (!this.#attempts.take(user.cuid))
      return reply.reject(
        'TOO_MANY_CALLS',
        `the limit is ${this.rules.limits.callsPerMinute} calls per minute`,
      );
    if (to === user.cuid) return reply.reject('SELF_CALL', 'this is your own cuid');
    if (user.call) return reply.reject('CALL_IN_PROGRESS', 'this cuid has another call');
    const script = this.#steering.take(user.cuid, to);
    if (script?.does === 'fail')
      return reply.reject(script.error ?? 'CALL_FAILED', 'a test steers this call');
    const receiver = this.directory.find(to) ?? (script && this.directory.add(to));
    if (!receiver) return reply.reject('NOT_REACHABLE', 'the receiver has never registered');
    const call = this.#lifecycle.place(user, receiver, { callContext, ...images });
    reply.ok({ callId: call.id });
    this.#lifecycle.begin(call, script);
  }

  /** Applies a trigger that only the receiver may send. */
  #receiverStep(user: RegisteredUser, callId: string, trigger: Trigger, reply: Reply): void {
    const { call } = user;
    if (call?.id === callId && call.initiator === user) {
      reply.reject('BAD_REQUEST', 'only the receiver of the call may send this');
    } else this.#step(user, callId, () => trigger, reply);
  }

  #step(
    user: RegisteredUser,
    callId: string,
    triggerOf: (by: Side) => Trigger,
    reply: Reply,
  ): void {
    const { call } = user;
    const isDone =
      call?.id === callId &&
      this.#lifecycle.apply(call, triggerOf(sideOf(call, user)), () => reply.ok());
    if (!isDone) reply.reject('ALREADY_COMPLETED', 'the call has ended or is past this step');
  }

  #forward(user: RegisteredUser, { callId, payload }: Frame<'sdp'>, reply: Reply): void {
    const { call } = user;
    if (call?.id !== callId || call.state.phase === 'placed') {
      return reply.reject('ALREADY_COMPLETED', 'the call is not connecting or connected');
    }
    reply.ok();
    const other = sideOf(call, user) === 'initiator' ? call.receiver : call.initiator;
    this.directory.deliver(other, { t: 'sdp', callId, payload });
  }

  #hangUp(user: RegisteredUser, callId: string | undefined, reply: Reply): void {
    const { call } = user;
    reply.ok();
    if (!call || (callId !== undefined && call.id !== callId)) return;
    this.#lifecycle.apply(call, { type: 'hangup', by: sideOf(call, user) });
  }
}

/** Counts the calls of each cuid, across its sockets and processes: the allowance of a minute refills steadily. */
class CallAttempts {
  readonly #perMinute: number;
  readonly #now: () => number;
  /** Time at which the allowance of a cuid is full again, in epoch milliseconds; later the entry is deleted. */
  readonly #fullAt = new Map<string, number>();

  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** Counts an attempt; returns false, and does not count it, if it is one too many. */
  take(cuid: string): boolean {
    const now = this.#now();
    const fullAt = Math.max(this.#fullAt.get(cuid) ?? now, now) + minute / this.#perMinute;
    if (fullAt > now + minute) return false;
    this.#fullAt.set(cuid, fullAt);
    if (this.#fullAt.size > maxCountedCuids) this.#forgetFull(now);
    return true;
  }

  #forgetFull(now: number): void {
    for (const [cuid, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(cuid);
  }
}

const minute = 60_000;
const maxCountedCuids = 10_000;
