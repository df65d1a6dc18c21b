import { decodePercent, isAllowedHost, parseUrl, type Exchange, type Route } from '../router.js';
import {
  requestError,
  sendResponse,
  success,
  type ApiResponse,
  type RequestError,
} from '../response.js';
import { authenticate } from '../rest/read-request.js';
import { detailsOf, findCall, recordsSince, saveClick } from './call-records.js';
import { signalPath, subprotocol } from '../../calling/protocol.js';
import { isLoopback } from '../../contract/endpoints.js';
import type { ServiceContext } from '../service.js';
import type { CallingSystem } from './call-system.js';
import type { RegisteredUser } from './users.js';
import type { IncomingMessage } from 'node:http';
import type { Upgrade } from '../http-server.js';

const missedPath = '/call/v1/missed/';

/** What of calls is read and clicked over HTTP (calling.md §6). */
export const callRoutes: readonly Route[] = [
  callRoute('GET', '/call/v1/calls', listCalls),
  callRoute('GET', '/call/v1/devices', (_exchange, _service, { router }) =>
    success({ devices: JSON.stringify([...router.directory.all()].map(deviceOf)) }),
  ),
  callRoute('POST', `${missedPath}*`, clickAction),
];

/** A route for those who have the calling account's key. */
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
      const { accountId, apiKey } = calls.router.rules;
      authenticate(exchange.request.headers, { ...options, accountId, passcode: apiKey });
      calls.router.turn.end();
      await sendResponse(exchange.response, answer(exchange, service, calls), service);
    },
  };
}

/** `since`: milliseconds since 1970; all calls without it. */
function listCalls({ query }: Exchange, { store }: ServiceContext): ApiResponse {
  const since = query.get('since') ?? '0';
  if (!/^\d{1,15}$/.test(since)) throw requestError(400, 'since is not a time in milliseconds');
  return success({ records: recordsSince(store, Number(since)) ?? '[]' });
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
  /** Frames that it has not seen. */
  waiting: inbox.size,
  callId: call?.id ?? null,
  /** Milliseconds since 1970. */
  registeredAt,
});

/** A click on a button of the missed-call notification, which goes away with it. */
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
  if (found.clicked !== null) throw requestError(409, 'The notification is gone: it was clicked');
  saveClick(store, callId, actionId);
  const details = detailsOf(found.record);
  router.directory.deliver(receiver, { t: 'action', callId, actionId, label, details });
  return success();
}

/** The WebSocket of the calling system; undefined for a request that is answered like any other. */
export function upgradeToWebSocket(
  request: IncomingMessage,
  { calls, options }: ServiceContext,
): Upgrade | undefined {
  if (!calls || parseUrl(request).path !== signalPath || !isAllowedHost(request, options))
    return undefined;
  if (refusalOf(request)) return undefined;
  return (socket, head) => calls.sockets.take(request, socket, head);
}

/** Why a request gets none. */
export const upgradeRequiredRoute: Route = {
  method: 'GET',
  path: signalPath,
  answer: ({ request }, { calls }) =>
    Promise.reject((calls && refusalOf(request)) ?? requestError(404, 'Not found')),
};

/** Why a request gets no WebSocket. */
function refusalOf({ headers }: IncomingMessage): RequestError | undefined {
  if (!isAllowedOrigin(headers)) return requestError(403, 'Forbidden');
  // Of a request that is answered as usual, the header Upgrade is gone.
  if (headers['sec-websocket-key'] === undefined) return requestError(426, 'Upgrade required');
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim());
  if (!offered?.includes(subprotocol))
    return requestError(400, `Subprotocol is not ${subprotocol}`);
  return undefined;
}

/** Browsers name the page's origin, other programs none: pages of this machine, or of this very host. */
function isAllowedOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  return isLoopback(page.hostname) || (page.host !== '' && page.host === host);
}
