import { CallLifecycle, sideOf } from './call-lifecycle.js';
import { UserDirectory, type Session, type RegisteredUser } from './users.js';
import { Registration, replyTo, type Reply } from './registration.js';
import { TurnTransaction } from './turn-transaction.js';
import type { Side, Trigger } from './call-state.js';
import type { ClientFrame } from '../../calling/protocol.js';
import type { Database } from '../store/database.js';
import type { Timers } from '../clock.js';
import type { CallingRules } from './call-options.js';

/** What the router works with besides its rules. */
interface RouterContext {
  readonly store: Database;
  readonly alarms: Timers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onDefect: (error: unknown) => void;
}

type Frame<T extends ClientFrame['t']> = Extract<ClientFrame, { readonly t: T }>;

/** Takes the frames of all clients. It knows of sockets what Session says. */
export class CallRouter {
  readonly rules: CallingRules;
  readonly turn: TurnTransaction;
  readonly directory: UserDirectory;
  readonly #registrar: Registration;
  readonly #judge: CallLifecycle;
  #isStopped = false;

  constructor(rules: CallingRules, { store, alarms, now, onDefect }: RouterContext) {
    this.rules = rules;
    this.turn = new TurnTransaction(store, onDefect);
    this.directory = new UserDirectory(store, this.turn, now);
    const { turn, directory } = this;
    const world = { rules, store, turn, directory, alarms, now };
    this.#judge = new CallLifecycle(world);
    this.#registrar = new Registration(world, this.#judge);
    this.#judge.endAbandoned();
    turn.end();
  }

  receive(session: Session, frame: ClientFrame): void {
    if (this.#isStopped) return;
    const { user } = session;
    const reply = replyTo(session, frame.id, this.turn);
    if (frame.t === 'hello') this.#registrar.challenge(session, frame.nonce, reply);
    else if (frame.t === 'auth') {
      if (user) reply.refuse('WRONG_ORDER', 'this socket has its auth already');
      else this.#registrar.admit(session, frame, reply);
    } else if (user) this.#handle(user, frame, reply);
    else if (frame.t !== 'seen') reply.refuse('WRONG_ORDER', 'auth has to come first');
  }

  /** Of a frame that is wrong in its shape. */
  refuse(session: Session, id: number, message: string): void {
    if (!this.#isStopped) replyTo(session, id, this.turn).refuse('BAD_REQUEST', message);
  }

  disconnected(session: Session): void {
    if (!this.#isStopped) this.#registrar.disconnected(session);
  }

  /** What is known is on the disk then, and nothing changes any more. */
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
        return this.#decide(user, frame.callId, { type: 'answer' }, reply);
      case 'decline': {
        const { t: type, id: _, callId, ...code } = frame;
        return this.#decide(user, callId, { type, ...code }, reply);
      }
      case 'ready':
        return this.#step(user, frame.callId, (by) => ({ type: 'ready', by }), reply);
      case 'sdp':
        return this.#forward(user, frame, reply);
      case 'hangup':
        return this.#hangUp(user, frame.callId, reply);
      case 'logout':
        return this.#registrar.logOut(user, reply);
      case 'seen':
        return user.inbox.seen(frame.seq);
      case 'probe':
        return reply.ok();
      case 'bye':
        return this.#registrar.deregister(user, reply);
      default:
        return frame satisfies never;
    }
  }

  #place(user: RegisteredUser, frame: Frame<'call'>, reply: Reply): void {
    const { t: _t, id: _id, to, context: callContext, ...images } = frame;
    if (user.loggedOut) return reply.refuse('WRONG_ORDER', 'this cuid is logged out');
    if (this.rules.isOff) return reply.refuse('FEATURE_OFF', 'calling is not enabled');
    if (to === user.cuid) return reply.refuse('SELF_CALL', 'this is your own cuid');
    if (user.call) return reply.refuse('CALL_IN_PROGRESS', 'there is another call');
    const receiver = this.directory.find(to);
    if (!receiver) return reply.refuse('NOT_REACHABLE', 'this cuid never registered');
    const call = this.#judge.place(user, receiver, { callContext, ...images });
    reply.ok({ callId: call.id });
    this.#judge.begin(call);
  }

  /** A step that only the receiver has. */
  #decide(user: RegisteredUser, callId: string, trigger: Trigger, reply: Reply): void {
    const { call } = user;
    if (call?.id === callId && call.initiator === user) {
      reply.refuse('BAD_REQUEST', 'only the receiver of the call can say that');
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
      this.#judge.judge(call, triggerOf(sideOf(call, user)), () => reply.ok());
    if (!isDone) reply.refuse('ALREADY_COMPLETED', 'the call has no such step any more');
  }

  #forward(user: RegisteredUser, { callId, payload }: Frame<'sdp'>, reply: Reply): void {
    const { call } = user;
    if (call?.id !== callId || call.state.phase === 'placed') {
      return reply.refuse('ALREADY_COMPLETED', 'the call is not in such a state');
    }
    reply.ok();
    const other = sideOf(call, user) === 'initiator' ? call.receiver : call.initiator;
    this.directory.deliver(other, { t: 'sdp', callId, payload });
  }

  #hangUp(user: RegisteredUser, callId: string | undefined, reply: Reply): void {
    const { call } = user;
    reply.ok();
    if (!call || (callId !== undefined && call.id !== callId)) return;
    this.#judge.judge(call, { type: 'hangup', by: sideOf(call, user) });
  }
}
