import type { MediaAdapter, MediaOptions, MediaSession } from './environment.js';

export interface WebrtcOptions {
  /** The platform's own by default. */
  readonly RTCPeerConnection?: PeerConnectionClass;
  /** None by default: nothing leaves the machine or its network. */
  readonly iceServers?: readonly IceServer[];
  /** What this side says; its tracks are stopped at the call's end. The microphone by default. */
  readonly openMicrophone?: () => Promise<TrackStream>;
  /** Takes what the other side says. Played by default where there is `Audio`; React Native plays by itself. */
  readonly onVoice?: (track: MediaTrack, stream: TrackStream | undefined) => void;
}

/** Voice by WebRTC, from one side to the other; the router only carries what they signal. */
export function webrtc(options: WebrtcOptions = {}): MediaAdapter {
  const { RTCPeerConnection = platform.RTCPeerConnection } = options;
  const { openMicrophone = microphoneOfThePlatform, onVoice = play, iceServers = [] } = options;
  if (RTCPeerConnection === undefined)
    throw new TypeError('This platform has no RTCPeerConnection: give one');
  return {
    open: async (media) => {
      const peer = new RTCPeerConnection({ iceServers: [...iceServers] });
      const microphone = await openMicrophone().catch((error: unknown) => {
        peer.close();
        throw error;
      });
      peer.addEventListener('track', ({ track, streams }) => onVoice(track, streams[0]));
      for (const track of microphone.getTracks()) peer.addTrack(track, microphone);
      return startSession(peer, microphone, media);
    },
  };
}

function startSession(
  peer: PeerConnection,
  microphone: TrackStream,
  media: MediaOptions,
): MediaSession {
  const connected = new Promise<void>((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(error instanceof Error ? error : new Error(String(error)));
    peer.addEventListener('connectionstatechange', () => {
      if (peer.connectionState === 'connected') resolve();
      if (peer.connectionState === 'failed')
        fail(new Error('WebRTC found no way between the sides'));
    });
    negotiate(peer, media, fail);
  });
  const close = () => {
    for (const track of microphone.getTracks()) track.stop();
    peer.close();
  };
  return { connected, close };
}

/** What a browser has; other platforms have less. */
interface BrowserMedia {
  readonly RTCPeerConnection?: PeerConnectionClass;
  readonly navigator?: {
    readonly mediaDevices?: { getUserMedia(wanted: { audio: true }): Promise<TrackStream> };
  };
  readonly Audio?: new () => { srcObject: unknown; play(): Promise<void> };
}

const platform = globalThis as BrowserMedia;

function microphoneOfThePlatform(): Promise<TrackStream> {
  const devices = platform.navigator?.mediaDevices;
  if (devices === undefined)
    return Promise.reject(new Error('This platform has no microphone: give openMicrophone'));
  return devices.getUserMedia({ audio: true });
}

function play(_track: MediaTrack, stream: TrackStream | undefined): void {
  if (platform.Audio === undefined || stream === undefined) return;
  const audio = new platform.Audio();
  audio.srcObject = stream;
  // A page that nobody has touched may not play; the call goes on without being heard.
  audio.play().catch(() => undefined);
}

/** What the sides tell each other: how they speak, and where they can be reached. */
type Signal = { readonly description: SessionDescription } | { readonly candidate: IceCandidate };

/** The two sides agree how to speak to each other: the initiator offers, the receiver answers. */
function negotiate(
  peer: PeerConnection,
  { role, sendSignal, onSignal }: MediaOptions,
  fail: (error: unknown) => void,
): void {
  /** Signals are worked off one after the other. */
  let turn: Promise<void> = Promise.resolve();
  /** Where the other side can be reached, learnt before how it speaks. */
  let early: IceCandidate[] | undefined = [];
  const inTurn = (work: () => Promise<void>): void => {
    turn = turn.then(work).catch(fail);
  };
  const say = async (description: SessionDescription): Promise<void> => {
    await peer.setLocalDescription(description);
    const { type, sdp = '' } = description;
    sendSignal({ description: { type, sdp } });
  };
  const hear = async (signal: Signal): Promise<void> => {
    if ('candidate' in signal) {
      if (early) early.push(signal.candidate);
      else await peer.addIceCandidate(signal.candidate);
      return;
    }
    await peer.setRemoteDescription(signal.description);
    for (const candidate of early ?? []) await peer.addIceCandidate(candidate);
    early = undefined;
    if (signal.description.type === 'offer') await say(await peer.createAnswer());
  };
  peer.addEventListener('icecandidate', ({ candidate: found }) => {
    if (found === null) return;
    const { candidate, sdpMid, sdpMLineIndex } = found;
    sendSignal({ candidate: { candidate, sdpMid, sdpMLineIndex } });
  });
  if (role === 'initiator') inTurn(async () => say(await peer.createOffer()));
  onSignal((payload) => inTurn(async () => hear(payload as Signal)));
}

// What the SDK needs of WebRTC. The browser's RTCPeerConnection has it, so have those of React Native and
// of the package @roamhq/wrtc.

interface SessionDescription {
  readonly type: 'offer' | 'answer' | 'pranswer' | 'rollback';
  readonly sdp?: string;
}

interface IceServer {
  readonly urls: string | string[];
  readonly username?: string;
  readonly credential?: string;
}

/** Where a side can be reached. */
interface IceCandidate {
  readonly candidate: string;
  readonly sdpMid: string | null;
  readonly sdpMLineIndex: number | null;
}

/** A track of sound; what else it has is the platform's matter. */
export interface MediaTrack {
  readonly kind: string;
  stop(): void;
}

/** Tracks that belong together. */
export interface TrackStream {
  getTracks(): MediaTrack[];
}

interface PeerConnection {
  readonly connectionState: string;
  addEventListener(type: 'connectionstatechange', listener: () => void): void;
  addEventListener(
    type: 'icecandidate',
    listener: (event: { readonly candidate: IceCandidate | null }) => void,
  ): void;
  addEventListener(
    type: 'track',
    listener: (event: {
      readonly track: MediaTrack;
      readonly streams: readonly TrackStream[];
    }) => void,
  ): void;
  addTrack(track: MediaTrack, stream: TrackStream): unknown;
  createOffer(): Promise<SessionDescription>;
  createAnswer(): Promise<SessionDescription>;
  setLocalDescription(description: SessionDescription): Promise<void>;
  setRemoteDescription(description: SessionDescription): Promise<void>;
  addIceCandidate(candidate: IceCandidate): Promise<void>;
  close(): void;
}

export type PeerConnectionClass = new (configuration: {
  readonly iceServers: IceServer[];
}) => PeerConnection;
