/**
 * What client and router say to each other: one JSON object in a text frame of a WebSocket.
 *
 * The client begins with `hello`, by whose answer the router proves that it holds the API key, and `auth`, by which
 * the client does, once each on each socket: the key itself is never sent. The router answers each frame that has an
 * `id` by an Ack. Its own frames carry `seq`, which only grows for a cuid: the client passes over
 * what it had already, and tells by `seen` up to where it is done. What is not seen is sent again
 * on the next socket.
 */
export const signalPath = '/call/v1/signal';
export const subprotocol = 'engagectl.call.v1';

/** Most bytes of a frame; `sdp` may be longer. Beyond it the socket is closed (1009). */
export const frameBytes = 16 * 1024;
export const sdpFrameBytes = 64 * 1024;

/** Why the router closes a socket, besides the codes of WebSocket itself (1001: it stops; come back). */
export const closeCodes = {
  /** Not JSON, or no object. */
  malformed: 4400,
  /** `auth` was refused for its account or key: coming back changes nothing. */
  unauthorized: 4401,
  /** Another device holds the cuid. */
  elsewhere: 4403,
  /** No `auth` in time. */
  authTimeout: 4408,
  /** A newer socket of the same device has taken its place. */
  replaced: 4409,
} as const;

export type Platform = 'android' | 'ios';

/** What a device can do, as far as the router decides by it. */
export interface Caps {
  /** False: while the device is not connected, calls to it are declined at once. True by default. */
  readonly notifications?: boolean;
}

/** Why a receiver declines without having been asked [known]; 1006 is ours. */
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

/** Id of an action → the label of its button; at most 3. */
export type MissedCallActions = Readonly<Record<string, string>>;

/** Frames of a client, by type, without `t` and `id`. */
export interface ClientFrames {
  /** A random number that the client has never sent before. */
  readonly hello: { readonly nonce: string };
  readonly auth: {
    readonly accountId: string;
    /** HMAC-SHA-256 by the API key of `provenText.client`, in hexadecimal digits, after `hello`. */
    readonly proof?: string;
    /** In place of `proof`, for clients that know the router in another way. The SDK never sends it. */
    readonly apiKey?: string;
    readonly cuid: string;
    readonly deviceId: string;
    readonly platform: Platform;
    /**
     * The `seq` up to which this client has frames; 0 when it has none. Missing: the client begins a
     * new life, in which it knows of no call. An answered call of its former life ends.
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
   * Ends the client's call, whatever state that is in; fine without one. With a `callId` it ends no
   * other call, which may have come in just then.
   */
  readonly hangup: { readonly callId?: string };
  /** The client's side of the call's media stands. */
  readonly ready: { readonly callId: string };
  /** Goes to the other side as it is. Any JSON value. */
  readonly sdp: { readonly callId: string; readonly payload: unknown };
  readonly logout: object;
  /** Has no answer. */
  readonly seen: { readonly seq: number };
  /** Nothing but its answer: a client learns by it whether the router is there, and how fast. */
  readonly probe: object;
  /** The client leaves: the router does not wait for it to come back. */
  readonly bye: object;
}
export type ClientFrame = {
  [T in keyof ClientFrames]: { readonly t: T; readonly id: number } & ClientFrames[T];
}[keyof ClientFrames];

/** What the router's acks say besides `ok`, by the type of the frame they answer. */
export interface AckData {
  readonly hello: {
    /** A random number that the router has never sent before. */
    readonly nonce: string;
    /** HMAC-SHA-256 by the API key of `provenText.router`, in hexadecimal digits. */
    readonly proof: string;
  };
  readonly auth: {
    /** Names the socket in the router's lists. */
    readonly session: string;
    /** Frames that were waiting: they follow at once. */
    readonly replay: number;
    /**
     * The frames that follow have a higher `seq`. Less than what the client said: the router has
     * lost its memory, and knows nothing of the client's call.
     */
    readonly lastSeq: number;
  };
  readonly call: { readonly callId: string };
}

/**
 * What the two proofs of a socket cover. They differ in their first word, so that neither can be sent back as the other,
 * and hold both random numbers, so that neither is good on another socket.
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

/** Why the router refuses a frame. All but the last two are names of the SDK's errors. */
const refusalNames = [
  'BAD_REQUEST',
  'AUTH_FAILURE',
  'CUID_ELSEWHERE',
  'NOT_REACHABLE',
  'SELF_CALL',
  'CALL_IN_PROGRESS',
  'FEATURE_OFF',
  /** The call is over or has no such step left: who was later lost, and gets no event. */
  'ALREADY_COMPLETED',
  /** `hello` and `auth` have to come first, and once. */
  'WRONG_ORDER',
] as const;
export type RefusalName = (typeof refusalNames)[number];

export interface FrameRefusal {
  readonly name: RefusalName;
  readonly message: string;
}

/** The answer to the client's frame `re`. */
export type Ack = { readonly t: 'ack'; readonly re: number } & (
  | { readonly ok: true; readonly data?: AckData[keyof AckData] }
  | { readonly ok: false; readonly err: FrameRefusal }
);

/** Frames of the router, by type, without `t` and `seq`. */
export interface RouterFrames {
  /** A call rings until `expiresAt`, milliseconds since 1970 on the router's clock. */
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
  /** An incoming call has ended without an event for its receiver, who was busy. */
  readonly over: { readonly callId: string; readonly reason: string };
  readonly sdp: { readonly callId: string; readonly payload: unknown };
  /** The missed-call notification. */
  readonly missed: {
    readonly callId: string;
    readonly actions: MissedCallActions;
    readonly details: CallDetails;
  };
  /** A button of the notification was clicked. */
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

/** Milliseconds of the call system's waits; tests take a hundredth of them. */
export interface CallTimers {
  /** Until a call that nobody answers is missed. */
  readonly ringing: number;
  /** From the answer until both sides' media stand. */
  readonly connecting: number;
  /** For which a side may be off its socket. */
  readonly gone: number;
  /** From the opening of a socket to its `auth`. */
  readonly auth: number;
  /** Between two pings of the router; a socket is dropped when two have no answer. */
  readonly ping: number;
}

export const callTimers: CallTimers = {
  ringing: 30_000,
  connecting: 10_000,
  gone: 15_000,
  auth: 5000,
  ping: 10_000,
};

/** What a call's listener is told (specification, States and transitions). */
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

/** Whether the call is over with it: each side gets at most one such event of a call, as its last. */
export const isTerminal = (event: CallEvent): boolean => !ongoingEvents.has(event);
