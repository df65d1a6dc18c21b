import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { provenText, type RouterFrames } from '../../../src/calling/protocol.js';

export type Frame = Readonly<Record<string, unknown>> & { readonly t: string; readonly id: number };

/** Content of an answer; `undefined`: none is sent. */
type Script = (frame: Frame) => { readonly data: object } | { readonly refuse: string } | undefined;

export interface ScriptedRouter {
  readonly url: string;
  /** All frames that came, but greetings, probes and what was only seen. */
  readonly heard: Frame[];
  /** Frames received, in order. */
  readonly texts: string[];
  /** `seq` that were seen. */
  readonly seen: number[];
  /** Instead of a plain yes. */
  answer(type: string, script: Script): void;
  /** Sends a frame with the next `seq`, on the newest socket. */
  send<T extends keyof RouterFrames>(type: T, body: RouterFrames[T]): void;
  /** Sends a frame with the `seq` of the latest. */
  resend<T extends keyof RouterFrames>(type: T, body: RouterFrames[T]): void;
  /** Sends a frame as it is, on the newest socket. */
  sendRaw(frame: object): void;
  /** Closes the newest socket with this code, or cuts it. */
  drop(code?: number): void;
  /** Number of open sockets. */
  sockets(): number;
  /** Resolves when the newest socket's client has dealt with all that was sent to it, and what it sent back has come. */
  settled(): Promise<void>;
  /** No longer listens. */
  stop(): void;
}

interface RouterOptions {
  readonly port?: number;
  /** By which it proves that it is the router: that of the clients of tests by default. */
  readonly apiKey?: string;
}

/** A router that says what the test wants: for answers that the real one does not give at will. */
export async function scriptedRouter({
  port = 0,
  apiKey = 'call-key',
}: RouterOptions = {}): Promise<ScriptedRouter> {
  const server = new WebSocketServer({ host: '127.0.0.1', port });
  await once(server, 'listening');
  const close = () => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  };
  onTestFinished(close);
  const heard: Frame[] = [];
  const texts: string[] = [];
  const seen: number[] = [];
  const prove =
    (nonce: string): Script =>
    (frame) => {
      const text = provenText.router(String(frame['nonce']), nonce);
      return { data: { nonce, proof: createHmac('sha256', apiKey).update(text).digest('hex') } };
    };
  const scripts = new Map<string, Script>([
    ['hello', prove('nonce of the router')],
    ['auth', () => ({ data: { session: 's', replay: 0, lastSeq: seq } })],
    ['call', () => ({ data: { callId: 'call-1' } })],
  ]);
  let seq = 0;
  let newest: WebSocket | undefined;

  server.on('connection', (socket) => {
    newest = socket;
    socket.on('message', (data: Buffer) => {
      texts.push(data.toString('utf8'));
      const frame = JSON.parse(data.toString('utf8')) as Frame;
      if (frame.t === 'seen') seen.push(Number(frame['seq']));
      else if (frame.t !== 'hello' && frame.t !== 'probe') heard.push(frame);
      const script = scripts.get(frame.t) ?? (() => ({ data: {} }));
      const answer = frame.t === 'seen' ? undefined : script(frame);
      if (answer === undefined) return;
      const ack =
        'data' in answer
          ? { ok: true, data: answer.data }
          : { ok: false, err: { name: answer.refuse, message: `no: ${answer.refuse}` } };
      socket.send(JSON.stringify({ t: 'ack', re: frame.id, ...ack }));
    });
  });

  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    texts,
    seen,
    answer: (type, script) => void scripts.set(type, script),
    send: (type, body) => {
      seq += 1;
      newest?.send(JSON.stringify({ t: type, seq, ...body }));
    },
    resend: (type, body) => newest?.send(JSON.stringify({ t: type, seq, ...body })),
    sendRaw: (frame) => newest?.send(JSON.stringify(frame)),
    drop: (code) => (code === undefined ? newest?.terminate() : newest?.close(code)),
    sockets: () => server.clients.size,
    settled: async () => {
      const socket = newest!;
      // The first answer follows what was sent before it, the second what the client did about that.
      for (let round = 0; round < 2; round += 1) {
        const answered = once(socket, 'pong');
        socket.ping();
        await answered;
      }
    },
    stop: close,
  };
}
