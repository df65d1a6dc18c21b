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
    if (service.options.latencyMs > 0) await delay(service.options.latencyMs);
    const answer = processOrFail(endpoint, { ...url, body }, service);
    await sendAnswer(response, answer, service.variants);
  } catch (error) {
    await refuse(request, response, error, service);
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

/** Answers a refusal once the client has sent its whole body, so that it is ready to read. */
async function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  { variants, options }: Service,
): Promise<void> {
  if (response.headersSent || (request.destroyed && !request.complete)) throw error;
  if (!(error instanceof Refusal)) options.onDefect?.(error);
  const refusal = error instanceof Refusal ? error : refused(500, requestTexts.unknownError);
  for await (const chunk of request) void chunk;
  await sendAnswer(response, refusalAnswer(refusal), variants);
}

function urlOf({ url = '' }: IncomingMessage) {
  const [path = '', search = ''] = url.split('?', 2);
  const cursor = /(?:^|&)cursor=([^&]*)/.exec(search)?.[1];
  return { path, query: new URLSearchParams(search), cursor };
}
