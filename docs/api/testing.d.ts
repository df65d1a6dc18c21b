/// <reference types="node" />
import { IncomingHttpHeaders } from 'node:http';

/** How the local service plays what real deployments leave open (service-facts, Open questions). */
interface Variants {
  /** Keys of returned profileData: as uploaded, or lower case without spaces. */
  readonly keyStyle: 'verbatim' | 'folded';
  /** Place of `next_cursor` in a page, relative to `records`. */
  readonly nextCursor: 'before' | 'after';
  /** Place of `status` in every answer. */
  readonly status: 'first' | 'last';
  /** Answer to an expired cursor: code 3, the text `invalid cursor` without a code, or the code as text. */
  readonly expiredCursor: 'code' | 'text' | 'stringCode';
  /**
   * The record echoed in `unprocessed`: altered for codes 517 to 520 alone, as it was seen; always as sent; or
   * always with phone numbers as numbers and keys in another order.
   */
  readonly echo: 'recorded' | 'intact' | 'changed';
  /** How its text ends: `Skipped record number : 2`, or without the first blank. */
  readonly recordNumber: 'spaced' | 'tight';
  /** A profile record whose `ts` is older than the profile: fills its gaps, or overwrites like any other. */
  readonly olderProfile: 'fills' | 'overwrites';
  /** Whitespace around `:` and `,` of every answer. */
  readonly whitespace: 'tight' | 'spaced';
  /** Whether connections outlive an answer. */
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
/** Milliseconds of the call system's waits; tests take a hundredth of them. */
interface CallTimers {
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

/** What a push service would be asked to deliver: a call for a device that is not connected. */
interface PushOffer {
  readonly callId: string;
  readonly cuid: string;
  readonly deviceId: string;
  readonly platform: Platform;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly details: CallDetails;
}
/** The calling system of the local service, which is there when these are given. */
interface CallingOptions {
  readonly accountId: string;
  readonly apiKey: string;
  /** Those that are missing are as in production. */
  readonly timers?: Partial<CallTimers>;
  /** Share of the router's frames instead of which the client's connection breaks. 0 by default. */
  readonly dropRate?: number;
  /** Calling is not enabled for the account: calls are refused. */
  readonly isOff?: boolean;
  readonly onPush?: ((offer: PushOffer) => void) | undefined;
}

/** The eight endpoints of the specification by name, in its order. */
declare const endpointNames: readonly [
  'upload',
  'subscribe',
  'profiles-cursor',
  'profiles',
  'profile',
  'events-cursor',
  'events',
  'demerge',
];
type EndpointName = (typeof endpointNames)[number];

/** A rule in force. */
interface ActiveRule extends FaultRule {
  readonly id: number;
  /** Requests that it fits, so far. */
  readonly seen: number;
  /** Those of them to which it happened. */
  readonly played: number;
}
/** What can happen to a request besides an answer. */
declare const faultActions: readonly [
  'reset-before',
  'reset-after',
  'hang',
  'cut',
  'drip',
  'html',
  'empty',
  'expire-cursor',
  'lie-counts',
];
/**
 * What is to happen to which requests (contract §10). It has an `answer` or an `action`, or neither: a delay
 * alone makes the usual answer late.
 */
interface FaultRuleInput {
  /** Every endpoint when it is missing. */
  readonly endpoint?: EndpointName | undefined;
  /** Some text or number in the body, or a parameter of the URL, is exactly this. */
  readonly match?: string | undefined;
  /** So many requests that fit pass first. */
  readonly after?: number | undefined;
  /** How often it happens; without it until the rule is deleted. */
  readonly times?: number | undefined;
  /** Comes in place of the usual answer; nothing is processed. */
  readonly answer?:
    | {
        /** 200 when it is missing. */
        readonly status?: number | undefined;
        readonly headers?: Readonly<Record<string, string>> | undefined;
        /** Text goes out as it is, anything else as JSON; without one the service says what fits the status. */
        readonly body?: unknown;
      }
    | undefined;
  /**
   * `reset-before`: the connection is reset, nothing is processed. `reset-after`: it is, after the request was
   * processed. `hang`: no answer ever comes. `cut`: the answer breaks off in its middle. `drip`: it comes byte by
   * byte, with `delayMs` (100) before each. `html`: a page to sign in to a network, with status 200. `empty`: status
   * 200 and no body. `expire-cursor`: the answer to a cursor that is out of date. `lie-counts`: one record too many
   * is counted as processed.
   */
  readonly action?: (typeof faultActions)[number] | undefined;
  /** Milliseconds before what the rule says. */
  readonly delayMs?: number | undefined;
}
/** A rule that was checked: what may be left out has its default. */
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

/** A request of the API as it arrived, and what became of it. */
interface LoggedRequest {
  /** Counts from 1, and goes on counting when the list is cleared. */
  readonly id: number;
  /** ISO 8601, by the service's clock. */
  readonly at: string;
  /** Null for a path that is no endpoint. */
  readonly endpoint: EndpointName | null;
  readonly method: string;
  /** Path and query as they were sent. */
  readonly url: string;
  /** Without credentials. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** The body's text; undefined when there was none, or when it had to make room for later ones. */
  body: string | undefined;
  bodyBytes: number;
  /** HTTP status; null while there is no answer, or when the connection broke first. */
  status: number | null;
  /** Milliseconds to the end of the answer, or to that of the connection; null until then. */
  ms: number | null;
  /** The id of the fault rule that was played. */
  fault: number | null;
}

/** Options of the test service. All are optional. Times are in milliseconds. */
interface TestServiceOptions {
  /** Upload or export records, or paths of NDJSON or JSON files of them (may be gzipped). */
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
/** A request that the service received. `body` is the parsed JSON, or the text if it is not JSON. */
type TestRequest = Omit<LoggedRequest, 'body'> & {
  readonly body: unknown;
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
  /** Resets data, calls, faults, the request log and the clock to the seed. Keeps snapshots. */
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
  readonly clock: TestClock;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
/** Starts the local service in this process. The service is ready when the promise resolves. */
declare function startService(options?: TestServiceOptions): Promise<TestService>;

export { startService };
export type {
  ActiveRule,
  CallingOptions as CallOptions,
  EndpointName,
  FaultRuleInput,
  PushOffer,
  TestClock,
  TestRequest,
  TestService,
  TestServiceOptions,
  Variants,
};
