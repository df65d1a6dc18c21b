import { isSuccess, refusalOf, unreadable, type Answer } from './responses.js';
import { FailureError } from './failure.js';
import { retryAfter } from './retry-after.js';
import type { PageBody } from './client.js';
import type { Shown } from './redact.js';
import type { Exchange, RawAnswer, Transport } from './transport.js';

export type Exchanges = ReturnType<typeof openExchanges>;

/** Requests and what their answers say. Every function throws FailureError. */
export function openExchanges(
  transport: Transport,
  { shown, now }: { readonly shown: Shown; readonly now: () => number },
) {
  const complete = async (raw: RawAnswer): Promise<Answer> => {
    const body = await readable(raw);
    const text = body.toString();
    const { status, headers } = raw;
    const answer = { status, headers, body, text, json: jsonOf(text), shown };
    refuseRedirect(answer, transport.base);
    refuseCompression(answer);
    return answer;
  };

  /** Throws when the answer refuses the request. */
  const accept = async (answer: Answer): Promise<Answer> => {
    const refusal = await refusalOf(answer);
    if (refusal === undefined) return answer;
    const retryAfterMs = retryAfter(answer.headers, now);
    throw new FailureError(retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs });
  };

  return {
    /** An answer that is held in memory, refusals too. */
    ask: async (exchange: Exchange, signal: AbortSignal) =>
      complete(await transport.send(exchange, signal)),
    accept,
    /** An answer that is handed on while it arrives; refused ones throw. */
    stream: async (exchange: Exchange, signal: AbortSignal): Promise<PageBody> => {
      const raw = await transport.send(exchange, signal);
      // One of the two throws for these.
      if (!isSuccess(raw.status) || isCompressed(raw)) await accept(await complete(raw));
      const length = Number(raw.headers['content-length'] ?? Number.NaN);
      return { length: Number.isNaN(length) ? undefined : length, read: raw.read };
    },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A refusal counts even when its body breaks off. */
async function readable(raw: RawAnswer): Promise<Buffer> {
  try {
    return await wholeBody(raw);
  } catch (error) {
    if (isSuccess(raw.status) || !(error instanceof FailureError)) throw error;
    return Buffer.alloc(0);
  }
}

function refuseRedirect({ status, headers, shown }: Answer, base: URL): void {
  if (status < 300 || status >= 400) return;
  const location = String(headers['location'] ?? '');
  const host = URL.canParse(location, base.href) ? new URL(location, base.href).host : 'nowhere';
  const message = shown(`HTTP ${status}: a redirect to ${host}, which is never followed`);
  throw new FailureError({ kind: 'refused', sent: true, status, message });
}

const isCompressed = ({ headers }: Pick<Answer, 'headers'>): boolean =>
  !/^(identity)?$/i.test(String(headers['content-encoding'] ?? ''));

/** We never ask for compression, and never unzip: a small answer could become an endless one. */
function refuseCompression(answer: Answer): void {
  if (!isSuccess(answer.status) || !isCompressed(answer)) return;
  const encoding = String(answer.headers['content-encoding']);
  throw unreadable({ ...answer, text: encoding }, 'a compressed body');
}

/** Longest answer that is held in memory: longer than any batch of 4 MiB with its records echoed. */
const answerBytes = 64 * 1024 * 1024;

/** The whole body. Throws FailureError when it breaks off or is longer than any real answer. */
async function wholeBody({ read, status }: RawAnswer): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  await read((chunk) => {
    length += chunk.length;
    if (length > answerBytes) {
      const message = `HTTP ${status} with a body of more than ${answerBytes} bytes`;
      throw new FailureError({ kind: 'unreadable', sent: true, message });
    }
    parts.push(chunk);
  });
  return Buffer.concat(parts, length);
}
