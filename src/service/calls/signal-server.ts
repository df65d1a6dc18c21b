import { once } from 'node:events';
import { WebSocketServer, type WebSocket } from 'ws';
import { closeCodes, sdpFrameBytes, subprotocol } from '../../calling/protocol.js';
import { SignalSocket, type Weather } from './websocket-server.js';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Alarms } from './alarms.js';
import type { CallRouter } from './call-router.js';

/** Sockets that have not said who they are. */
const mostUnknown = 1000;

interface Ground {
  readonly router: CallRouter;
  readonly alarms: Alarms;
  readonly weather: Weather;
}

/** All sockets of the calling system. */
export class SignalServer {
  readonly #ground: Ground;
  readonly #sockets = new Set<SignalSocket>();
  readonly #unknown = new Set<SignalSocket>();
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: sdpFrameBytes,
    handleProtocols: () => subprotocol,
  });

  constructor(ground: Ground) {
    this.#ground = ground;
    const { alarms, router } = ground;
    alarms.every(router.rules.timers.ping, () => {
      for (const socket of this.#sockets) socket.ping();
    });
  }

  get isFull(): boolean {
    return this.#unknown.size >= mostUnknown;
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
    const socket = new SignalSocket({ socket: opened, router, weather, onKnown });
    const cancel = alarms.after(router.rules.timers.auth, () =>
      socket.close(closeCodes.authTimeout, 'no auth in time'),
    );
    this.#sockets.add(socket);
    this.#unknown.add(socket);
    opened.on('error', () => undefined); // 'close' follows
    opened.on('close', () => {
      onKnown();
      this.#sockets.delete(socket);
    });
  }
}
