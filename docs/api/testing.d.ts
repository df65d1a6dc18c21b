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
  /** Text of the body; undefined if there was none, or if it was dropped for newer ones. */
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
  /** Moves the clock forward, stopped or not. */
  advance(seconds: number): void;
  /** Returns to the system clock. */
  release(): void;
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
  /** Returns the latest 1000 API requests, oldest first, after the id `since`. */
  requests(filter?: { readonly endpoint?: EndpointName; readonly since?: number }): TestRequest[];
  /** Resets data, calls, faults, settings, the request log and the clock to the start. Keeps snapshots. */
  reset(): Promise<void>;
  /** Saves the data under a name of letters, digits, - and _. */
  snapshot(name: string): void;
  /** Restores the data of a snapshot; throws if the snapshot does not exist. */
  restore(name: string): void;
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
  CallingOptions as CallOptions,
  EndpointName,
  FaultRuleInput,
  PushOffer,
  ServiceSettings,
  SettingsChanges,
  TestClock,
  TestRequest,
  TestService,
  TestServiceOptions,
  Variants,
};
