import { closeCodes, type AckData, type ClientFrames, type RouterFrame } from './protocol.js';
import { challengeRouter, clientProof } from './key-proof.js';
import { faultOfAnswer, FrameSocket, type FrameAnswer } from './socket.js';
import type { Environment } from './environment.js';
import type { CallFault } from './errors.js';

/** Who hears what comes, over however many sockets. */
interface ConnectionReceiver {
  /** Each frame once, in order. */
  hear(frame: RouterFrame): void;
  /** The router has no memory of this client any more, and so of no call. */
  forgotten(): void;
  /** The router will not have this client: it does not come back by itself. */
  refused(fault: CallFault): void;
}

type PostedFrame = 'answer' | 'decline' | 'hangup' | 'ready' | 'sdp' | 'logout';

interface ConnectionOptions {
  readonly env: Environment;
  /** Asked for each socket. */
  readonly identity: () => Omit<ClientFrames['auth'], 'lastSeq' | 'proof' | 'apiKey'>;
  /** What client and router prove to each other that they hold. It is never sent. */
  readonly apiKey: string;
  readonly receiver: ConnectionReceiver;
  /** Of an earlier connection of the same life. */
  readonly lastSeq: number | undefined;
}

/** Keeps a client at the router: comes back when the socket is lost, loses no frame and doubles none. */
export class RouterConnection {
  readonly #env: Environment;
  readonly #identity: ConnectionOptions['identity'];
  readonly #apiKey: string;
  readonly #receiver: ConnectionReceiver;
  #link: FrameSocket | undefined;
  #lastSeq: number | undefined;
  /** Frames still to come that had waited at the router. */
  #toReplay = 0;
  #failed = 0;
  #isClosed = false;
  #stopTimer = () => {};
  #whenUp: (() => void)[] = [];
  readonly #posted = new Set<Promise<FrameAnswer>>();

  constructor({ env, identity, apiKey, receiver, lastSeq }: ConnectionOptions) {
    this.#env = env;
    this.#identity = identity;
    this.#apiKey = apiKey;
    this.#receiver = receiver;
    this.#lastSeq = lastSeq;
  }

  /** The `seq` up to which frames have been heard; undefined at the beginning of a life. */
  get lastSeq(): number | undefined {
    return this.#lastSeq;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether there is a socket on which the router knows this client. */
  get isUp(): boolean {
    return this.#link !== undefined;
  }

  /** The first attempt; its fault is final. */
  async open(): Promise<CallFault | undefined> {
    const fault = await this.#connect();
    if (fault !== undefined) this.close();
    return fault;
  }

  /** Sends a frame on the present socket only. */
  request<T extends 'call' | 'probe'>(
    type: T,
    body: ClientFrames[T],
    milliseconds: number,
  ): Promise<FrameAnswer> {
    return this.#link?.request(type, body, milliseconds) ?? Promise.resolve({ kind: 'lost' });
  }

  /**
   * Sends a frame until the router has answered it, over however many sockets; `lost`: the connection was
   * closed before. `isWanted` is asked before each attempt: without it, there is nothing more to do.
   */
  post<T extends PostedFrame>(
    type: T,
    body: ClientFrames[T],
    isWanted: () => boolean = () => true,
  ): Promise<FrameAnswer> {
    const posted = this.#post(type, body, isWanted).finally(() => this.#posted.delete(posted));
    this.#posted.add(posted);
    return posted;
  }

  /** Resolves when the frames that were posted have been answered. */
  async idle(): Promise<void> {
    while (this.#posted.size > 0) await Promise.all(this.#posted);
  }

  async #post<T extends PostedFrame>(
    type: T,
    body: ClientFrames[T],
    isWanted: () => boolean,
  ): Promise<FrameAnswer> {
    for (;;) {
      await this.#up();
      if (this.#isClosed) return { kind: 'lost' };
      if (!isWanted()) return { kind: 'ok' };
      const link = this.#link;
      if (link === undefined) continue;
      const answer = await link.request(type, body);
      if (answer.kind === 'ok' || answer.kind === 'refused') return answer;
      if (answer.kind === 'timeout') link.drop();
    }
  }

  /** Leaves for good. */
  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    const link = this.#link;
    this.#link = undefined;
    // The app may leave while it hears of a frame: it has heard of it.
    if (this.#lastSeq !== undefined) link?.tell('seen', { seq: this.#lastSeq });
    link?.tell('bye', {});
    link?.close();
    this.#release();
  }

  /**
   * Resolves when the client is at the router and has heard what waited there, or never will be again: what
   * a frame was to do may have been done already.
   */
  #up(): Promise<void> {
    if (this.#isClosed || (this.isUp && this.#toReplay === 0)) return Promise.resolve();
    return new Promise((resolve) => this.#whenUp.push(resolve));
  }

  #release(): void {
    const waiting = this.#whenUp;
    this.#whenUp = [];
    for (const run of waiting) run();
  }

  async #connect(): Promise<CallFault | undefined> {
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
    const identity = this.#identity();
    const proof = clientProof(this.#apiKey, identity, challenge);
    const lastSeq = this.#lastSeq === undefined ? {} : { lastSeq: this.#lastSeq };
    const answer = await link.request('auth', { ...identity, proof, ...lastSeq });
    if (answer.kind !== 'ok' || this.#isClosed) {
      link.drop();
      return faultOfAnswer(answer) ?? { name: 'NO_NETWORK' };
    }
    this.#begin(link, answer.data as AckData['auth']);
    return undefined;
  }

  #begin(link: FrameSocket, { replay, lastSeq }: AckData['auth']): void {
    this.#env.log.debug(`at the router; ${replay} frames waited there`);
    this.#failed = 0;
    this.#link = link;
    this.#toReplay = replay;
    const isForgotten = this.#lastSeq !== undefined && lastSeq < this.#lastSeq;
    if (isForgotten || this.#lastSeq === undefined) this.#lastSeq = lastSeq;
    if (isForgotten) this.#receiver.forgotten();
    this.#watch(link);
    link.receive({
      frame: (frame) => this.#hear(link, frame),
      closed: (code) => this.#lost(link, code),
    });
    if (replay === 0) this.#release();
  }

  #hear(link: FrameSocket, frame: RouterFrame): void {
    if (this.#link !== link) return;
    if (frame.seq > (this.#lastSeq ?? 0)) {
      this.#env.log.verbose(`heard ${frame.t}`);
      this.#lastSeq = frame.seq;
      this.#receiver.hear(frame);
    }
    link.tell('seen', { seq: frame.seq });
    if (this.#toReplay === 0) return;
    this.#toReplay -= 1;
    if (this.#toReplay === 0) this.#release();
  }

  #lost(link: FrameSocket, code: number | undefined): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#stopTimer();
    const refusal = code === undefined ? undefined : finalCodes.get(code);
    if (refusal === undefined) this.#comeBack();
    else this.#giveUp(refusal);
  }

  #comeBack(): void {
    const { clock, random, times, log } = this.#env;
    const delay = reconnectDelay(this.#failed, random) * times.reconnectScale;
    log.info(`the router is out of reach; the next attempt in ${Math.round(delay)} ms`);
    this.#stopTimer = clock.after(delay, () => void this.#reconnect());
  }

  async #reconnect(): Promise<void> {
    const fault = await this.#connect();
    if (fault === undefined || this.#isClosed) return;
    this.#failed += 1;
    if (fault.name === 'NO_NETWORK') this.#comeBack();
    else this.#giveUp(fault);
  }

  #giveUp(fault: CallFault): void {
    this.#env.log.info(`the router does not let this client back: ${fault.name}`);
    this.close();
    this.#receiver.refused(fault);
  }

  /** A browser does not tell of a network that is gone: whether the router answers, does. */
  #watch(link: FrameSocket): void {
    const { clock, times } = this.#env;
    this.#stopTimer = clock.after(times.ping, () => void this.#look(link));
  }

  async #look(link: FrameSocket): Promise<void> {
    const answer = await link.request('probe', {});
    if (answer.kind === 'timeout') link.drop();
    else if (this.#link === link) this.#watch(link);
  }
}

/** Codes after which coming back changes nothing. */
const finalCodes: ReadonlyMap<number, CallFault> = new Map([
  [closeCodes.unauthorized, { name: 'AUTH_FAILURE' }],
  [closeCodes.elsewhere, { name: 'CUID_ELSEWHERE' }],
  [
    closeCodes.replaced,
    { name: 'CUID_ELSEWHERE', detail: 'This device has taken its cuid to another socket' },
  ],
]);

const firstDelay = 1500;
const longestDelay = 5000;

/**
 * Milliseconds before the next attempt to reconnect, after so many that failed: 1.5 s doubling to 5 s, each
 * up to a half shorter or longer, so that clients of a router that was down do not return at once.
 */
export function reconnectDelay(failed: number, random: () => number): number {
  const delay = Math.min(firstDelay * 2 ** failed, longestDelay);
  return delay * (0.5 + random());
}
