import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.js';
import type { EndpointName } from '../../contract/endpoints.js';

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
  /** Values that look like credentials are masked. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** Text of the body, or its beginning if it exceeds a limit; undefined if there was none, or it was dropped for newer ones. */
  body: string | undefined;
  bodyBytes: number;
  /** HTTP status; null before the response, and if the connection broke first. */
  status: number | null;
  /** Milliseconds until the response, or the connection, ended; null before that. */
  ms: number | null;
  /** Id of the fault rule that was applied. */
  fault: number | null;
  /** Body of the response as sent, cut after 64 KiB; undefined if it was dropped for newer ones. */
  answer: string | undefined;
  /** `status` of the response body: `partial` and `fail` come with HTTP status 200, too. */
  result: 'success' | 'partial' | 'fail' | null;
  /** Why the request, or some of its records, were rejected. */
  reason: string | null;
  /** Deviations from the specification that strict mode rejects. */
  warnings: readonly string[];
}

const mostRequests = 1000;
/** Default limit of all bodies together, in characters. */
const usualText = 16 * 1024 * 1024;
/** Maximum characters of a body to keep: masking more would hold the event loop. */
const mostBody = 1024 * 1024;
/** Maximum bytes of a response to keep. */
const mostAnswer = 64 * 1024;

interface RequestLogOptions {
  /** Masked wherever it occurs. */
  readonly passcode: string;
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
  #seen: LoggedRequest[] = [];
  #last = 0;
  #text = 0;

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  /** Adds a request whose head has arrived. */
  arrived(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: EndpointName | undefined,
  ): LoggedRequest {
    const { passcode, now, clock, onRequest, mostText } = this.#options;
    const started = now();
    const answer = captureBody(response, mostText === 0 ? 0 : mostAnswer);
    const seen: LoggedRequest = {
      id: ++this.#last,
      at: new Date(clock.now()).toISOString(),
      endpoint: endpoint ?? null,
      method: request.method ?? '',
      url: maskSecrets(request.url ?? '', passcode),
      headers: maskedHeaders(request.headers, passcode),
      body: undefined,
      bodyBytes: 0,
      status: null,
      ms: null,
      fault: null,
      answer: undefined,
      result: null,
      reason: null,
      warnings: [],
    };
    this.#seen.push(seen);
    if (this.#seen.length > mostRequests) this.#forgetTexts(this.#seen.shift());
    response.once('close', () => {
      seen.status = response.headersSent ? response.statusCode : null;
      seen.ms = Math.max(0, now() - started);
      this.#keepAnswer(seen, answer());
      onRequest?.(seen);
    });
    return seen;
  }

  keepBody(seen: LoggedRequest, body: string, bytes: number): void {
    const { mostText = usualText } = this.#options;
    seen.bodyBytes = bytes;
    if (mostText === 0 || !this.#seen.includes(seen)) return;
    seen.body = maskSecrets(body.slice(0, mostBody), this.#options.passcode);
    this.#addText(seen.body.length);
  }

  #keepAnswer(seen: LoggedRequest, { head, tail }: CapturedBody): void {
    seen.result = resultOf(head, tail);
    if (!this.#seen.includes(seen)) return;
    seen.answer = maskSecrets(head, this.#options.passcode);
    this.#addText(seen.answer.length);
  }

  #addText(length: number): void {
    const { mostText = usualText } = this.#options;
    this.#text += length;
    for (const older of this.#seen) {
      if (this.#text <= mostText) break;
      this.#forgetTexts(older);
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

  #forgetTexts(seen: LoggedRequest | undefined): void {
    if (!seen) return;
    this.#text -= (seen.body?.length ?? 0) + (seen.answer?.length ?? 0);
    seen.body = undefined;
    seen.answer = undefined;
  }
}

/** The first and the last bytes of a response, as text. */
interface CapturedBody {
  readonly head: string;
  readonly tail: string;
}

/** Maximum bytes of the end of a response, which may contain its `status`. */
const mostTail = 64;

/** Records what is written to a response. Returns a function that returns its beginning and its end. */
function captureBody(response: ServerResponse, most: number): () => CapturedBody {
  const chunks: Buffer[] = [];
  let length = 0;
  let tail: Buffer = Buffer.alloc(0);
  const capture = (chunk: unknown): void => {
    if (typeof chunk !== 'string' && !Buffer.isBuffer(chunk)) return;
    const end = typeof chunk === 'string' ? chunk.slice(-mostTail) : chunk.subarray(-mostTail);
    tail = Buffer.concat([tail, Buffer.from(end as string)]).subarray(-mostTail);
    if (length >= most) return;
    const bytes = Buffer.from(chunk as string).subarray(0, most - length);
    chunks.push(bytes);
    length += bytes.length;
  };
  for (const name of ['write', 'end'] as const) {
    const send = response[name].bind(response) as (...args: unknown[]) => never;
    response[name] = (...args: unknown[]) => {
      capture(args[0]);
      return send(...args);
    };
  }
  return () => ({ head: Buffer.concat(chunks).toString(), tail: tail.toString() });
}

/**
 * Returns the `status` of a response, whose records may have members of this name: it is the first member or, by a
 * variant, the last one; elsewhere in responses of fault rules only, which are short.
 */
function resultOf(head: string, tail: string): LoggedRequest['result'] {
  const [, result = statusIn(head)] =
    /^\{\s*"status"\s*:\s*"(\w+)"/.exec(head) ?? /"status"\s*:\s*"(\w+)"\s*\}\s*$/.exec(tail) ?? [];
  return results.find((one) => one === result) ?? null;
}

const results = ['success', 'partial', 'fail'] as const;

function statusIn(text: string): unknown {
  try {
    return (Object(JSON.parse(text)) as { readonly status?: unknown }).status;
  } catch {
    return undefined;
  }
}

const mask = '***';
const secretName = /passcode|password|authorization|cookie|secret|token|api-?key/i;
/** A shorter passcode could occur in other values by chance. */
const shortestPasscode = 8;

/** Returns headers with the values of those that look like credentials masked, under any prefix. */
function maskedHeaders(
  headers: IncomingHttpHeaders,
  passcode: string,
): Readonly<IncomingHttpHeaders> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      secretName.test(name)
        ? mask
        : typeof value === 'string'
          ? maskSecrets(value, passcode)
          : value,
    ]),
  );
}

const passcodeName = /passcode|password/i;
/** An escaped letter in JSON or in a URL, which may belong to such a name. */
const escapedLetter = /\\u00[4-7]|%[4-7]/i;

/** Masks the passcode, and members and URL parameters that look like one, in a body or URL. */
function maskSecrets(text: string, passcode: string): string {
  let masked = text;
  for (const spelling of spellingsOf(passcode)) masked = masked.replaceAll(spelling, () => mask);
  if (!passcodeName.test(masked) && !escapedLetter.test(masked)) return masked;
  // The names are tested in code: a pattern that searches within them takes cubic time for some texts.
  const maskMember = (member: string, name: string, colon: string | undefined) =>
    colon !== undefined &&
    passcodeName.test(decoded(name, (inside) => String(JSON.parse(`"${inside}"`))))
      ? `"${name}"${colon}"${mask}"`
      : member;
  return masked
    .replaceAll(memberWithScalar, maskMember)
    .replaceAll(memberWithList, maskMember)
    .replaceAll(/(^|[?&])([^=&#?\s"]*)=[^&#\s"]*/g, (parameter, before: string, name: string) =>
      passcodeName.test(decoded(name, decodeURIComponent)) ? `${before}${name}=${mask}` : parameter,
    );
}

/** Match each string, with its value if it names a member: a search that began within strings would take quadratic time. */
const memberWithScalar =
  /"([^"\\]*(?:\\[^]?[^"\\]*)*)(?:"|$)(?:(\s*:\s*)(?:"[^"\\]*(?:\\[^]?[^"\\]*)*(?:"|$)|[\w.+-]+))?/g;
const memberWithList = /"([^"\\]*(?:\\[^]?[^"\\]*)*)(?:"|$)(?:(\s*:\s*)\[[^[\]]*(?:\]|$))?/g;

/** Spellings of the passcode as it is, in JSON and in a URL. */
function spellingsOf(passcode: string): Set<string> {
  if (passcode.length < shortestPasscode) return new Set();
  return new Set([passcode, JSON.stringify(passcode).slice(1, -1), encodeURIComponent(passcode)]);
}

/** Decodes a name; returns a malformed one unchanged. */
function decoded(name: string, decode: (text: string) => string): string {
  try {
    return decode(name);
  } catch {
    return name;
  }
}
