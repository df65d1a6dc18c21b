import { decodePercent, isAllowedHost, parseUrl, type Exchange, type Route } from '../router.js';
import {
  requestError,
  sendResponse,
  success,
  type ApiResponse,
  type RequestError,
} from '../response.js';
import { authenticate } from '../rest/read-request.js';
import { detailsOf, findCall, pageOfRecords, recordsSince, saveClick } from './call-records.js';
import { signalPath, subprotocol } from '../../calling/protocol.js';
import { isLoopback } from '../../contract/endpoints.js';
import type { ServiceContext } from '../service.js';
import type { CallingSystem } from './call-system.js';
import type { RegisteredUser } from './users.js';
import type { IncomingMessage } from 'node:http';
import type { Upgrade } from '../http-server.js';

const missedPath = '/call/v1/missed/';

/** HTTP endpoints of the call router (docs/call-router.md, Over HTTP). */
export const callRoutes: readonly Route[] = [
  callRoute('GET', '/call/v1/calls', listCalls),
  callRoute('GET', '/call/v1/devices', (_exchange, _service, { router }) =>
    success({ devices: JSON.stringify([...router.directory.all()].map(deviceOf)) }),
  ),
  callRoute('POST', `${missedPath}*`, clickAction),
];

/**
 * Builds a route that requires the credentials of the calling account or, where clients need tokens, those of the
 * account itself: every app contains the API key.
 */
function callRoute(
  method: 'GET' | 'POST',
  path: string,
  answer: (exchange: Exchange, service: ServiceContext, calls: CallingSystem) => ApiResponse,
): Route {
  return {
    method,
    path,
    answer: async (exchange, service) => {
      const { calls, options } = service;
      if (!calls) throw requestError(404, 'Not found');
      const { accountId, apiKey, tokenKey } = calls.router.rules;
      const ofApps = tokenKey === undefined ? { accountId, passcode: apiKey } : {};
      authenticate(exchange.request.headers, { ...options, ...ofApps });
      await service.mutex.next();
      calls.router.turn.end();
      await sendResponse(exchange.response, answer(exchange, service, calls), service);
    },
  };
}

/**
 * Lists the calls placed since `since` in epoch milliseconds, or all. With `limit`, at most so many, and as `next` the
 * value of `after` that continues the list; null at its end.
 */
function listCalls({ query }: Exchange, { store }: ServiceContext): ApiResponse {
  const since = numberIn(query, 'since', 'a time in milliseconds') ?? 0;
  const after = numberIn(query, 'after', 'the next of another page') ?? 0;
  const limit = numberIn(query, 'limit', 'a number of calls');
  if (limit === undefined) return success({ records: recordsSince(store, since) ?? '[]' });
  const { records, last } = pageOfRecords(store, { since, after, limit });
  return success({ records: `[${records}]`, next: String(last ?? null) });
}

function numberIn(query: URLSearchParams, name: string, what: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw requestError(400, `${name} must be ${what}`);
  return Number(text);
}

const deviceOf = ({
  cuid,
  device,
  loggedOut,
  session,
  inbox,
  call,
  registeredAt,
}: RegisteredUser) => ({
  cuid,
  deviceId: device.deviceId,
  platform: device.platform,
  state: loggedOut ? 'loggedOut' : session ? 'connected' : 'away',
  /** Number of frames that it has not acknowledged. */
  waiting: inbox.size,
  callId: call?.id ?? null,
  /** Milliseconds since 1970. */
  registeredAt,
});

/** Clicks a button of a missed-call notification, which closes the notification. */
function clickAction(
  { path }: Exchange,
  { store }: ServiceContext,
  { router }: CallingSystem,
): ApiResponse {
  const [callId = '', actions, action, ...rest] = path.slice(missedPath.length).split('/');
  const actionId = decodePercent(action ?? '');
  const found = actions === 'actions' && rest.length === 0 ? findCall(store, callId) : undefined;
  const label = Object.entries(found?.record.actions ?? {}).find(([id]) => id === actionId)?.[1];
  const receiver = found && router.directory.find(found.record.calleeCuid);
  if (!found || label === undefined || !receiver) throw requestError(404, 'Not found');
  if (found.clicked !== null) throw requestError(409, 'The notification was already clicked');
  saveClick(store, callId, actionId);
  const details = detailsOf(found.record);
  router.directory.deliver(receiver, { t: 'action', callId, actionId, label, details });
  return success();
}

/** Returns the handler of a WebSocket upgrade; undefined for a request that is answered over HTTP. */
export function upgradeToWebSocket(
  request: IncomingMessage,
  { calls, options, mutex }: ServiceContext,
): Upgrade | undefined {
  if (!calls || parseUrl(request).path !== signalPath || !isAllowedHost(request, options))
    return undefined;
  if (refusalOf(request)) return undefined;
  return async (socket, head) => {
    socket.on('error', () => undefined);
    // A reset or restore stops the sockets and starts new ones.
    await mutex.next();
    if (!socket.destroyed) await calls.sockets.accept(request, socket, head);
  };
}

/** Answers requests to the WebSocket path that cannot be upgraded. */
export const upgradeRequiredRoute: Route = {
  method: 'GET',
  path: signalPath,
  answer: ({ request }, { calls }) =>
    Promise.reject((calls && refusalOf(request)) ?? requestError(404, 'Not found')),
};

/** Returns the error for a request that cannot be upgraded. */
function refusalOf({ headers }: IncomingMessage): RequestError | undefined {
  if (!isAllowedOrigin(headers)) return requestError(403, 'Forbidden');
  // The header Upgrade is removed from requests that are answered over HTTP.
  if (headers['sec-websocket-key'] === undefined) return requestError(426, 'Upgrade required');
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim());
  if (!offered?.includes(subprotocol))
    return requestError(400, `Subprotocol must be ${subprotocol}`);
  return undefined;
}

/** Accepts pages of loopback and of the router's own host, and programs that send no Origin. */
function isAllowedOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  return isLoopback(page.hostname) || (page.host !== '' && page.host === host);
}
