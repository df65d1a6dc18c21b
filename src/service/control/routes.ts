import { recordsSince } from '../calls/call-records.js';
import {
  integerParameter,
  done,
  badRequest,
  controlRoute,
  sendJson,
  type ControlHandler,
} from './control-route.js';
import { defaultHeaderPrefix, endpointNames, type EndpointName } from '../../contract/endpoints.js';
import { requestError } from '../response.js';
import { fitsBody } from '../rest/read-request.js';
import { dayOf } from '../../contract/dates.js';
import {
  listCursors,
  countEventsByDay,
  listEvents,
  listSubscriptions,
  listUsers,
  showUser,
} from './stored-data.js';
import {
  resetService,
  restoreSnapshotRoute,
  deleteSnapshot,
  listSnapshots,
  saveSnapshot,
} from './snapshots.js';
import type { Clock } from '../clock.js';
import type { CallingRules } from '../calls/call-options.js';
import type { LoggedRequest } from './request-log.js';
import type { ServiceContext } from '../service.js';
import type { Route } from '../router.js';

/** Handles `GET /_local/calls?since=`: calls placed since this time (milliseconds since 1970), oldest first. */
export const listCalls: ControlHandler = ({ query }, { store }) => {
  const since = integerParameter(query, 'since', { fallback: 0 });
  return `{"calls":[${[...(recordsSince(store, since) ?? [])].join(',')}]}`;
};

/** Handles `GET /_local/calls/account`: the calling account, or null if calls are not routed. */
const showCallingAccount: ControlHandler = (_, { calls }) => {
  if (!calls) return '{"account":null}';
  const { accountId, apiKey } = calls.router.rules;
  return JSON.stringify({ account: { accountId, apiKey } });
};

/** Handles `POST /_local/calls/…`, which steers calls as `service.calls` of engagectl/testing does. */
const steerCalls: ControlHandler = async ({ rest, body }, { calls, clock }) => {
  if (!calls) throw requestError(404, 'this service routes no calls');
  const { steering, router } = calls;
  // Loaded on demand: zod takes 50 ms.
  const { parseSteering } = await import('./settings-schema.js');
  switch (rest) {
    case 'scripts':
      steering.add(parseSteering('script', body));
      return done;
    case 'network':
      steering.setNetwork(parseSteering('network', body));
      return done;
    case 'push-only':
      calls.requirePush(parseSteering('device', body).cuid);
      return done;
    case 'drop': {
      const { cuid } = parseSteering('device', body);
      if (!router.drop(cuid)) throw requestError(404, `${cuid} is not connected`);
      return done;
    }
    case 'token':
      return tokenFor(parseSteering('device', body).cuid, router.rules, clock.now());
    case 'wait': {
      const { timeoutMs, ...filter } = parseSteering('wait', body);
      const observed = calls.waitFor(filter, timeoutMs).catch((error: unknown) => {
        throw requestError(408, (error as Error).message);
      });
      return JSON.stringify(await observed);
    }
    default:
      throw requestError(404, `Not found: POST …/scripts, network, push-only, drop, token or wait`);
  }
};

const tokenMs = 3_600_000;

/** Signs a token with which a client registers as the cuid; null if the router requires none. */
async function tokenFor(cuid: string, { tokenKey: key }: CallingRules, now: number) {
  if (key === undefined) return '{"token":null}';
  const { signCallToken } = await import('../calls/registration.js');
  return JSON.stringify({ token: signCallToken({ cuid, key, now, ttlMs: tokenMs }) });
}

const clearSteering: ControlHandler = (_, { calls }) => {
  calls?.steering.clear();
  return done;
};

/** Handles `GET /_local/openapi.json` (contract §10). */
const showOpenApi: ControlHandler = async ({ origin }, { options }) => {
  // Loaded on demand: zod takes 50 ms.
  const { openApiDocument } = await import('./openapi.js');
  return JSON.stringify(openApiDocument(origin, options.headerPrefixes[0] ?? defaultHeaderPrefix));
};

/** Handles `POST /_local/faults`; returns the rule with its id. */
const addFault: ControlHandler = async ({ body }, { faults }) => {
  // Loaded on demand: zod takes 50 ms.
  const { parseFaultRule } = await import('./settings-schema.js');
  return JSON.stringify(faults.add(parseFaultRule(body)));
};

const showSettings: ControlHandler = (_, { settings }) => JSON.stringify(settings.values);

/** Handles `PUT /_local/settings`: changes the given settings; returns all of them. */
const changeSettings: ControlHandler = async ({ body }, { settings }) => {
  // Loaded on demand: zod takes 50 ms.
  const { parseSettings } = await import('./settings-schema.js');
  return JSON.stringify(settings.change(parseSettings(body)));
};

const listFaults: ControlHandler = (_, { faults }) => JSON.stringify({ faults: faults.list() });

const deleteFaults: ControlHandler = (_, { faults }) => {
  faults.clear();
  return done;
};

const deleteFault: ControlHandler = ({ rest }, { faults }) => {
  if (!faults.remove(Number(rest))) throw requestError(404, `there is no fault rule ${rest}`);
  return done;
};

/** `GET /_local/requests?endpoint=&since=&limit=&bodies=no`: those after the id `since`. */
const listRequests: ControlHandler = ({ query }, { requests }) => {
  const endpoint = query.get('endpoint') as EndpointName | null;
  checkEndpoint(endpoint ?? undefined);
  const since = integerParameter(query, 'since', { fallback: 0 });
  const limit = integerParameter(query, 'limit', { fallback: 1000, most: 1000 });
  const all = requests.list({ ...(endpoint === null ? {} : { endpoint }), since });
  const isBare = query.get('bodies') === 'no';
  const page = all
    .slice(0, limit)
    .map((seen) => (isBare ? { ...seen, body: undefined, answer: undefined } : seen));
  return `{"requests":[${page.map(seenText).join(',')}]}`;
};

/** Throws RequestError 400 for a name that no endpoint has. */
export function checkEndpoint(name: EndpointName | undefined): void {
  if (name !== undefined && !endpointNames.includes(name))
    throw badRequest('endpoint', `"${name}" is none of ${endpointNames.join(', ')}`);
}

const clearRequests: ControlHandler = (_, { requests }) => {
  requests.clear();
  return done;
};

/** Formats a request with its bodies as sent, to preserve numbers; as strings if they are not JSON. */
function seenText({ body, answer, ...seen }: LoggedRequest): string {
  const members = Object.entries({ body, answer }).flatMap(([name, text]) =>
    text === undefined ? [] : [`,"${name}":${isJson(text) ? text : JSON.stringify(text)}`],
  );
  return `${JSON.stringify(seen).slice(0, -1)}${members.join('')}}`;
}

function isJson(text: string): boolean {
  try {
    return fitsBody(Buffer.from(text)) && JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

const showClock: ControlHandler = (_, service) => clockText(service);

/**
 * Handles `PUT /_local/clock`. `{"now": …}` stops the clock at an instant (ISO 8601 with an offset, or epoch
 * seconds) or starts it again (null); `{"advanceSeconds": n}` moves it, stopped or not.
 */
const moveClock: ControlHandler = ({ body }, service) => {
  const { clock } = service;
  const given = Object.entries(body !== null && typeof body === 'object' ? body : {});
  const [[name, value] = ['', undefined], ...others] = given as [string, unknown][];
  if (others.length > 0 || (name !== 'now' && name !== 'advanceSeconds'))
    throw badRequest('clock', 'send either {"now": …} or {"advanceSeconds": …}');
  if (name === 'now' && value === null) clock.release();
  else if (name === 'now') clock.stopAt(parseInstant(value));
  else advanceClock(clock, value);
  return clockText(service);
};

const clockText = ({ clock }: ServiceContext): string => {
  const now = clock.now();
  return JSON.stringify({
    now: new Date(now).toISOString(),
    epochSeconds: Math.floor(now / 1000),
    isStopped: clock.isStopped,
  });
};

const iso = /^(\d{4})-(\d\d)-(\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** Parses an instant to milliseconds since 1970. Rejects times without an offset: they depend on the machine. */
export function parseInstant(value: unknown): number {
  const time = typeof value === 'number' ? value * 1000 : timeOf(String(value));
  if (time >= earliest && time <= latest) return time;
  throw badRequest(
    'now',
    `${JSON.stringify(value)} is neither ISO 8601 with an offset, like 2026-01-31T12:00:00Z, nor epoch seconds of the years 0 to 9999`,
  );
}

function timeOf(text: string): number {
  const [, year, month, day] = iso.exec(text) ?? [];
  const isDay = dayOf(Number(year), Number(month), Number(day)) !== undefined;
  return isDay ? Date.parse(text) : NaN;
}

/** Moves a clock by a number of seconds; throws RequestError 400 for anything else, and for other years than 0 to 9999. */
export function advanceClock(clock: Clock, seconds: unknown): void {
  const isNumber = typeof seconds === 'number' && Number.isFinite(seconds);
  const time = clock.now() + 1000 * Number(seconds);
  if (!isNumber || time < earliest || time > latest) {
    const what = `${JSON.stringify(seconds)} is not a number of seconds to a time in the years 0 to 9999`;
    throw badRequest('advanceSeconds', what);
  }
  clock.advance(1000 * seconds);
}

/** Times in other years have another form in ISO 8601, and far ones have none. */
const [earliest, latest] = [Date.parse('0000-01-01'), Date.parse('9999-12-31')];

/** Waits for its turn before it reads the store, which a reset or snapshot may keep for seconds. */
const readingStore =
  (read: ControlHandler): ControlHandler =>
  async (request, service) => {
    await service.mutex.next();
    return read(request, service);
  };

/** Health checks of containers have no credentials. */
const health: Route = {
  method: 'GET',
  path: '/_local/health',
  answer: async (exchange) => sendJson(exchange, 200, done),
};

/** Control endpoints for tests (contract §10). */
export const controlRoutes: readonly Route[] = [
  health,
  controlRoute('GET', '/_local/requests', listRequests),
  controlRoute('DELETE', '/_local/requests', clearRequests),
  controlRoute('POST', '/_local/reset', (_, service) => resetService(service)),
  controlRoute('GET', '/_local/cursors', readingStore(listCursors)),
  controlRoute('GET', '/_local/snapshots', listSnapshots),
  controlRoute('PUT', '/_local/snapshots/*', saveSnapshot),
  controlRoute('POST', '/_local/snapshots/*', restoreSnapshotRoute),
  controlRoute('DELETE', '/_local/snapshots/*', deleteSnapshot),
  controlRoute('GET', '/_local/faults', listFaults),
  controlRoute('POST', '/_local/faults', addFault),
  controlRoute('DELETE', '/_local/faults', deleteFaults),
  controlRoute('DELETE', '/_local/faults/*', deleteFault),
  controlRoute('GET', '/_local/settings', showSettings),
  controlRoute('PUT', '/_local/settings', changeSettings),
  controlRoute('GET', '/_local/clock', showClock),
  controlRoute('PUT', '/_local/clock', moveClock),
  controlRoute('GET', '/_local/profiles', readingStore(listUsers)),
  controlRoute('GET', '/_local/profiles/*', readingStore(showUser)),
  controlRoute('GET', '/_local/events', readingStore(listEvents)),
  controlRoute('GET', '/_local/events/days', readingStore(countEventsByDay)),
  controlRoute('GET', '/_local/subscriptions', readingStore(listSubscriptions)),
  controlRoute('GET', '/_local/calls', readingStore(listCalls)),
  controlRoute('GET', '/_local/calls/account', showCallingAccount),
  controlRoute('DELETE', '/_local/calls/scripts', clearSteering),
  controlRoute('POST', '/_local/calls/*', steerCalls),
  controlRoute('GET', '/_local/openapi.json', showOpenApi),
];
