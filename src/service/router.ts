import { isIP } from 'node:net';
import { requestErrorTexts } from '../contract/error-codes.js';
import { endpointOf } from './endpoints.js';
import { notSupported } from './rest/read-request.js';
import { RequestError, refusalAnswer, requestError, sendResponse } from './response.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LoggedRequest } from './control/request-log.js';
import type { RequestHandlers } from './http-server.js';
import type { ServiceContext, ServiceOptions } from './service.js';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The `cursor` parameter as it stands in the URL, not decoded. */
  readonly cursor: string | undefined;
  /** Undefined for what is no request of the API. */
  readonly seen: LoggedRequest | undefined;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** One that ends with `*` stands for all that begin with what is before it. */
  readonly path: string;
  /** Answers a request to the end of its answer, or throws a Refusal before that begins. */
  readonly answer: (exchange: Exchange, service: ServiceContext) => Promise<void>;
}

/** Answers by the table: the first line that fits a request has it. */
export function router(
  routes: readonly Route[],
  service: ServiceContext,
): RequestHandlers['answer'] {
  return async (request, response) => {
    const url = parseUrl(request);
    const seen = url.path.startsWith('/1/')
      ? service.requests.arrived(request, response, endpointOf(url.path, url.cursor !== undefined))
      : undefined;
    try {
      if (hostsOf(request) > 1) throw requestError(400, 'Two Host headers');
      if (!isAllowedHost(request, service.options)) {
        const name = request.headers.host;
        throw requestError(
          403,
          `Forbidden: this service is not called ${name} (serve --allow-host)`,
        );
      }
      const answer = handlerOf(routes, request.method, url.path);
      await answer({ request, response, seen, ...url }, service);
    } catch (error) {
      if (response.headersSent || (request.destroyed && !request.complete)) throw error;
      const isSlow = error instanceof RequestError && error.httpStatus === 408;
      if (isSlow) response.setHeader('Connection', 'close');
      // A client reads the answer once it has sent its whole body.
      else for await (const chunk of request) void chunk;
      if (!(error instanceof RequestError)) service.options.onDefect?.(error);
      const refusal =
        error instanceof RequestError ? error : requestError(500, requestErrorTexts.unknownError);
      await sendResponse(response, refusalAnswer(refusal), service);
    }
  };
}

/** Throws the Refusal 404 or 405. */
function handlerOf(routes: readonly Route[], method: string | undefined, path: string) {
  const fitting = routes.filter((route) => fits(route, path));
  const route = fitting.find((one) => one.method === method);
  if (route) return route.answer;
  if (fitting.length > 0) throw requestError(405, 'Method not allowed');
  throw path.startsWith('/1/') ? notSupported(`${method} ${path}`) : requestError(404, 'Not found');
}

const fits = ({ path }: Route, asked: string): boolean =>
  path.endsWith('*') ? asked.startsWith(path.slice(0, -1)) : asked === path;

export function parseUrl({
  url = '',
}: IncomingMessage): Pick<Exchange, 'path' | 'query' | 'cursor'> {
  const [path = '', search = ''] = url.split('?', 2);
  const cursor = /(?:^|&)cursor=([^&]*)/.exec(search)?.[1];
  return { path, query: new URLSearchParams(search), cursor };
}

/** Node keeps the first and drops the others. */
const hostsOf = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((text, at) => at % 2 === 0 && /^host$/i.test(text)).length;

const loopbackNames = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Other names could be those of a foreign page that points them at this machine (DNS rebinding). An IP
 * address cannot, but it is of use only where the service listens to other machines.
 */
export function isAllowedHost(
  { headers }: IncomingMessage,
  { host, allowHosts = [] }: ServiceOptions,
): boolean {
  const name = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
  if (loopbackNames.has(name)) return true;
  if (allowHosts.some((allowed) => allowed.toLowerCase() === name)) return true;
  return host !== undefined && (host === name || isIP(name.replace(/^\[|\]$/g, '')) > 0);
}

/** What a percent-encoded text stands for; `otherwise` where an escape is malformed. */
export function decodePercent(text: string, otherwise = text): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return otherwise;
  }
}
