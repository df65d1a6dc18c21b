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
/** Call events (specification, States and transitions). */
declare const CallEvent: {
  readonly CallIsPlaced: 'CallIsPlaced';
  readonly Cancelled: 'Cancelled';
  readonly Declined: 'Declined';
  readonly Missed: 'Missed';
  readonly Answered: 'Answered';
  readonly CallInProgress: 'CallInProgress';
  readonly Ended: 'Ended';
  readonly ReceiverBusyOnAnotherCall: 'ReceiverBusyOnAnotherCall';
  readonly DeclinedDueToLoggedOutCuid: 'DeclinedDueToLoggedOutCuid';
  readonly DeclinedDueToNotificationsDisabled: 'DeclinedDueToNotificationsDisabled';
  readonly DeclinedDueToMicrophonePermissionsNotGranted: 'DeclinedDueToMicrophonePermissionsNotGranted';
};
type CallEvent = (typeof CallEvent)[keyof typeof CallEvent];
declare const CallDirection: {
  readonly Incoming: 'Incoming';
  readonly Outgoing: 'Outgoing';
};
type CallDirection = (typeof CallDirection)[keyof typeof CallDirection];

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
/** Result of `initialize`, `call`, `answer` and `decline`. Operational failures and invalid values resolve. */
type SignedCallResponse =
  | {
      readonly isSuccessful: true;
      readonly error: null;
    }
  | {
      readonly isSuccessful: false;
      readonly error: SignedCallError;
    };
interface SignedCallError {
  /** Code of the platform; the other platform may use it for another error. */
  readonly errorCode: number;
  readonly errorMessage: string;
  readonly errorDescription: string;
  /** The same on both platforms; compare this one. */
  readonly errorName: ErrorName;
}

/** Log levels: a line is printed if its level is at most the chosen one. */
declare const LogLevel: {
  readonly off: -1;
  readonly info: 0;
  readonly debug: 2;
  readonly verbose: 3;
};
type LogLevel = (typeof LogLevel)[keyof typeof LogLevel];

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
/** Simulated devices for tests. */
declare const devicePresets: {
  readonly allowAll: DeviceCapabilities;
  readonly micDenied: {
    readonly osVersion: () => Answer<number>;
    readonly notificationsEnabled: () => Answer<boolean>;
    readonly requestNotificationPermission: () => Answer<boolean>;
    readonly phoneState: () => Answer<Permission>;
    readonly requestPhoneState: () => Answer<boolean>;
    readonly pstnBusy: () => Answer<boolean>;
    readonly showMissedCall: (missed: MissedCall) => unknown;
    readonly setSpeaker: (isOn: boolean) => unknown;
    readonly microphone: () => 'denied';
    readonly requestMicrophone: () => false;
  };
  readonly notificationsOff: {
    readonly osVersion: () => Answer<number>;
    readonly microphone: () => Answer<Permission>;
    readonly requestMicrophone: () => Answer<boolean>;
    readonly phoneState: () => Answer<Permission>;
    readonly requestPhoneState: () => Answer<boolean>;
    readonly pstnBusy: () => Answer<boolean>;
    readonly showMissedCall: (missed: MissedCall) => unknown;
    readonly setSpeaker: (isOn: boolean) => unknown;
    readonly notificationsEnabled: () => false;
    readonly requestNotificationPermission: () => false;
  };
  readonly android13Denied: {
    readonly microphone: () => Answer<Permission>;
    readonly requestMicrophone: () => Answer<boolean>;
    readonly phoneState: () => Answer<Permission>;
    readonly requestPhoneState: () => Answer<boolean>;
    readonly pstnBusy: () => Answer<boolean>;
    readonly showMissedCall: (missed: MissedCall) => unknown;
    readonly setSpeaker: (isOn: boolean) => unknown;
    readonly osVersion: () => number;
    readonly notificationsEnabled: () => false;
    readonly requestNotificationPermission: () => false;
  };
  readonly pstnBusy: {
    readonly osVersion: () => Answer<number>;
    readonly microphone: () => Answer<Permission>;
    readonly requestMicrophone: () => Answer<boolean>;
    readonly notificationsEnabled: () => Answer<boolean>;
    readonly requestNotificationPermission: () => Answer<boolean>;
    readonly phoneState: () => Answer<Permission>;
    readonly requestPhoneState: () => Answer<boolean>;
    readonly showMissedCall: (missed: MissedCall) => unknown;
    readonly setSpeaker: (isOn: boolean) => unknown;
    readonly pstnBusy: () => true;
  };
  /** On the telephone, and not asked for Read Phone State yet. */
  readonly pstnBusyUnasked: {
    readonly osVersion: () => Answer<number>;
    readonly microphone: () => Answer<Permission>;
    readonly requestMicrophone: () => Answer<boolean>;
    readonly notificationsEnabled: () => Answer<boolean>;
    readonly requestNotificationPermission: () => Answer<boolean>;
    readonly requestPhoneState: () => Answer<boolean>;
    readonly showMissedCall: (missed: MissedCall) => unknown;
    readonly setSpeaker: (isOn: boolean) => unknown;
    readonly phoneState: () => 'prompt';
    readonly pstnBusy: () => true;
  };
};

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
/** Media adapter without voice: an answered call is in progress at once. */
declare const noMedia: MediaAdapter;

type CuidRule =
  | 'required'
  | 'type'
  | 'length'
  | 'first-character'
  | 'alphabet'
  | 'number-separator-number'
  | 'no-letter'
  | 'underscores';
interface CuidFinding {
  readonly rule: CuidRule;
  readonly severity: 'error' | 'warning';
  /** Error that the SDK returns for it; null for a warning. */
  readonly errorName: ErrorName | null;
  readonly message: string;
}
/**
 * Validates a cuid. Returns errors in the order in which the SDK checks them, or else warnings. Uniqueness per
 * user and device is not checked.
 */
declare function validateCuid(cuid: unknown): readonly CuidFinding[];

/** Argument of `initialize`. Properties that only affect screens are validated and otherwise unused. */
interface InitProperties {
  readonly accountId: string;
  readonly apiKey: string;
  /** 5 to 50 letters, digits and `_`; unique per user and device. */
  readonly cuid: string;
  /** Required on Android. */
  readonly allowPersistSocketConnection?: boolean;
  /** Required on iOS. */
  readonly production?: boolean;
  readonly overrideDefaultBranding?: Branding;
  /** Android: labels of at most 3 buttons by action id. */
  readonly missedCallActions?: MissedCallActions;
  /** Android 13 and newer. */
  readonly promptPushPrimer?: PushPrimer;
  /** Android. */
  readonly promptReceiverReadPhoneStatePermission?: boolean;
}
/** Overrides the branding of the dashboard. Colors are `#RGB`, `#RRGGBB` or `#AARRGGBB`. */
interface Branding {
  readonly bgColor?: string;
  readonly fontColor?: string;
  /** HTTPS URL. */
  readonly logoUrl?: string;
  readonly buttonTheme?: 'light' | 'dark';
  readonly showPoweredBySignedCall?: boolean;
}
interface PushPrimer {
  readonly inAppType: 'half-interstitial' | 'alert';
  readonly titleText: string;
  readonly messageText: string;
  readonly positiveBtnText: string;
  readonly negativeBtnText: string;
  readonly followDeviceOrientation?: boolean;
  readonly fallbackToSettings?: boolean;
  readonly imageUrl?: string;
  /** The following apply to half-interstitial only. */
  readonly backgroundColor?: string;
  readonly btnBorderColor?: string;
  readonly titleTextColor?: string;
  readonly messageTextColor?: string;
  readonly btnTextColor?: string;
  readonly btnBackgroundColor?: string;
  /** A number as a string, such as "4". */
  readonly btnBorderRadius?: string;
}
/**
 * Validates the argument of `initialize`. Returns all findings in the order in which the SDK checks them;
 * `initialize` fails with the first error. Properties of the other platform are not checked.
 */
declare function lintInitProperties(
  properties: unknown,
  platform: Platform,
): readonly InitFinding[];
type InitRule =
  | CuidRule
  | 'type'
  | 'choice'
  | 'hex-colour'
  | 'url'
  | 'numeric-string'
  | 'at-most-3'
  | 'ignored'
  | 'unknown-key';
/** An error or warning about initProperties. */
interface InitFinding {
  /** JSON pointer (RFC 6901) to the property, which may be missing. */
  readonly pointer: string;
  readonly rule: InitRule;
  readonly severity: 'error' | 'warning';
  /** Error that `initialize` resolves with; null for a warning. */
  readonly errorName: ErrorName | null;
  readonly message: string;
}

interface CallEventResult {
  /** The same if the event is delivered again, after the process was killed before it was acknowledged. */
  readonly eventId: string;
  readonly direction: CallDirection;
  readonly callEvent: CallEvent;
  readonly callDetails: CallDetails;
}
interface MissedCallActionClickResult {
  /** The same if the click is delivered again. */
  readonly eventId: string;
  readonly action: {
    readonly actionId: string;
    readonly actionLabel: string;
  };
  readonly callDetails: CallDetails;
}
type NetworkQuality = 'good' | 'poor' | 'bad';
/** Quality of the voice that arrives in a call. */
interface NetworkQualityResult {
  readonly quality: NetworkQuality;
  readonly stats: CallStats;
  readonly callDetails: CallDetails;
}
/** State of the connection to the router. */
interface ConnectionResult {
  /**
   * `connecting`: for the first time. `reconnecting`: the socket was lost, or an attempt failed. `closed`: until the
   * next `initialize`.
   */
  readonly state: 'connecting' | 'connected' | 'reconnecting' | 'reconnected' | 'closed';
  /** Time of the next attempt of `reconnecting`, in epoch milliseconds. */
  readonly nextAttemptAt?: number;
}
/** A ringing call, for the app's call screen. */
interface IncomingCall {
  readonly callId: string;
  readonly callDetails: CallDetails;
  /** Time at which it becomes missed, in epoch milliseconds of the router's clock. */
  readonly expiresAt: number;
}
/** Payload of each listener. */
interface ListenerPayloads {
  readonly SignedCallOnCallStatusChanged: CallEventResult;
  readonly SignedCallOnMissedCallActionClicked: MissedCallActionClickResult;
  readonly SignedCallOnNetworkQualityChanged: NetworkQualityResult;
  readonly SignedCallOnConnectionChanged: ConnectionResult;
}
type ListenerName = keyof ListenerPayloads;

/** Image URLs of the two parties. */
interface CallProperties {
  /** Shown to the receiver. */
  readonly initiator_image?: string | undefined;
  /** Shown to the initiator. */
  readonly receiver_image?: string | undefined;
}

/** State of the client's current call. */
type SignedCallState = 'NoCall' | 'OutgoingCall' | 'IncomingCall' | 'OngoingCall';

/**
 * Places and receives calls between users, each identified by a cuid. Methods that return a promise always resolve,
 * with an error for failures and invalid values; the others throw a TypeError for programmer errors (an unknown
 * listener, a callback that is not a function). Methods may be destructured. See docs/calling.md.
 */
declare class SignedCallClient {
  #private;
  readonly SignedCallOnCallStatusChanged: 'SignedCallOnCallStatusChanged';
  readonly SignedCallOnMissedCallActionClicked: 'SignedCallOnMissedCallActionClicked';
  readonly SignedCallOnNetworkQualityChanged: 'SignedCallOnNetworkQualityChanged';
  readonly SignedCallOnConnectionChanged: 'SignedCallOnConnectionChanged';
  constructor(env: SignedCallEnv);
  /** Replaces the environment; it takes effect with the next `initialize`. */
  readonly use: (env: SignedCallEnv) => void;
  /** Signs a user in and opens the socket. Required again after `logout` and `disconnectSignallingSocket`. */
  readonly initialize: (initProperties: InitProperties) => Promise<SignedCallResponse>;
  /** Places a call. Resolves when it is placed, not when it has ended. */
  readonly call: (
    receiverCuid: string,
    callContext: string,
    callProperties?: CallProperties | null,
  ) => Promise<SignedCallResponse>;
  /** Answers a ringing call. Without the microphone the call is declined and this resolves with MIC_DENIED. */
  readonly answer: (callId: string) => Promise<SignedCallResponse>;
  /** Declines a ringing call. */
  readonly decline: (callId: string) => Promise<SignedCallResponse>;
  /** Cancels, declines or ends the current call, depending on its state. */
  readonly hangup: () => void;
  /** Alias of `hangup`. */
  readonly hangupCall: () => void;
  /** Mutes the microphone of the current call, or unmutes it: the other side gets silence. */
  readonly setMuted: (isMuted: boolean) => void;
  readonly isMuted: () => boolean;
  /** Switches the current call to the loudspeaker or the earpiece, where every call starts. */
  readonly setSpeaker: (isOn: boolean) => void;
  readonly isSpeakerOn: () => boolean;
  /** Returns the figures of the current call's voice; null without a call in progress or without voice. */
  readonly getStats: () => Promise<CallStats | null>;
  /** Ends the current call and signs the user out. No calls can be made or received until `initialize`. */
  readonly logout: () => void;
  /** Closes the socket, at once or when the active call ends. Calls arrive by push only until `initialize`. */
  readonly disconnectSignallingSocket: () => void;
  /** Sets the callback of a listener, replacing an earlier one. */
  readonly addListener: <Name extends ListenerName>(
    name: Name,
    callback: (payload: ListenerPayloads[Name]) => unknown,
  ) => void;
  /** Removes the callback of a listener. */
  readonly removeListener: (name: ListenerName) => void;
  /** Sets the callback that shows incoming calls, replacing an earlier one. */
  readonly onIncomingCall: (callback: (call: IncomingCall) => unknown) => void;
  /** Returns the state of the current call. */
  readonly getCallState: () => SignedCallState;
  /** Sets the log level. Throws TypeError for a value that is not a `LogLevel`. */
  readonly setDebugLevel: (level: LogLevel) => void;
  /** Resolves when the router has acknowledged the frames of `hangup` and `logout`. */
  readonly whenIdle: () => Promise<void>;
  /**
   * Disconnects at once, which ends the current call. Later events wait at the router until the next
   * `initialize`.
   */
  readonly close: () => void;
}

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
/** Media adapter for peer-to-peer voice over WebRTC. The router only forwards signals. */
declare function webrtc(options?: WebrtcOptions): MediaAdapter;
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

/** Creates an isolated client, for example one of several devices in one process. */
declare const createSignedCall: (env: SignedCallEnv) => SignedCall;
/** Client shared by an app; call `SignedCall.use(env)` first. */
declare const SignedCall: SignedCall;
type SignedCall = SignedCallClient;

export {
  CallDirection,
  CallEvent,
  ErrorName,
  LogLevel,
  SignedCall,
  createSignedCall,
  SignedCall as default,
  devicePresets,
  lintInitProperties,
  noMedia,
  validateCuid,
  webrtc,
};
export type {
  Branding,
  CallDetails,
  CallEventResult,
  CallProperties,
  CallStats,
  ClientTimes,
  Clock,
  ConnectionResult,
  CuidFinding,
  CuidRule,
  DeviceCapabilities,
  IncomingCall,
  InitFinding,
  InitProperties,
  InitRule,
  ListenerName,
  MediaAdapter,
  MediaOptions,
  MediaSession,
  MissedCall,
  MissedCallActionClickResult,
  MissedCallActions,
  NetworkQuality,
  NetworkQualityResult,
  PeerConnectionClass,
  Permission,
  Platform,
  PushPrimer,
  SignedCallEnv,
  SignedCallError,
  SignedCallResponse,
  SignedCallState,
  Socket,
  SocketClass,
  WebrtcOptions,
};
