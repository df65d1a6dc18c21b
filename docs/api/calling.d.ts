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
/** Id of an action → the label of its button; at most 3. */
type MissedCallActions = Readonly<Record<string, string>>;
/** What a call's listener is told (specification, States and transitions). */
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

/** Every failure that `initialize` or `call` may resolve with. */
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
    readonly description: 'An active instance of the core SDK is needed: an object with accountId, as env.core';
  };
  readonly INIT_CONFIG: {
    readonly android: 2002;
    readonly ios: 2003;
    readonly message: 'initProperties missing or wrong';
    readonly description: 'initialize needs an object of initProperties';
  };
  readonly NOT_INITIALIZED: {
    readonly android: 2003;
    readonly ios: 2003;
    readonly message: 'Not initialized';
    readonly description: 'Initialize first; after logout, again';
  };
  readonly ACCOUNT_OR_KEY_MISSING: {
    readonly android: 2004;
    readonly ios: {
      readonly accountId: 2004;
      readonly apiKey: 2005;
    };
    readonly message: 'accountId or apiKey missing';
    readonly description: 'accountId and apiKey of the calling settings are needed, both non-empty strings';
  };
  readonly CUID_MISSING: {
    readonly android: 2005;
    readonly ios: 2006;
    readonly message: 'cuid missing';
    readonly description: 'A cuid is needed, a non-empty string';
  };
  readonly CUID_LENGTH: {
    readonly android: 2006;
    readonly ios: 2007;
    readonly message: 'cuid has a wrong length';
    readonly description: 'A cuid has 5 to 50 characters';
  };
  readonly CUID_INVALID: {
    readonly android: 2007;
    readonly ios: 2008;
    readonly message: 'cuid is malformed';
    readonly description: 'A cuid is made of ASCII letters, digits and _, begins with a letter or a digit, and is not two numbers with _ between them';
  };
  readonly BRANDING: {
    readonly android: 2010;
    readonly ios: 400;
    readonly message: 'overrideDefaultBranding is wrong';
    readonly description: 'Colours are hexadecimal, logoUrl is https, buttonTheme is light or dark';
  };
  readonly BAD_REQUEST: {
    readonly android: 2011;
    readonly ios: 400;
    readonly message: 'Bad request';
    readonly description: 'The router refused the request, or the context is not alphanumeric';
  };
  readonly AUTH_FAILURE: {
    readonly android: 2012;
    readonly ios: 404;
    readonly message: 'Authentication failed';
    readonly description: 'The router does not know this accountId with this apiKey';
  };
  readonly NOTIFICATION_PERMISSION: {
    readonly android: 2013;
    readonly ios: 'Only Android 13 and newer ask for it';
    readonly message: 'Notification permission denied';
    readonly description: 'On Android 13 and newer, incoming calls cannot be shown without it';
  };
  readonly PRODUCTION_REQUIRED: {
    readonly android: 'The property belongs to iOS';
    readonly ios: 2011;
    readonly message: 'production missing';
    readonly description: 'On iOS, production must be true or false';
  };
  readonly PERSIST_REQUIRED: {
    readonly android: 2002;
    readonly ios: 'The property belongs to Android';
    readonly message: 'allowPersistSocketConnection missing';
    readonly description: 'On Android, allowPersistSocketConnection must be true or false';
  };
  readonly MIC_DENIED: {
    readonly android: 5001;
    readonly ios: 5001;
    readonly message: 'Microphone permission denied';
    readonly description: 'The initiator of a call needs the microphone';
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
    readonly description: 'The receiver never registered';
  };
  readonly BAD_NETWORK: {
    readonly android: 5004;
    readonly ios: 5008;
    readonly message: 'Bad network';
    readonly description: 'The router takes longer than 2000 ms to answer';
  };
  readonly SELF_CALL: {
    readonly android: 5005;
    readonly ios: 5003;
    readonly message: 'Call to oneself';
    readonly description: 'The receiver is the own cuid';
  };
  readonly CONTEXT_REQUIRED: {
    readonly android: 5006;
    readonly ios: 2000;
    readonly message: 'Call context missing';
    readonly description: 'A call needs a context, a non-empty string';
  };
  readonly CONTEXT_LENGTH: {
    readonly android: 5007;
    readonly ios: 2000;
    readonly message: 'Call context too long';
    readonly description: 'A context has at most 64 characters';
  };
  readonly CALLEE_REQUIRED: {
    readonly android: 5009;
    readonly ios: 5005;
    readonly message: 'Receiver missing';
    readonly description: 'A call needs a well-formed cuid of its receiver';
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
    readonly description: 'After disconnectSignallingSocket, initialize opens the socket again';
  };
  readonly CALL_OPTIONS: {
    readonly android: 5012;
    readonly ios: 5005;
    readonly message: 'callProperties are wrong';
    readonly description: 'initiator_image and receiver_image are http or https URLs, each optional';
  };
  readonly CALL_IN_PROGRESS: {
    readonly android: 5013;
    readonly ios: 5009;
    readonly message: 'Call in progress';
    readonly description: 'There is a call already, or one is being placed';
  };
  readonly FEATURE_OFF: {
    readonly android: 5014;
    readonly ios: 5006;
    readonly message: 'Calling is off';
    readonly description: 'Calling is disabled for this account';
  };
  readonly CUID_ELSEWHERE: {
    readonly android: 2012;
    readonly ios: 5004;
    readonly message: 'cuid in use on another device';
    readonly description: 'Another device holds this cuid: a cuid belongs to one user on one device';
  };
};
type ErrorName = keyof typeof errorTable;
/** The names, for comparison with `errorName`: the numbers mean different things on the two platforms. */
declare const ErrorName: { readonly [Name in ErrorName]: Name };
/** What `initialize` and `call` resolve with. Failures of operation or value always resolve. */
interface SignedCallResponse {
  readonly isSuccessful: boolean;
  readonly error: SignedCallError | null;
}
interface SignedCallError {
  /** The platform's number. It may mean something else on the other platform. */
  readonly errorCode: number;
  readonly errorMessage: string;
  readonly errorDescription: string;
  /** The same on both platforms: compare with this. */
  readonly errorName: ErrorName;
}

/** All that the SDK takes from outside. */
interface SignedCallEnv {
  /**
   * The router's address: wss or https, or ws or http of this machine. Without user info; `initialize` rejects with
   * a TypeError for any other.
   */
  readonly url: string;
  /** "An active instance of the core SDK": any object that knows its account. */
  readonly core:
    | {
        readonly accountId: string;
      }
    | null
    | undefined;
  /** The platform's own by default. Node 20 has none: see `engagectl/calling/node`. */
  readonly WebSocket?: SocketClass;
  /** No voice by default. */
  readonly media?: MediaAdapter;
  /** One that allows everything by default. */
  readonly device?: DeviceCapabilities;
  /** Whose rules and numbers of errors apply; android by default. */
  readonly platform?: Platform;
  /** The same at each start of the app, so that waiting calls are found; random by default. */
  readonly deviceId?: string;
  readonly clock?: Clock;
  /** From 0 up to 1. */
  readonly random?: () => number;
  /** Takes lines; the console by default. */
  readonly log?: (line: string) => void;
  readonly times?: Partial<ClientTimes>;
  /** Told when the router does not let a client back that was initialized: it does not come back by itself. */
  readonly onRefused?: (errorName: ErrorName) => void;
}
/** Milliseconds of the client's waits; tests take a hundredth of them. */
interface ClientTimes {
  /** For a socket to open, and for a frame's answer. */
  readonly answer: number;
  /** For the answer to the placement of a call. */
  readonly placement: number;
  /** For the answer to the probe before a call. */
  readonly latency: number;
  /** Between two looks whether the router still answers. */
  readonly ping: number;
  /** How fast waits before reconnecting pass: 1 is the real pace, 0.01 a hundredth of the wait. */
  readonly reconnectScale: number;
}
/** The notification of a missed call, with at most three buttons. */
interface MissedCall {
  readonly callId: string;
  readonly actions: MissedCallActions;
  readonly callDetails: CallDetails;
}
/** What the SDK asks of the phone. All are functions, because the answers change while the app runs. */
interface DeviceCapabilities {
  /** The main version of the platform: 13 on Android 13. */
  osVersion(): number;
  microphone(): 'granted' | 'denied' | 'prompt';
  requestMicrophone(): Promise<boolean>;
  notificationsEnabled(): boolean;
  requestNotificationPermission(): Promise<boolean>;
  /** Whether a telephone call is going on. Android tells only with the permission Read Phone State. */
  pstnBusy(): boolean;
  showMissedCall(missed: MissedCall): void;
}
/** Devices for tests and rehearsals. */
declare const devicePresets: {
  readonly allowAll: DeviceCapabilities;
  readonly micDenied: {
    readonly microphone: () => 'denied';
    readonly requestMicrophone: () => Promise<boolean>;
    readonly osVersion: () => number;
    readonly notificationsEnabled: () => boolean;
    readonly requestNotificationPermission: () => Promise<boolean>;
    readonly pstnBusy: () => boolean;
    readonly showMissedCall: (missed: MissedCall) => void;
  };
  readonly notificationsOff: {
    readonly notificationsEnabled: () => false;
    readonly requestNotificationPermission: () => Promise<boolean>;
    readonly osVersion: () => number;
    readonly microphone: () => 'granted' | 'denied' | 'prompt';
    readonly requestMicrophone: () => Promise<boolean>;
    readonly pstnBusy: () => boolean;
    readonly showMissedCall: (missed: MissedCall) => void;
  };
  readonly android13Denied: {
    readonly osVersion: () => number;
    readonly notificationsEnabled: () => false;
    readonly requestNotificationPermission: () => Promise<boolean>;
    readonly microphone: () => 'granted' | 'denied' | 'prompt';
    readonly requestMicrophone: () => Promise<boolean>;
    readonly pstnBusy: () => boolean;
    readonly showMissedCall: (missed: MissedCall) => void;
  };
  readonly pstnBusy: {
    readonly pstnBusy: () => true;
    readonly osVersion: () => number;
    readonly microphone: () => 'granted' | 'denied' | 'prompt';
    readonly requestMicrophone: () => Promise<boolean>;
    readonly notificationsEnabled: () => boolean;
    readonly requestNotificationPermission: () => Promise<boolean>;
    readonly showMissedCall: (missed: MissedCall) => void;
  };
};
/** Time, as the SDK knows it: injected, so that tests and other platforms have their own. */
interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs it once after so many milliseconds, unless what is returned is called before. */
  after(milliseconds: number, run: () => void): () => void;
}
/** How much is printed: a line whose level is at most the chosen one. */
declare const LogLevel: {
  readonly off: -1;
  readonly info: 0;
  readonly debug: 2;
  readonly verbose: 3;
};
type LogLevel = (typeof LogLevel)[keyof typeof LogLevel];
/** What the SDK needs of a WebSocket. Those of browsers, React Native, Node 22 and the package `ws` have it. */
interface Socket {
  addEventListener(type: 'open', listener: () => void): void;
  /** Browsers do not say what is wrong. */
  addEventListener(type: 'error', listener: (event: { readonly message?: string }) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code?: number }) => void): void;
  send(text: string): void;
  close(code?: number): void;
  /** Ends it without waiting for the other side. Of `ws` only. */
  terminate?(): void;
}
type SocketClass = new (url: string, protocols: string[]) => Socket;
/** How one call's voice travels. What is signalled goes through the router to the other side, as it is. */
interface MediaOptions {
  /** The initiator makes the offer. */
  readonly role: 'initiator' | 'receiver';
  /** Any JSON value, up to 64 KiB as text. */
  readonly sendSignal: (payload: unknown) => void;
  /** Registers who hears the other side's signals. Those that came before are handed over at once. */
  readonly onSignal: (handler: (payload: unknown) => void) => void;
}
interface MediaSession {
  /** Resolves when voice can travel; rejects when it never will: the call is hung up then. */
  readonly connected: Promise<void>;
  /** Lets go of microphone and connection. */
  close(): void;
}
interface MediaAdapter {
  /** Called when the call is answered. */
  open(options: MediaOptions): Promise<MediaSession>;
}
/** No voice: the call is in progress when both sides have answered. */
declare const noMedia: MediaAdapter;

type CuidRule =
  | 'required'
  | 'length'
  | 'first-character'
  | 'alphabet'
  | 'number-separator-number'
  | 'no-letter'
  | 'underscores';
interface CuidFinding {
  readonly rule: CuidRule;
  readonly severity: 'error' | 'warning';
  /** What the SDK would answer; null for a warning. */
  readonly errorName: ErrorName | null;
  readonly message: string;
}
/**
 * What is to be said of a cuid: nothing, or errors in the order in which the SDK looks for them, or
 * warnings. That it is unique per user and device cannot be seen from one of them.
 */
declare function validateCuid(cuid: unknown): readonly CuidFinding[];

/** What `initialize` takes. What only a screen has a use for is checked, and kept by nobody. */
interface InitProperties {
  readonly accountId: string;
  readonly apiKey: string;
  /** 5 to 50 letters, digits and `_`; one for each user on each device. */
  readonly cuid: string;
  /** Required on Android. */
  readonly allowPersistSocketConnection?: boolean;
  /** Required on iOS. */
  readonly production?: boolean;
  readonly overrideDefaultBranding?: Branding;
  /** Android: id of an action → the label of its button; at most 3. */
  readonly missedCallActions?: MissedCallActions;
  /** Android 13 and newer. */
  readonly promptPushPrimer?: PushPrimer;
  /** Android. */
  readonly promptReceiverReadPhoneStatePermission?: boolean;
}
/** Colours are `#RGB`, `#RRGGBB` or `#AARRGGBB`. */
interface Branding {
  readonly bgColor?: string;
  readonly fontColor?: string;
  /** https */
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
  /** The rest belongs to half-interstitial. */
  readonly backgroundColor?: string;
  readonly btnBorderColor?: string;
  readonly titleTextColor?: string;
  readonly messageTextColor?: string;
  readonly btnTextColor?: string;
  readonly btnBackgroundColor?: string;
  /** A number in a string. */
  readonly btnBorderRadius?: string;
}
/**
 * All that is to be said of the object for `initialize`, in the order in which the SDK looks at it: its first
 * error is what `initialize` answers. What belongs to the other platform only is not looked at.
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
/** One thing to be said of initProperties. */
interface InitFinding {
  /** JSON pointer (RFC 6901) to the property; of one that is missing, where it should be. */
  readonly pointer: string;
  readonly rule: InitRule;
  readonly severity: 'error' | 'warning';
  /** What `initialize` would answer; null for a warning. */
  readonly errorName: ErrorName | null;
  readonly message: string;
}

interface CallEventResult {
  readonly direction: CallDirection;
  readonly callEvent: CallEvent;
  readonly callDetails: CallDetails;
}
interface MissedCallActionClickResult {
  readonly action: {
    readonly actionId: string;
    readonly actionLabel: string;
  };
  readonly callDetails: CallDetails;
}
/** A call that rings. A phone shows it on a screen of its own. */
interface IncomingCall {
  readonly callId: string;
  readonly callDetails: CallDetails;
  /** When it is missed, in milliseconds since 1970 on the router's clock. */
  readonly expiresAt: number;
}
/** What each listener is called with. */
interface ListenerPayloads {
  readonly SignedCallOnCallStatusChanged: CallEventResult;
  readonly SignedCallOnMissedCallActionClicked: MissedCallActionClickResult;
}
type ListenerName = keyof ListenerPayloads;

/** Images of the two sides, by URL, each optional. */
interface CallProperties {
  /** Shown to the receiver. */
  readonly initiator_image?: string | undefined;
  /** Shown to the initiator. */
  readonly receiver_image?: string | undefined;
}

/** Whether there is a call, and of what kind. */
type SignedCallState = 'NoCall' | 'OutgoingCall' | 'IncomingCall' | 'OngoingCall';

/**
 * Calls between two users, each known by a cuid. What fails in operation or by its value resolves with an
 * error; a mistake of the program (an unknown listener, a callback that is none) throws a TypeError.
 */
declare class SignedCallClient {
  #private;
  readonly SignedCallOnCallStatusChanged: 'SignedCallOnCallStatusChanged';
  readonly SignedCallOnMissedCallActionClicked: 'SignedCallOnMissedCallActionClicked';
  constructor(env: SignedCallEnv);
  /** Gives it another environment: the next `initialize` goes by it. */
  use(env: SignedCallEnv): void;
  /** Signs a user in, and opens the socket. Needed again after `logout` and `disconnectSignallingSocket`. */
  initialize(initProperties: InitProperties): Promise<SignedCallResponse>;
  /** Resolves when the call is placed, not when it is over. */
  call(
    receiverCuid: string,
    callContext: string,
    callProperties?: CallProperties | null,
  ): Promise<SignedCallResponse>;
  /** Takes the call that rings. Without the microphone it is declined, and this resolves with MIC_DENIED. */
  answer(callId: string): Promise<SignedCallResponse>;
  decline(callId: string): Promise<SignedCallResponse>;
  /** Ends the call there is, whatever its state: cancels, declines or ends it. */
  hangup(): void;
  /** The same as `hangup`. */
  hangupCall(): void;
  /** Ends the call there is. No calls can be made or received until `initialize`. */
  logout(): void;
  /** Closes the socket, at once or when the active call ends. Calls come by push only until `initialize`. */
  disconnectSignallingSocket(): void;
  /** Takes the place of the callback that this listener had. */
  addListener<Name extends ListenerName>(
    name: Name,
    callback: (payload: ListenerPayloads[Name]) => unknown,
  ): void;
  removeListener(name: ListenerName): void;
  /** Who shows incoming calls: on a phone, the app's own screen. Takes the place of an earlier callback. */
  onIncomingCall(callback: (call: IncomingCall) => unknown): void;
  getCallState(): SignedCallState;
  setDebugLevel(level: LogLevel): void;
  /** Resolves when the router has answered what `hangup` and `logout` sent. */
  whenIdle(): Promise<void>;
  /**
   * Leaves the router at once, which ends a call there is. Nothing more is told: that waits at the router
   * until `initialize`.
   */
  close(): void;
}

interface WebrtcOptions {
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
declare function webrtc(options?: WebrtcOptions): MediaAdapter;
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
interface MediaTrack {
  readonly kind: string;
  stop(): void;
}
/** Tracks that belong together. */
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
  close(): void;
}
type PeerConnectionClass = new (configuration: {
  readonly iceServers: IceServer[];
}) => PeerConnection;

/** A client of its own: several devices in one process, say. */
declare const createSignedCall: (env: SignedCallEnv) => SignedCall;
/** The client that an app shares; `SignedCall.use(env)` comes first. */
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
  ClientTimes,
  Clock,
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
  PeerConnectionClass,
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
