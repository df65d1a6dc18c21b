import { once } from 'node:events';
import { requestErrorTexts, recordCodes } from '../../contract/error-codes.js';
import { endpointPaths, endpointOf, type EndpointName } from '../../contract/endpoints.js';
import {
  disconnectSignal,
  requestError,
  sendResponse,
  malformed,
  type ApiResponse,
} from '../response.js';
import { authenticate, rejectUnsupported, readBody } from './read-request.js';
import { injectFault } from './inject-fault.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LoggedRequest } from '../control/request-log.js';
import type { Exchange, Route } from '../router.js';
import type { ServiceContext } from '../service.js';
import { RecordError } from './record-validation.js';
import type { Members } from '../raw-json.js';

export interface RestRequest extends Pick<Exchange, 'query' | 'cursor'> {
  /** Well-formed JSON without surrounding blanks; undefined for a request without a body. */
  readonly body: string | undefined;
  readonly deviations: Deviations;
}

/** Processes a request, or throws RequestError. */
export type Endpoint = (
  request: RestRequest,
  service: ServiceContext,
) => ApiResponse | Promise<ApiResponse>;

/** Creates the route of an endpoint, with credentials, concurrency limits, faults and latency. */
export function restRoute(method: 'GET' | 'POST', path: string, endpoint: Endpoint): Route {
  return {
    method,
    path,
    async answer(exchange, service) {
      const { request, response, query, cursor, seen } = exchange;
      authenticate(request.headers, service.options);
      const hold =
        path === endpointPaths.profile ? service.lookUps.arrived(request.socket) : undefined;
      const isLastSlot = acquireSlot(path, response, service);
      await hold?.(isLastSlot);
      const body = await readBody(request, {
        arrived: (text, bytes) => {
          if (seen) service.requests.keepBody(seen, text, bytes);
        },
        withinMs: service.options.bodyTimeoutMs,
      });
      if (seen && !(await isStillConnected(seen, response, service))) return;
      await service.mutex.next();
      service.lag.applyDue();
      const name = endpointOf(path, cursor !== undefined);
      if (name) rejectUnsupported(name, query);
      const rule = name && service.faults.take({ endpoint: name, query, body });
      const deviations = new Deviations(service.settings.values.strict);
      const processRequest = async () => {
        try {
          if (name) checkContentType(name, request, deviations);
          const rest = { query, cursor, body, deviations };
          const answer = await answerOrFail(endpoint, rest, service);
          if (seen && answer.reason !== undefined) seen.reason = answer.reason;
          return answer;
        } finally {
          if (seen) seen.warnings = deviations.warnings;
        }
      };
      if (!rule) return sendResponse(response, await processRequest(), service);
      if (seen) {
        seen.fault = rule.id;
        seen.reason = `fault rule ${rule.id}: ${rule.action ?? (rule.answer ? 'answer' : 'delay')}`;
      }
      await injectFault(rule, exchange, service, processRequest);
    },
  };
}

/** Endpoint 7 requires all three headers (specification, Endpoint 7). Requests with a body are checked in readBody. */
function checkContentType(
  endpoint: EndpointName,
  { headers }: IncomingMessage,
  deviations: Deviations,
): void {
  if (endpoint === 'events' && headers['content-type'] === undefined)
    deviations.ofRequest('Content-Type is missing, which endpoint 7 requires');
}

/** Awaits `onArrival`. Returns false if the client disconnected or the service closed meanwhile. */
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

/**
 * Takes a concurrency slot until the response is sent; returns whether it was the last one. Throws RequestError 429 if
 * none is free (service-facts, Limits).
 */
function acquireSlot(
  path: string,
  response: ServerResponse,
  { inFlight, settings }: ServiceContext,
): boolean {
  const taken = inFlight.get(path) ?? 0;
  const { upload, other } = settings.values.maxConcurrent;
  const most = path === endpointPaths.upload ? upload : other;
  if (taken >= most)
    throw requestError(
      429,
      requestErrorTexts.tooManyRequests,
      `${taken} requests to ${path} in flight, at most ${most}`,
    );
  inFlight.set(path, taken + 1);
  response.once('close', () => inFlight.set(path, (inFlight.get(path) ?? 1) - 1));
  return taken + 1 === most;
}

/** Processes the request, or fails at the configured rate, before or after processing it. */
async function answerOrFail(
  endpoint: Endpoint,
  request: RestRequest,
  service: ServiceContext,
): Promise<ApiResponse> {
  const { settings } = service;
  const { failRate } = settings.values;
  if (settings.drawFailure() >= failRate) return endpoint(request, service);
  const isProcessed = settings.drawFailure() < 0.5;
  if (isProcessed) await endpoint(request, service);
  throw requestError(
    settings.drawFailure() < 0.5 ? 500 : 503,
    requestErrorTexts.unknownError,
    `fail rate ${failRate}: failed ${isProcessed ? 'after' : 'before'} processing`,
  );
}

const mostWarnings = 20;

/**
 * Reports what the specification does not allow but deployments may tolerate: an error in strict mode, otherwise a
 * warning in the request log.
 */
export class Deviations {
  readonly #isStrict: boolean;
  readonly #warnings = new Set<string>();

  constructor(isStrict: boolean) {
    this.#isStrict = isStrict;
  }

  /** Distinct warnings, at most 20. */
  get warnings(): readonly string[] {
    return [...this.#warnings].slice(0, mostWarnings);
  }

  /** Throws RequestError 400 in strict mode. */
  ofRequest(what: string): void {
    if (this.#isStrict) throw malformed(`strict: ${what}`);
    this.#warnings.add(what);
  }

  /** Throws RecordError in strict mode. */
  ofRecord(what: string): void {
    if (this.#isStrict) throw new RecordError(recordCodes.eventStructure, `Strict mode: ${what}.`);
    this.#warnings.add(what);
  }

  unknownMembers(members: Members, known: readonly string[], where: 'd' | 'record'): void {
    for (const name of members.keys()) {
      if (known.includes(name)) continue;
      if (where === 'record') this.ofRecord(`unknown member "${name}" of a record`);
      else this.ofRequest(`unknown member "${name}" of the body`);
    }
  }
}
