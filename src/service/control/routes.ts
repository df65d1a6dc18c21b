import { listCalls, showCallingAccount } from './calls-control.js';
import { moveClock, showClock } from './clock.js';
import { controlRoute, done, sendJson } from './control-route.js';
import { addFault, deleteFault, deleteFaults, listFaults } from './fault-control.js';
import { listCursors } from './open-cursors.js';
import { clearRequests, listRequests } from './request-control.js';
import { resetService } from './reset-service.js';
import { changeSnapshot, deleteSnapshot, listSnapshots, saveSnapshot } from './snapshots.js';
import { countDays } from './event-days.js';
import { listEvents } from './stored-data.js';
import { showOpenApi } from './openapi-control.js';
import { listSubscriptions } from './stored-subscriptions.js';
import { listUsers, showUser } from './stored-users.js';
import type { Route } from '../router.js';

/** Needs no credentials: who watches a container has none. */
const health: Route = {
  method: 'GET',
  path: '/_local/health',
  answer: async (exchange) => sendJson(exchange, 200, done),
};

/** What a test asks of the service beside the API (contract §10). */
export const controlRoutes: readonly Route[] = [
  health,
  controlRoute('GET', '/_local/requests', listRequests),
  controlRoute('DELETE', '/_local/requests', clearRequests),
  controlRoute('POST', '/_local/reset', (_, service) => resetService(service)),
  controlRoute('GET', '/_local/cursors', listCursors),
  controlRoute('GET', '/_local/snapshots', listSnapshots),
  controlRoute('PUT', '/_local/snapshots/*', saveSnapshot),
  controlRoute('POST', '/_local/snapshots/*', changeSnapshot),
  controlRoute('DELETE', '/_local/snapshots/*', deleteSnapshot),
  controlRoute('GET', '/_local/faults', listFaults),
  controlRoute('POST', '/_local/faults', addFault),
  controlRoute('DELETE', '/_local/faults', deleteFaults),
  controlRoute('DELETE', '/_local/faults/*', deleteFault),
  controlRoute('GET', '/_local/clock', showClock),
  controlRoute('PUT', '/_local/clock', moveClock),
  controlRoute('GET', '/_local/profiles', listUsers),
  controlRoute('GET', '/_local/profiles/*', showUser),
  controlRoute('GET', '/_local/events', listEvents),
  controlRoute('GET', '/_local/events/days', countDays),
  controlRoute('GET', '/_local/subscriptions', listSubscriptions),
  controlRoute('GET', '/_local/calls', listCalls),
  controlRoute('GET', '/_local/calls/account', showCallingAccount),
  controlRoute('GET', '/_local/openapi.json', showOpenApi),
];
