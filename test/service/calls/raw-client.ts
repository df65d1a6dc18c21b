import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import {
  signalPath,
  subprotocol,
  type Ack,
  type ClientFrames,
  type RouterFrame,
} from '../../../src/calling/protocol.js';
import type { CallOptions, ServiceOptions } from '../../../src/service/start.js';
import { until } from '../../support/until.js';
import { run, type Running } from '../running.js';

export const callAccount = { accountId: 'CALL-ACCOUNT', apiKey: 'call-key' };

/** A service with calling. Its times are as they are, so that only those a test shortens can be up. */
export const runRouter = (
  calls: Partial<CallOptions> = {},
  options: Partial<ServiceOptions> = {},
): Promise<Running> => run({ ...options, calls: { ...callAccount, ...calls } });

/** A client that says just what a test wants it to say. */
export class RawClient {
  readonly socket: WebSocket;
  /** What came, without acks; as it is, doubled or not. */
  readonly frames: RouterFrame[] = [];
  readonly closed: Promise<number>;
  readonly #acks = new Map<number, (ack: Ack) => void>();
  #id = 0;
  /** Id of the frame that was answered last. */
  lastAck = 0;

  constructor(url: string, headers: Record<string, string> = {}) {
    const address = url.replace('http', 'ws') + signalPath;
    this.socket = new WebSocket(address, subprotocol, { headers });
    this.socket.on('message', (data: Buffer) => this.#take(data.toString()));
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.socket.on('close', resolve));
    onTestFinished(() => this.socket.terminate());
  }

  async opened(): Promise<this> {
    if (this.socket.readyState === WebSocket.CONNECTING) await once(this.socket, 'open');
    return this;
  }

  /** The ack's data, or its refusal. */
  async ask<T extends keyof ClientFrames>(t: T, frame: ClientFrames[T]): Promise<unknown> {
    const ack = await this.raw({ t, ...frame });
    return ack.ok ? (ack.data ?? 'ok') : ack.err.name;
  }

  /** The ack of a frame of any shape. */
  raw(frame: object): Promise<Ack> {
    this.#id += 1;
    const id = this.#id;
    const answered = new Promise<Ack>((resolve) => this.#acks.set(id, resolve));
    this.socket.send(JSON.stringify({ id, ...frame }));
    const closed = this.closed.then((code): Ack => {
      const message = 'the socket was closed before the answer';
      return { t: 'ack', re: id, ok: false, err: { name: `closed ${code}` as never, message } };
    });
    return Promise.race([answered, closed]);
  }

  async call(to: string, context = 'hello'): Promise<string> {
    const data = await this.ask('call', { to, context });
    if (typeof data !== 'object') throw new Error(JSON.stringify(data));
    return (data as { callId: string }).callId;
  }

  /** Names of the events that came, and `incoming`, `over`, `missed`, `action` for these. */
  get events(): string[] {
    return this.frames.map((frame) => (frame.t === 'event' ? frame.event : frame.t));
  }

  get lastSeq(): number {
    return this.frames.at(-1)?.seq ?? 0;
  }

  /** Waits until so many frames have come; nothing else may come before. */
  async got(...events: string[]): Promise<void> {
    await until(() => this.frames.length >= events.length || this.socket.readyState > 1, {
      message: () => `${JSON.stringify(this.events)} is to become ${JSON.stringify(events)}`,
    });
    const all = JSON.stringify(this.events);
    if (all !== JSON.stringify(events)) throw new Error(`${all} is not ${JSON.stringify(events)}`);
  }

  #take(text: string): void {
    const frame = JSON.parse(text) as Ack | RouterFrame;
    if (frame.t === 'ack') {
      this.lastAck = frame.re;
      this.#acks.get(frame.re)?.(frame);
    } else this.frames.push(frame);
  }
}

export interface Join extends Partial<ClientFrames['auth']> {
  readonly cuid: string;
}

export const authOf = (join: Join): ClientFrames['auth'] => ({
  ...callAccount,
  deviceId: `device of ${join.cuid}`,
  platform: 'android',
  caps: {},
  missedCallActions: {},
  ...join,
});

/** A client whose `auth` was accepted. */
export async function join(
  url: string,
  cuid: string,
  more: Partial<Join> = {},
): Promise<RawClient> {
  const client = await new RawClient(url).opened();
  const answer = await client.ask('auth', authOf({ cuid, ...more }));
  if (typeof answer !== 'object') throw new Error(JSON.stringify(answer));
  return client;
}

/** The answer to a REST request with the calling account's credentials. */
export async function askRest(
  { url }: Running,
  method: 'GET' | 'POST',
  path: string,
  apiKey = callAccount.apiKey,
): Promise<Record<string, unknown>> {
  const headers = { 'X-Service-Account-Id': callAccount.accountId, 'X-Service-Passcode': apiKey };
  const answer = await fetch(url + path, { method, headers });
  return { http: answer.status, ...((await answer.json()) as object) };
}
