import { headerNames } from '../../contract/endpoints.js';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.js';
import type { EndpointName } from '../endpoints.js';

/** A request of the API as it arrived, and what became of it. */
export interface LoggedRequest {
  /** Counts from 1, and goes on counting when the list is cleared. */
  readonly id: number;
  /** ISO 8601, by the service's clock. */
  readonly at: string;
  /** Null for a path that is no endpoint. */
  readonly endpoint: EndpointName | null;
  readonly method: string;
  /** Path and query as they were sent. */
  readonly url: string;
  /** Without credentials. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** The body's text; undefined when there was none, or when it had to make room for later ones. */
  body: string | undefined;
  bodyBytes: number;
  /** HTTP status; null while there is no answer, or when the connection broke first. */
  status: number | null;
  /** Milliseconds to the end of the answer, or to that of the connection; null until then. */
  ms: number | null;
  /** The id of the fault rule that was played. */
  fault: number | null;
}

const mostRequests = 1000;
/** Characters of all bodies together, unless the options say otherwise. */
const usualText = 16 * 1024 * 1024;

interface RequestLogOptions {
  readonly headerPrefixes: readonly string[];
  /** Milliseconds since 1970: the world's time, by which answers are measured. */
  readonly now: () => number;
  /** The service's time. */
  readonly clock: Clock;
  /** Characters of all bodies together that are kept. */
  readonly mostText: number | undefined;
  /** Told of each request when it is over. */
  readonly onRequest: ((seen: LoggedRequest) => void) | undefined;
}

/** The latest 1000 requests of the API, with their bodies as long as these have place in 16 MiB. */
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

  /** Notes a request whose head has arrived. */
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

  /** Those after the id, of one endpoint or of all, oldest first. */
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
