import { spawnSync } from 'node:child_process';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { CallStats } from '../../src/calling/environment.js';
import { nodeVoice } from '../../src/calling/node/voice.js';
import { runRouter } from '../service/calls/raw-client.js';
import { hasWrtc, speaker } from '../support/processes/speaking-phone.js';
import { until } from '../support/until.js';

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

it.skipIf(!hasWrtc)('a muted side sends silence, and can be heard again after', async () => {
  const { url } = await runRouter();
  const bob = speaker(url, 'bob_1', '880');
  expect(await bob.line()).toBe('ready');
  const ann = speaker(url, 'ann_1', '440', 'bob_1');
  expect(await ann.line()).toBe('ready');
  for (const side of [ann, bob]) expect(Number(await side.line())).toBeGreaterThan(0);
  const loudness = async () => {
    bob.say('loudness');
    return Number(await bob.line());
  };
  expect(await loudness()).toBeGreaterThan(4000);
  ann.say('mute');
  expect(await ann.line()).toBe('muted true');
  // Packets sent before the side was muted still arrive.
  await until(async () => (await loudness()) < 50, { message: 'bob hears silence' });
  ann.say('unmute');
  expect(await ann.line()).toBe('muted false');
  await until(async () => (await loudness()) > 4000, { message: 'bob hears ann again' });

  ann.say('stats');
  const stats = JSON.parse((await ann.line())!) as CallStats;
  expect(stats.packetsLost).toBeGreaterThanOrEqual(0);
  expect(stats.packetsSent).toBeGreaterThan(50);
  expect(stats.packetsReceived).toBeGreaterThan(50);
  // A busy machine delays the sound, so how good it is depends on it.
  expect(ann.qualities.length).toBeGreaterThan(0);
  ann.hangUp();
  expect([(await ann.exit)[0], (await bob.exit)[0]]).toEqual([0, 0]);
});

it.skipIf(!hasWrtc)('an error that nobody handles ends the process with a message', () => {
  const program = `
    import { nodeVoice } from './dist/calling/node/index.js';
    await nodeVoice();
    setTimeout(() => { throw new Error('a defect of the program'); });
  `;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program],
    { encoding: 'utf8' },
  );
  expect(status).toBe(1);
  expect(stderr).toContain('Error: a defect of the program');
});

/** Number of pieces of sound that were played in this process, whose WebRTC does nothing else. */
const played = vi.hoisted(() => ({ pieces: 0 }));
vi.mock('@roamhq/wrtc', () => {
  class RTCPeerConnection {
    addEventListener(): void {}
    addTrack(): void {}
    close(): void {}
  }
  class MediaStream {
    getTracks(): object[] {
      return [];
    }
  }
  class RTCAudioSource {
    createTrack(): object {
      return {};
    }
    onData(): void {
      played.pieces += 1;
    }
  }
  return { default: { RTCPeerConnection, MediaStream, nonstandard: { RTCAudioSource } } };
});

it('plays on, and nothing at once, after the clock jumped', async () => {
  const media = await nodeVoice();
  const session = await media.open({
    role: 'receiver',
    sendSignal: () => undefined,
    onSignal: () => undefined,
    iceServers: () => Promise.resolve([]),
  });
  onTestFinished(() => {
    session.close();
    vi.restoreAllMocks();
  });
  const clock = vi.spyOn(Date, 'now');
  for (const minutes of [10, -10]) {
    const jumped = Date.now() + minutes * 60_000 - performance.now();
    clock.mockImplementation(() => jumped + performance.now());
    const before = played.pieces;
    await until(() => played.pieces > before + 2);
    expect(played.pieces).toBeLessThan(before + 10_000);
  }
});
