import type { IceServer } from './protocol.js';
import type { CallStats, MediaAdapter, MediaOptions, MediaSession } from './environment.js';

export interface WebrtcOptions {
  /** Default: that of the platform. */
  readonly RTCPeerConnection?: PeerConnectionClass;
  /** Default: those of the router. Without any, media stays within the local network. */
  readonly iceServers?: readonly IceServer[];
  /** `relay` connects through a TURN server only, so that the other side does not learn this address. Default: all. */
  readonly iceTransportPolicy?: 'all' | 'relay';
  /** Opens the audio to send, by default the microphone. Its tracks are stopped when the call ends. */
  readonly openMicrophone?: () => Promise<TrackStream>;
  /** Receives the audio of the other side. Default: plays it with `Audio`; React Native plays it by itself. */
  readonly onVoice?: (track: MediaTrack, stream: TrackStream | undefined) => void;
}

/** Media adapter for peer-to-peer voice over WebRTC. The router only forwards signals. */
export function webrtc(options: WebrtcOptions = {}): MediaAdapter {
  const { RTCPeerConnection = platform.RTCPeerConnection } = options;
  const {
    openMicrophone = microphoneOfThePlatform,
    onVoice = play,
    iceTransportPolicy = 'all',
  } = options;
  if (RTCPeerConnection === undefined)
    throw new TypeError('This platform has no RTCPeerConnection: pass one to webrtc()');
  return {
    open: async (media) => {
      const iceServers = [...(options.iceServers ?? (await media.iceServers()))];
      const peer = new RTCPeerConnection({ iceServers, iceTransportPolicy });
      const microphone = await openMicrophone().catch((error: unknown) => {
        peer.close();
        throw error;
      });
      peer.addEventListener('track', ({ track, streams }) => {
        if (track.kind === 'audio') onVoice(track, streams[0]); // the other side may send video, too
      });
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
        fail(new Error('WebRTC could not connect the two sides'));
    });
    negotiate(peer, media, fail);
  });
  const close = () => {
    for (const track of microphone.getTracks()) track.stop();
    peer.close();
  };
  const setMuted = (isMuted: boolean) => {
    // A disabled track sends silence.
    for (const track of microphone.getTracks()) track.enabled = !isMuted;
  };
  return { connected, setMuted, stats: async () => statsOf(await peer.getStats()), close };
}

/** Reads the figures of the voice from a report of WebRTC, whose times are in seconds. */
function statsOf(report: StatsReport): CallStats {
  const stats = { packetsSent: 0, packetsReceived: 0, packetsLost: 0, jitterMs: 0 };
  let roundTrip: number | undefined;
  report.forEach((entry) => {
    if (entry.type === 'outbound-rtp') stats.packetsSent += entry.packetsSent ?? 0;
    if (entry.type === 'inbound-rtp') {
      stats.packetsReceived += entry.packetsReceived ?? 0;
      stats.packetsLost += entry.packetsLost ?? 0;
      stats.jitterMs = (entry.jitter ?? 0) * 1000;
    }
    if (entry.type === 'candidate-pair' && entry.nominated !== false)
      roundTrip = entry.currentRoundTripTime ?? roundTrip;
    if (entry.type === 'remote-inbound-rtp') roundTrip = entry.roundTripTime ?? roundTrip;
  });
  return { ...stats, roundTripMs: roundTrip === undefined ? undefined : roundTrip * 1000 };
}

/** Media APIs of a browser; other platforms lack some of them. */
interface BrowserMedia {
  readonly RTCPeerConnection?: PeerConnectionClass;
  readonly navigator?: {
    readonly mediaDevices?: { getUserMedia(constraints: { audio: true }): Promise<TrackStream> };
  };
  readonly Audio?: new () => { srcObject: unknown; play(): Promise<void> };
}

const platform = globalThis as BrowserMedia;

function microphoneOfThePlatform(): Promise<TrackStream> {
  const devices = platform.navigator?.mediaDevices;
  if (devices === undefined)
    return Promise.reject(new Error('This platform has no microphone: pass openMicrophone'));
  return devices.getUserMedia({ audio: true });
}

function play(_track: MediaTrack, stream: TrackStream | undefined): void {
  if (platform.Audio === undefined || stream === undefined) return;
  const audio = new platform.Audio();
  audio.srcObject = stream;
  // Browsers block playback until the user interacts with the page; the call continues without sound.
  audio.play().catch(() => undefined);
}

/** Signal between the two sides. */
type Signal = { readonly description: SessionDescription } | { readonly candidate: IceCandidate };

/** Maximum candidates kept until the description of the other side arrives. */
const maxEarlyCandidates = 256;

/** Exchanges session descriptions and ICE candidates: the initiator offers, the receiver answers. */
function negotiate(
  peer: PeerConnection,
  { role, sendSignal, onSignal }: MediaOptions,
  fail: (error: unknown) => void,
): void {
  /** Serializes signals. */
  let queue: Promise<void> = Promise.resolve();
  /** Candidates received before the remote description. */
  let early: IceCandidate[] | undefined = [];
  const enqueue = (work: () => Promise<void>): void => {
    queue = queue.then(work).catch(fail);
  };
  const sendDescription = async (description: SessionDescription): Promise<void> => {
    await peer.setLocalDescription(description);
    const { type, sdp = '' } = description;
    sendSignal({ description: { type, sdp } });
  };
  const receiveSignal = async (signal: Signal): Promise<void> => {
    if ('candidate' in signal) {
      if (early === undefined) await peer.addIceCandidate(signal.candidate);
      else if (early.length < maxEarlyCandidates) early.push(signal.candidate);
      return;
    }
    await peer.setRemoteDescription(signal.description);
    for (const candidate of early ?? []) await peer.addIceCandidate(candidate);
    early = undefined;
    if (signal.description.type === 'offer') await sendDescription(await peer.createAnswer());
  };
  peer.addEventListener('icecandidate', ({ candidate: found }) => {
    if (found === null) return;
    const { candidate, sdpMid, sdpMLineIndex } = found;
    sendSignal({ candidate: { candidate, sdpMid, sdpMLineIndex } });
  });
  if (role === 'initiator') enqueue(async () => sendDescription(await peer.createOffer()));
  onSignal((payload) => enqueue(async () => receiveSignal(payload as Signal)));
}

// Subset of WebRTC that the SDK uses, provided by browsers, React Native and the package @roamhq/wrtc.

interface SessionDescription {
  readonly type: 'offer' | 'answer' | 'pranswer' | 'rollback';
  readonly sdp?: string;
}

/** Address at which a side may be reached. */
interface IceCandidate {
  readonly candidate: string;
  readonly sdpMid: string | null;
  readonly sdpMLineIndex: number | null;
}

/** Audio track. */
export interface MediaTrack {
  readonly kind: string;
  enabled: boolean;
  stop(): void;
}

/** Group of tracks. */
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
  getStats(): Promise<StatsReport>;
  close(): void;
}

interface StatsReport {
  forEach(visit: (entry: StatsEntry) => void): void;
}

interface StatsEntry {
  readonly type: string;
  readonly packetsSent?: number;
  readonly packetsReceived?: number;
  readonly packetsLost?: number;
  readonly jitter?: number;
  readonly nominated?: boolean;
  readonly currentRoundTripTime?: number;
  readonly roundTripTime?: number;
}

export type PeerConnectionClass = new (configuration: {
  readonly iceServers: IceServer[];
  readonly iceTransportPolicy: 'all' | 'relay';
}) => PeerConnection;
