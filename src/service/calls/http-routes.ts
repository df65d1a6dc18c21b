import { decoded } from '../decoded.js';
import { refused } from '../refusal.js';
import { authenticate } from '../rest/authenticate.js';
import { sendAnswer, success, type Answer } from '../response.js';
import { detailsOf, findCall, recordsSince, saveClick } from './call-records.js';
import type { Exchange, Route } from '../router.js';
import type { Service } from '../service.js';
import type { CallSystem } from './call-system.js';
import type { User } from './user.js';

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
  answer: (exchange: Exchange, service: Service, calls: CallSystem) => Answer,
): Route {
  return {
    method,
    path,
    answer: async (exchange, service) => {
      const { calls, options } = service;
      if (!calls) throw refused(404, 'Not found');
      const { accountId, apiKey } = calls.router.rules;
      authenticate(exchange.request.headers, { ...options, accountId, passcode: apiKey });
      calls.router.turn.end();
      await sendAnswer(exchange.response, answer(exchange, service, calls), service);
    },
  };
}

/** `since`: milliseconds since 1970; all calls without it. */
function listCalls({ query }: Exchange, { store }: Service): Answer {
  const since = query.get('since') ?? '0';
  if (!/^\d{1,15}$/.test(since)) throw refused(400, 'since is not a time in milliseconds');
  return success({ records: recordsSince(store, Number(since)) ?? '[]' });
}

const deviceOf = ({ cuid, device, loggedOut, session, inbox, call, registeredAt }: User) => ({
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
function clickAction({ path }: Exchange, { store }: Service, { router }: CallSystem): Answer {
  const [callId = '', actions, action, ...rest] = path.slice(missedPath.length).split('/');
  const actionId = decoded(action ?? '');
  const found = actions === 'actions' && rest.length === 0 ? findCall(store, callId) : undefined;
  const label = Object.entries(found?.record.actions ?? {}).find(([id]) => id === actionId)?.[1];
  const receiver = found && router.directory.find(found.record.calleeCuid);
  if (!found || label === undefined || !receiver) throw refused(404, 'Not found');
  if (found.clicked !== null) throw refused(409, 'The notification is gone: it was clicked');
  saveClick(store, callId, actionId);
  const details = detailsOf(found.record);
  router.directory.deliver(receiver, { t: 'action', callId, actionId, label, details });
  return success();
}
