import { isIP } from 'node:net';
import { endpointPaths, endpointOf } from '../contract/endpoints.js';
import { requestErrorTexts } from '../contract/error-codes.js';
import { notSupported } from './rest/read-request.js';
import { isDiskFull } from './store/database.js';
import { RequestError, errorResponse, requestError, sendResponse } from './response.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LoggedRequest } from './control/request-log.js';
import type { RequestHandlers } from './http-server.js';
import type { ServiceContext, ServiceOptions } from './service.js';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The `cursor` parameter as written in the URL, not decoded. */
  readonly cursor: string | undefined;
  /** Entry of the request log; undefined for requests outside of the API. */
  readonly seen: LoggedRequest | undefined;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Exact path, or a prefix that ends with `*`. */
  readonly path: string;
  /** Resolves when the response is sent; throws a RequestError before it begins. */
  readonly answer: (exchange: Exchange, service: ServiceContext) => Promise<void>;
}

/** Dispatches each request to the first route that matches it. */
export function router(
  routes: readonly Route[],
  service: ServiceContext,
): RequestHandlers['answer'] {
  return async (request, response) => {
    const url = parseUrl(request);
    const isOther = !url.path.startsWith('/1/') && routes.some((route) => fits(route, url.path));
    const seen = isOther
      ? undefined
      : service.requests.arrived(request, response, endpointOf(url.path, url.cursor !== undefined));
    try {
      if (hostsOf(request) > 1) throw requestError(400, 'Two Host headers');
      if (!isAllowedHost(request, service.options)) {
        const name = hostOf(request);
        throw requestError(
          403,
          `Forbidden: this service is not called ${name} (serve --allow-host)`,
        );
      }
      const answer = handlerOf(routes, request.method, url.path, response);
      await answer({ request, response, seen, ...url }, service);
    } catch (error) {
      if (response.headersSent || (request.destroyed && !request.complete)) throw error;
      const isSlow = error instanceof RequestError && error.httpStatus === 408;
      if (isSlow) response.setHeader('Connection', 'close');
      // Many clients read the response only after they have sent the whole body.
      else for await (const chunk of request) void chunk;
      if (!(error instanceof RequestError)) service.options.onDefect?.(error);
      const refusal = refusalOf(error);
      if (seen) seen.reason = refusal.reason;
      await sendResponse(response, errorResponse(refusal), service);
    }
  };
}

function refusalOf(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  if (isDiskFull(error)) return requestError(507, 'The disk of the local service is full');
  return requestError(500, requestErrorTexts.unknownError, `internal error: ${String(error)}`);
}

/** Throws RequestError 404, 405 (with the header Allow) or 501. */
function handlerOf(
  routes: readonly Route[],
  method: string | undefined,
  path: string,
  response: ServerResponse,
) {
  const fitting = routes.filter((route) => fits(route, path));
  const route = fitting.find((one) => one.method === method);
  if (route) return route.answer;
  if (fitting.length > 0) {
    const allowed = [...new Set(fitting.map((one) => one.method))].join(', ');
    response.setHeader('Allow', allowed);
    throw requestError(405, 'Method not allowed', `${method} ${path}: use ${allowed}`);
  }
  if (path.startsWith('/1/'))
    throw notSupported(`${method} ${path}`, `unknown path: the API has ${apiPaths.join(', ')}`);
  throw requestError(404, 'Not found', 'unknown path: paths of the API begin with /1/');
}

const apiPaths = Object.values(endpointPaths);

const fits = ({ path }: Route, requested: string): boolean =>
  path.endsWith('*') ? requested.startsWith(path.slice(0, -1)) : requested === path;

/** Parses the target in origin-form or absolute-form. The path has no escapes of unreserved characters (RFC 3986). */
export function parseUrl({
  url = '',
}: IncomingMessage): Pick<Exchange, 'path' | 'query' | 'cursor'> {
  const [path = '', search = ''] = url.replace(absoluteForm, '').split('?', 2);
  const cursor = /(?:^|&)cursor=([^&]*)/.exec(search)?.[1];
  const unescaped = path.replaceAll(/%[2-7][\da-f]/gi, (escape) => {
    const character = decodePercent(escape);
    return /[\w.~-]/.test(character) ? character : escape;
  });
  return { path: unescaped || '/', query: new URLSearchParams(search), cursor };
}

const absoluteForm = /^https?:\/\/([^/?#]*)/i;

/** The host of an absolute-form target takes precedence over the Host header (RFC 9112). Undefined in HTTP/1.0 only. */
const hostOf = ({ url = '', headers }: IncomingMessage): string | undefined =>
  absoluteForm.exec(url)?.[1] ?? headers.host;

/** Counts Host headers: `request.headers` has only the first. */
const hostsOf = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((text, at) => at % 2 === 0 && /^host$/i.test(text)).length;

const loopbackNames = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Rejects host names of others to prevent DNS rebinding from a foreign web page. IP addresses are safe, and
 * allowed if the service listens on another interface than loopback.
 */
export function isAllowedHost(
  request: IncomingMessage,
  { host, allowHosts = [] }: ServiceOptions,
): boolean {
  const requested = hostOf(request);
  // A client of HTTP/1.0 without a Host header is not a browser.
  if (requested === undefined) return true;
  const name = requested.replace(/:\d+$/, '').toLowerCase();
  if (loopbackNames.has(name)) return true;
  if (allowHosts.some((allowed) => allowed.toLowerCase() === name)) return true;
  return host !== undefined && (host === name || isIP(name.replace(/^\[|\]$/g, '')) > 0);
}

/** Decodes percent-encoding; returns `fallback` if an escape is malformed. */
export function decodePercent(text: string, fallback = text): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return fallback;
  }
}
