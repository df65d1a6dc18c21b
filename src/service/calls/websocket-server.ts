import { once } from 'node:events';
import { WebSocketServer, type WebSocket, type RawData } from 'ws';
import { closeCodes, sdpFrameBytes, subprotocol, frameBytes } from '../../calling/protocol.js';
import { randomUUID } from 'node:crypto';
import { parseClientFrame } from '../../calling/parse-frame.js';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Timers } from '../clock.js';
import type { CallRouter } from './call-router.js';
import type { Session, RegisteredUser } from './users.js';

/** Sockets that have not said who they are. Another one takes the place of the oldest. */
const mostUnknown = 1000;

interface ServerContext {
  readonly router: CallRouter;
  readonly alarms: Timers;
  readonly weather: NetworkFaults;
}

/** All sockets of the calling system. */
export class SignalServer {
  readonly #ground: ServerContext;
  readonly #sockets = new Set<ClientSocket>();
  readonly #unknown = new Set<ClientSocket>();
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: sdpFrameBytes,
    handleProtocols: () => subprotocol,
  });

  constructor(ground: ServerContext) {
    this.#ground = ground;
    const { alarms, router } = ground;
    alarms.every(router.rules.timers.ping, () => {
      for (const socket of this.#sockets) socket.ping();
    });
  }

  /** Settles when the connection is over. */
  async take(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const over = once(socket, 'close');
    socket.on('error', () => undefined);
    this.#server.handleUpgrade(request, socket, head, (opened) => this.#open(opened));
    await over;
  }

  /** Tells all clients that the router stops; they come back for the next one. */
  stop(): void {
    for (const socket of this.#sockets) socket.end(1001, 'the router stops');
  }

  #open(opened: WebSocket): void {
    const { router, alarms, weather } = this.#ground;
    const onKnown = (): void => {
      cancel();
      this.#unknown.delete(socket);
    };
    const socket = new ClientSocket({ socket: opened, router, weather, onKnown });
    const cancel = alarms.after(router.rules.timers.auth, () =>
      socket.close(closeCodes.authTimeout, 'no auth in time'),
    );
    this.#sockets.add(socket);
    // One that waits for its answer comes back; one that only takes a place need not be waited for.
    const [oldest] = this.#unknown;
    if (this.#unknown.size >= mostUnknown) oldest?.drop();
    this.#unknown.add(socket);
    opened.on('error', () => undefined); // 'close' follows
    opened.on('close', () => {
      onKnown();
      this.#sockets.delete(socket);
    });
  }
}

/** Bytes that may wait for a client that reads slowly. Its frames wait in its inbox as well. */
const mostBuffered = 1024 * 1024;

/** What the network of a rehearsal does to frames of the router. */
interface NetworkFaults {
  /** Calls `send` when the latency is over; always in the order of the calls. */
  readonly delay: (send: () => void) => void;
  /** Whether the connection breaks instead of this frame. */
  readonly breaks: () => boolean;
}

interface Parts {
  readonly socket: WebSocket;
  readonly router: CallRouter;
  readonly weather: NetworkFaults;
  /** Called when the client has said who it is. */
  readonly onKnown: () => void;
}

/** One client's WebSocket: its frames go to the router, those of the router to it. */
class ClientSocket implements Session {
  readonly id = randomUUID();
  user: RegisteredUser | undefined = undefined;
  nonces: Session['nonces'] = undefined;
  readonly #parts: Parts;
  #unansweredPings = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { socket, router } = parts;
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => (this.#unansweredPings = 0));
    socket.on('close', () => router.disconnected(this));
  }

  send(text: string): void {
    const { socket, weather } = this.#parts;
    if (weather.breaks()) return socket.terminate();
    weather.delay(() => {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(text);
      if (socket.bufferedAmount > mostBuffered) socket.terminate();
    });
  }

  close(code: number, reason: string): void {
    this.#parts.weather.delay(() => this.end(code, reason));
  }

  /** Closes it at once. */
  end(code: number, reason: string): void {
    this.#parts.socket.close(code, reason);
  }

  /** Ends the connection without a goodbye. */
  drop(): void {
    this.#parts.socket.terminate();
  }

  /** Drops a client that has not answered the last two. */
  ping(): void {
    const { socket } = this.#parts;
    if (this.#unansweredPings === 2) return this.drop();
    this.#unansweredPings += 1;
    socket.ping();
  }

  #receive(data: RawData, isBinary: boolean): void {
    const { socket, router, onKnown } = this.#parts;
    this.#unansweredPings = 0;
    if (socket.readyState !== socket.OPEN) return;
    if (isBinary) return this.close(1003, 'frames are text');
    const text = (data as Buffer).toString();
    const read = parseClientFrame(text);
    if (read.kind === 'malformed') return this.close(closeCodes.malformed, 'not a JSON object');
    const isMedia = read.kind === 'frame' && read.frame.t === 'sdp';
    if (!isMedia && Buffer.byteLength(text) > frameBytes) return this.close(1009, 'too long');
    if (read.kind === 'frame') {
      router.receive(this, read.frame);
      if (read.frame.t === 'auth' && this.user) onKnown();
    }
    if (read.kind === 'wrong' && read.id !== undefined) {
      router.refuse(this, read.id, read.message);
    }
  }
}
