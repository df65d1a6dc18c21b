import type { TimeZone } from '../time-zone.js';
import type { CallingOptions } from './calls/call-options.js';
import type { CallingSystem } from './calls/call-system.js';
import type { Clock, WriteLag } from './clock.js';
import type { FaultRules } from './control/fault-rules.js';
import type { RequestLog, LoggedRequest } from './control/request-log.js';
import type { Database } from './store/database.js';
import type { Snapshots } from './store/snapshots.js';
import type { LookUpHold, RequestMutex } from './concurrency.js';
import type { Settings, Variants } from './settings.js';

/**
 * Records, or paths of files with records: NDJSON or a JSON array, plain or `.gz`. A record is an upload record
 * (endpoint 1), or a profile or event as the reads return it, which is restored field by field. An event needs its
 * `event_name` in addition.
 */
export type Seed = readonly (string | object)[];

export interface ServiceOptions {
  /** Directory of the store, created if missing; undefined keeps all data in memory. */
  readonly dataDir: string | undefined;
  /** Loaded into an empty store, and again after each reset. */
  readonly seed?: Seed | undefined;
  /** Stops loading the seed. */
  readonly signal?: AbortSignal | undefined;
  /** 0 selects a free port. */
  readonly port: number;
  /** Interface to listen on; default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Accepted host names, besides loopback names and, if `host` is not loopback, IP addresses. */
  readonly allowHosts?: readonly string[];
  /** PEM of a certificate and its key; undefined serves plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Accepted prefixes of the authentication headers. */
  readonly headerPrefixes: readonly string[];
  readonly accountId: string;
  readonly passcode: string;
  /** IANA name of the account's time zone: event `ts` and `from`/`to` are local times of it. */
  readonly timezone: string;
  /** Delay of every response after the request was processed, in milliseconds. */
  readonly latencyMs: number;
  /** Seconds after which reads see a write; default 0. */
  readonly lagSeconds?: number;
  /** Polls answered by code 2 before a new cursor is ready. */
  readonly pendingPolls: number;
  /** Fraction of requests answered with 500 or 503, half of them after they were processed. */
  readonly failRate: number;
  /** Selects the requests that fail; undefined: `random` does. */
  readonly failSeed?: number | undefined;
  /** Requests in flight, for uploads together and for each other endpoint; 429 beyond. */
  readonly maxConcurrent: { readonly upload: number; readonly other: number };
  readonly variants: Partial<Variants>;
  /** Reject what the specification does not allow but deployments may tolerate; default false. */
  readonly strict?: boolean | undefined;
  /** Time limit for the body of a request; default one minute. */
  readonly bodyTimeoutMs?: number;
  /** Undefined: calls are not routed. */
  readonly calls?: CallingOptions | undefined;
  /** Returns a number in [0, 1); selects the requests that fail. */
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Size limit of all bodies in the request log, in characters; default 16 Mi. */
  readonly keptBodyText?: number;
  /** Called for each API request when it has fully arrived, and awaited. */
  readonly onArrival?: ((seen: LoggedRequest) => void | Promise<void>) | undefined;
  /** Called for each API request when it is finished. */
  readonly onRequest?: (seen: LoggedRequest) => void;
  /** Called with the error behind an unexpected 500. */
  readonly onDefect?: (error: unknown) => void;
}

export interface RunningService {
  /** URL on this machine, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Whether the seed was loaded, that is, the store was empty. */
  readonly isSeeded: boolean;
  /** For callers in the same process. */
  readonly service: ServiceContext;
  /** Waits up to a second for requests in flight, then closes the port and the store. */
  close(): Promise<void>;
}

/** The parts of a running service. */
export interface ServiceContext {
  readonly store: Database;
  readonly zone: TimeZone;
  readonly options: ServiceOptions;
  readonly settings: Settings;
  /** Number of requests in flight, by path. */
  readonly inFlight: Map<string, number>;
  readonly lookUps: LookUpHold;
  /** The service's clock: the system clock until a test moves it. */
  readonly clock: Clock;
  readonly lag: WriteLag;
  /** Requests are processed one at a time, so requests that arrive meanwhile count as in flight. */
  readonly mutex: RequestMutex;
  readonly requests: RequestLog;
  readonly faults: FaultRules;
  readonly snapshots: Snapshots;
  readonly calls: CallingSystem | undefined;
  /** Loads the seed into an empty store; returns whether it did. */
  readonly loadSeed: () => Promise<boolean>;
  /** Aborts when the service closes. */
  readonly closing: AbortSignal;
}
