import { closeCodes, type AckData, type ClientFrames, type RouterFrame } from './protocol.js';
import { challengeRouter, clientProof } from './key-proof.js';
import { failureOfAnswer, FrameSocket, type FrameAnswer } from './socket.js';
import type { Environment } from './environment.js';
import { callSafely, type ConnectionResult } from './listeners.js';
import type { CallFailure } from './errors.js';

/** Receives what arrives over all sockets of a connection. */
interface ConnectionReceiver {
  /** Called once for each frame, in order. */
  receive(frame: RouterFrame): void;
  /** Called when the router has lost the state of this client, and so of its call. */
  stateLost(): void;
  /** Called when the router rejects this client; the connection does not reconnect. */
  rejected(failure: CallFailure): void;
  /** Called when the state of the connection changes, and with each attempt to reconnect. */
  changed(result: ConnectionResult): void;
}

type PostedFrame = 'answer' | 'decline' | 'hangup' | 'ready' | 'sdp' | 'logout';

interface ConnectionOptions {
  readonly env: Environment;
  /** Evaluated for each socket. */
  readonly identity: () => Promise<
    Omit<ClientFrames['auth'], 'lastSeq' | 'proof' | 'apiKey' | 'token'>
  >;
  /** Shared secret that client and router prove to each other. It is never sent. */
  readonly apiKey: string;
  readonly receiver: ConnectionReceiver;
  /** Sequence number of an earlier connection of the same session. */
  readonly lastSeq: number | undefined;
}

/** Keeps a client connected: reconnects when the socket is lost, without losing or repeating a frame. */
export class RouterConnection {
  readonly #env: Environment;
  readonly #identity: ConnectionOptions['identity'];
  readonly #apiKey: string;
  readonly #receiver: ConnectionReceiver;
  #link: FrameSocket | undefined;
  #lastSeq: number | undefined;
  /** Number of replayed frames that have not arrived yet. */
  #toReplay = 0;
  #failed = 0;
  #isClosed = false;
  #stopTimer = () => {};
  readonly #stopOnline: () => void;
  /** Whether the next attempt to reconnect is scheduled. */
  #isWaiting = false;
  #onceUp: (() => void)[] = [];
  readonly #posted = new Set<Promise<FrameAnswer>>();

  constructor({ env, identity, apiKey, receiver, lastSeq }: ConnectionOptions) {
    this.#env = env;
    this.#identity = identity;
    this.#apiKey = apiKey;
    this.#receiver = receiver;
    this.#lastSeq = lastSeq;
    this.#stopOnline = this.#watchNetwork();
  }

  /** Highest `seq` received; undefined at the start of a session. */
  get lastSeq(): number | undefined {
    return this.#lastSeq;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether there is an authenticated socket. */
  get isUp(): boolean {
    return this.#link !== undefined;
  }

  /** Connects for the first time; a failure closes the connection. */
  async open(): Promise<CallFailure | undefined> {
    this.#receiver.changed({ state: 'connecting' });
    const failure = await this.#connect('connected');
    if (failure !== undefined) this.close();
    return failure;
  }

  /** Sends a frame on the current socket only. */
  request<T extends 'call' | 'probe' | 'ice'>(
    type: T,
    body: ClientFrames[T],
    milliseconds: number,
  ): Promise<FrameAnswer> {
    return this.#link?.request(type, body, milliseconds) ?? Promise.resolve({ kind: 'lost' });
  }

  /**
   * Sends a frame until the router has answered it, across reconnects; resolves with `lost` if the
   * connection is closed before. `isCurrent` is evaluated before each attempt; if false, nothing is sent.
   */
  post<T extends PostedFrame>(
    type: T,
    body: ClientFrames[T],
    isCurrent: () => boolean = () => true,
  ): Promise<FrameAnswer> {
    const posted = this.#post(type, body, isCurrent).finally(() => this.#posted.delete(posted));
    this.#posted.add(posted);
    return posted;
  }

  /**
   * Resolves when the client is connected and all replayed frames have arrived, because they may make the
   * frame that waits for this superfluous. Also resolves when the connection is closed.
   */
  whenUp(): Promise<void> {
    if (this.#isClosed || (this.isUp && this.#toReplay === 0)) return Promise.resolve();
    return new Promise((resolve) => this.#onceUp.push(resolve));
  }

  /** Resolves when all posted frames have been answered. */
  async idle(): Promise<void> {
    while (this.#posted.size > 0) await Promise.all(this.#posted);
  }

  async #post<T extends PostedFrame>(
    type: T,
    body: ClientFrames[T],
    isCurrent: () => boolean,
  ): Promise<FrameAnswer> {
    for (;;) {
      await this.whenUp();
      if (this.#isClosed) return { kind: 'lost' };
      if (!isCurrent()) return { kind: 'ok' };
      const link = this.#link;
      if (link === undefined) continue;
      const answer = await link.request(type, body);
      if (answer.kind === 'ok' || answer.kind === 'refused') return answer;
      if (answer.kind === 'timeout') link.drop();
    }
  }

  /** Closes the connection permanently. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopTimer();
    callSafely(this.#stopOnline, 'onOnline', this.#env.log);
    const link = this.#link;
    this.#link = undefined;
    // `close` may be called inside a listener, before that frame was acknowledged.
    if (this.#lastSeq !== undefined) link?.notify('seen', { seq: this.#lastSeq });
    link?.notify('bye', {});
    link?.close();
    this.#release();
    this.#receiver.changed({ state: 'closed' });
  }

  #release(): void {
    const waiting = this.#onceUp;
    this.#onceUp = [];
    for (const run of waiting) run();
  }

  async #connect(reached: 'connected' | 'reconnected'): Promise<CallFailure | undefined> {
    // Asked before the socket is opened: the router closes one that does not authenticate within 5 s.
    const token = await this.#token();
    if ('name' in token) return token;
    const identity = await this.#identity();
    const link = await FrameSocket.open(this.#env);
    if (!(link instanceof FrameSocket)) return link;
    if (this.#isClosed) {
      link.drop();
      return { name: 'NO_NETWORK' };
    }
    const challenge = await challengeRouter(link, this.#apiKey, this.#env);
    if (!('routerNonce' in challenge)) {
      link.drop();
      return challenge;
    }
    const proof = clientProof(this.#apiKey, identity, challenge);
    const lastSeq = this.#lastSeq === undefined ? {} : { lastSeq: this.#lastSeq };
    const answer = await link.request('auth', { ...identity, proof, ...token, ...lastSeq });
    if (answer.kind !== 'ok' || this.#isClosed) {
      link.drop();
      return failureOfAnswer(answer) ?? { name: 'NO_NETWORK' };
    }
    if (!isBeginning(answer.data)) {
      link.drop();
      return {
        name: 'NO_NETWORK',
        detail: 'The router answered auth without the numbers replay and lastSeq',
      };
    }
    this.#begin(link, answer.data);
    this.#receiver.changed({ state: reached });
    return undefined;
  }

  /** Returns the token of the app's backend as a member of `auth`. */
  async #token(): Promise<{ readonly token?: string } | CallFailure> {
    const { token, inTime, log } = this.#env;
    if (token === undefined) return {};
    try {
      return { token: await inTime(token()) };
    } catch (error) {
      log.info(`the function token failed: ${String(error)}`);
      return { name: 'NO_NETWORK', detail: `The function token failed: ${String(error)}` };
    }
  }

  #begin(link: FrameSocket, { replay, lastSeq }: AckData['auth']): void {
    this.#env.log.debug(`connected to the router; ${replay} frames to replay`);
    this.#failed = 0;
    this.#link = link;
    this.#toReplay = replay;
    const isStateLost = this.#lastSeq !== undefined && lastSeq < this.#lastSeq;
    if (isStateLost || this.#lastSeq === undefined) this.#lastSeq = lastSeq;
    if (isStateLost) this.#receiver.stateLost();
    this.#scheduleProbe(link);
    link.receive({
      frame: (frame) => this.#receive(link, frame),
      closed: (code) => this.#disconnected(link, code),
    });
    if (replay === 0) this.#release();
  }

  #receive(link: FrameSocket, frame: RouterFrame): void {
    if (this.#link !== link) return;
    if (frame.seq > (this.#lastSeq ?? 0)) {
      this.#env.log.verbose(`received ${frame.t}`);
      this.#lastSeq = frame.seq;
      this.#deliver(frame);
    }
    link.notify('seen', { seq: frame.seq });
    if (this.#toReplay === 0) return;
    this.#toReplay -= 1;
    if (this.#toReplay === 0) this.#release();
  }

  /** Delivers a frame. An error is logged, so that the frame is acknowledged and later ones are still received. */
  #deliver(frame: RouterFrame): void {
    try {
      this.#receiver.receive(frame);
    } catch (error) {
      this.#env.log.info(`handling the frame ${frame.t} failed: ${String(error)}`);
    }
  }

  #disconnected(link: FrameSocket, code: number | undefined): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#stopTimer();
    const rejection = code === undefined ? undefined : finalCodes.get(code);
    if (rejection === undefined) this.#scheduleReconnect();
    else this.#giveUp(rejection);
  }

  #scheduleReconnect(): void {
    const { clock, random, times, log } = this.#env;
    const delay = reconnectDelay(this.#failed, random) * times.reconnectScale;
    log.info(`cannot reach the router; next attempt in ${Math.round(delay)} ms`);
    this.#isWaiting = true;
    this.#stopTimer = clock.after(delay, () => void this.#reconnect());
    this.#receiver.changed({ state: 'reconnecting', nextAttemptAt: clock.now() + delay });
  }

  /** Returns the function of the app that ends its news about the network. */
  #watchNetwork(): () => void {
    const { onOnline, log } = this.#env;
    let stop: (() => void) | undefined;
    callSafely(() => (stop = onOnline(() => this.#online())), 'onOnline', log);
    return () => stop?.();
  }

  /** Tries at once what would happen later: the network is back, or has changed. */
  #online(): void {
    this.#failed = 0;
    const link = this.#link;
    if (!this.#isWaiting && link === undefined) return;
    this.#stopTimer();
    if (link === undefined) void this.#reconnect();
    else void this.#probe(link);
  }

  async #reconnect(): Promise<void> {
    this.#isWaiting = false;
    const failure = await this.#connect('reconnected').catch(unreadable);
    if (failure === undefined || this.#isClosed) return;
    this.#failed += 1;
    if (failure.name === 'NO_NETWORK') this.#scheduleReconnect();
    else this.#giveUp(failure);
  }

  #giveUp(failure: CallFailure): void {
    this.#env.log.info(`the router rejected this client: ${failure.name}`);
    this.close();
    this.#receiver.rejected(failure);
  }

  /** Probes the router regularly, because a browser does not report a lost network. */
  #scheduleProbe(link: FrameSocket): void {
    const { clock, times } = this.#env;
    this.#stopTimer();
    this.#stopTimer = clock.after(times.ping, () => void this.#probe(link));
  }

  async #probe(link: FrameSocket): Promise<void> {
    const answer = await link.request('probe', {});
    if (answer.kind === 'timeout') link.drop();
    else if (this.#link === link) this.#scheduleProbe(link);
  }
}

/** Close codes after which reconnecting is pointless. */
const finalCodes: ReadonlyMap<number, CallFailure> = new Map([
  [closeCodes.unauthorized, { name: 'AUTH_FAILURE' }],
  [closeCodes.elsewhere, { name: 'CUID_ELSEWHERE' }],
  [
    closeCodes.replaced,
    { name: 'CUID_ELSEWHERE', detail: 'A newer socket of this device uses the cuid' },
  ],
]);

/** Whether an answer to `auth` has what a session begins with. */
function isBeginning(data: unknown): data is AckData['auth'] {
  const { replay, lastSeq } = Object(data) as Partial<AckData['auth']>;
  return typeof replay === 'number' && typeof lastSeq === 'number';
}

/** Failure for an answer that lacks what the protocol requires. */
const unreadable = (error: unknown): CallFailure => ({ name: 'NO_NETWORK', detail: String(error) });

const firstDelay = 1500;
const maxDelay = 5000;

/**
 * Returns the delay in milliseconds before the next reconnect after `failed` failed attempts: 1.5 s doubling
 * to 5 s, with ±50 % jitter, so that the clients of a restarted router do not return at the same time.
 */
export function reconnectDelay(failed: number, random: () => number): number {
  const delay = Math.min(firstDelay * 2 ** failed, maxDelay);
  return delay * (0.5 + random());
}
