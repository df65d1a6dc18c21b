import { onTestFinished } from 'vitest';
import type { Attempt } from '../../src/client/failure.js';
import type { Client } from '../../src/client/client.js';
import { createClient, type ClientOptions } from '../../src/client/http-client.js';
import type { Failure } from '../../src/client/failure.js';
import { formatRequest } from '../../src/client/request-log.js';
import { startFaultServer, type FaultServer, type Script } from './servers/fault-server.js';

export const passcode = 'seeded-pass-7Q';
export const never = new AbortController().signal;
export const records = (count: number) =>
  Buffer.from(
    JSON.stringify({ d: Array.from({ length: count }, (_, i) => ({ identity: `u${i}` })) }),
  );

export interface Rig {
  readonly server: FaultServer;
  readonly client: Client;
  readonly logged: string[];
}

/** A client of a scripted service; both end with the test. */
export async function rig(script: Script, options: Partial<ClientOptions> = {}): Promise<Rig> {
  const server = await startFaultServer(script);
  const { client, logged } = await clientOf(server.url, options);
  onTestFinished(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });
  return { server, client, logged };
}

export async function clientOf(baseUrl: string, options: Partial<ClientOptions> = {}) {
  const logged: string[] = [];
  const client = await createClient({
    baseUrl,
    accountId: 'ACC-1',
    passcode,
    headerPrefix: 'X-Service',
    timeoutMs: 5000,
    maxInFlight: 2,
    env: {},
    onRequest: (seen) => logged.push(formatRequest(seen)),
    monotonic: () => performance.now(),
    now: Date.now,
    ...options,
  });
  return { client, logged };
}

/** The failure of an attempt that must have failed. */
export function failureOf(attempt: Attempt<unknown>): Failure {
  if (attempt.ok) throw new Error(`expected a failure, got ${JSON.stringify(attempt.answer)}`);
  return attempt.failure;
}

/** The text of a page, read to its end. */
export async function pageText(client: Client, cursor = 'c1'): Promise<string> {
  const page = await client.page('events', cursor, never);
  if (!page.ok) throw new Error(page.failure.message);
  const chunks: Buffer[] = [];
  await page.answer.read((chunk) => void chunks.push(chunk));
  return Buffer.concat(chunks).toString();
}
