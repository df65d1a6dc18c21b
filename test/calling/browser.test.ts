import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { expect, it } from 'vitest';
import type * as Sdk from '../../src/calling/calling.js';
import { runRouter } from '../service/calls/raw-client.js';
import { annProperties, testClient, until } from '../support/calling-client.js';
import { startLoopbackServer } from '../support/loopback-server.js';

// §8.11 of the calling contract: the core, bundled for a neutral platform, calls from Chromium to Node.

const executablePath = '/usr/bin/chromium';
const hasChromium = existsSync(executablePath);
if (!hasChromium) process.stderr.write('SKIPPED: no /usr/bin/chromium; no browser calls\n');

const args = ['--no-sandbox', '--headless', '--disable-gpu', '--no-first-run'];

const softphone = `<script type="module">
  import * as sdk from '/calling.js';
  globalThis.sdk = sdk;
</script>`;

const bundler = new URL('../../bin/bundle-calling.mjs', import.meta.url).href;
const dist = fileURLToPath(new URL('../../dist', import.meta.url));

it.skipIf(!hasChromium)('a page calls a Node process', async () => {
  const { bundleCalling } = (await import(bundler)) as {
    readonly bundleCalling: (built: string) => Promise<string>;
  };
  const sdk = await bundleCalling(dist);
  await using pages = await startLoopbackServer((request, response) => {
    const isScript = request.url === '/calling.js';
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? sdk : softphone);
  });
  const { url } = await runRouter();
  const bob = await testClient({ url });
  await bob.client.initialize({ ...annProperties, cuid: 'bob_1' });
  bob.client.onIncomingCall(({ callId }) => bob.client.answer(callId));

  const browser = await chromium.launch({ executablePath, args });
  try {
    const page = await browser.newPage();
    await page.goto(pages.url);
    const hangUp = async () => {
      await until(() => bob.events.includes('Incoming CallInProgress'));
      bob.client.hangup();
    };
    const called = page.evaluate(callBob, { url, properties: annProperties });
    const [events] = await Promise.all([called, hangUp()]);
    expect(events).toEqual(['CallIsPlaced', 'Answered', 'CallInProgress', 'Ended']);
    expect(bob.results[0]?.callDetails.callContext).toBe('from a page');
  } finally {
    await browser.close();
  }
});

/** Runs in the page, and resolves with what the listener was told until the call was over. */
async function callBob({
  url,
  properties,
}: {
  url: string;
  properties: Sdk.InitProperties;
}): Promise<string[]> {
  const { createSignedCall } = (globalThis as unknown as { sdk: typeof Sdk }).sdk;
  const client = createSignedCall({ url, core: { accountId: 'CORE' } });
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
