import { decodePercent, type Exchange, type Route } from '../router.js';
import { authenticate, readBody } from '../rest/read-request.js';
import { RequestError, errorResponse, responseText } from '../response.js';
import { defaultVariants } from '../settings.js';
import type { ServiceContext } from '../service.js';
import type { IncomingMessage } from 'node:http';

interface ControlRequest {
  readonly query: URLSearchParams;
  /** Decoded part of the path that matched the `*` of the route. */
  readonly rest: string;
  /** Origin that the client used, such as `http://127.0.0.1:8787`. */
  readonly origin: string;
  /** Parsed JSON body; undefined without a body. */
  readonly body: unknown;
}

/** Returns the response as JSON text, or throws RequestError. */
export type ControlHandler = (
  request: ControlRequest,
  service: ServiceContext,
) => string | Promise<string>;

/** Creates a route of `/_local/…`. It requires credentials and is exempt from limits, faults and latency. */
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
        sendJson(exchange, error.httpStatus, responseText(errorResponse(error), defaultVariants));
      }
    },
  };
}

/** Reads the body. Control requests are typed by hand, so their errors explain more than those of the API. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const text = await readBody(request).catch((error: unknown) => {
    if (!(error instanceof RequestError) || error.httpStatus !== 400) throw error;
    throw badRequest('body', 'must be JSON, with Content-Type: application/json');
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

/** Parses a whole number from 0 to `most`; throws RequestError 400 for other values. */
export function integerParameter(
  query: URLSearchParams,
  name: string,
  { fallback, most = Number.MAX_SAFE_INTEGER }: { fallback: number; most?: number },
): number {
  const text = query.get(name);
  if (text === null) return fallback;
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value <= most) return value;
  throw badRequest(name, `"${text}" is not a whole number from 0 to ${most}`);
}

/** Creates the error 400 for a part of a request. */
export const badRequest = (where: string, what: string): RequestError =>
  new RequestError(400, `${where}: ${what}`, 400);

export const done = '{"status":"success"}';
