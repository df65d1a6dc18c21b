import { once } from 'node:events';
import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { requestErrorTexts } from '../../contract/error-codes.js';
import {
  disconnectSignal,
  sendResponse,
  responseText,
  stillPending,
  expiredCursor,
  type ApiResponse,
} from '../response.js';
import type { ServerResponse } from 'node:http';
import type { ActiveRule } from '../control/fault-rules.js';
import type { Exchange } from '../router.js';
import type { ServiceContext } from '../service.js';

type Action = NonNullable<ActiveRule['action']>;
interface FaultContext {
  readonly response: ServerResponse;
  readonly service: ServiceContext;
  /** Processes the request. Rejects with a RequestError. */
  readonly processRequest: () => Promise<ApiResponse>;
  readonly rule: ActiveRule;
}

/** Handles a request according to a fault rule. Throws RequestError like any handler. */
export async function injectFault(
  rule: ActiveRule,
  { response }: Exchange,
  service: ServiceContext,
  processRequest: () => Promise<ApiResponse>,
): Promise<void> {
  const { answer, action, delayMs = 0 } = rule;
  const gone = disconnectSignal(response, service);
  if (action !== 'drip' && !(await waited(delayMs, response, gone))) return;
  if (answer) sendGiven(response, answer);
  else if (action) await actions[action]({ response, service, processRequest, rule });
  else await sendResponse(response, await processRequest(), service);
}

/** Returns false if the client disconnects or the service closes while waiting. */
async function waited(
  milliseconds: number,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<boolean> {
  if (milliseconds > 0)
    await delay(milliseconds, undefined, { signal }).catch(() => response.destroy());
  return !response.destroyed;
}

function sendGiven(
  response: ServerResponse,
  { status, headers, body }: NonNullable<ActiveRule['answer']>,
): void {
  const usual =
    status < 400
      ? { status: 'success' }
      : {
          status: 'fail',
          error:
            status === 429 ? requestErrorTexts.tooManyRequests : requestErrorTexts.unknownError,
          code: status,
        };
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? usual);
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', ...headers });
  response.end(text);
}

const actions: Readonly<Record<Action, (scene: FaultContext) => Promise<void> | void>> = {
  'reset-before': ({ response }) => reset(response),
  'reset-after': async ({ response, processRequest }) => {
    await processRequest();
    reset(response);
  },
  hang: async ({ response, service }) => {
    await once(disconnectSignal(response, service), 'abort');
    response.destroy();
  },
  cut: async ({ response, service, processRequest }) => {
    const bytes = head(
      response,
      responseText(await processRequest(), service.settings.values.variants),
    );
    response.write(bytes.subarray(0, bytes.length / 2));
    await new Promise((resolve) => response.socket?.write('', resolve));
    response.destroy();
  },
  drip: async ({ response, service, processRequest, rule: { delayMs = 100 } }) => {
    const bytes = head(
      response,
      responseText(await processRequest(), service.settings.values.variants),
    );
    const gone = disconnectSignal(response, service);
    for (let at = 0; at < bytes.length; at++) {
      if (!(await waited(delayMs, response, gone))) return;
      response.write(bytes.subarray(at, at + 1));
    }
    response.end();
  },
  html: ({ response }) => {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    response.end('<!doctype html><title>Sign in</title><p>Sign in to use this network.</p>');
  },
  empty: ({ response }) => void response.writeHead(200).end(),
  'expire-cursor': ({ service: { settings }, rule }) => {
    throw expiredCursor(settings.values.variants, `fault rule ${rule.id}: expire-cursor`);
  },
  pending: ({ rule }) => {
    throw stillPending(`fault rule ${rule.id}: pending`);
  },
  'lie-counts': async ({ response, service, processRequest }) => {
    const { httpStatus, members } = await processRequest();
    const processed = String(Number(members['processed']) + 1);
    await sendResponse(response, { httpStatus, members: { ...members, processed } }, service);
  },
};

/** Resets the connection. A TLS connection is destroyed, which looks the same to the client. */
function reset({ socket }: ServerResponse): void {
  if (socket?.constructor === Socket) socket.resetAndDestroy();
  else socket?.destroy();
}

/** Writes the head of a response with this body; returns the body as bytes. */
function head(response: ServerResponse, text: string): Buffer {
  const bytes = Buffer.from(text);
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': bytes.length,
  });
  return bytes;
}
