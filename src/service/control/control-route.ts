import { decodePercent, type Exchange, type Route } from '../router.js';
import { authenticate, readBody } from '../rest/read-request.js';
import { RequestError, refusalAnswer, responseText } from '../response.js';
import { defaultVariants } from '../variants.js';
import type { ServiceContext } from '../service.js';
import type { IncomingMessage } from 'node:http';

interface ControlRequest {
  readonly query: URLSearchParams;
  /** What stands in the path where the route has its `*`, decoded. */
  readonly rest: string;
  /** How the client calls the service, like `http://127.0.0.1:8787`. */
  readonly origin: string;
  /** The body's value; undefined without one. */
  readonly body: unknown;
}

/** Returns the answer as JSON text, or throws a Refusal. */
export type ControlHandler = (
  request: ControlRequest,
  service: ServiceContext,
) => string | Promise<string>;

/** A route of `/_local/…`: with credentials, and without slots, faults and latency. */
export function controlRoute(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  control: ControlHandler,
): Route {
  return {
    method,
    path,
    async answer(exchange, service) {
      try {
        authenticate(exchange.request.headers, service.options);
        const body = await bodyOf(exchange.request);
        const origin = `${service.options.tls ? 'https' : 'http'}://${exchange.request.headers.host}`;
        const rest = path.includes('*')
          ? decodePercent(exchange.path.slice(path.indexOf('*')))
          : '';
        sendJson(
          exchange,
          200,
          await control({ query: exchange.query, rest, origin, body }, service),
        );
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        sendJson(exchange, error.httpStatus, responseText(refusalAnswer(error), defaultVariants));
      }
    },
  };
}

/** The API's own words say nothing of what is wrong: these requests are typed by hand. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const text = await readBody(request).catch((error: unknown) => {
    if (!(error instanceof RequestError) || error.httpStatus !== 400) throw error;
    throw badRequest('body', 'JSON is wanted, with Content-Type: application/json');
  });
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

export function sendJson({ response }: Exchange, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
  });
  response.end(text);
}

/** A whole number of the query, from 0 to `most`; throws the Refusal 400 for anything else. */
export function integerParameter(
  query: URLSearchParams,
  name: string,
  { fallback, most = Number.MAX_SAFE_INTEGER }: { fallback: number; most?: number },
): number {
  const text = query.get(name);
  if (text === null) return fallback;
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value <= most) return value;
  throw badRequest(name, `"${text}" is no whole number from 0 to ${most}`);
}

/** The Refusal 400 that says what is wrong with which part of a request. */
export const badRequest = (where: string, what: string): RequestError =>
  new RequestError(400, `${where}: ${what}`, 400);

export const done = '{"status":"success"}';
