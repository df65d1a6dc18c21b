import { openConnectionPools } from './connection-pool.js';
import { connectionFailure, RequestFailure, type Failure } from './failure.js';
import { redactHeaders, type HttpHeaders, type RequestLogEntry } from './request-log.js';
import { StallTimer, RequestTimeout, type TimeoutKind } from './timeouts.js';
import type { Dispatcher } from 'undici';
import type { Redact } from '../redact.js';

export interface TransportOptions {
  /** Base URL of the service; its path is a prefix of every endpoint. */
  readonly baseUrl: string;
  /** Headers of every request, including secret ones. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly redact: Redact;
  /** Proxy and certificate variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Called when a request has ended. */
  readonly onRequest: (seen: RequestLogEntry) => void;
  /** Receives the headers of each response. */
  readonly onHeaders?: (headers: HttpHeaders) => void;
  readonly monotonic: () => number;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly endpoint: string;
  /** Encoded query including `?`; used as is. */
  readonly query?: string;
  readonly body?: Buffer;
  readonly limit: TimeoutKind;
  /**
   * Not safe to resend: uses a new connection. The service may close a kept one at the same moment,
   * which leaves the outcome unknown.
   */
  readonly once?: boolean;
  /** Purpose, for the request log. */
  readonly of?: string | undefined;
}

export interface RawResponse extends Head {
  readonly read: ReadBody;
}

/**
 * Passes the body to `take` as it arrives. Call once; nothing is received before. Throws
 * RequestFailure if the body is truncated, and errors of `take`, which abort the request.
 */
export type ReadBody = (take: OnChunk) => Promise<void>;

export type Transport = Awaited<ReturnType<typeof openTransport>>;

export async function openTransport(options: TransportOptions) {
  const base = new URL(options.baseUrl);
  const dispatchers = await openConnectionPools(base, options);
  const stall = new StallTimer(options.timeoutMs, options.monotonic);
  return {
    base,
    stall,
    /** Sends one request without retries or redirects. Throws RequestFailure, or the signal's reason. */
    send: (exchange: HttpRequest, signal: AbortSignal): Promise<RawResponse> => {
      const dispatcher = exchange.once ? dispatchers.unused() : dispatchers.kept;
      return new Sending({ ...options, stall }, exchange, signal).run(dispatcher, base);
    },
    close: () => dispatchers.destroy(),
  };
}

interface SendingOptions extends TransportOptions {
  readonly stall: StallTimer;
}

/** One request in flight. */
class Sending {
  readonly #options: SendingOptions;
  readonly #exchange: HttpRequest;
  readonly #caller: AbortSignal;
  readonly #watch: RequestTimeout;
  readonly #started: number;
  readonly #arrival: ResponseHandler;
  #head: Head | undefined;
  #receivedBytes = 0;

  constructor(options: SendingOptions, exchange: HttpRequest, caller: AbortSignal) {
    this.#options = options;
    this.#exchange = exchange;
    this.#caller = caller;
    this.#watch = new RequestTimeout(options.timeoutMs, exchange.limit, caller);
    this.#arrival = new ResponseHandler(this.#watch.signal);
    this.#started = options.monotonic();
  }

  async run(dispatcher: Dispatcher, base: URL): Promise<RawResponse> {
    const { method, endpoint, query = '', body = null } = this.#exchange;
    const { stall } = this.#options;
    stall.began();
    try {
      this.#watch.signal.throwIfAborted();
      const request = {
        origin: base.origin,
        path: `${base.pathname.replace(/\/$/, '')}${endpoint}${query}`,
        method,
        headers: this.#options.headers,
        body,
      };
      dispatcher.dispatch(request, this.#arrival);
      const head = await this.#arrival.head;
      this.#watch.received();
      this.#head = head;
      this.#options.onHeaders?.(head.headers);
      return { ...head, read: (take) => this.#read(take) };
    } catch (error) {
      this.#watch.stop();
      throw this.#failed(error);
    } finally {
      stall.ended();
    }
  }

  async #read(take: OnChunk): Promise<void> {
    const { stall } = this.#options;
    let isTaking = false;
    stall.began();
    try {
      await this.#arrival.read((chunk) => {
        this.#receivedBytes += chunk.length;
        isTaking = true;
        take(chunk);
        isTaking = false;
        this.#watch.received(chunk.length);
        stall.received();
      });
      this.#report();
    } catch (error) {
      throw isTaking ? error : this.#failed(error);
    } finally {
      stall.ended();
      this.#watch.stop();
    }
  }

  /** Converts an error to the request's failure, the caller's abort reason, or itself (a defect). */
  #failed(error: unknown): unknown {
    if (this.#caller.aborted) return this.#caller.reason;
    const failure = this.#failureOf(error);
    if (failure === undefined) return error;
    this.#report(failure);
    return new RequestFailure(failure, { cause: error });
  }

  #failureOf(error: unknown): Failure | undefined {
    const { sent } = this.#arrival;
    if (this.#watch.missed !== undefined) {
      const seconds = this.#options.timeoutMs / 1000;
      return { kind: 'timeout', sent, message: `${this.#watch.missed} within ${seconds} s` };
    }
    return connectionFailure(error, sent, this.#options.redact);
  }

  #report(failure?: Failure): void {
    const { onRequest, baseUrl, headers, redact, monotonic } = this.#options;
    const { method, endpoint, of, body } = this.#exchange;
    const { host, pathname } = new URL(baseUrl);
    onRequest({
      method,
      url: `${host}${pathname.replace(/\/$/, '')}${endpoint}`,
      of,
      status: this.#head?.status,
      failure: failure?.message,
      sentBytes: body?.length ?? 0,
      receivedBytes: this.#receivedBytes,
      ms: Math.round(monotonic() - this.#started),
      headers: () => ({
        sent: redactHeaders(headers, redact),
        received: redactHeaders(this.#head?.headers ?? {}, redact),
      }),
    });
  }
}

interface Head {
  readonly status: number;
  readonly headers: HttpHeaders;
}

/** Receives body chunks. Throwing aborts the request. */
export type OnChunk = (chunk: Buffer) => void;

/**
 * undici handler of one response: first the head, then the body once `read` is called, each chunk
 * synchronously. A stream of undici costs twice as much per chunk.
 */
class ResponseHandler implements Dispatcher.DispatchHandler {
  /** Rejects with the error of the request, or the reason of the signal. */
  readonly head: Promise<Head>;
  /** undici started to write the request to a connection; before that, the service cannot have it. */
  sent = false;
  readonly #signal: AbortSignal;
  readonly #body: Promise<void>;
  #controller: Dispatcher.DispatchController | undefined;
  #begin!: (head: Head) => void;
  #end!: () => void;
  #fail!: (error: unknown) => void;
  #take!: OnChunk;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#abort(), { once: true });
    const failed = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    const head = new Promise<Head>((resolve) => {
      this.#begin = resolve;
    });
    const end = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    this.head = Promise.race([head, failed]);
    this.#body = Promise.race([end, failed]);
    this.#body.catch(() => undefined); // `read` reports it
  }

  /** Passes the body to `take`. Call once. Rejects if it is truncated. */
  async read(take: OnChunk): Promise<void> {
    this.#take = take;
    this.#controller!.resume();
    await this.#body;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal.aborted) this.#abort();
    else this.sent = true;
  }

  /** Pauses the body until `read` is called. */
  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: HttpHeaders,
  ): void {
    if (status < 200) return;
    controller.pause();
    this.#begin({ status, headers });
  }

  /** An error of `take` makes undici abort the request. */
  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#take(chunk);
  }

  onResponseEnd(): void {
    this.#end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  /** Fails at once: undici notices an abort only when it has a connection. */
  #abort(): void {
    const reason = this.#signal.reason as Error;
    this.#controller?.abort(reason);
    this.#fail(reason);
  }
}
