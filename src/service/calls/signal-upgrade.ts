import { signalPath, subprotocol } from '../../calling/protocol.js';
import { isLoopback } from '../../contract/endpoints.js';
import { refused, type Refusal } from '../refusal.js';
import { isOurs, urlOf, type Route } from '../router.js';
import type { IncomingMessage } from 'node:http';
import type { Upgrade } from '../http-server.js';
import type { Service } from '../service.js';
import type { CallSystem } from './call-system.js';

/** The WebSocket of the calling system; undefined for a request that is answered like any other. */
export function signalUpgrade(
  request: IncomingMessage,
  { calls, options }: Service,
): Upgrade | undefined {
  if (!calls || urlOf(request).path !== signalPath || !isOurs(request, options)) return undefined;
  if (refusalOf(request, calls)) return undefined;
  return (socket, head) => calls.sockets.take(request, socket, head);
}

/** Why a request gets none. */
export const signalRefusal: Route = {
  method: 'GET',
  path: signalPath,
  answer: ({ request }, { calls }) =>
    Promise.reject((calls && refusalOf(request, calls)) ?? refused(404, 'Not found')),
};

/** Why a request gets no WebSocket. */
function refusalOf({ headers }: IncomingMessage, { sockets }: CallSystem): Refusal | undefined {
  if (!isOurOrigin(headers)) return refused(403, 'Forbidden');
  // Of a request that is answered as usual, the header Upgrade is gone.
  if (headers['sec-websocket-key'] === undefined) return refused(426, 'Upgrade required');
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim());
  if (!offered?.includes(subprotocol)) return refused(400, `Subprotocol is not ${subprotocol}`);
  return sockets.isFull ? refused(503, 'Too many connections') : undefined;
}

/** Browsers name the page's origin, other programs none: pages of this machine, or of this very host. */
function isOurOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  return isLoopback(page.hostname) || (page.host !== '' && page.host === host);
}
