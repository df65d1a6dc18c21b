import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { startService, type TestService, type TestServiceOptions } from '../../../src/testing.js';
import { startLoopbackServer } from './loopback-server.js';

export type LyingRecord = Record<string, unknown>;

export interface LyingService {
  readonly service: TestService;
  /** Environments of a client behind the proxy, and of one that is not. */
  readonly env: Readonly<Record<string, string>>;
  readonly honest: Readonly<Record<string, string>>;
}

/**
 * A local service behind a proxy that stores something else than what is uploaded, and answers that
 * all of it was processed. `stores` says what becomes of the records of a request.
 */
export async function startLyingService(
  stores: (records: readonly LyingRecord[]) => readonly LyingRecord[],
  options: TestServiceOptions = {},
): Promise<LyingService> {
  const service = await startService(options);
  onTestFinished(() => service.close());
  const proxy = await startLoopbackServer((request, response) => {
    void respond(request, response);
  });
  onTestFinished(() => proxy[Symbol.asyncDispose]());

  const answer = async (request: IncomingMessage) => {
    const sent = await buffer(request);
    const isUpload = request.method === 'POST' && request.url?.startsWith('/1/upload') === true;
    const { d = [] } = isUpload ? (JSON.parse(sent.toString()) as { d?: LyingRecord[] }) : {};
    const body = isUpload ? JSON.stringify({ d: stores(d) }) : sent;
    const headers = Object.entries(request.headers).filter(
      ([name]) => name.startsWith('x-service') || name === 'content-type',
    ) as [string, string][];
    const answered = await fetch(`${service.url}${request.url ?? ''}`, {
      method: request.method ?? 'GET',
      headers,
      ...(request.method === 'POST' && { body }),
    });
    const text = await answered.text();
    if (!isUpload || answered.status !== 200) return { status: answered.status, body: text };
    const lie = { status: 'success', processed: d.length, unprocessed: [] };
    return { status: 200, body: JSON.stringify(lie) };
  };
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const { status, body } = await answer(request);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(body);
  };
  const env = { ...service.env, ENGAGECTL_BASE_URL: proxy.url };
  return { service, env, honest: service.env };
}
