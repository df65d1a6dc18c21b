import {
  signalPath,
  subprotocol,
  type Ack,
  type AckData,
  type ClientFrames,
  type FrameRefusal,
  type RouterFrame,
} from './protocol.js';
import { parseRouterFrame } from './parse-frame.js';
import { errorTable, type CallFault, type ErrorName } from './errors.js';
import type { Environment, Socket } from './environment.js';

/** What a frame's sending came to. `lost`: the socket was closed before. */
export type FrameAnswer =
  | { readonly kind: 'ok'; readonly data?: AckData[keyof AckData] | undefined }
  | { readonly kind: 'refused'; readonly refusal: FrameRefusal }
  | { readonly kind: 'timeout' | 'lost' };

/** Who hears what comes over a link. */
interface LinkReceiver {
  frame(frame: RouterFrame): void;
  /** The code of the close frame; undefined without one. */
  closed(code: number | undefined): void;
}

/** The life of one socket: frames out with their answers, frames in. It is never reopened. */
export class FrameSocket {
  readonly #env: Environment;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (answer: FrameAnswer) => void>();
  #lastId = 0;
  /** Frames that came before they are handed over. */
  #early: RouterFrame[] | undefined = [];
  #receiver: LinkReceiver | undefined;
  #isClosed = false;
  /** What the platform says of why there is no socket. */
  #trouble: string | undefined;
  #code: number | undefined;

  private constructor(env: Environment, socket: Socket) {
    this.#env = env;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#read(data));
    socket.addEventListener('close', ({ code }) => this.#end(code));
    // A close follows.
    socket.addEventListener('error', ({ message }) => {
      this.#trouble = message;
    });
  }

  /** A fault when no socket could be opened in the time for an answer. */
  static open(env: Environment): Promise<FrameSocket | CallFault> {
    const { WebSocket, url, clock, times } = env;
    if (WebSocket === undefined)
      throw new TypeError('This platform has no WebSocket: give one as env.WebSocket');
    const socket = new WebSocket(signalUrl(url), [subprotocol]);
    const link = new FrameSocket(env, socket);
    return new Promise((resolve) => {
      const fail = () => settle(link.#noNetwork());
      const stop = clock.after(times.answer, () => {
        link.drop();
        fail();
      });
      const settle = (outcome: FrameSocket | CallFault) => {
        stop();
        resolve(outcome);
      };
      socket.addEventListener('open', () => settle(link));
      socket.addEventListener('close', fail);
    });
  }

  /**
   * Hands over what comes: its end at once, frames from the next turn on, so that who waited for the link
   * goes on before it hears what waited at the router.
   */
  receive(receiver: LinkReceiver): void {
    this.#receiver = receiver;
    if (this.#isClosed) receiver.closed(this.#code);
    else this.#env.clock.after(0, () => this.#handOver(receiver));
  }

  #handOver(receiver: LinkReceiver): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    // Those that are not handed over come again on the next link.
    if (!this.#isClosed) for (const frame of early) receiver.frame(frame);
  }

  /** Sends a frame, and waits so long for its answer. */
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

  /** Sends a frame whose answer nobody waits for. */
  tell<T extends 'seen' | 'bye'>(type: T, body: ClientFrames[T]): void {
    this.#lastId += 1;
    if (!this.#isClosed) this.#send({ t: type, id: this.#lastId, ...body });
  }

  /** Says goodbye to the other side. */
  close(): void {
    if (!this.#isClosed) this.#socket.close(1000);
    this.#end(1000);
  }

  /** Gives it up: a side that does not answer would not answer a goodbye either. */
  drop(): void {
    if (this.#isClosed) return;
    if (this.#socket.terminate === undefined) this.#socket.close();
    else this.#socket.terminate();
    this.#end(undefined);
  }

  #noNetwork(): CallFault {
    if (!this.#trouble) return { name: 'NO_NETWORK' };
    const detail = `No socket to the router could be opened: ${this.#trouble}`;
    return { name: 'NO_NETWORK', detail };
  }

  #send(frame: { readonly t: string; readonly id: number }): void {
    this.#env.log.verbose(`sent ${frame.t}`);
    try {
      this.#socket.send(JSON.stringify(frame));
    } catch (error) {
      // A socket that is closing throws on some platforms, and drops the frame on others.
      this.#env.log.debug(`not sent ${frame.t}: ${String(error)}`);
    }
  }

  #read(data: unknown): void {
    if (this.#isClosed) return;
    const frame = typeof data === 'string' ? parseRouterFrame(data) : undefined;
    if (frame === undefined) this.#env.log.debug('ignored a frame of an unknown kind');
    else if (frame.t === 'ack') this.#waiting.get(frame.re)?.(answerOf(frame));
    else if (this.#early === undefined) this.#receiver?.frame(frame);
    else this.#early.push(frame);
  }

  #end(code: number | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#code = code;
    for (const settle of this.#waiting.values()) settle({ kind: 'lost' });
    this.#receiver?.closed(code);
  }
}

const answerOf = (ack: Ack): FrameAnswer =>
  ack.ok ? { kind: 'ok', data: ack.data } : { kind: 'refused', refusal: ack.err };

/**
 * The address of the socket: http is taken as ws, a path of its own is kept. Throws TypeError for an address that anybody
 * on the way could read or answer at. React Native has no whole URL, so that the text is judged as it stands.
 */
function signalUrl(url: string): string {
  const [, scheme = '', host = '', path = ''] =
    /^(https?|wss?):\/\/([^/?#]+)(.*)$/is.exec(url) ?? [];
  const isPlain = /^(?:http|ws)$/i.test(scheme);
  const problem = problemOf(host, isPlain);
  // The address is not repeated: it may hold a password.
  if (problem !== undefined) throw new TypeError(`The address of the router ${problem}`);
  const socketUrl = `${isPlain ? 'ws' : 'wss'}://${host}${path.replace(/\/+$/, '')}`;
  return path.length > 1 && path.startsWith('/') ? socketUrl : socketUrl + signalPath;
}

function problemOf(host: string, isPlain: boolean): string | undefined {
  if (host === '') return 'must begin with wss:// or https:// and a host';
  if (host.includes('@')) return 'may hold no user name or password';
  if (/[\\\s\p{Cc}]/u.test(host)) return 'holds a space, a backslash or a control character';
  if (!isPlain || loopback.test(host)) return undefined;
  return 'must begin with wss:// or https://: ws and http, where others can read along, are for this machine only';
}

/** Hosts, with or without a port, that can only be this machine. */
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** What an answer means for who asked; undefined: all is well. */
export function faultOfAnswer(answer: FrameAnswer): CallFault | undefined {
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

/** The names of errors are refused by; another one is of the protocol alone, or of a later router. */
const errorNameOf = (refusal: string): ErrorName =>
  Object.hasOwn(errorTable, refusal) ? (refusal as ErrorName) : 'CALL_FAILED';
