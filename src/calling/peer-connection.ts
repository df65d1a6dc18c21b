// What the SDK needs of WebRTC. The browser's RTCPeerConnection has it, so have those of React Native and
// of the package @roamhq/wrtc.

export interface SessionDescription {
  readonly type: 'offer' | 'answer' | 'pranswer' | 'rollback';
  readonly sdp?: string;
}

export interface IceServer {
  readonly urls: string | string[];
  readonly username?: string;
  readonly credential?: string;
}

/** Where a side can be reached. */
export interface IceCandidate {
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

export interface PeerConnection {
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
