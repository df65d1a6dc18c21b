import {
  signalPath,
  subprotocol,
  type Ack,
  type AckData,
  type ClientFrames,
  type FrameRefusal,
  type Platform,
  type RouterFrame,
} from './protocol.js';
import { parseRouterFrame } from './parse-frame.js';
import { errorTable, type CallFailure, type ErrorName } from './errors.js';
import type { Environment, Socket } from './environment.js';

/** Result of sending a frame; `lost` if the socket closed before the answer. */
export type FrameAnswer =
  | { readonly kind: 'ok'; readonly data?: AckData[keyof AckData] | undefined }
  | { readonly kind: 'refused'; readonly refusal: FrameRefusal }
  | { readonly kind: 'timeout' | 'lost' };

/** Receives what arrives over a socket. */
interface FrameReceiver {
  frame(frame: RouterFrame): void;
  /** Called with the code of the close frame; undefined without one. */
  closed(code: number | undefined): void;
}

/** Maximum characters of frames received before the receiver is ready, more than a router keeps of a client. */
const maxEarlyLength = 1024 * 1024;

/** A WebSocket that sends frames and matches their answers, and receives frames. It is never reopened. */
export class FrameSocket {
  readonly #env: Environment;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (answer: FrameAnswer) => void>();
  #lastId = 0;
  /** Frames received before the receiver is ready; undefined afterwards. */
  #early: RouterFrame[] | undefined = [];
  #earlyLength = 0;
  #receiver: FrameReceiver | undefined;
  #isClosed = false;
  /** Error message of the platform. */
  #errorMessage: string | undefined;
  #code: number | undefined;

  private constructor(env: Environment, socket: Socket) {
    this.#env = env;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#read(data));
    socket.addEventListener('close', ({ code }) => this.#end(code));
    // A close event follows.
    socket.addEventListener('error', ({ message }) => {
      this.#errorMessage = message;
    });
  }

  /** Opens a socket; returns a failure if that fails or takes longer than the answer timeout. */
  static open(env: Environment): Promise<FrameSocket | CallFailure> {
    const { WebSocket, url, platform, clock, times } = env;
    if (WebSocket === undefined)
      throw new TypeError(
        'WebSocket is missing: this platform has none, so pass a WebSocket class',
      );
    const address = signalUrl(url, platform);
    let socket: Socket;
    try {
      socket = new WebSocket(address, [subprotocol]);
    } catch (error) {
      return Promise.resolve(noNetwork(String(error)));
    }
    const link = new FrameSocket(env, socket);
    return new Promise((resolve) => {
      const fail = () => settle(noNetwork(link.#errorMessage));
      const stop = clock.after(times.answer, () => {
        link.drop();
        fail();
      });
      const settle = (outcome: FrameSocket | CallFailure) => {
        stop();
        resolve(outcome);
      };
      socket.addEventListener('open', () => settle(link));
      socket.addEventListener('close', fail);
    });
  }

  /**
   * Sets the receiver. Frames are delivered from the next event-loop turn on, so that the code that awaited
   * the socket runs before replayed frames arrive.
   */
  receive(receiver: FrameReceiver): void {
    this.#receiver = receiver;
    if (this.#isClosed) receiver.closed(this.#code);
    else this.#env.clock.after(0, () => this.#deliverEarly(receiver));
  }

  #deliverEarly(receiver: FrameReceiver): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    // Undelivered frames are replayed on the next socket.
    if (!this.#isClosed) for (const frame of early) receiver.frame(frame);
  }

  /** Sends a frame and waits for its answer. */
  request<T extends keyof ClientFrames>(
    type: T,
    body: ClientFrames[T],
    milliseconds = this.#env.times.answer,
  ): Promise<FrameAnswer> {
    if (this.#isClosed) return Promise.resolve({ kind: 'lost' });
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const stop = this.#env.clock.after(milliseconds, () => settle({ kind: 'timeout' }));
      const settle = (answer: FrameAnswer) => {
        stop();
        this.#waiting.delete(id);
        resolve(answer);
      };
      this.#waiting.set(id, settle);
      this.#send({ t: type, id, ...body });
    });
  }

  /** Sends a frame without waiting for an answer. */
  notify<T extends 'seen' | 'bye'>(type: T, body: ClientFrames[T]): void {
    this.#lastId += 1;
    if (!this.#isClosed) this.#send({ t: type, id: this.#lastId, ...body });
  }

  /** Closes the socket with a closing handshake. */
  close(): void {
    if (!this.#isClosed) this.#socket.close(1000);
    this.#end(1000);
  }

  /** Closes the socket without a closing handshake, which an unresponsive router would not answer. */
  drop(): void {
    if (this.#isClosed) return;
    if (this.#socket.terminate === undefined) this.#socket.close();
    else this.#socket.terminate();
    this.#end(undefined);
  }

  #send(frame: { readonly t: string; readonly id: number }): void {
    this.#env.log.verbose(`sent ${frame.t}`);
    try {
      this.#socket.send(JSON.stringify(frame));
    } catch (error) {
      // A closing socket throws on some platforms and drops the frame on others.
      this.#env.log.debug(`not sent ${frame.t}: ${String(error)}`);
    }
  }

  #read(data: unknown): void {
    if (this.#isClosed) return;
    const frame = typeof data === 'string' ? parseRouterFrame(data) : undefined;
    if (frame === undefined) this.#env.log.debug('ignored a frame of an unknown type');
    else if (frame.t === 'ack') this.#waiting.get(frame.re)?.(answerOf(frame));
    else if (this.#early === undefined) this.#receiver?.frame(frame);
    else if ((this.#earlyLength += String(data).length) <= maxEarlyLength) this.#early.push(frame);
    else this.drop();
  }

  #end(code: number | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#code = code;
    for (const settle of this.#waiting.values()) settle({ kind: 'lost' });
    this.#receiver?.closed(code);
  }
}

const noNetwork = (reason: string | undefined): CallFailure => ({
  name: 'NO_NETWORK',
  detail: reason && `Cannot open a socket to the router: ${reason}`,
});

/** Converts an ack, which may be of a stranger: without a name, the refusal is CALL_FAILED. */
function answerOf(ack: Ack): FrameAnswer {
  if (ack.ok) return { kind: 'ok', data: ack.data };
  const { name, message } = Object(ack.err) as Partial<Record<keyof FrameRefusal, unknown>>;
  return { kind: 'refused', refusal: { name: textOf(name), message: textOf(message) } };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Returns the address of the socket: http becomes ws, a path is kept. Throws TypeError for an unencrypted connection to
 * another machine. Uses no URL class, because that of React Native is incomplete.
 */
function signalUrl(url: string, platform: Platform): string {
  if (!url)
    throw new TypeError('url is missing: pass the wss:// or https:// address of the router');
  const [, scheme = '', host = '', path = ''] =
    /^(https?|wss?):\/\/([^/?#]+)(.*)$/is.exec(url) ?? [];
  const isPlain = /^(?:http|ws)$/i.test(scheme);
  const isLocal = loopback.test(host) || (platform === 'android' && emulatorHost.test(host));
  const problem = problemOf(host, isPlain && !isLocal);
  // The message does not repeat the address, which may contain a password.
  if (problem !== undefined) throw new TypeError(`url ${problem}`);
  const socketUrl = `${isPlain ? 'ws' : 'wss'}://${host}${path.replace(/\/+$/, '')}`;
  return path.length > 1 && path.startsWith('/') ? socketUrl : socketUrl + signalPath;
}

function problemOf(host: string, isUnsafe: boolean): string | undefined {
  if (host === '') return 'must start with wss:// or https:// and a host';
  if (host.includes('@')) return 'must not contain a user name or password';
  if (/[\\\s\p{Cc}]/u.test(host)) return 'contains a space, a backslash or a control character';
  if (!isUnsafe) return undefined;
  return 'must start with wss:// or https://; unencrypted ws and http are allowed for localhost only, and for 10.0.2.2 of the Android emulator';
}

/** Loopback hosts, with or without a port. */
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** Loopback interface of the machine that runs the Android emulator, as apps in the emulator reach it. */
const emulatorHost = /^10\.0\.2\.2(?::\d+)?$/;

/** Converts an answer to a failure; returns undefined for success. */
export function failureOfAnswer(answer: FrameAnswer): CallFailure | undefined {
  switch (answer.kind) {
    case 'ok':
      return undefined;
    case 'refused':
      return { name: errorNameOf(answer.refusal.name), detail: answer.refusal.message };
    case 'timeout':
    case 'lost':
      return { name: 'NO_NETWORK' };
    default:
      return answer satisfies never;
  }
}

/** Maps a refusal to an SDK error; other names are internal to the protocol or from a later router. */
const errorNameOf = (refusal: string): ErrorName =>
  Object.hasOwn(errorTable, refusal) ? (refusal as ErrorName) : 'CALL_FAILED';
