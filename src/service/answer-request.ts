import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { requestTexts } from '../contract/codes.js';
import { refusalAnswer, type Answer } from './answer.js';
import { authenticate, checkHost } from './authenticate.js';
import type { InFlight } from './in-flight.js';
import { readBody } from './read-body.js';
import { Refusal, refused } from './refusal.js';
import { routeOf } from './routes.js';
import { sendAnswer } from './send-answer.js';
import type { Endpoint, Service, ServiceRequest } from './service.js';

/** One request from its headers to the end of its answer. Rejects when the connection broke. */
export async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  service: Service,
  inFlight: InFlight,
): Promise<void> {
  const url = urlOf(request);
  let leave: (() => void) | undefined;
  try {
    checkHost(request.headers.host);
    const endpoint = routeOf(url.path, request.method);
    authenticate(request.headers, service.options);
    leave = inFlight.enter(url.path);
    const body = await readBody(request);
    await reply(response, processOrFail(endpoint, { ...url, body }, service), service);
  } catch (error) {
    if (response.headersSent || (request.destroyed && !request.complete)) throw error;
    // A client reads the answer once it has sent its whole body.
    for await (const chunk of request) void chunk;
    await reply(response, refusalOf(error, service), service);
  } finally {
    leave?.();
  }
}

/** The answer, or by the failure knob an error: before or after the request was processed. */
function processOrFail(endpoint: Endpoint, request: ServiceRequest, service: Service): Answer {
  const { random, options } = service;
  if (random() >= options.failRate) return endpoint(request, service);
  if (random() < 0.5) endpoint(request, service);
  throw refused(random() < 0.5 ? 500 : 503, requestTexts.unknownError);
}

function refusalOf(error: unknown, { options }: Service): Answer {
  if (error instanceof Refusal) return refusalAnswer(error);
  options.onDefect?.(error);
  return refusalAnswer(refused(500, requestTexts.unknownError));
}

/** Sends the answer after the latency; not at all when the client has gone meanwhile. */
async function reply(
  response: ServerResponse,
  answer: Answer,
  { options, variants }: Service,
): Promise<void> {
  if (options.latencyMs > 0) {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    await delay(options.latencyMs, undefined, { signal: gone.signal });
  }
  await sendAnswer(response, answer, variants);
}

function urlOf({ url = '' }: IncomingMessage) {
  const [path = '', search = ''] = url.split('?', 2);
  const cursor = /(?:^|&)cursor=([^&]*)/.exec(search)?.[1];
  return { path, query: new URLSearchParams(search), cursor };
}
