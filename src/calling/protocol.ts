/**
 * Wire protocol between client and router: one JSON object in each text frame of a WebSocket.
 *
 * On each socket the client first sends `hello`, and the router's answer proves that the router has the API key; then
 * `auth`, which proves that the client has it. The key itself is never sent. The router answers each frame that has an
 * `id` with an Ack. Its own frames carry `seq`, which increases for each cuid. The client ignores frames that it already
 * has and acknowledges frames with `seen`; the router resends unacknowledged frames on the next socket.
 */
export const signalPath = '/call/v1/signal';
export const subprotocol = 'engagectl.call.v1';

/** Maximum bytes of a frame; `sdp` may be longer. A longer frame closes the socket (1009). */
export const frameBytes = 16 * 1024;
export const sdpFrameBytes = 64 * 1024;

/** Close codes of the router, besides those of WebSocket itself (1001: the router stops; reconnect). */
export const closeCodes = {
  /** The frame is not a JSON object. */
  malformed: 4400,
  /** `auth` had the wrong account or key; reconnecting is pointless. */
  unauthorized: 4401,
  /** Another device uses the cuid. */
  elsewhere: 4403,
  /** `auth` did not arrive in time. */
  authTimeout: 4408,
  /** A newer socket of the same device replaced this one. */
  replaced: 4409,
} as const;

export type Platform = 'android' | 'ios';

/** Capabilities of a device that the router considers. */
export interface Caps {
  /** If false, calls to the device are declined at once while it is not connected. Default: true. */
  readonly notifications?: boolean;
}

/** Reasons of automatic declines, as observed in public builds of such SDKs; 1006 is our addition. */
export const declineCodes = {
  busy: 1001,
  microphoneNotGranted: 1002,
  loggedOutCuid: 1003,
  busyOnVoip: 1004,
  busyOnPstn: 1005,
  notificationsDisabled: 1006,
} as const;
export type DeclineCode = (typeof declineCodes)[keyof typeof declineCodes];

export interface CallDetails {
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
export type MissedCallActions = Readonly<Record<string, string>>;

/** Members of client frames by type, without `t` and `id`. */
export interface ClientFrames {
  /** Starts the handshake with a new random number. */
  readonly hello: { readonly nonce: string };
  readonly auth: {
    readonly accountId: string;
    /** HMAC-SHA-256 of `provenText.client` with the API key, in hexadecimal digits. */
    readonly proof?: string;
    /** Replaces `proof` for clients that authenticate the router in another way. The SDK never sends it. */
    readonly apiKey?: string;
    /** JWT of the app's backend for this cuid, where the router requires one. */
    readonly token?: string;
    readonly cuid: string;
    readonly deviceId: string;
    readonly platform: Platform;
    /**
     * Highest `seq` that the client has received, or 0. Without it the client starts a new session and has no
     * call: an answered call of its previous session ends.
     */
    readonly lastSeq?: number;
    readonly caps: Caps;
    readonly missedCallActions: MissedCallActions;
  };
  readonly call: {
    readonly to: string;
    readonly context: string;
    readonly initiatorImage?: string;
    readonly receiverImage?: string;
  };
  readonly answer: { readonly callId: string };
  readonly decline: { readonly callId: string; readonly reasonCode?: DeclineCode };
  /**
   * Ends the client's call in any state; without a call it does nothing. With a `callId` it does not end a
   * different call that has just arrived.
   */
  readonly hangup: { readonly callId?: string };
  /** Reports that the media of the client's side is connected. */
  readonly ready: { readonly callId: string };
  /** Forwards any JSON value to the other side. */
  readonly sdp: { readonly callId: string; readonly payload: unknown };
  readonly logout: object;
  /** Acknowledges frames up to `seq`. It has no answer. */
  readonly seen: { readonly seq: number };
  /** Measures whether the router answers, and how fast. */
  readonly probe: object;
  /** Asks for ICE servers with credentials for the call that begins. */
  readonly ice: object;
  /** Disconnects without the grace period for a reconnect. */
  readonly bye: object;
}
export type ClientFrame = {
  [T in keyof ClientFrames]: { readonly t: T; readonly id: number } & ClientFrames[T];
}[keyof ClientFrames];

/** Data of a successful Ack, by the type of the acknowledged frame. */
export interface AckData {
  readonly hello: {
    /** A new random number. */
    readonly nonce: string;
    /** HMAC-SHA-256 of `provenText.router` with the API key, in hexadecimal digits. */
    readonly proof: string;
  };
  readonly auth: {
    /** Id of the socket. */
    readonly session: string;
    /** Number of waiting frames, which follow at once. */
    readonly replay: number;
    /**
     * Frames that follow have a higher `seq`. If it is lower than that of the client, the router has lost its
     * state, including the client's call.
     */
    readonly lastSeq: number;
  };
  readonly call: { readonly callId: string };
  readonly ice: { readonly iceServers: readonly IceServer[] };
}

/** A STUN or TURN server, as WebRTC expects it. */
export interface IceServer {
  readonly urls: string | string[];
  readonly username?: string;
  readonly credential?: string;
}

/**
 * Texts that the two proofs of a socket cover. Their first words differ, so that neither proof can be reflected, and
 * both contain both nonces, so that neither can be replayed on another socket.
 */
export const provenText = {
  router: (clientNonce: string, routerNonce: string): string =>
    JSON.stringify(['router', clientNonce, routerNonce]),
  client: (
    { accountId, cuid, deviceId }: Pick<ClientFrames['auth'], 'accountId' | 'cuid' | 'deviceId'>,
    clientNonce: string,
    routerNonce: string,
  ): string => JSON.stringify(['client', clientNonce, routerNonce, accountId, cuid, deviceId]),
} as const;

/** Reasons for which the router rejects a frame. All but the last three are names of SDK errors. */
const refusalNames = [
  'BAD_REQUEST',
  'AUTH_FAILURE',
  'CUID_ELSEWHERE',
  'NOT_REACHABLE',
  'SELF_CALL',
  'CALL_IN_PROGRESS',
  'FEATURE_OFF',
  /** The call has ended or is past this step: the other side was first, and the sender gets no event. */
  'ALREADY_COMPLETED',
  /** The cuid has placed as many calls in the last minute as it may. */
  'TOO_MANY_CALLS',
  /** `hello` and `auth` must come first, and only once. */
  'WRONG_ORDER',
] as const;
export type RefusalName = (typeof refusalNames)[number];

export interface FrameRefusal {
  /** A `RefusalName`, or the name of any SDK error that a test has scripted. */
  readonly name: string;
  readonly message: string;
}

/** Answer to the client's frame with the id `re`. */
export type Ack = { readonly t: 'ack'; readonly re: number } & (
  | { readonly ok: true; readonly data?: AckData[keyof AckData] }
  | { readonly ok: false; readonly err: FrameRefusal }
);

/** Members of router frames by type, without `t` and `seq`. */
export interface RouterFrames {
  /** Offers a call that rings until `expiresAt`, in epoch milliseconds of the router's clock. */
  readonly incoming: {
    readonly callId: string;
    readonly details: CallDetails;
    readonly channel: CallDetails['channel'];
    readonly expiresAt: number;
  };
  readonly event: {
    readonly callId: string;
    readonly direction: CallDirection;
    readonly event: CallEvent;
    readonly details: CallDetails;
  };
  /** Ends an incoming call without an event, because its receiver was busy. */
  readonly over: { readonly callId: string; readonly reason: string };
  readonly sdp: { readonly callId: string; readonly payload: unknown };
  /** The missed-call notification. */
  readonly missed: {
    readonly callId: string;
    readonly actions: MissedCallActions;
    readonly details: CallDetails;
  };
  /** Reports a click on a button of the notification. */
  readonly action: {
    readonly callId: string;
    readonly actionId: string;
    readonly label: string;
    readonly details: CallDetails;
  };
}
export type RouterFrame = {
  [T in keyof RouterFrames]: { readonly t: T; readonly seq: number } & RouterFrames[T];
}[keyof RouterFrames];

/** Timeouts of the router in milliseconds. */
export interface CallTimers {
  /** Ringing time after which a call is missed. */
  readonly ringing: number;
  /** Timeout from the answer until the media of both sides is connected. */
  readonly connecting: number;
  /** Grace period for a side that lost its socket. */
  readonly gone: number;
  /** Timeout from the opening of a socket to its `auth`. */
  readonly auth: number;
  /** Interval of pings; a socket that misses two of them is dropped. */
  readonly ping: number;
}

export const callTimers: CallTimers = {
  ringing: 30_000,
  connecting: 10_000,
  gone: 15_000,
  auth: 5000,
  ping: 10_000,
};

/** Call events (specification, States and transitions). */
export const CallEvent = {
  CallIsPlaced: 'CallIsPlaced',
  Cancelled: 'Cancelled',
  Declined: 'Declined',
  Missed: 'Missed',
  Answered: 'Answered',
  CallInProgress: 'CallInProgress',
  Ended: 'Ended',
  ReceiverBusyOnAnotherCall: 'ReceiverBusyOnAnotherCall',
  DeclinedDueToLoggedOutCuid: 'DeclinedDueToLoggedOutCuid',
  DeclinedDueToNotificationsDisabled: 'DeclinedDueToNotificationsDisabled',
  DeclinedDueToMicrophonePermissionsNotGranted: 'DeclinedDueToMicrophonePermissionsNotGranted',
} as const;
export type CallEvent = (typeof CallEvent)[keyof typeof CallEvent];

export const CallDirection = { Incoming: 'Incoming', Outgoing: 'Outgoing' } as const;
export type CallDirection = (typeof CallDirection)[keyof typeof CallDirection];

const ongoingEvents: ReadonlySet<CallEvent> = new Set([
  CallEvent.CallIsPlaced,
  CallEvent.Answered,
  CallEvent.CallInProgress,
]);

/** Whether the event ends a call. Each side gets at most one such event per call, as its last. */
export const isTerminal = (event: CallEvent): boolean => !ongoingEvents.has(event);
