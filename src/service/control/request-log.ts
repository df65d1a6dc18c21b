import { headerNames } from '../../contract/endpoints.js';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.js';
import type { EndpointName } from '../endpoints.js';

/** A request of the API and its outcome. */
export interface LoggedRequest {
  /** Sequence number from 1; clearing the log does not reset it. */
  readonly id: number;
  /** ISO 8601, by the service's clock. */
  readonly at: string;
  /** Null for other paths of `/1/`. */
  readonly endpoint: EndpointName | null;
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  /** Without credentials. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** Text of the body; undefined if there was none, or if it was dropped for newer ones. */
  body: string | undefined;
  bodyBytes: number;
  /** HTTP status; null before the response, and if the connection broke first. */
  status: number | null;
  /** Milliseconds until the response, or the connection, ended; null before that. */
  ms: number | null;
  /** Id of the fault rule that was applied. */
  fault: number | null;
}

const mostRequests = 1000;
/** Default limit of all bodies together, in characters. */
const usualText = 16 * 1024 * 1024;

interface RequestLogOptions {
  readonly headerPrefixes: readonly string[];
  /** System time in milliseconds since 1970, to measure durations. */
  readonly now: () => number;
  /** The clock of the service, for timestamps. */
  readonly clock: Clock;
  /** Limit of all bodies together, in characters. */
  readonly mostText: number | undefined;
  /** Called for each request when it is finished. */
  readonly onRequest: ((seen: LoggedRequest) => void) | undefined;
}

/** The latest 1000 requests of the API, and their bodies within a limit. */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #secret: ReadonlySet<string>;
  #seen: LoggedRequest[] = [];
  #last = 0;
  #text = 0;

  constructor(options: RequestLogOptions) {
    this.#options = options;
    const names = options.headerPrefixes.flatMap((prefix) => Object.values(headerNames(prefix)));
    this.#secret = new Set([...names, 'authorization', 'cookie'].map((name) => name.toLowerCase()));
  }

  /** Adds a request whose head has arrived. */
  arrived(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: EndpointName | undefined,
  ): LoggedRequest {
    const { now, clock, onRequest } = this.#options;
    const started = now();
    const headers = Object.entries(request.headers).filter(([name]) => !this.#secret.has(name));
    const seen: LoggedRequest = {
      id: ++this.#last,
      at: new Date(clock.now()).toISOString(),
      endpoint: endpoint ?? null,
      method: request.method ?? '',
      url: request.url ?? '',
      headers: Object.fromEntries(headers),
      body: undefined,
      bodyBytes: 0,
      status: null,
      ms: null,
      fault: null,
    };
    this.#seen.push(seen);
    if (this.#seen.length > mostRequests) this.#forgetBody(this.#seen.shift());
    response.once('close', () => {
      seen.status = response.headersSent ? response.statusCode : null;
      seen.ms = Math.max(0, now() - started);
      onRequest?.(seen);
    });
    return seen;
  }

  keepBody(seen: LoggedRequest, body: string, bytes: number): void {
    const { mostText = usualText } = this.#options;
    seen.bodyBytes = bytes;
    if (!this.#seen.includes(seen)) return;
    seen.body = body;
    this.#text += body.length;
    for (const older of this.#seen) {
      if (this.#text <= mostText) break;
      this.#forgetBody(older);
    }
  }

  /** Returns the requests after an id, of one endpoint or all, oldest first. */
  list({ endpoint, since = 0 }: { endpoint?: EndpointName; since?: number } = {}): LoggedRequest[] {
    return this.#seen.filter(
      (seen) => seen.id > since && (endpoint === undefined || seen.endpoint === endpoint),
    );
  }

  clear(): void {
    this.#seen = [];
    this.#text = 0;
  }

  #forgetBody(seen: LoggedRequest | undefined): void {
    this.#text -= seen?.body?.length ?? 0;
    if (seen) seen.body = undefined;
  }
}
