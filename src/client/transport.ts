import type { Dispatcher } from 'undici';
import requestOf from 'undici/lib/api/api-request.js';
import { openDispatcher } from './dispatcher.js';
import { FailureError, type Failure } from './failure.js';
import { Watch, type TimeLimit } from './watch.js';

export interface TransportOptions {
  /** Address of the service; a path in it stands before every endpoint's. */
  readonly baseUrl: string;
  /** Headers of every request; the secret ones are in here. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  /** Proxy and certificate variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Gets one line for each request, without its query: that may name a person. */
  readonly log: (line: string) => void;
  /** Gets the headers of each answer. */
  readonly onHeaders?: (headers: Headers) => void;
  readonly monotonic: () => number;
}

export interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly endpoint: string;
  /** Encoded, from its `?` on; goes into the URL as it is. */
  readonly query?: string;
  readonly body?: Buffer;
  readonly limit: TimeLimit;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The body, at its reader's pace. Throws FailureError when it breaks off. */
  readonly chunks: AsyncIterable<Buffer>;
}
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface Transport {
  readonly base: URL;
  /** One request, no retry, no redirect. Throws FailureError, or the signal's reason when aborted. */
  send(exchange: Exchange, signal: AbortSignal): Promise<RawAnswer>;
  close(): Promise<void>;
}

export async function openTransport(options: TransportOptions): Promise<Transport> {
  const base = new URL(options.baseUrl);
  const dispatcher = await openDispatcher(base, options);
  return {
    base,
    send: (exchange, signal) => new Sending(options, exchange, signal).run(dispatcher, base),
    close: () => dispatcher.destroy(),
  };
}

/** One request on its way. */
class Sending {
  readonly #options: TransportOptions;
  readonly #exchange: Exchange;
  readonly #caller: AbortSignal;
  readonly #watch: Watch;
  readonly #started: number;
  /** Whether undici has begun to write it to a connection: before, the service cannot know of it. */
  #sent = false;

  constructor(options: TransportOptions, exchange: Exchange, caller: AbortSignal) {
    this.#options = options;
    this.#exchange = exchange;
    this.#caller = caller;
    this.#watch = new Watch(options.timeoutMs, exchange.limit, caller);
    this.#started = options.monotonic();
  }

  async run(dispatcher: Dispatcher, base: URL): Promise<RawAnswer> {
    const { method, endpoint, query = '', body = null } = this.#exchange;
    try {
      this.#watch.signal.throwIfAborted();
      const request = requestOf.call(dispatcher.compose(this.#noteSending), {
        origin: base.origin,
        path: `${base.pathname.replace(/\/$/, '')}${endpoint}${query}`,
        method,
        headers: this.#options.headers,
        body,
        signal: this.#watch.signal,
      });
      // undici notices an abort only once it has a connection.
      const response = await this.#watch.orAbort(request);
      this.#watch.resume();
      const { statusCode: status, headers } = response;
      this.#options.onHeaders?.(headers);
      return { status, headers, chunks: this.#read(status, response.body) };
    } catch (error) {
      this.#watch.stop();
      throw this.#failed(error);
    }
  }

  async *#read(status: number, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    try {
      for await (const chunk of body) {
        bytes += chunk.length;
        this.#watch.pause();
        yield chunk;
        this.#watch.resume();
      }
      this.#log(`${status}, ${bytes} bytes`);
    } catch (error) {
      throw this.#failed(error);
    } finally {
      this.#watch.stop();
    }
  }

  readonly #noteSending: Dispatcher.DispatcherComposeInterceptor =
    (dispatch) => (options, handler) =>
      dispatch(options, {
        onRequestStart: (controller, context) => {
          handler.onRequestStart?.(controller, context);
          if (!controller.aborted) this.#sent = true;
        },
        onResponseStart: (...event) => handler.onResponseStart?.(...event),
        onResponseData: (...event) => handler.onResponseData?.(...event),
        onResponseEnd: (...event) => handler.onResponseEnd?.(...event),
        onResponseError: (...event) => handler.onResponseError?.(...event),
      });

  /** What to throw for an error of this request: its failure, the caller's abort, or our own defect. */
  #failed(error: unknown): unknown {
    if (this.#caller.aborted) return this.#caller.reason;
    const failure = this.#failureOf(error);
    if (failure === undefined) return error;
    this.#log(failure.message);
    return new FailureError(failure, { cause: error });
  }

  #failureOf(error: unknown): Failure | undefined {
    const sent = this.#sent;
    if (this.#watch.timedOut) {
      const seconds = this.#options.timeoutMs / 1000;
      const what = this.#exchange.limit === 'whole' ? 'no complete answer' : 'no byte received';
      return { kind: 'timeout', sent, message: `${what} within ${seconds} s` };
    }
    const code = codeOf(error);
    if (code === undefined || code === 'UND_ERR_INVALID_ARG') return undefined;
    const kind = code === 'UND_ERR_CONNECT_TIMEOUT' ? 'timeout' : 'connection';
    return { kind, sent, message: messageOf(error, code) };
  }

  #log(outcome: string): void {
    const { method, endpoint } = this.#exchange;
    const milliseconds = Math.round(this.#options.monotonic() - this.#started);
    this.#options.log(`${method} ${endpoint}: ${outcome}, ${milliseconds} ms`);
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;

/** Several addresses may have been tried: then the first one's words stand for all. */
function messageOf(error: unknown, code: string): string {
  if (error instanceof AggregateError && error.message === '') {
    return messageOf(error.errors[0], code);
  }
  return error instanceof Error && error.message !== '' ? error.message : code;
}
