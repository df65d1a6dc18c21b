import { once } from 'node:events';
import { requestTexts } from '../../contract/error-codes.js';
import { paths } from '../../contract/endpoints.js';
import { endpointOf } from '../endpoints.js';
import { goneSignal, refused, sendAnswer, type Answer } from '../response.js';
import { authenticate, refuseUnplayed, readBody } from './read-request.js';
import { playFault } from './inject-fault.js';
import type { ServerResponse } from 'node:http';
import type { SeenRequest } from '../control/request-log.js';
import type { Exchange, Route } from '../router.js';
import type { Service } from '../service.js';

export interface RestRequest extends Pick<Exchange, 'query' | 'cursor'> {
  /** Well-formed JSON without blanks around it, or undefined for a request without a body. */
  readonly body: string | undefined;
}

/** Answers a request, or throws a Refusal. */
export type Endpoint = (request: RestRequest, service: Service) => Answer | Promise<Answer>;

/** The route of an endpoint, with what all of them have: credentials, slots, failures, latency. */
export function restRoute(method: 'GET' | 'POST', path: string, endpoint: Endpoint): Route {
  return {
    method,
    path,
    async answer(exchange, service) {
      const { request, response, query, cursor, seen } = exchange;
      authenticate(request.headers, service.options);
      takeSlot(path, response, service);
      const body = await readBody(request, {
        arrived: (text, bytes) => {
          if (seen) service.requests.keepBody(seen, text, bytes);
        },
        withinMs: service.options.bodyTimeoutMs,
      });
      if (seen && !(await isMet(seen, response, service))) return;
      await service.turns.next();
      service.lag.catchUp();
      const name = endpointOf(path, cursor !== undefined);
      if (name) refuseUnplayed(name, query);
      const rule = name && service.faults.take({ endpoint: name, query, body });
      const carryOut = () => answerOrFail(endpoint, { query, cursor, body }, service);
      if (!rule) return sendAnswer(response, await carryOut(), service);
      if (seen) seen.fault = rule.id;
      await playFault(rule, exchange, service, carryOut);
    },
  };
}

/** Whether client and service are still there after what is done with the request before its answer. */
async function isMet(
  seen: SeenRequest,
  response: ServerResponse,
  service: Service,
): Promise<boolean> {
  if (!service.options.onArrival) return true;
  const gone = goneSignal(response, service);
  await Promise.race([service.options.onArrival(seen), once(gone, 'abort')]);
  if (gone.aborted) response.destroy();
  return !gone.aborted;
}

/** Held until the answer is out (service-facts, Limits); throws the Refusal 429 when none is left. */
function takeSlot(path: string, response: ServerResponse, { inFlight, options }: Service): void {
  const taken = inFlight.get(path) ?? 0;
  const { upload, other } = options.maxConcurrent;
  if (taken >= (path === paths.upload ? upload : other)) {
    throw refused(429, requestTexts.tooManyRequests);
  }
  inFlight.set(path, taken + 1);
  response.once('close', () => inFlight.set(path, (inFlight.get(path) ?? 1) - 1));
}

/** The answer, or by the failure knob an error: before or after the request was processed. */
async function answerOrFail(
  endpoint: Endpoint,
  request: RestRequest,
  service: Service,
): Promise<Answer> {
  const { random, failRate } = service.options;
  if (random() >= failRate) return endpoint(request, service);
  if (random() < 0.5) await endpoint(request, service);
  throw refused(random() < 0.5 ? 500 : 503, requestTexts.unknownError);
}
