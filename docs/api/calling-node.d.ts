type Platform = 'android' | 'ios';
interface CallDetails {
  readonly callId: string;
  readonly callerCuid: string;
  readonly calleeCuid: string;
  readonly callContext: string;
  readonly initiatorImage?: string;
  readonly receiverImage?: string;
  /** Push: the receiver was not on the socket when the call was placed. */
  readonly channel: 'Socket' | 'Push';
}
/** Labels of at most 3 buttons by action id. */
type MissedCallActions = Readonly<Record<string, string>>;
/** A STUN or TURN server, as WebRTC expects it. */
interface IceServer {
  readonly urls: string | string[];
  readonly username?: string;
  readonly credential?: string;
}

/** Errors that `initialize`, `call`, `answer` and `decline` resolve with. */
declare const errorTable: {
  readonly NO_NETWORK: {
    readonly android: 1000;
    readonly ios: 1000;
    readonly message: 'No network';
    readonly description: 'No socket to the router could be opened, or it was lost before the answer';
  };
  readonly CORE_REQUIRED: {
    readonly android: 2001;
    readonly ios: 2001;
    readonly message: 'Core SDK missing';
    readonly description: 'env.core must be an active instance of the core SDK: an object with accountId';
  };
  readonly INIT_CONFIG: {
    readonly android: 2002;
    readonly ios: 2003;
    readonly message: 'initProperties missing or wrong';
    readonly description: 'initialize requires an object of initProperties';
  };
  readonly NOT_INITIALIZED: {
    readonly android: 2003;
    readonly ios: 2003;
    readonly message: 'Not initialized';
    readonly description: 'Call initialize first, also after logout';
  };
  readonly ACCOUNT_OR_KEY_MISSING: {
    readonly android: 2004;
    readonly ios: {
      readonly accountId: 2004;
      readonly apiKey: 2005;
    };
    readonly message: 'accountId or apiKey missing';
    readonly description: 'accountId and apiKey of the calling settings must be non-empty strings';
  };
  readonly CUID_MISSING: {
    readonly android: 2005;
    readonly ios: 2006;
    readonly message: 'cuid missing';
    readonly description: 'cuid must be a non-empty string';
  };
  readonly CUID_LENGTH: {
    readonly android: 2006;
    readonly ios: 2007;
    readonly message: 'cuid has the wrong length';
    readonly description: 'A cuid has 5 to 50 characters';
  };
  readonly CUID_INVALID: {
    readonly android: 2007;
    readonly ios: 2008;
    readonly message: 'cuid is malformed';
    readonly description: 'A cuid consists of ASCII letters, digits and _, starts with a letter or a digit, and is not two numbers with _ between them';
  };
  readonly BRANDING: {
    readonly android: 2010;
    readonly ios: 400;
    readonly message: 'overrideDefaultBranding is wrong';
    readonly description: 'Colors must be hexadecimal, logoUrl https, buttonTheme light or dark';
  };
  readonly BAD_REQUEST: {
    readonly android: 2011;
    readonly ios: 400;
    readonly message: 'Bad request';
    readonly description: 'The router rejected the request, or the context is not alphanumeric';
  };
  readonly AUTH_FAILURE: {
    readonly android: 2012;
    readonly ios: 404;
    readonly message: 'Authentication failed';
    readonly description: 'The router rejected this accountId and apiKey';
  };
  readonly NOTIFICATION_PERMISSION: {
    readonly android: 2013;
    readonly ios: 'Only Android 13 and newer request it';
    readonly message: 'Notification permission denied';
    readonly description: 'Android 13 and newer cannot show incoming calls without it';
  };
  readonly PRODUCTION_REQUIRED: {
    readonly android: 'The property applies to iOS only';
    readonly ios: 2011;
    readonly message: 'production missing';
    readonly description: 'On iOS, production must be true or false';
  };
  readonly PERSIST_REQUIRED: {
    readonly android: 2002;
    readonly ios: 'The property applies to Android only';
    readonly message: 'allowPersistSocketConnection missing';
    readonly description: 'On Android, allowPersistSocketConnection must be true or false';
  };
  readonly MIC_DENIED: {
    readonly android: 5001;
    readonly ios: 5001;
    readonly message: 'Microphone permission denied';
    readonly description: 'A call requires the microphone';
  };
  readonly RECEIVER_NETWORK_LOST: {
    readonly android: 5002;
    readonly ios: 5005;
    readonly message: 'Call not acknowledged';
    readonly description: 'The placement of the call was not acknowledged in time';
  };
  readonly NOT_REACHABLE: {
    readonly android: 5003;
    readonly ios: 5002;
    readonly message: 'Receiver not reachable';
    readonly description: 'The receiver has never registered';
  };
  readonly BAD_NETWORK: {
    readonly android: 5004;
    readonly ios: 5008;
    readonly message: 'Bad network';
    readonly description: 'The router took longer than 2000 ms to answer';
  };
  readonly SELF_CALL: {
    readonly android: 5005;
    readonly ios: 5003;
    readonly message: 'Call to oneself';
    readonly description: 'receiverCuid is your own cuid';
  };
  readonly CONTEXT_REQUIRED: {
    readonly android: 5006;
    readonly ios: 2000;
    readonly message: 'Call context missing';
    readonly description: 'callContext must be a non-empty string';
  };
  readonly CONTEXT_LENGTH: {
    readonly android: 5007;
    readonly ios: 2000;
    readonly message: 'Call context too long';
    readonly description: 'callContext may have at most 64 characters';
  };
  readonly CALLEE_REQUIRED: {
    readonly android: 5009;
    readonly ios: 5005;
    readonly message: 'Receiver missing';
    readonly description: 'receiverCuid must be a well-formed cuid';
  };
  readonly CALL_FAILED: {
    readonly android: 5010;
    readonly ios: 5005;
    readonly message: 'Call failed';
    readonly description: 'The router could not place the call';
  };
  readonly SOCKET_REQUIRED: {
    readonly android: 5011;
    readonly ios: 5012;
    readonly message: 'Signalling socket disconnected';
    readonly description: 'Call initialize to reopen the socket after disconnectSignallingSocket';
  };
  readonly CALL_OPTIONS: {
    readonly android: 5012;
    readonly ios: 5005;
    readonly message: 'callProperties are wrong';
    readonly description: 'initiator_image and receiver_image must be http or https URLs';
  };
  readonly CALL_IN_PROGRESS: {
    readonly android: 5013;
    readonly ios: 5009;
    readonly message: 'Call in progress';
    readonly description: 'Another call exists or is being placed';
  };
  readonly FEATURE_OFF: {
    readonly android: 5014;
    readonly ios: 5006;
    readonly message: 'Calling is disabled';
    readonly description: 'Calling is disabled for this account';
  };
  readonly CUID_ELSEWHERE: {
    readonly android: 2012;
    readonly ios: 5004;
    readonly message: 'cuid in use on another device';
    readonly description: 'Another device uses this cuid; a cuid belongs to one user on one device';
  };
};
type ErrorName = keyof typeof errorTable;
/** Error names, to compare with `errorName`; the codes have different meanings on the two platforms. */
declare const ErrorName: { readonly [Name in ErrorName]: Name };

/**
 * Permissions and state of the device. All members are functions, because the answers change while the app runs, and
 * all may be asynchronous, as native bridges are. A function that throws or rejects, or a state that is not known within
 * the answer timeout, is logged, and the SDK continues with a safe default (docs/calling.md, Device).
 */
interface DeviceCapabilities {
  /** Returns the major version of the platform: 13 on Android 13. */
  osVersion(): Answer<number>;
  microphone(): Answer<Permission>;
  requestMicrophone(): Answer<boolean>;
  notificationsEnabled(): Answer<boolean>;
  requestNotificationPermission(): Answer<boolean>;
  /** Android: state of the permission Read Phone State, without which `pstnBusy` is not considered. */
  phoneState(): Answer<Permission>;
  /** Android: requested at the first answer if `promptReceiverReadPhoneStatePermission` is true. */
  requestPhoneState(): Answer<boolean>;
  /** Whether a telephone call is active. */
  pstnBusy(): Answer<boolean>;
  showMissedCall(missed: MissedCall): unknown;
  /** Plays the voice of calls through the loudspeaker, or through the earpiece. */
  setSpeaker(isOn: boolean): unknown;
}
type Permission = 'granted' | 'denied' | 'prompt';
type Answer<Value> = Value | Promise<Value>;
/** Notification of a missed call, with at most three buttons. */
interface MissedCall {
  readonly callId: string;
  readonly actions: MissedCallActions;
  readonly callDetails: CallDetails;
}

/** Environment of a client: the router's address, and what the SDK needs from the platform. */
interface SignedCallEnv {
  /**
   * Address of the router: wss or https; ws and http for loopback only, and on Android for 10.0.2.2, the host of the
   * emulator. For any other, and for one with a user name or password, `initialize` resolves with INIT_CONFIG.
   */
  readonly url: string;
  /** The "active instance of the core SDK" of the specification: any object with an account id. */
  readonly core:
    | {
        readonly accountId: string;
      }
    | null
    | undefined;
  /** Default: the platform's WebSocket. Node 20 has none; see `engagectl/calling/node`. */
  readonly WebSocket?: SocketClass;
  /** Default: no voice. */
  readonly media?: MediaAdapter;
  /** Default: a device that grants every permission. */
  readonly device?: DeviceCapabilities;
  /** Selects the validation rules and error codes; default: android. */
  readonly platform?: Platform;
  /** Must be the same at each start of the app, to receive calls that wait at the router. Default: random. */
  readonly deviceId?: string;
  readonly clock?: Clock;
  /** Returns a random number in [0, 1). */
  readonly random?: () => number;
  /** Receives log lines; default: `console.info`. */
  readonly log?: (line: string) => void;
  readonly times?: Partial<ClientTimes>;
  /**
   * Returns a token of your backend for the cuid, where the router requires one. Called for each socket, so that the
   * token is fresh; if it throws, or does not settle within the answer timeout, the client tries again as without a
   * network.
   */
  readonly token?: () => string | Promise<string>;
  /** Called when the router rejects a reconnect; the client stays disconnected until `initialize`. */
  readonly onRefused?: (errorName: ErrorName) => void;
  /**
   * Subscribes to the platform's news that the network is back; returns a function that unsubscribes. A client that
   * is disconnected then reconnects at once. Default: the event `online` of browsers.
   */
  readonly onOnline?: (reconnect: () => void) => () => void;
}
/** Timeouts and intervals of the client in milliseconds. */
interface ClientTimes {
  /** Timeout for opening a socket, and for the answer to a frame. */
  readonly answer: number;
  /** Timeout for the answer to the placement of a call. */
  readonly placement: number;
  /** Timeout for the answer to the probe before a call. */
  readonly latency: number;
  /** Interval of the probes that detect a dead connection. */
  readonly ping: number;
  /** Factor of the delays before reconnecting; default: 1. */
  readonly reconnectScale: number;
  /** Interval in which the network quality of a call is measured. */
  readonly quality: number;
}
/** Clock and timers, injected by tests and other platforms. */
interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs a function once after a delay; returns a function that cancels it. */
  after(milliseconds: number, run: () => void): () => void;
}
/** Subset of WebSocket that the SDK uses, provided by browsers, React Native, Node 22 and the package `ws`. */
interface Socket {
  addEventListener(type: 'open', listener: () => void): void;
  /** Browsers give no message. */
  addEventListener(type: 'error', listener: (event: { readonly message?: string }) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code?: number }) => void): void;
  send(text: string): void;
  close(code?: number): void;
  /** Ends the connection without a closing handshake. Only `ws` has it. */
  terminate?(): void;
}
type SocketClass = new (url: string, protocols: string[]) => Socket;
/** Options of a media session. The router forwards signals to the other side unchanged. */
interface MediaOptions {
  /** The initiator creates the offer. */
  readonly role: 'initiator' | 'receiver';
  /** Sends a JSON value of at most 64 KiB as text. */
  readonly sendSignal: (payload: unknown) => void;
  /** Registers the handler of the other side's signals. Earlier signals are delivered at once. */
  readonly onSignal: (handler: (payload: unknown) => void) => void;
  /** Returns the ICE servers of the router, with credentials for this call; empty if it has none. */
  readonly iceServers: () => Promise<readonly IceServer[]>;
}
interface MediaSession {
  /** Resolves when media is connected; if it rejects, the call is hung up. */
  readonly connected: Promise<void>;
  /** Sends silence in place of the microphone, without renegotiation. */
  setMuted(isMuted: boolean): void;
  /** Counts what was transported so far. Without it, the network quality of calls is unknown. */
  stats?(): Promise<CallStats>;
  /** Releases the microphone and the connection. */
  close(): void;
}
/** Figures of a call's voice since its start. */
interface CallStats {
  readonly packetsSent: number;
  readonly packetsReceived: number;
  /** Packets of the other side that did not arrive. */
  readonly packetsLost: number;
  /** Variation of the packets' travel time. */
  readonly jitterMs: number;
  /** Time to the other side and back; undefined until it is measured. */
  readonly roundTripMs: number | undefined;
}
interface MediaAdapter {
  /** Opens the media session of an answered call. */
  open(options: MediaOptions): Promise<MediaSession>;
}

/** Mono sound. */
interface Sound {
  /** Samples per second. */
  readonly rate: number;
  readonly samples: Int16Array;
}
/** Parses a WAV file of 16-bit samples; keeps the first channel. Throws an Error for other files. */
declare function readWav(bytes: Uint8Array): Sound;
/** Returns a WAV file of 16-bit mono samples. */
declare function writeWav({ rate, samples }: Sound): Uint8Array;

interface WebrtcOptions {
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
interface MediaTrack {
  readonly kind: string;
  enabled: boolean;
  stop(): void;
}
/** Group of tracks. */
interface TrackStream {
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
type PeerConnectionClass = new (configuration: {
  readonly iceServers: IceServer[];
  readonly iceTransportPolicy: 'all' | 'relay';
}) => PeerConnection;

interface NodeVoiceOptions extends Pick<WebrtcOptions, 'iceServers' | 'iceTransportPolicy'> {
  /** Sound to send, from the answer on, followed by silence. Default: silence. */
  readonly play?: Sound;
  /** Receives the sound of the other side in pieces of 10 ms. */
  readonly onVoice?: (sound: Sound) => void;
}
/** Creates a media adapter for Node with the package @roamhq/wrtc. Throws an Error if it is not installed. */
declare function nodeVoice(options?: NodeVoiceOptions): Promise<MediaAdapter>;

interface NodeEnv extends SignedCallEnv {
  /**
   * File that keeps the device id, a UUID, across restarts; created with its directory if missing. Symbolic links, and
   * files of other users but root, are refused.
   */
  readonly deviceIdFile?: string;
  /** Certificate authority of the router, PEM. */
  readonly ca?: string;
}
/**
 * Adds sockets of the package `ws` and a persistent device id to an environment. Rejects if the file of the device
 * id cannot be read or written, or is refused.
 */
declare function nodeEnv({ deviceIdFile, ca, ...env }: NodeEnv): Promise<SignedCallEnv>;

export { nodeEnv, nodeVoice, readWav, writeWav };
export type { NodeEnv, NodeVoiceOptions, Sound };
