import { expect, it } from 'vitest';
import { runRouter } from '../service/calls/raw-client.js';
import { hasWrtc, speaker } from '../support/processes/speaking-phone.js';

// §8.12 of the calling contract: two processes hear each other's tone, by WebRTC on loopback.

it.skipIf(!hasWrtc)('transmits a tone in both directions between two processes', async () => {
  const { url } = await runRouter();
  const bob = speaker(url, 'bob_1', '880');
  expect(await bob.line()).toBe('ready');
  const ann = speaker(url, 'ann_1', '440', 'bob_1');
  expect(await ann.line()).toBe('ready');
  expect(Number(await ann.line())).toBeCloseTo(880, -1);
  expect(Number(await bob.line())).toBeCloseTo(440, -1);
  ann.hangUp();
  expect([(await ann.exit)[0], (await bob.exit)[0]]).toEqual([0, 0]);
});
