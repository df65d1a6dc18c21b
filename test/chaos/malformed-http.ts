import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { resetSocket } from '../support/servers/reset-socket.js';

/** A request as far as it was read. */
export interface RawRequest {
  readonly method: string;
  readonly target: string;
  /** Undefined before all of it is read. */
  readonly body: Buffer | undefined;
  readonly connection: number;
  /** On its connection, from 0. */
  readonly index: number;
}

/** Bytes that go out, and how. */
export interface RawAnswer {
  /** Handed to the socket one by one, with a pause before each but the first. */
  readonly pieces: Iterable<Buffer | string>;
  readonly pauseMs?: number;
  /** What becomes of the connection then. */
  readonly end?: 'keep' | 'close' | 'reset';
  /** Before that. */
  readonly endAfterMs?: number;
}

export interface RawServer extends AsyncDisposable {
  readonly url: string;
  readonly connections: number;
}

/** Asked at the head of each request, and again when its body is there; undefined: nothing is sent then. */
export type Answering = (request: RawRequest) => RawAnswer | undefined;

/** A service that says what it likes: whatever bytes, at whatever speed; `greeting` as soon as somebody connects. */
export async function startRawServer(
  answer: Answering,
  greeting?: () => RawAnswer | undefined,
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    const greeted = greeting?.();
    if (greeted) void send(socket, greeted);
    const connection = connections;
    serve(socket, (request) => answer({ ...request, connection })).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One request after the other, in the order of a connection. */
async function serve(
  socket: Socket,
  answer: (request: Omit<RawRequest, 'connection'>) => RawAnswer | undefined,
): Promise<void> {
  let read = Buffer.alloc(0);
  let index = 0;
  let head: ReturnType<typeof headOf>;
  const tell = (request: Omit<RawRequest, 'connection'>) => {
    const given = answer(request);
    if (given) void send(socket, given);
  };
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    read = Buffer.concat([read, chunk]);
    for (;;) {
      if (!head) {
        head = headOf(read, index);
        if (!head) break;
        tell(head.request);
      }
      if (read.length < head.to) break;
      const body = read.subarray(head.from, head.to);
      tell({ ...head.request, body });
      read = read.subarray(head.to);
      head = undefined;
      index += 1;
    }
  }
}

function headOf(read: Buffer, index: number) {
  const end = read.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const text = read.toString('latin1', 0, end);
  const [method = '', target = ''] = text.split(' ', 2);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
  const request: Omit<RawRequest, 'connection'> = { method, target, body: undefined, index };
  return { request, from: end + 4, to: end + 4 + length };
}

async function send(socket: Socket, { pieces, pauseMs = 0, ...then }: RawAnswer): Promise<void> {
  const { end = 'keep', endAfterMs = 0 } = then;
  let isFirst = true;
  for (const piece of pieces) {
    if (!isFirst && pauseMs > 0) await delay(pauseMs);
    isFirst = false;
    if (socket.destroyed || !socket.writable) return;
    socket.write(piece);
  }
  if (endAfterMs > 0) await delay(endAfterMs);
  if (end === 'close') socket.end();
  if (end === 'reset') resetSocket(socket);
}

/** A whole answer as it should be. */
export const plain = (body: string, headers = ''): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${headers}` +
  `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
