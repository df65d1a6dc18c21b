import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import type * as Sdk from '../../src/calling/index.js';
import { runRouter } from '../service/calls/raw-client.js';
import { hasChromium, launchChromium } from '../support/processes/chromium.js';
import { annProperties, testClient } from '../support/calling-client.js';
import { hasWrtc, speaker } from '../support/processes/speaking-phone.js';
import { startLoopbackServer } from '../support/servers/loopback-server.js';
import { until } from '../support/until.js';

// §8.11 of the calling contract: the core, bundled for a neutral platform, calls from Chromium to Node.

const softphone = `<script type="module">
  import * as sdk from '/calling.js';
  globalThis.sdk = sdk;
</script>`;

/** As it is published: the build bundles it for a neutral platform, and fails where that cannot be. */
const sdk = readFileSync(new URL('../../dist/calling/index.js', import.meta.url));

/** A page in Chromium that has the SDK, until the test ends. */
async function openSoftphone(): Promise<Page> {
  const pages = await startLoopbackServer((request, response) => {
    const isScript = request.url === '/calling.js';
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? sdk : softphone);
  });
  onTestFinished(() => pages[Symbol.asyncDispose]());
  const browser = await launchChromium(
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
  );
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.goto(pages.url);
  return page;
}

const whole = ['CallIsPlaced', 'Answered', 'CallInProgress', 'Ended'];

it.skipIf(!hasChromium)('a page calls a Node process', async () => {
  const page = await openSoftphone();
  const { url } = await runRouter();
  const bob = await testClient({ url });
  await bob.client.initialize({ ...annProperties, cuid: 'bob_1' });
  bob.client.onIncomingCall(({ callId }) => bob.client.answer(callId));
  const hangUp = async () => {
    await until(() => bob.events.includes('Incoming CallInProgress'));
    bob.client.hangup();
  };
  const called = page.evaluate(callBob, { url, properties: annProperties, hasVoice: false });
  const [events] = await Promise.all([called, hangUp()]);
  expect(events).toEqual(whole);
  expect(bob.results[0]?.callDetails.callContext).toBe('from a page');
});

it.skipIf(!hasChromium || !hasWrtc)('a Node process hears the microphone of a page', async () => {
  const page = await openSoftphone();
  const { url } = await runRouter();
  const bob = speaker(url, 'bob_1', '880');
  expect(await bob.line()).toBe('ready');
  const hangUp = async () => {
    // Chromium's microphone for tests beeps.
    expect(Number(await bob.line())).toBeGreaterThan(0);
    await page.evaluate(() => (globalThis as unknown as Softphone).client?.hangup());
  };
  const called = page.evaluate(callBob, { url, properties: annProperties, hasVoice: true });
  const [events] = await Promise.all([called, hangUp()]);
  expect(events).toEqual(whole);
  expect((await bob.exit)[0]).toBe(0);
});

interface Softphone {
  readonly sdk: typeof Sdk;
  client?: Sdk.SignedCall;
}

/** Runs in the page, and resolves with what the listener was told until the call was over. */
async function callBob({
  url,
  properties,
  hasVoice,
}: {
  readonly url: string;
  readonly properties: Sdk.InitProperties;
  readonly hasVoice: boolean;
}): Promise<string[]> {
  const page = globalThis as unknown as Softphone;
  const { createSignedCall, noMedia, webrtc } = page.sdk;
  const media = hasVoice ? webrtc() : noMedia;
  const client = createSignedCall({ url, core: { accountId: 'CORE' }, media });
  page.client = client;
  const events: string[] = [];
  const over = new Promise<void>((resolve) => {
    client.addListener('SignedCallOnCallStatusChanged', ({ callEvent }) => {
      events.push(callEvent);
      if (callEvent === 'Ended') resolve();
    });
  });
  const initialized = await client.initialize(properties);
  const placed = await client.call('bob_1', 'from a page');
  for (const { error } of [initialized, placed]) if (error) return [error.errorDescription];
  await over;
  client.close();
  return events;
}
