import { onTestFinished } from 'vitest';
import { createSignedCall } from '../../src/calling/index.js';
import type { CallEventResult } from '../../src/calling/listeners.js';
import type { InitProperties } from '../../src/calling/init-properties.js';
import type { SignedCall } from '../../src/calling/index.js';
import type { SignedCallEnv } from '../../src/calling/environment.js';
import { nodeEnv } from '../../src/calling/node/index.js';

/** Waits as they are, so that only those a test shortens can be up in it; it reconnects soon. */
export const patient = { reconnectScale: 0.01 };

export const core = { accountId: 'CORE' };

export const annProperties = {
  accountId: 'CALL-ACCOUNT',
  apiKey: 'call-key',
  cuid: 'ann_1',
  allowPersistSocketConnection: true,
  production: false,
} satisfies InitProperties;

export interface TestClient {
  readonly client: SignedCall;
  /** `Outgoing CallIsPlaced` and so on. */
  readonly events: string[];
  readonly results: CallEventResult[];
  /** Ids of calls that rang. */
  readonly rang: string[];
  readonly lines: string[];
}

/** A client that records its events; closed when the test ends. */
export async function testClient(
  env: Partial<SignedCallEnv> & { readonly url: string },
): Promise<TestClient> {
  const events: string[] = [];
  const results: CallEventResult[] = [];
  const rang: string[] = [];
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const client = createSignedCall(await nodeEnv({ core, times: patient, log, ...env }));
  client.addListener(client.SignedCallOnCallStatusChanged, (result) => {
    results.push(result);
    events.push(`${result.direction} ${result.callEvent}`);
  });
  client.onIncomingCall(({ callId }) => void rang.push(callId));
  onTestFinished(() => client.close());
  return { client, events, results, rang, lines };
}
