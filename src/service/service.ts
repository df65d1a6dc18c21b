import type { TimeZone } from '../time-zone.js';
import type { CallingOptions } from './calls/call-options.js';
import type { CallingSystem } from './calls/call-system.js';
import type { Clock, WriteLag } from './clock.js';
import type { FaultRules } from './control/fault-rules.js';
import type { RequestLog, LoggedRequest } from './control/request-log.js';
import type { Database } from './store/database.js';
import type { Snapshots } from './store/snapshots.js';
import type { RequestMutex } from './mutex.js';
import type { Variants } from './variants.js';

/**
 * Records, or paths of files of them: a JSON record a line or one JSON array, plain or `.gz`. A record is
 * one of endpoint 1, or a profile or event as the reads return it; of an event its `event_name`, too.
 */
export type Seed = readonly (string | object)[];

export interface ServiceOptions {
  /** Folder of the store, made when missing; undefined keeps everything in memory. */
  readonly dataDir: string | undefined;
  /** What is loaded into a store that is empty, and what a reset goes back to. */
  readonly seed?: Seed | undefined;
  /** 0 takes any free port. */
  readonly port: number;
  /** The interface to listen on; 127.0.0.1 when it is missing. */
  readonly host?: string | undefined;
  /** Names by which it may be called, besides those of this machine's loopback and, with another host, IP addresses. */
  readonly allowHosts?: readonly string[];
  /** PEM of a certificate and its key; undefined speaks plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** The headers with the credentials may come with each of them. */
  readonly headerPrefixes: readonly string[];
  readonly accountId: string;
  readonly passcode: string;
  /** IANA name of the account's time zone: event `ts` and `from`/`to` are local times of it. */
  readonly timezone: string;
  /** Milliseconds every answer waits after the request was processed. */
  readonly latencyMs: number;
  /** Seconds after which reads see a write; default 0. */
  readonly lagSeconds?: number;
  /** Polls answered by code 2 before a new cursor is ready. */
  readonly pendingPolls: number;
  /** Share of requests answered by 500 or 503, half of them after they were processed. */
  readonly failRate: number;
  /** Requests in flight, for uploads together and for each other endpoint; 429 beyond. */
  readonly maxConcurrent: { readonly upload: number; readonly other: number };
  readonly variants: Partial<Variants>;
  /** How long the body of a request may take; a minute when it is missing. */
  readonly bodyTimeoutMs?: number;
  /** Undefined: no calling. */
  readonly calls?: CallingOptions | undefined;
  /** In [0, 1); decides which requests fail. */
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Characters of all bodies together that are kept for who asks what was sent; 16 Mi when it is missing. */
  readonly keptBodyText?: number;
  /** Told of each request of the API when all of it is there; what it returns is waited for. */
  readonly onArrival?: ((seen: LoggedRequest) => void | Promise<void>) | undefined;
  /** Told of each request of the API when it is over. */
  readonly onRequest?: (seen: LoggedRequest) => void;
  /** Told what made a request end in an unforeseen 500. */
  readonly onDefect?: (error: unknown) => void;
}

export interface RunningService {
  /** Like `http://127.0.0.1:8787`: where this machine reaches it. */
  readonly url: string;
  /** Whether the seed was loaded: the store had no users. */
  readonly isSeeded: boolean;
  /** For who looks at it, or plays with it, from the same process. */
  readonly service: ServiceContext;
  /** Lets requests in flight finish (a second at most), then closes the port and the store. */
  close(): Promise<void>;
}

/** What every room of the service works with. */
export interface ServiceContext {
  readonly store: Database;
  readonly zone: TimeZone;
  readonly variants: Variants;
  readonly options: ServiceOptions;
  /** Slots that are taken, by path. */
  readonly inFlight: Map<string, number>;
  /** The service's time, which is the world's until a test moves it. */
  readonly clock: Clock;
  readonly lag: WriteLag;
  /** Requests are worked on one by one, so that all that arrive meanwhile are counted. */
  readonly turns: RequestMutex;
  readonly requests: RequestLog;
  readonly faults: FaultRules;
  readonly snapshots: Snapshots;
  readonly calls: CallingSystem | undefined;
  /** Loads the seed into a store without users; tells whether it did. */
  readonly plantSeed: () => Promise<boolean>;
  /** Aborted when the service closes: what only waits, ends. */
  readonly closing: AbortSignal;
}
