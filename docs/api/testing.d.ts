/// <reference types="node" />
import { IncomingHttpHeaders } from 'node:http';

/** The eight endpoints. An export has two of them. */
type EndpointName =
  | 'upload'
  | 'subscribe'
  | 'profiles-cursor'
  | 'profiles'
  | 'profile'
  | 'events-cursor'
  | 'events'
  | 'demerge';

/** Settings of the simulation, which a test can change while the service runs (contract §10). */
interface ServiceSettings {
  /** Delay of every response after the request was processed. */
  readonly latencyMs: number;
  /** Polls answered by code 2 before a new cursor is ready. */
  readonly pendingPolls: number;
  /** Fraction of requests answered with 500 or 503, half of them after they were processed. */
  readonly failRate: number;
  /** Selects the requests that fail: the same seed fails the same requests again. */
  readonly failSeed?: number | undefined;
  /** Maximum requests in flight; more get 429. */
  readonly maxConcurrent: {
    readonly upload: number;
    readonly other: number;
  };
  readonly variants: Variants;
  /** Reject what the specification does not allow but deployments may tolerate. */
  readonly strict: boolean;
}
/** Changes of settings; of `variants` and `maxConcurrent`, only the given members change. */
type SettingsChanges = Partial<
  Omit<ServiceSettings, 'variants' | 'maxConcurrent'> & {
    readonly variants: Partial<Variants>;
    readonly maxConcurrent: Partial<ServiceSettings['maxConcurrent']>;
  }
>;
/** Behaviors in which deployments differ (service-facts, Open questions). */
interface Variants {
  /** Keys of returned profileData: as uploaded, or in lower case without spaces. */
  readonly keyStyle: 'verbatim' | 'folded';
  /** Spelling of flags: `MSG-whatsapp` and `MSG-dndWhatsApp`, as recorded, or `MSG-Whatsapp` and `MSG-dndWhatsapp`. */
  readonly flags: 'recorded' | 'specification';
  /** Position of `next_cursor` in a page, relative to `records`. */
  readonly nextCursor: 'before' | 'after';
  /** Position of `status` in every response. */
  readonly status: 'first' | 'last';
  /** Response to an expired cursor: code 3, the text `invalid cursor` without a code, or the code as a string. */
  readonly expiredCursor: 'code' | 'text' | 'stringCode';
  /**
   * The record echoed in `unprocessed`: altered for codes 517 to 520 only, as recorded; always as sent; or
   * always with phone numbers as numbers and keys in another order.
   */
  readonly echo: 'recorded' | 'intact' | 'changed';
  /** Spelling of the record number: `Skipped record number : 2`, or without the first blank. */
  readonly recordNumber: 'spaced' | 'tight';
  /** Effect of a profile record whose `ts` is older than the profile: fills gaps only, or overwrites. */
  readonly olderProfile: 'fills' | 'overwrites';
  /** Whitespace around `:` and `,` in every response. */
  readonly whitespace: 'tight' | 'spaced';
  /** Whether connections are kept open after a response. */
  readonly connection: 'keep' | 'close';
}

type Platform = 'android' | 'ios';
/** Capabilities of a device that the router considers. */
interface Caps {
  /** If false, calls to the device are declined at once while it is not connected. Default: true. */
  readonly notifications?: boolean;
}
/** Reasons of automatic declines, as observed in public builds of such SDKs; 1006 is our addition. */
declare const declineCodes: {
  readonly busy: 1001;
  readonly microphoneNotGranted: 1002;
  readonly loggedOutCuid: 1003;
  readonly busyOnVoip: 1004;
  readonly busyOnPstn: 1005;
  readonly notificationsDisabled: 1006;
};
type DeclineCode = (typeof declineCodes)[keyof typeof declineCodes];
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
/** Members of router frames by type, without `t` and `seq`. */
interface RouterFrames {
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
  readonly over: {
    readonly callId: string;
    readonly reason: string;
  };
  readonly sdp: {
    readonly callId: string;
    readonly payload: unknown;
  };
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
/** Timeouts of the router in milliseconds. */
interface CallTimers {
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

type Side = 'initiator' | 'receiver';
/** State of a call. `over` is final. */
interface CallState {
  readonly phase: 'placed' | 'answered' | 'inProgress' | 'over';
  /** Sides whose media is connected. */
  readonly ready: readonly Side[];
}
/** End of a call, as recorded in the system events. */
interface Ending {
  readonly status: 'over' | 'declined' | 'missed' | 'cancelled';
  readonly reason: string;
  readonly reasonCode?: DeclineCode;
}

/** Device on which a cuid last registered, as reported by the client. */
interface Device {
  readonly deviceId: string;
  readonly platform: Platform;
  readonly caps: Caps;
  readonly missedCallActions: MissedCallActions;
}
/** A cuid that has registered. */
interface RegisteredUser {
  readonly cuid: string;
  device: Device;
  loggedOut: boolean;
  /** Time of its last `auth` in epoch milliseconds. */
  registeredAt: number;
  readonly inbox: Inbox;
  /** Its socket, while connected. */
  session?: Session | undefined;
  /** Its current call, as initiator or receiver. */
  call?: Call | undefined;
  /** Cancels the grace period of a disconnect. */
  cancelGraceTimer?: () => void;
}
/** Socket of a client. */
interface Session {
  readonly id: string;
  /** Undefined before `auth` and after another socket replaced this one. */
  user: RegisteredUser | undefined;
  /** Nonces of its `hello`; undefined before it. */
  nonces:
    | {
        readonly client: string;
        readonly router: string;
      }
    | undefined;
  /** Sends a frame. */
  send(text: string): void;
  /** Closes the socket after pending frames were sent. */
  close(code: number, reason: string): void;
  /** Ends the connection without a closing handshake. */
  drop(): void;
}
/** A call and its state. Times are epoch milliseconds. */
interface Call {
  readonly id: string;
  readonly initiator: RegisteredUser;
  readonly receiver: RegisteredUser;
  details: CallDetails;
  state: CallState;
  readonly placedAt: number;
  answeredAt?: number | undefined;
  inProgressAt?: number | undefined;
  endedAt?: number | undefined;
  ending?: Ending | undefined;
  /** Buttons of the receiver's missed-call notification. */
  actions?: MissedCallActions | undefined;
  /** Whether a test decides what its receiver does; the receiver's device is not notified. */
  isScripted?: boolean;
  /** Cancels the timeout of the current state. */
  cancelTimer?: () => void;
}
/** Stored form of an inbox. */
interface StoredInbox {
  readonly seq: number;
  readonly frames: readonly (readonly [at: number, text: string])[];
}
/** Frame of the router without its sequence number. */
type UnnumberedFrame = {
  [T in keyof RouterFrames]: {
    readonly t: T;
  } & RouterFrames[T];
}[keyof RouterFrames];
/**
 * Unacknowledged frames of a cuid, which are resent on its next socket: at most 100, for at most a day.
 * Sequence numbers only increase.
 */
declare class Inbox {
  #private;
  constructor({ seq, frames }?: StoredInbox);
  /** Sequence number of the newest frame. */
  get seq(): number;
  get size(): number;
  /** Adds a frame and returns its text. A full inbox drops media descriptions first, then the oldest frames. */
  add(unnumbered: UnnumberedFrame, now: number): string;
  /** Drops the frames up to a sequence number, which the client has received. */
  acknowledge(seq: number): void;
  /** Drops the offer and the media descriptions of a call that has ended. */
  forgetCall(callId: string): void;
  /** Returns the texts of the waiting frames. */
  waiting(now: number): string[];
  toJSON(): StoredInbox;
}

/** A stored call. Times are epoch milliseconds. */
interface CallRecord extends CallDetails {
  readonly phase: Call['state']['phase'];
  readonly placedAt: number;
  readonly answeredAt?: number;
  readonly inProgressAt?: number;
  readonly endedAt?: number;
  readonly status?: Ending['status'];
  readonly reason?: string;
  readonly reasonCode?: number;
  /** Buttons of the notification of a missed call. */
  readonly actions?: MissedCallActions;
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

/** Script of the next calls to a cuid. The router plays the callee, even if a device is registered with the cuid. */
interface CallScript {
  readonly to: string;
  /** Only calls of this cuid. */
  readonly from?: string | undefined;
  /** `fail`: refused with `error`. `ignore`: rings until it is missed or cancelled. */
  readonly does: 'answer' | 'decline' | 'ignore' | 'fail';
  /** Time of ringing before the answer or decline; default 0. */
  readonly afterSeconds?: number | undefined;
  /** Time from the answer until the callee hangs up; without it only the caller does. */
  readonly hangupAfterSeconds?: number | undefined;
  /** Reason of a decline; without it the callee declined by hand. */
  readonly reason?: keyof typeof declineCodes | undefined;
  /** Error of `fail`; default `CALL_FAILED`. */
  readonly error?: ErrorName | undefined;
  /** Number of calls; default 1. */
  readonly times?: number | undefined;
}
/** Network between the router and the device of a cuid. */
interface CallNetwork {
  readonly cuid: string;
  /** Delay of each frame of the router. */
  readonly delayMs?: number | undefined;
  /** Whether all frames vanish in both directions while the socket seems open. */
  readonly lose?: boolean | undefined;
}
/** Selects an event of a call, as its caller gets it. */
interface CallEventFilter {
  readonly to?: string | undefined;
  readonly from?: string | undefined;
  readonly event?: CallEvent | undefined;
}
/** An event of a call, as its caller gets it; of a call that has no caller any more, as its receiver does. */
interface ObservedCallEvent {
  readonly event: CallEvent;
  readonly callDetails: CallDetails;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A call for a device that is not connected, as a push service would deliver it. */
interface PushOffer {
  readonly callId: string;
  readonly cuid: string;
  readonly deviceId: string;
  readonly platform: Platform;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly details: CallDetails;
}
/** Limits of one client. */
interface CallLimits {
  /** Calls that a cuid may place in a minute; more are refused. */
  readonly callsPerMinute: number;
  /** Frames of a socket that are read in a second; more wait in the network. */
  readonly framesPerSecond: number;
}
/** An ICE server that the router hands out to clients in a call. */
interface IceServerOptions {
  readonly urls: string | string[];
  readonly username?: string | undefined;
  readonly credential?: string | undefined;
  /**
   * Secret that is shared with a TURN server (`static-auth-secret` of coturn): each client gets credentials of its own,
   * which expire (draft-uberti-behave-turn-rest). Replaces `username` and `credential`.
   */
  readonly secret?: string | undefined;
  /** Lifetime of these credentials; default: a day. */
  readonly ttlSeconds?: number | undefined;
}
/** Options of the call router of the local service. */
interface CallingOptions {
  readonly accountId: string;
  readonly apiKey: string;
  /** Overrides of single timeouts. */
  readonly timers?: Partial<CallTimers>;
  /** Probability, per frame of the router, that the connection breaks instead. Default: 0. */
  readonly dropRate?: number;
  /** Whether calling is disabled for the account, so that calls are rejected. */
  readonly isOff?: boolean;
  /** Overrides of single limits. */
  readonly limits?: Partial<CallLimits>;
  readonly onPush?: ((offer: PushOffer) => void) | undefined;
  /**
   * Key of at least 32 bytes that signs the tokens of clients. With it, each client must have a token for its cuid,
   * and calls and devices are listed with the account's passcode only.
   */
  readonly tokenKey?: string | undefined;
  /** Default: none, so that voice stays within the local network. */
  readonly iceServers?: readonly IceServerOptions[] | undefined;
}

/** An active rule with its counters. */
interface ActiveRule extends FaultRule {
  readonly id: number;
  /** Number of matching requests so far. */
  readonly seen: number;
  /** Number of requests affected so far. */
  readonly played: number;
}
/** Actions of fault rules. */
declare const faultActions: readonly [
  'reset-before',
  'reset-after',
  'hang',
  'cut',
  'drip',
  'html',
  'empty',
  'expire-cursor',
  'pending',
  'lie-counts',
];
/**
 * A rule that injects a fault into matching requests (contract §10). Set `answer` or `action`, or only `delayMs`
 * to delay the usual response.
 */
interface FaultRuleInput {
  /** Default: every endpoint. */
  readonly endpoint?: EndpointName | undefined;
  /** Value that a scalar in the body or a URL parameter must equal. */
  readonly match?: string | undefined;
  /** Number of matching requests to leave alone first; default 0. */
  readonly after?: number | undefined;
  /** Number of requests to affect; default: until the rule is deleted. */
  readonly times?: number | undefined;
  /** Response to send instead of processing the request. */
  readonly answer?:
    | {
        /** HTTP status; default 200. */
        readonly status?: number | undefined;
        readonly headers?: Readonly<Record<string, string>> | undefined;
        /** Text is sent as is, other values as JSON. Default: the usual body for the status. */
        readonly body?: unknown;
      }
    | undefined;
  /**
   * `reset-before`: resets the connection without processing the request. `reset-after`: processes the request, then
   * resets the connection. `hang`: never responds. `cut`: ends the connection in the middle of the response. `drip`:
   * sends one byte every `delayMs` (default 100). `html`: status 200 with the HTML of a captive portal. `empty`: status
   * 200 without a body. `expire-cursor`: the response to an expired cursor. `pending`: code 2, the data of the cursor
   * is not ready. `lie-counts`: reports one processed record too many.
   */
  readonly action?: (typeof faultActions)[number] | undefined;
  /** Delay before the answer, action or usual response, in milliseconds. */
  readonly delayMs?: number | undefined;
}
/** A validated rule with defaults applied. */
interface FaultRule extends FaultRuleInput {
  readonly after: number;
  readonly answer?:
    | {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly body?: unknown;
      }
    | undefined;
}

/** A request of the API and its outcome. */
interface LoggedRequest {
  /** Sequence number from 1; clearing the log does not reset it. */
  readonly id: number;
  /** ISO 8601, by the service's clock. */
  readonly at: string;
  /** Null for other paths of `/1/`. */
  readonly endpoint: EndpointName | null;
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  /** Values that look like credentials are masked. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** Text of the body, or its beginning if it exceeds a limit; undefined if there was none, or it was dropped for newer ones. */
  body: string | undefined;
  bodyBytes: number;
  /** HTTP status; null before the response, and if the connection broke first. */
  status: number | null;
  /** Milliseconds until the response, or the connection, ended; null before that. */
  ms: number | null;
  /** Id of the fault rule that was applied. */
  fault: number | null;
  /** Body of the response as sent, cut after 64 KiB; undefined if it was dropped for newer ones. */
  answer: string | undefined;
  /** `status` of the response body: `partial` and `fail` come with HTTP status 200, too. */
  result: 'success' | 'partial' | 'fail' | null;
  /** Why the request, or some of its records, were rejected. */
  reason: string | null;
  /** Deviations from the specification that strict mode rejects. */
  warnings: readonly string[];
}

/** Options of the test service. All are optional. Times are in milliseconds. */
interface TestServiceOptions {
  /**
   * Records, or paths of NDJSON or JSON files of them (may be gzipped): upload records, or profiles and events as
   * exports and look-ups return them, which are restored field by field.
   */
  readonly seed?: readonly (string | object)[];
  /** Keep all data in memory (default). False uses a temporary folder, for millions of users. */
  readonly memory?: boolean;
  /** Port on 127.0.0.1. 0 (default) takes any free port. */
  readonly port?: number;
  /** Accepted prefixes of the authentication headers; default `X-Service`. */
  readonly headerPrefix?: string | readonly string[];
  readonly accountId?: string;
  /** Generated if missing. */
  readonly passcode?: string;
  /** Serve TLS with a generated certificate, see `caFile`. */
  readonly tls?: boolean;
  /** Time zone of the account, an IANA name; default UTC. */
  readonly timezone?: string;
  /** Delay of every response after its request was processed. */
  readonly latencyMs?: number;
  /** Seconds after which reads see a write. */
  readonly lagSeconds?: number;
  /** Polls before a cursor is ready. */
  readonly pendingPolls?: number;
  /** Fraction of requests answered with 500 or 503, half of them after they were processed; default 0. */
  readonly failRate?: number;
  /** Selects the requests that fail: the same seed fails the same requests. Drawn if missing. */
  readonly failSeed?: number;
  /** Reject what the specification does not allow but deployments may tolerate; otherwise the request log warns. */
  readonly strict?: boolean;
  /** Maximum requests in flight; more get 429. Default: 15 uploads, 3 for each other endpoint. */
  readonly maxConcurrent?: {
    readonly upload: number;
    readonly other: number;
  };
  /** Behavior in which deployments differ. */
  readonly variants?: Partial<Variants>;
  /** Account and key of the calling system. Without them, no calls are routed. */
  readonly calls?: CallingOptions;
  /**
   * Called for each API request after it has fully arrived, and awaited before the request is
   * processed, so a test can delay a request. If it throws, the response is a 500 with that text.
   */
  readonly onRequest?: (request: TestRequest) => void | Promise<void>;
}
/** A request that the service received. `body` and `answer` are parsed JSON, or the text if it is not JSON. */
type TestRequest = Omit<LoggedRequest, 'body' | 'answer'> & {
  readonly body: unknown;
  readonly answer: unknown;
};
interface TestClock {
  now(): Date;
  /** Stops the clock at an instant: ISO 8601 with an offset, or epoch seconds. */
  set(instant: Date | string | number): void;
  /** Moves the clock forward, stopped or not. Calls whose time to ring or connect is up end. */
  advance(seconds: number): void;
  /** Returns to the system clock. */
  release(): void;
}
/** Steers the calls of the service. Needs the option `calls`; without it every function throws. */
interface TestCalls {
  /** Scripts the next call to a cuid, or the next `times` calls. Rejects with the name and cause of a wrong member. */
  script(script: CallScript): Promise<void>;
  /** Breaks the connection of a cuid now; throws if it has none. */
  drop(cuid: string): void;
  /** Delays or loses the frames of a cuid, until the next call of this function for it. */
  network(network: CallNetwork): Promise<void>;
  /** Breaks the connection of a cuid, which cannot connect until a call has been pushed to it (`onPush`). */
  pushOnly(cuid: string): void;
  /**
   * Resolves with the oldest matching event that no earlier `waitFor` returned, or with the next one. Rejects after
   * `timeoutMs` of real time, by default 10 s.
   */
  waitFor(
    wanted: CallEventFilter & {
      readonly timeoutMs?: number;
    },
  ): Promise<ObservedCallEvent>;
  /** Returns all calls, oldest first. */
  list(): CallRecord[];
  /** Removes scripts, network conditions and observed events. */
  clear(): void;
}
/** A running test service. Shares no state with other services in the same process. */
interface TestService {
  readonly url: string;
  readonly accountId: string;
  readonly passcode: string;
  /** Path of the certificate to trust, for NODE_EXTRA_CA_CERTS; undefined without TLS. */
  readonly caFile: string | undefined;
  /**
   * Environment of a program under test: ENGAGECTL_BASE_URL, _ACCOUNT_ID, _PASSCODE,
   * _HEADER_PREFIX; NODE_EXTRA_CA_CERTS with TLS; the calling account and key with `calls`.
   */
  readonly env: Readonly<Record<string, string>>;
  /** Returns the latest 1000 API requests, oldest first, after the id `since`. Throws for an unknown endpoint. */
  requests(filter?: { readonly endpoint?: EndpointName; readonly since?: number }): TestRequest[];
  /** Resets data, calls, faults, settings, the request log and the clock to the start. Keeps snapshots. */
  reset(): Promise<void>;
  /** Saves the data under a name of letters, digits, - and _. */
  snapshot(name: string): Promise<void>;
  /** Restores the data of a snapshot; rejects if the snapshot does not exist. */
  restore(name: string): Promise<void>;
  /**
   * Adds a fault rule. Rejects with the location and cause of an error in the rule. The counters
   * `seen` and `played` of the returned rule stay current.
   */
  fault(rule: FaultRuleInput): Promise<ActiveRule>;
  /** Deletes one rule, or all rules. */
  clearFaults(rule?: ActiveRule): void;
  /** Changes settings of the running service; rejects with the name and cause of a wrong one. Returns all settings. */
  settings(changes: SettingsChanges): Promise<ServiceSettings>;
  readonly clock: TestClock;
  readonly calls: TestCalls;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
/**
 * Starts the local service in this process. The service is ready when the promise resolves. Rejects with TypeError that
 * names an unknown or wrong option.
 */
declare function startService(options?: TestServiceOptions): Promise<TestService>;

export { startService };
export type {
  ActiveRule,
  CallEventFilter,
  CallNetwork,
  CallingOptions as CallOptions,
  CallRecord,
  CallScript,
  EndpointName,
  FaultRuleInput,
  ObservedCallEvent,
  PushOffer,
  ServiceSettings,
  SettingsChanges,
  TestCalls,
  TestClock,
  TestRequest,
  TestService,
  TestServiceOptions,
  Variants,
};
