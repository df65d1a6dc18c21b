import { once } from 'node:events';
import { requestErrorTexts } from '../../contract/error-codes.js';
import { endpointPaths } from '../../contract/endpoints.js';
import { endpointOf } from '../endpoints.js';
import { disconnectSignal, requestError, sendResponse, type ApiResponse } from '../response.js';
import { authenticate, refuseUnsupported, readBody } from './read-request.js';
import { injectFault } from './inject-fault.js';
import type { ServerResponse } from 'node:http';
import type { LoggedRequest } from '../control/request-log.js';
import type { Exchange, Route } from '../router.js';
import type { ServiceContext } from '../service.js';

export interface RestRequest extends Pick<Exchange, 'query' | 'cursor'> {
  /** Well-formed JSON without blanks around it, or undefined for a request without a body. */
  readonly body: string | undefined;
}

/** Answers a request, or throws a Refusal. */
export type Endpoint = (
  request: RestRequest,
  service: ServiceContext,
) => ApiResponse | Promise<ApiResponse>;

/** The route of an endpoint, with what all of them have: credentials, slots, failures, latency. */
export function restRoute(method: 'GET' | 'POST', path: string, endpoint: Endpoint): Route {
  return {
    method,
    path,
    async answer(exchange, service) {
      const { request, response, query, cursor, seen } = exchange;
      authenticate(request.headers, service.options);
      acquireSlot(path, response, service);
      const body = await readBody(request, {
        arrived: (text, bytes) => {
          if (seen) service.requests.keepBody(seen, text, bytes);
        },
        withinMs: service.options.bodyTimeoutMs,
      });
      if (seen && !(await isStillConnected(seen, response, service))) return;
      await service.turns.next();
      service.lag.catchUp();
      const name = endpointOf(path, cursor !== undefined);
      if (name) refuseUnsupported(name, query);
      const rule = name && service.faults.take({ endpoint: name, query, body });
      const carryOut = () => answerOrFail(endpoint, { query, cursor, body }, service);
      if (!rule) return sendResponse(response, await carryOut(), service);
      if (seen) seen.fault = rule.id;
      await injectFault(rule, exchange, service, carryOut);
    },
  };
}

/** Whether client and service are still there after what is done with the request before its answer. */
async function isStillConnected(
  seen: LoggedRequest,
  response: ServerResponse,
  service: ServiceContext,
): Promise<boolean> {
  if (!service.options.onArrival) return true;
  const gone = disconnectSignal(response, service);
  await Promise.race([service.options.onArrival(seen), once(gone, 'abort')]);
  if (gone.aborted) response.destroy();
  return !gone.aborted;
}

/** Held until the answer is out (service-facts, Limits); throws the Refusal 429 when none is left. */
function acquireSlot(
  path: string,
  response: ServerResponse,
  { inFlight, options }: ServiceContext,
): void {
  const taken = inFlight.get(path) ?? 0;
  const { upload, other } = options.maxConcurrent;
  if (taken >= (path === endpointPaths.upload ? upload : other)) {
    throw requestError(429, requestErrorTexts.tooManyRequests);
  }
  inFlight.set(path, taken + 1);
  response.once('close', () => inFlight.set(path, (inFlight.get(path) ?? 1) - 1));
}

/** The answer, or by the failure knob an error: before or after the request was processed. */
async function answerOrFail(
  endpoint: Endpoint,
  request: RestRequest,
  service: ServiceContext,
): Promise<ApiResponse> {
  const { random, failRate } = service.options;
  if (random() >= failRate) return endpoint(request, service);
  if (random() < 0.5) await endpoint(request, service);
  throw requestError(random() < 0.5 ? 500 : 503, requestErrorTexts.unknownError);
}
