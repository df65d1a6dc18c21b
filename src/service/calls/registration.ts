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
import type { ErrorName } from '../../calling/errors.js';
import type { Call, Session, RegisteredUser } from './users.js';
import type { TurnTransaction } from './turn-transaction.js';

type Auth = Extract<ClientFrame, { readonly t: 'auth' }>;

/** Authenticates clients, and handles reconnects, disconnects and logouts. */
export class Registration {
  readonly #context: CallContext;
  readonly #lifecycle: CallLifecycle;

  constructor(context: CallContext, lifecycle: CallLifecycle) {
    this.#context = context;
    this.#lifecycle = lifecycle;
  }

  /** Proves that this router has the API key, so that clients need not send it. */
  challenge(session: Session, nonce: string, reply: Reply): void {
    if (session.nonces) return reply.reject('WRONG_ORDER', 'this socket has already sent hello');
    const nonces = { client: nonce, router: randomBytes(16).toString('hex') };
    session.nonces = nonces;
    const text = provenText.router(nonces.client, nonces.router);
    reply.ok({ nonce: nonces.router, proof: this.#prove(text) });
  }

  /** Authenticates a socket and attaches it to its user. */
  authenticate(session: Session, auth: Auth, reply: Reply): void {
    const { rules, directory, turn, steering, now } = this.#context;
    if (auth.proof === undefined && auth.apiKey === undefined)
      return reply.reject('BAD_REQUEST', 'auth: proof or apiKey is required');
    if (!isSame(auth.accountId, rules.accountId) || !this.#provesKey(session, auth)) {
      return reply.close('AUTH_FAILURE', 'wrong account id or API key', closeCodes.unauthorized);
    }
    const { tokenKey } = rules;
    const wrong = tokenKey === undefined ? undefined : tokenError(auth, tokenKey, now());
    if (wrong !== undefined) return reply.close('AUTH_FAILURE', wrong, closeCodes.unauthorized);
    const { cuid, deviceId, platform, caps, missedCallActions } = auth;
    if (steering.isAsleep(cuid)) return session.drop();
    const before = directory.find(cuid);
    const old = before?.session;
    if (before && old) {
      if (before.device.deviceId !== deviceId) {
        return reply.close('CUID_ELSEWHERE', 'another device uses it', closeCodes.elsewhere);
      }
      detach(before);
      turn.send(() => old.close(closeCodes.replaced, 'a newer socket of this device'));
    }
    const user = directory.register(cuid, { deviceId, platform, caps, missedCallActions });
    user.cancelGraceTimer?.();
    if (auth.lastSeq === undefined) this.#startSession(user);
    this.#attach(session, user, auth.lastSeq ?? 0, reply);
  }

  #provesKey({ nonces }: Session, auth: Auth): boolean {
    const { proof, apiKey } = auth;
    if (proof === undefined)
      return apiKey !== undefined && isSame(apiKey, this.#context.rules.apiKey);
    if (!nonces) return false;
    return isSame(proof, this.#prove(provenText.client(auth, nonces.client, nonces.router)));
  }

  #prove(text: string): string {
    return createHmac('sha256', this.#context.rules.apiKey).update(text).digest('hex');
  }

  /**
   * Answers with the ICE servers. Credentials made of a shared secret are those that coturn and others verify: the user
   * name is `<end in epoch seconds>:<cuid>`, the password its HMAC-SHA-1 with the secret, in Base64.
   */
  sendIceServers({ cuid }: RegisteredUser, reply: Reply): void {
    const { rules, now } = this.#context;
    const iceServers = (rules.iceServers ?? []).map(
      ({ urls, username, credential, secret, ttlSeconds = day }) => {
        if (secret === undefined)
          return { urls, ...(username && { username }), ...(credential && { credential }) };
        const name = `${Math.floor(now() / 1000) + ttlSeconds}:${cuid}`;
        const password = createHmac('sha1', secret).update(name).digest('base64');
        return { urls, username: name, credential: password };
      },
    );
    reply.ok({ iceServers });
  }

  /** Handles a closed socket: the user's call continues for a grace period. */
  disconnected({ user }: Session): void {
    if (!user) return;
    detach(user);
    const { directory, timers, rules } = this.#context;
    const { call } = user;
    if (call) user.cancelGraceTimer = timers.after(rules.timers.gone, () => this.#gone(user, call));
    directory.save(user);
  }

  /** Marks a user as logged out and ends its call. */
  logOut(user: RegisteredUser, reply: Reply): void {
    const { directory } = this.#context;
    const { call } = user;
    reply.ok();
    user.loggedOut = true;
    directory.save(user);
    if (call) this.#lifecycle.apply(call, { type: 'logout', by: sideOf(call, user) });
  }

  /** Disconnects a user at its request, without a grace period. */
  deregister(user: RegisteredUser, reply: Reply): void {
    const { directory, turn } = this.#context;
    const { session, call } = user;
    reply.ok();
    detach(user);
    turn.send(() => session?.close(1000, 'bye'));
    directory.save(user);
    if (call) this.#gone(user, call);
  }

  /** Ends the call of the user's previous session, or offers it to the new one if it is still ringing. */
  #startSession(user: RegisteredUser): void {
    const { call } = user;
    if (!call) return;
    const isOffered = call.state.phase === 'placed' && call.receiver === user;
    if (isOffered) this.#lifecycle.resendOffer(call);
    else this.#gone(user, call);
  }

  /** Answers the `auth` and sends waiting frames. A client that is ahead of the router starts from 0. */
  #attach(session: Session, user: RegisteredUser, clientSeq: number, reply: Reply): void {
    const { turn, directory } = this.#context;
    const lastSeq = clientSeq > user.inbox.seq ? 0 : clientSeq;
    user.inbox.acknowledge(lastSeq);
    const waiting = directory.waitingFor(user);
    reply.ok({ session: session.id, replay: waiting.length, lastSeq });
    for (const text of waiting) turn.send(() => session.send(text));
    user.session = session;
    session.user = user;
  }

  #gone(user: RegisteredUser, call: Call): void {
    this.#lifecycle.apply(call, { type: 'gone', by: sideOf(call, user) });
  }
}

function detach(user: RegisteredUser): void {
  if (user.session) user.session.user = undefined;
  user.session = undefined;
}

interface TokenOptions {
  readonly cuid: string;
  /** Device to which the token is bound; undefined: any. */
  readonly deviceId?: string | undefined;
  /** Key of HS256, at least 32 bytes. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly ttlMs: number;
}

/**
 * Returns a token with which a client registers as a cuid: a JWT signed by HS256 with the claims `sub` (the cuid),
 * `exp`, and optionally `device` (the device id) and `nbf`; times are in epoch seconds.
 */
export function signCallToken({ cuid, deviceId, key, now, ttlMs }: TokenOptions): string {
  const times = { iat: Math.floor(now / 1000), exp: Math.floor((now + ttlMs) / 1000) };
  const device = deviceId === undefined ? {} : { device: deviceId };
  const parts = [
    { alg: 'HS256', typ: 'JWT' },
    { sub: cuid, ...device, ...times },
  ];
  const text = parts.map((part) => base64url(JSON.stringify(part))).join('.');
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/** Returns why a client's token is rejected; undefined if it is valid. */
function tokenError(
  { token, cuid, deviceId }: Auth,
  key: string,
  nowMs: number,
): string | undefined {
  if (token === undefined) return 'a token is required';
  const [head = '', body = '', signature = '', ...rest] = token.split('.');
  const expected = createHmac('sha256', key).update(`${head}.${body}`).digest('base64url');
  const { alg, crit } = jsonIn(head); // an extension that must be understood is not (RFC 7515, 4.1.11)
  if (rest.length > 0 || alg !== 'HS256' || crit !== undefined || !isSame(signature, expected))
    return 'the token is not a JWT signed by HS256 with the key of the router';
  const { sub, exp, nbf = 0, device = deviceId } = jsonIn(body);
  if (!Number.isFinite(exp) || Number(exp) * 1000 <= nowMs) return 'the token has expired';
  if (typeof nbf !== 'number' || nbf * 1000 > nowMs) return 'the token is not valid yet';
  if (sub !== cuid) return 'the token is for another cuid';
  return device === deviceId ? undefined : 'the token is for another device';
}

function jsonIn(part: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(Buffer.from(part, 'base64url').toString())) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Compares in constant time. */
const isSame = (sent: string, expected: string): boolean =>
  timingSafeEqual(digest(sent), digest(expected));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const day = 86_400;

/** Answers one frame of a session. `ok` must precede all frames that result from it. */
export interface Reply {
  ok(data?: AckData[keyof AckData]): void;
  reject(name: RefusalName | ErrorName, message: string): void;
  /** Rejects the frame and closes the socket. */
  close(name: RefusalName, message: string, code: number): void;
}

/** Creates the reply to the frame with the id `re`. */
export function replyTo(session: Session, re: number, turn: TurnTransaction): Reply {
  const send = (ack: Ack): void => turn.send(() => session.send(JSON.stringify(ack)));
  const reject: Reply['reject'] = (name, message) =>
    send({ t: 'ack', re, ok: false, err: { name, message } });
  return {
    ok: (data) => send({ t: 'ack', re, ok: true, ...(data ? { data } : {}) }),
    reject,
    close(name, message, code) {
      reject(name, message);
      turn.send(() => session.close(code, message));
    },
  };
}
