import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { startLoopbackServer, type LoopbackServer } from './loopback-server.js';
import { resetSocket } from './reset-socket.js';

/** A request as it arrived, not validated. */
export interface Received {
  readonly method: string;
  /** Path and query, as text. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The part of the body that was read; empty if the step did not read it. */
  body: Buffer;
}

export interface Exchange {
  readonly received: Received;
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** Reads the request to its end. */
  readonly read: () => Promise<void>;
  /** Reads the request and notes it as carried out. */
  readonly execute: () => Promise<void>;
}

/** Handles one request. Built from the functions below. */
export type Step = (exchange: Exchange) => void | Promise<void>;
/** The steps of the requests in order of arrival, the last one for all that follow; or a choice. */
export type Script = readonly [Step, ...Step[]] | ((received: Received, index: number) => Step);

export interface FaultServer extends LoopbackServer {
  /** Every request, in order of arrival. */
  readonly received: readonly Received[];
  /** The requests that were carried out, in that order. */
  readonly executed: readonly Received[];
  readonly mostInFlight: number;
}

/**
 * A scripted service on a loopback port. Requests beyond `inFlight` are answered by 429 and take
 * no step of the script.
 */
export async function startFaultServer(
  script: Script,
  { inFlight = Number.POSITIVE_INFINITY }: { readonly inFlight?: number } = {},
): Promise<FaultServer> {
  const received: Received[] = [];
  const executed: Received[] = [];
  let open = 0;
  let mostInFlight = 0;
  let taken = 0;

  const stepFor = (entry: Received): Step => {
    if (open > inFlight) return throttle();
    const index = taken;
    taken += 1;
    if (typeof script === 'function') return script(entry, index);
    return script[Math.min(index, script.length - 1)] ?? script[0];
  };

  const deal = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers, socket } = request;
    const entry: Received = { method, url, headers, body: Buffer.alloc(0) };
    received.push(entry);
    open += 1;
    mostInFlight = Math.max(mostInFlight, open);
    response.once('close', () => (open -= 1));
    const read = async () => {
      if (!request.readableEnded) entry.body = await buffer(request);
    };
    const execute = async () => {
      await read();
      executed.push(entry);
    };
    await stepFor(entry)({ received: entry, response, socket, read, execute });
  };

  const server = await startLoopbackServer((request, response) => {
    deal(request, response).catch(() => request.socket.destroy());
  });
  return {
    ...server,
    received,
    executed,
    get mostInFlight() {
      return mostInFlight;
    },
  };
}

type Headers = Readonly<Record<string, string>>;
const json = { 'Content-Type': 'application/json' };

/** Answers without carrying anything out. An object is sent as JSON. */
export function answer(status: number, body: object | string = '', headers: Headers = {}): Step {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return async ({ read, response }) => {
    await read();
    response.writeHead(status, { ...json, 'Content-Length': Buffer.byteLength(text), ...headers });
    response.end(text);
  };
}

/** Executes the request, then the given step: `commit(reset())`, `commit(hang())`, … */
export const commit =
  (step: Step): Step =>
  async (exchange) => {
    await exchange.execute();
    await step(exchange);
  };

/** Says that all records of a write were processed. */
export const accepted = (): Step => async (exchange) => {
  await exchange.read();
  const sent = JSON.parse(exchange.received.body.toString()) as { readonly d?: readonly unknown[] };
  const counts = sent.d ? { processed: sent.d.length, unprocessed: [] } : {};
  await answer(200, { status: 'success', ...counts })(exchange);
};

/** Executes a write and confirms it. */
export const accept = (): Step => commit(accepted());

/** A connection reset. By itself before the body is read; `afterReading(reset())` after it. */
export const reset =
  (): Step =>
  ({ socket }) =>
    resetSocket(socket);

export const afterReading =
  (step: Step): Step =>
  async (exchange) => {
    await exchange.read();
    await step(exchange);
  };

/** Closes the connection in the regular way, without an answer. */
export const hangUp =
  (): Step =>
  ({ socket }) =>
    void socket.end();

/** Never answers. */
export const hang = (): Step => () => undefined;

export const after =
  (milliseconds: number, step: Step): Step =>
  async (exchange) => {
    await delay(milliseconds);
    await step(exchange);
  };

/** Sends the answer's head, then the body in pieces of `bytes`, a pause before each. */
export const drip =
  (body: string, { bytes, pauseMs }: { readonly bytes: number; readonly pauseMs: number }): Step =>
  async ({ read, response }) => {
    await read();
    response.writeHead(200, { ...json, 'Content-Length': Buffer.byteLength(body) });
    response.flushHeaders();
    for (let at = 0; at < body.length && !response.destroyed; at += bytes) {
      await delay(pauseMs);
      response.write(body.slice(at, at + bytes));
    }
    response.end();
  };

/** Sends the head and the first `bytes` of the body, then nothing, with the connection open. */
export const stall =
  (body: string, bytes: number): Step =>
  async ({ read, response }) => {
    await read();
    response.writeHead(200, { ...json, 'Content-Length': Buffer.byteLength(body) });
    response.write(body.slice(0, bytes));
  };

/** Framing of a body: by its length, by chunks, or by the end of the connection. */
export type Framing = 'length' | 'chunked' | 'close';

/** An answer that breaks off after `bytes` of its body. */
export const cut =
  (body: string, bytes: number, framing: Framing): Step =>
  async ({ read, socket }) => {
    await read();
    const part = body.slice(0, bytes);
    const head = {
      length: `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${part}`,
      chunked: `Transfer-Encoding: chunked\r\n\r\n${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`,
      close: `Connection: close\r\n\r\n${part}`,
    }[framing];
    socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${head}`);
  };

export const html = (status = 200): Step =>
  answer(status, '<!doctype html><title>Sign in to this network</title>', {
    'Content-Type': 'text/html',
  });

/** 429; `retryAfter` as it stands in the header. */
export const throttle = (retryAfter?: string, headers: Headers = {}): Step =>
  answer(
    429,
    { status: 'fail', error: 'Too many concurrent requests', code: 429 },
    retryAfter === undefined ? headers : { 'Retry-After': retryAfter, ...headers },
  );

export const redirect = (status: number, location: string): Step =>
  answer(status, '', { Location: location });
