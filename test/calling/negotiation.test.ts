import { expect, it } from 'vitest';
import type { MediaOptions } from '../../src/calling/environment.js';
import { webrtc, type PeerConnectionClass } from '../../src/calling/webrtc.js';

// How the two sides of a call agree to speak to each other, with a platform that writes down what it is asked.

type Listener = (event: object) => void;

/** A platform with WebRTC: `done` is what its connections were asked, `emit` plays an event of one. */
function platform() {
  const done: string[] = [];
  const configurations: unknown[] = [];
  const listeners = new Map<string, Listener>();
  const peer = {
    connectionState: 'new',
    addEventListener: (type: string, listener: Listener) => void listeners.set(type, listener),
    addTrack: () => void done.push('addTrack'),
    createOffer: () => Promise.resolve({ type: 'offer', sdp: 'my offer' }),
    createAnswer: () => Promise.resolve({ type: 'answer', sdp: 'my answer' }),
    setLocalDescription: (description: { sdp: string }) => {
      done.push(`local ${description.sdp}`);
      return Promise.resolve();
    },
    setRemoteDescription: (description: { sdp: string }) => {
      done.push(`remote ${description.sdp}`);
      return description.sdp === 'broken'
        ? Promise.reject(new Error('an odd description'))
        : Promise.resolve();
    },
    addIceCandidate: ({ candidate }: { candidate: string }) => {
      done.push(`candidate ${candidate}`);
      return Promise.resolve();
    },
    close: () => void done.push('close'),
  };
  const emit = (type: string, event: object = {}) => listeners.get(type)!(event);
  const become = (state: string) => {
    peer.connectionState = state;
    emit('connectionstatechange');
  };
  const RTCPeerConnection = function (configuration: unknown) {
    configurations.push(configuration);
    return peer;
  } as unknown as PeerConnectionClass;
  const track = { kind: 'audio', enabled: true, stop: () => void done.push('stop') };
  const openMicrophone = () => Promise.resolve({ getTracks: () => [track] });
  return { done, configurations, emit, become, options: { RTCPeerConnection, openMicrophone } };
}

/** The way between the sides: what this one says, and what the test lets it hear. */
function way(role: MediaOptions['role']) {
  const said: unknown[] = [];
  let listener: (payload: unknown) => void = () => undefined;
  const media = {
    role,
    sendSignal: (payload: unknown) => void said.push(payload),
    onSignal: (hear: (payload: unknown) => void) => void (listener = hear),
    iceServers: () => Promise.resolve([{ urls: 'stun:of-the-router' }]),
  } as MediaOptions;
  return { media, said, hear: (payload: unknown) => listener(payload) };
}

/** Signals are worked off in turns of the event loop. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const candidate = (name: string) => ({ candidate: name, sdpMid: '0', sdpMLineIndex: 0 });

it('sends an offer as the initiator and accepts the answer', async () => {
  const { done, configurations, become, options } = platform();
  const { media, said, hear } = way('initiator');
  const iceServers = [{ urls: 'stun:127.0.0.1' }];
  const session = await webrtc({ ...options, iceServers }).open(media);
  await settled();
  expect(said).toEqual([{ description: { type: 'offer', sdp: 'my offer' } }]);
  hear({ description: { type: 'answer', sdp: 'their answer' } });
  await settled();
  expect(done).toEqual(['addTrack', 'local my offer', 'remote their answer']);
  expect(configurations).toEqual([{ iceServers, iceTransportPolicy: 'all' }]);
  expect(said).toHaveLength(1);
  become('connecting');
  become('connected');
  await session.connected;
  session.close();
  expect(done.slice(3)).toEqual(['stop', 'close']);
});

it('uses the ICE servers of the router unless the app has its own', async () => {
  const { configurations, options } = platform();
  await webrtc({ ...options, iceTransportPolicy: 'relay' }).open(way('initiator').media);
  await webrtc({ ...options, iceServers: [] }).open(way('initiator').media);
  expect(configurations).toEqual([
    { iceServers: [{ urls: 'stun:of-the-router' }], iceTransportPolicy: 'relay' },
    { iceServers: [], iceTransportPolicy: 'all' },
  ]);
});

it('answers as the receiver, and adds candidates that arrived early only after the offer', async () => {
  const { done, options } = platform();
  const { media, said, hear } = way('receiver');
  await webrtc(options).open(media);
  await settled();
  expect(said).toEqual([]);
  hear({ candidate: candidate('early') });
  await settled();
  expect(done).toEqual(['addTrack']);
  hear({ description: { type: 'offer', sdp: 'their offer' } });
  hear({ candidate: candidate('late') });
  await settled();
  expect(done.slice(1)).toEqual([
    'remote their offer',
    'candidate early',
    'local my answer',
    'candidate late',
  ]);
  expect(said).toEqual([{ description: { type: 'answer', sdp: 'my answer' } }]);
});

it('keeps 256 candidates of a side that sends no description', async () => {
  const { done, options } = platform();
  const { media, hear } = way('receiver');
  await webrtc(options).open(media);
  for (let n = 0; n < 300; n += 1) hear({ candidate: candidate(String(n)) });
  hear({ description: { type: 'offer', sdp: 'their offer' } });
  await settled();
  expect(done.filter((text) => text.startsWith('candidate'))).toHaveLength(256);
});

it('sends its candidates to the other side, and nothing at the end of candidates', async () => {
  const { emit, options } = platform();
  const { media, said } = way('receiver');
  await webrtc(options).open(media);
  emit('icecandidate', { candidate: { ...candidate('here'), foundation: '1' } });
  emit('icecandidate', { candidate: null });
  expect(said).toEqual([{ candidate: candidate('here') }]);
});

it.each([
  ['finds no way between the sides', 'WebRTC could not connect the two sides', undefined],
  ['cannot read the offer', 'an odd description', 'broken'],
])('fails when it %s', async (_what, message, sdp) => {
  const { become, options } = platform();
  const { media, hear } = way('receiver');
  const { connected } = await webrtc(options).open(media);
  const failure = expect(connected).rejects.toThrow(message);
  if (sdp === undefined) become('failed');
  else hear({ description: { type: 'offer', sdp } });
  await failure;
});

it('passes on the audio of the other side, and no video', async () => {
  const { emit, options } = platform();
  const heard: unknown[] = [];
  await webrtc({ ...options, onVoice: (...voice) => void heard.push(voice) }).open(
    way('receiver').media,
  );
  const [track, picture] = [{ kind: 'audio' }, { kind: 'video' }];
  emit('track', { track: picture, streams: ['its stream'] });
  emit('track', { track, streams: ['its stream'] });
  expect(heard).toEqual([[track, 'its stream']]);
});

it('closes the connection when there is no microphone', async () => {
  const { done, options } = platform();
  const openMicrophone = () => Promise.reject(new Error('no right to listen'));
  const opened = webrtc({ ...options, openMicrophone }).open(way('initiator').media);
  await expect(opened).rejects.toThrow('no right to listen');
  expect(done).toEqual(['close']);
});

it('names what a platform without WebRTC or a microphone must provide', async () => {
  expect(() => webrtc()).toThrow('pass one to webrtc()');
  const { options } = platform();
  const { RTCPeerConnection } = options;
  const opened = webrtc({ RTCPeerConnection }).open(way('initiator').media);
  await expect(opened).rejects.toThrow('pass openMicrophone');
});
