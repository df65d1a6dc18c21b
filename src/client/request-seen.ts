import type { Headers } from './arrival.js';

interface SeenHeaders {
  readonly sent: Headers;
  readonly received: Headers;
}

/** A request that has ended, for a log: without its query and its body, which name people. */
export interface RequestSeen {
  readonly method: string;
  /** Host and path, like `eu1.api.example.com/1/upload`. */
  readonly url: string;
  /** What it was for, like `users.csv:2-1001 (1,000 records)`. */
  readonly of: string | undefined;
  /** Undefined where no answer came. */
  readonly status: number | undefined;
  /** Why there is no answer, or not all of it. */
  readonly failure: string | undefined;
  /** Of the bodies. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly ms: number;
  /** Of request and answer, without secrets. */
  readonly headers: () => SeenHeaders;
}

/** Tells of a request in a line. */
export function requestLineOf({ method, url, of, status, ...seen }: RequestSeen): string {
  const what = of === undefined ? `${method} ${url}` : `${method} ${url}, ${of}`;
  const came = seen.failure ?? `${status}, ${seen.receivedBytes} bytes`;
  return `${what}: ${came}, ${seen.ms} ms`;
}

/** Its headers and sizes, a line each; `>` was sent, `<` was received. */
export function headerLinesOf({ method, url, status, ...seen }: RequestSeen): string {
  const { sent, received } = seen.headers();
  return [
    `> ${method} ${url}, ${seen.sentBytes} bytes`,
    ...lines('>', sent),
    `< ${status ?? 'no answer'}, ${seen.receivedBytes} bytes`,
    ...lines('<', received),
  ].join('\n');
}

const lines = (sign: string, headers: Headers) =>
  Object.entries(headers).map(([name, value]) => `${sign} ${name}: ${String(value)}`);

const secret = /passcode|password|secret|token|authorization|authenticate|cookie|api-?key/i;

/** The same headers, fit for a log. `shown` takes the passcode out of all of them. */
export const withoutSecrets = (headers: Headers, shown: (words: string) => string): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      secret.test(name) ? '[redacted]' : shown(String(value)),
    ]),
  );
