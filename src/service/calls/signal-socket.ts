import type { RawData, WebSocket } from 'ws';
import { closeCodes, frameBytes } from '../../calling/protocol.js';
import { readClientFrame } from '../../calling/read-frame.js';
import type { CallRouter } from './call-router.js';
import type { Session, User } from './user.js';

/** Bytes that may wait for a client that reads slowly. Its frames wait in its inbox as well. */
const mostBuffered = 1024 * 1024;

/** What the network of a rehearsal does to frames of the router. */
export interface Weather {
  /** Calls `send` when the latency is over; always in the order of the calls. */
  readonly delay: (send: () => void) => void;
  /** Whether the connection breaks instead of this frame. */
  readonly breaks: () => boolean;
}

interface Parts {
  readonly id: string;
  readonly socket: WebSocket;
  readonly router: CallRouter;
  readonly weather: Weather;
  readonly onKnown: () => void;
}

/** One client's WebSocket: its frames go to the router, those of the router to it. */
export class SignalSocket implements Session {
  readonly id: string;
  user: User | undefined = undefined;
  readonly #socket: WebSocket;
  readonly #router: CallRouter;
  readonly #weather: Weather;
  /** Called when the client has said who it is. */
  readonly #onKnown: () => void;
  #unansweredPings = 0;

  constructor({ id, socket, router, weather, onKnown }: Parts) {
    this.id = id;
    this.#socket = socket;
    this.#router = router;
    this.#weather = weather;
    this.#onKnown = onKnown;
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => (this.#unansweredPings = 0));
    socket.on('close', () => router.disconnected(this));
  }

  send(text: string): void {
    if (this.#weather.breaks()) return this.#socket.terminate();
    this.#weather.delay(() => {
      if (this.#socket.readyState !== this.#socket.OPEN) return;
      this.#socket.send(text);
      if (this.#socket.bufferedAmount > mostBuffered) this.#socket.terminate();
    });
  }

  close(code: number, reason: string): void {
    this.#weather.delay(() => this.#socket.close(code, reason));
  }

  /** Closes it at once. */
  end(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  /** Drops a client that has not answered the last two. */
  ping(): void {
    if (this.#unansweredPings === 2) return this.#socket.terminate();
    this.#unansweredPings += 1;
    this.#socket.ping();
  }

  #receive(data: RawData, isBinary: boolean): void {
    this.#unansweredPings = 0;
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (isBinary) return this.close(1003, 'frames are text');
    const text = (data as Buffer).toString();
    const read = readClientFrame(text);
    if (read.kind === 'malformed') return this.close(closeCodes.malformed, 'not a JSON object');
    const isMedia = read.kind === 'frame' && read.frame.t === 'sdp';
    if (!isMedia && Buffer.byteLength(text) > frameBytes) return this.close(1009, 'too long');
    if (read.kind === 'frame') {
      this.#router.receive(this, read.frame);
      if (read.frame.t === 'auth' && this.user) this.#onKnown();
    }
    if (read.kind === 'wrong' && read.id !== undefined) {
      this.#router.refuse(this, read.id, read.message);
    }
  }
}
