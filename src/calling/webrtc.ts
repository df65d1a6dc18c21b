import type { MediaAdapter, MediaOptions, MediaSession } from './media.js';
import { negotiate } from './negotiate.js';
import type {
  IceServer,
  MediaTrack,
  PeerConnection,
  PeerConnectionClass,
  TrackStream,
} from './peer-connection.js';

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
      return begin(peer, microphone, media);
    },
  };
}

function begin(peer: PeerConnection, microphone: TrackStream, media: MediaOptions): MediaSession {
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
