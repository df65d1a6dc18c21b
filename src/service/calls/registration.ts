import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  closeCodes,
  provenText,
  type ClientFrame,
  type Ack,
  type AckData,
  type RefusalName,
} from '../../calling/protocol.js';
import { sideOf, type CallLifecycle, type CallContext } from './call-lifecycle.js';
import type { Call, Session, RegisteredUser } from './users.js';
import type { TurnTransaction } from './turn-transaction.js';

type Auth = Extract<ClientFrame, { readonly t: 'auth' }>;

/** Who comes, comes back, and goes. */
export class Registration {
  readonly #world: CallContext;
  readonly #judge: CallLifecycle;

  constructor(world: CallContext, judge: CallLifecycle) {
    this.#world = world;
    this.#judge = judge;
  }

  /** Proves that this router holds the API key, so that a client need not send it. */
  challenge(session: Session, nonce: string, reply: Reply): void {
    if (session.nonces) return reply.refuse('WRONG_ORDER', 'this socket has its hello already');
    const nonces = { client: nonce, router: randomBytes(16).toString('hex') };
    session.nonces = nonces;
    const text = provenText.router(nonces.client, nonces.router);
    reply.ok({ nonce: nonces.router, proof: this.#prove(text) });
  }

  /** The first frame of a socket after its `hello`. */
  admit(session: Session, auth: Auth, reply: Reply): void {
    const { rules, directory, turn } = this.#world;
    if (auth.proof === undefined && auth.apiKey === undefined)
      return reply.refuse('BAD_REQUEST', 'auth: there is neither proof nor apiKey');
    if (!isSame(auth.accountId, rules.accountId) || !this.#holdsKey(session, auth)) {
      return reply.close('AUTH_FAILURE', 'wrong account id or API key', closeCodes.unauthorized);
    }
    const { cuid, deviceId, platform, caps, missedCallActions } = auth;
    const before = directory.find(cuid);
    const old = before?.session;
    if (before && old) {
      if (before.device.deviceId !== deviceId) {
        return reply.close('CUID_ELSEWHERE', 'another device holds it', closeCodes.elsewhere);
      }
      detach(before);
      turn.send(() => old.close(closeCodes.replaced, 'a newer socket of this device'));
    }
    const user = directory.register(cuid, { deviceId, platform, caps, missedCallActions });
    user.cancelGone?.();
    if (auth.lastSeq === undefined) this.#beginLife(user);
    this.#attach(session, user, auth.lastSeq ?? 0, reply);
  }

  #holdsKey({ nonces }: Session, auth: Auth): boolean {
    const { proof, apiKey } = auth;
    if (proof === undefined)
      return apiKey !== undefined && isSame(apiKey, this.#world.rules.apiKey);
    if (!nonces) return false;
    return isSame(proof, this.#prove(provenText.client(auth, nonces.client, nonces.router)));
  }

  #prove(text: string): string {
    return createHmac('sha256', this.#world.rules.apiKey).update(text).digest('hex');
  }

  /** The socket is closed, by whomever: before a call suffers the user may come back for a while. */
  disconnected({ user }: Session): void {
    if (!user) return;
    detach(user);
    const { directory, alarms, rules } = this.#world;
    const { call } = user;
    if (call) user.cancelGone = alarms.after(rules.timers.gone, () => this.#gone(user, call));
    directory.save(user);
  }

  logOut(user: RegisteredUser, reply: Reply): void {
    const { directory } = this.#world;
    const { call } = user;
    reply.ok();
    user.loggedOut = true;
    directory.save(user);
    if (call) this.#judge.judge(call, { type: 'logout', by: sideOf(call, user) });
  }

  /** The user does not come back soon, and says so. */
  deregister(user: RegisteredUser, reply: Reply): void {
    const { directory, turn } = this.#world;
    const { session, call } = user;
    reply.ok();
    detach(user);
    turn.send(() => session?.close(1000, 'bye'));
    directory.save(user);
    if (call) this.#gone(user, call);
  }

  /** A new process knows of no call: what was answered is lost, what is offered is offered to it. */
  #beginLife(user: RegisteredUser): void {
    const { call } = user;
    if (!call) return;
    const isOffered = call.state.phase === 'placed' && call.receiver === user;
    if (isOffered) this.#judge.offerAgain(call);
    else this.#gone(user, call);
  }

  /** Answers the `auth`, and sends what waits. A client that has more than the router begins again. */
  #attach(session: Session, user: RegisteredUser, has: number, reply: Reply): void {
    const { turn, directory } = this.#world;
    const lastSeq = has > user.inbox.seq ? 0 : has;
    user.inbox.seen(lastSeq);
    const waiting = directory.waitingFor(user);
    reply.ok({ session: session.id, replay: waiting.length, lastSeq });
    for (const text of waiting) turn.send(() => session.send(text));
    user.session = session;
    session.user = user;
  }

  #gone(user: RegisteredUser, call: Call): void {
    this.#judge.judge(call, { type: 'gone', by: sideOf(call, user) });
  }
}

function detach(user: RegisteredUser): void {
  if (user.session) user.session.user = undefined;
  user.session = undefined;
}

/** Compares in a time that tells nothing of the texts. */
const isSame = (sent: string, expected: string): boolean =>
  timingSafeEqual(digest(sent), digest(expected));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Answers one frame of a session: by `ok`, before anything else that follows from it, or by `refuse`. */
export interface Reply {
  ok(data?: AckData[keyof AckData]): void;
  refuse(name: RefusalName, message: string): void;
  /** Refuses, and closes the socket. */
  close(name: RefusalName, message: string, code: number): void;
}

export function replyTo(session: Session, re: number, turn: TurnTransaction): Reply {
  const send = (ack: Ack): void => turn.send(() => session.send(JSON.stringify(ack)));
  const refuse: Reply['refuse'] = (name, message) =>
    send({ t: 'ack', re, ok: false, err: { name, message } });
  return {
    ok: (data) => send({ t: 'ack', re, ok: true, ...(data ? { data } : {}) }),
    refuse,
    close(name, message, code) {
      refuse(name, message);
      turn.send(() => session.close(code, message));
    },
  };
}
