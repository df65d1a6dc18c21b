import { once } from 'node:events';
import { WebSocketServer, type WebSocket, type RawData } from 'ws';
import { closeCodes, sdpFrameBytes, subprotocol, frameBytes } from '../../calling/protocol.js';
import { randomUUID } from 'node:crypto';
import { parseClientFrame } from '../../calling/parse-frame.js';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Timers } from '../clock.js';
import type { CallNetwork, CallSteering } from './steering.js';
import type { CallRouter } from './call-router.js';
import type { Session, RegisteredUser } from './users.js';

/** Maximum number of unauthenticated sockets; a new one replaces the oldest. */
const maxUnauthenticated = 1000;

interface ServerContext {
  readonly router: CallRouter;
  readonly timers: Timers;
  readonly faults: NetworkFaults;
}

/** Accepts and tracks the WebSockets of all clients. */
export class SignalServer {
  readonly #context: ServerContext;
  readonly #sockets = new Set<ClientSocket>();
  readonly #unauthenticated = new Set<ClientSocket>();
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: sdpFrameBytes,
    handleProtocols: () => subprotocol,
  });

  constructor(context: ServerContext) {
    this.#context = context;
    const { timers, router } = context;
    timers.every(router.rules.timers.ping, () => {
      for (const socket of this.#sockets) socket.ping();
    });
  }

  /** Upgrades a request; resolves when the connection is closed. */
  async accept(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const closed = once(socket, 'close');
    socket.on('error', () => undefined);
    this.#server.handleUpgrade(request, socket, head, (opened) => this.#open(opened));
    await closed;
  }

  /** Closes all sockets with 1001; clients reconnect to the next router. */
  stop(): void {
    for (const socket of this.#sockets) socket.closeNow(1001, 'the router stops');
  }

  #open(opened: WebSocket): void {
    const { router, timers, faults } = this.#context;
    const onAuthenticated = (): void => {
      cancel();
      this.#unauthenticated.delete(socket);
    };
    const socket = new ClientSocket({ socket: opened, router, timers, faults, onAuthenticated });
    const cancel = timers.after(router.rules.timers.auth, () =>
      socket.close(closeCodes.authTimeout, 'no auth in time'),
    );
    this.#sockets.add(socket);
    // A dropped client that is about to authenticate reconnects by itself.
    const [oldest] = this.#unauthenticated;
    if (this.#unauthenticated.size >= maxUnauthenticated) oldest?.drop();
    this.#unauthenticated.add(socket);
    opened.on('error', () => undefined); // 'close' follows
    opened.on('close', () => {
      onAuthenticated();
      this.#sockets.delete(socket);
      socket.closed();
    });
  }
}

/** Interval in which a socket may read more frames, in milliseconds. */
const refillMs = 100;

/** Maximum bytes buffered for a slow client, whose frames are also in its inbox. */
const maxBuffered = 1024 * 1024;

/** Simulated faults of the network, applied to frames of the router. */
interface NetworkFaults {
  /** Returns the delay of each frame of the router. */
  readonly latencyMs: () => number;
  /** Returns whether to break the connection instead of sending a frame. */
  readonly breaks: () => boolean;
  /** Conditions of single cuids. */
  readonly steering: CallSteering;
}

interface ClientSocketParts {
  readonly socket: WebSocket;
  readonly router: CallRouter;
  readonly timers: Timers;
  readonly faults: NetworkFaults;
  readonly onAuthenticated: () => void;
}

/** WebSocket of one client. */
class ClientSocket implements Session {
  readonly id = randomUUID();
  user: RegisteredUser | undefined = undefined;
  nonces: Session['nonces'] = undefined;
  readonly #parts: ClientSocketParts;
  #unansweredPings = 0;
  /** Frames that may be read now. */
  #allowance: number;
  /** Frames above the limit. The socket is paused meanwhile, so these are at most what had already arrived. */
  #held: (readonly [data: Buffer, isBinary: boolean])[] = [];
  readonly #delayed: (() => void)[] = [];
  #cancelRefill: (() => void) | undefined;

  constructor(parts: ClientSocketParts) {
    this.#parts = parts;
    const { socket, router } = parts;
    this.#allowance = router.rules.limits.framesPerSecond;
    socket.on('message', (data, isBinary) => this.#limit(data as Buffer, isBinary));
    socket.on('pong', () => (this.#unansweredPings = 0));
  }

  /** Handles the end of the connection. Held frames were not acknowledged, so the client resends them. */
  closed(): void {
    this.#cancelRefill?.();
    this.#held = [];
    this.#parts.router.disconnected(this);
  }

  send(text: string): void {
    const { socket, faults } = this.#parts;
    if (faults.breaks()) return socket.terminate();
    if (this.#network?.lose === true) return;
    this.#delay(() => {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(text);
      if (socket.bufferedAmount > maxBuffered) socket.terminate();
    });
  }

  close(code: number, reason: string): void {
    this.#delay(() => this.closeNow(code, reason));
  }

  get #network(): CallNetwork | undefined {
    return this.#parts.faults.steering.networkOf(this.user?.cuid);
  }

  /** Calls `send` after the latency. The order is preserved when a test shortens it. */
  #delay(send: () => void): void {
    const { faults, timers } = this.#parts;
    const delayMs = faults.latencyMs() + (this.#network?.delayMs ?? 0);
    if (delayMs === 0 && this.#delayed.length === 0) return send();
    this.#delayed.push(send);
    timers.after(delayMs, () => this.#delayed.shift()?.());
  }

  /** Closes the socket without the simulated latency. */
  closeNow(code: number, reason: string): void {
    const { socket } = this.#parts;
    socket.close(code, reason);
    // The closing handshake needs the client's answer.
    if (socket.isPaused) socket.resume();
  }

  /** Ends the connection without a closing handshake. */
  drop(): void {
    this.#parts.socket.terminate();
  }

  /** Sends a ping; drops a client that did not answer the last two. */
  ping(): void {
    const { socket } = this.#parts;
    // An answer may wait behind the frames of a paused socket.
    if (socket.isPaused) return;
    if (this.#unansweredPings === 2) return this.drop();
    this.#unansweredPings += 1;
    socket.ping();
  }

  /** Reads at most the allowed number of frames per second, so that one client cannot delay the others. */
  #limit(data: Buffer, isBinary: boolean): void {
    const { socket } = this.#parts;
    if (socket.readyState !== socket.OPEN) return;
    if (this.#allowance === 0) {
      this.#held.push([data, isBinary]);
      if (!socket.isPaused) socket.pause();
      return;
    }
    this.#allowance -= 1;
    this.#scheduleRefill();
    this.#receive(data, isBinary);
  }

  #scheduleRefill(): void {
    this.#cancelRefill ??= this.#parts.timers.after(refillMs, () => this.#refill());
  }

  #refill(): void {
    const { socket, router } = this.#parts;
    this.#cancelRefill = undefined;
    const { framesPerSecond } = router.rules.limits;
    const refill = Math.ceil((framesPerSecond * refillMs) / 1000);
    this.#allowance = Math.min(framesPerSecond, this.#allowance + refill);
    for (const [data, isBinary] of this.#held.splice(0, this.#allowance))
      this.#limit(data, isBinary);
    if (this.#allowance < framesPerSecond) this.#scheduleRefill();
    if (socket.isPaused && this.#held.length === 0) socket.resume();
  }

  #receive(data: RawData, isBinary: boolean): void {
    const { router, onAuthenticated } = this.#parts;
    this.#unansweredPings = 0;
    if (this.#network?.lose === true) return;
    if (isBinary) return this.close(1003, 'frames must be text');
    const text = (data as Buffer).toString();
    const parsed = parseClientFrame(text);
    if (parsed.kind === 'malformed') return this.close(closeCodes.malformed, 'not a JSON object');
    const isMedia = parsed.kind === 'frame' && parsed.frame.t === 'sdp';
    if (!isMedia && Buffer.byteLength(text) > frameBytes) return this.close(1009, 'too long');
    if (parsed.kind === 'frame') {
      router.receive(this, parsed.frame);
      if (parsed.frame.t === 'auth' && this.user) onAuthenticated();
    }
    if (parsed.kind === 'invalid' && parsed.id !== undefined)
      router.reject(this, parsed.id, parsed.message);
  }
}
