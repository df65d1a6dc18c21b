export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>;

interface SeenHeaders {
  readonly sent: HttpHeaders;
  readonly received: HttpHeaders;
}

/** A completed request for the log, without query and body, which contain personal data. */
export interface RequestLogEntry {
  readonly method: string;
  /** Host and path, like `eu1.api.example.com/1/upload`. */
  readonly url: string;
  /** Purpose, like `users.csv:2-1001 (1,000 records)`. */
  readonly of: string | undefined;
  /** Undefined without a response. */
  readonly status: number | undefined;
  /** Why the response is missing or incomplete. */
  readonly failure: string | undefined;
  /** Lengths of the bodies. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly ms: number;
  /** Headers of request and response, without secrets. */
  readonly headers: () => SeenHeaders;
}

/** Formats a request as one line. */
export function formatRequest({ method, url, of, status, ...seen }: RequestLogEntry): string {
  const what = of === undefined ? `${method} ${url}` : `${method} ${url}, ${of}`;
  const came = seen.failure ?? `${status}, ${seen.receivedBytes} bytes`;
  return `${what}: ${came}, ${seen.ms} ms`;
}

/** Formats headers and sizes, one per line; `>` marks sent ones, `<` received ones. */
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
 * Creates a filter that returns the headers that changed since the previous request (all headers of
 * a failed one); undefined if none did.
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

/** Headers that differ each time and add nothing to the line of the request. */
const varying: ReadonlySet<string> = new Set(['< date', '< content-length']);

const lines = (sign: string, headers: HttpHeaders) =>
  Object.entries(headers).map(([name, value]) => `${sign} ${name}: ${String(value)}`);

const secret = /passcode|password|secret|token|authorization|authenticate|cookie|api-?key/i;

/** Redacts headers for a log: secret ones completely, the passcode in all of them. */
export const redactHeaders = (
  headers: HttpHeaders,
  redact: (words: string) => string,
): HttpHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      redact(name),
      secret.test(name) ? '[redacted]' : redact(String(value)),
    ]),
  );
