export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>;

interface SeenHeaders {
  readonly sent: HttpHeaders;
  readonly received: HttpHeaders;
}

/** A request that has ended, for a log: without its query and its body, which name people. */
export interface RequestLogEntry {
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
export function formatRequest({ method, url, of, status, ...seen }: RequestLogEntry): string {
  const what = of === undefined ? `${method} ${url}` : `${method} ${url}, ${of}`;
  const came = seen.failure ?? `${status}, ${seen.receivedBytes} bytes`;
  return `${what}: ${came}, ${seen.ms} ms`;
}

/** Its headers and sizes, a line each; `>` was sent, `<` was received. */
export function formatHeaders(
  { method, url, status, ...seen }: RequestLogEntry,
  { sent, received }: SeenHeaders,
): string {
  return [
    `> ${method} ${url}, ${seen.sentBytes} bytes`,
    ...lines('>', sent),
    `< ${status ?? 'no answer'}, ${seen.receivedBytes} bytes`,
    ...lines('<', received),
  ].join('\n');
}

/**
 * Gives the headers of a request that differ from those before it, as a thousand pages have the same
 * ones; of one that failed all. Undefined where none differs.
 */
export function changedHeaders(): (seen: RequestLogEntry) => SeenHeaders | undefined {
  const before = new Map<string, unknown>();
  const newIn = (sign: string, headers: HttpHeaders): HttpHeaders =>
    Object.fromEntries(
      Object.entries(headers).filter(([name, value]) => {
        const of = `${sign} ${name.toLowerCase()}`;
        const isNew = before.has(of) ? before.get(of) !== value && !varying.has(of) : true;
        before.set(of, value);
        return isNew;
      }),
    );
  return ({ headers, status, failure }) => {
    const all = headers();
    const news = { sent: newIn('>', all.sent), received: newIn('<', all.received) };
    if (status !== 200 || failure !== undefined) return all;
    return Object.keys({ ...news.sent, ...news.received }).length > 0 ? news : undefined;
  };
}

/** They differ each time, and the line of the request tells as much. */
const varying: ReadonlySet<string> = new Set(['< date', '< content-length']);

const lines = (sign: string, headers: HttpHeaders) =>
  Object.entries(headers).map(([name, value]) => `${sign} ${name}: ${String(value)}`);

const secret = /passcode|password|secret|token|authorization|authenticate|cookie|api-?key/i;

/** The same headers, fit for a log. `shown` takes the passcode out of all of them. */
export const redactHeaders = (
  headers: HttpHeaders,
  shown: (words: string) => string,
): HttpHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      secret.test(name) ? '[redacted]' : shown(String(value)),
    ]),
  );
