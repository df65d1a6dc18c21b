import type { Zone } from '../zone.js';
import type { CallOptions } from './calls/call-options.js';
import type { CallSystem } from './calls/call-system.js';
import type { Clock } from './clock.js';
import type { FaultRules } from './control/fault-rules.js';
import type { RequestLog, SeenRequest } from './control/request-log.js';
import type { Database } from './store/database.js';
import type { Snapshots } from './store/snapshots.js';

/** How the local service plays what real deployments leave open (service-facts, Open questions). */
export interface Variants {
  /** Keys of returned profileData: as uploaded, or lower case without spaces. */
  readonly keyStyle: 'verbatim' | 'folded';
  /** Place of `next_cursor` in a page, relative to `records`. */
  readonly nextCursor: 'before' | 'after';
  /** Place of `status` in every answer. */
  readonly status: 'first' | 'last';
  /** Answer to an expired cursor: code 3, the text `invalid cursor` without a code, or the code as text. */
  readonly expiredCursor: 'code' | 'text' | 'stringCode';
  /** The record echoed in `unprocessed`: as sent, or with phone numbers as numbers and keys in another order. */
  readonly echo: 'intact' | 'changed';
  /** Whitespace around `:` and `,` of every answer. */
  readonly whitespace: 'tight' | 'spaced';
  /** Whether connections outlive an answer. */
  readonly connection: 'keep' | 'close';
}

export const defaultVariants: Variants = {
  keyStyle: 'verbatim',
  nextCursor: 'after',
  status: 'first',
  expiredCursor: 'code',
  echo: 'intact',
  whitespace: 'tight',
  connection: 'keep',
};

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
  /** The headers with the credentials may come with each of them. */
  readonly headerPrefixes: readonly string[];
  readonly accountId: string;
  readonly passcode: string;
  /** IANA name of the account's time zone: event `ts` and `from`/`to` are local times of it. */
  readonly timezone: string;
  /** Milliseconds every answer waits after the request was processed. */
  readonly latencyMs: number;
  /** Polls answered by code 2 before a new cursor is ready. */
  readonly pendingPolls: number;
  /** Share of requests answered by 500 or 503, half of them after they were processed. */
  readonly failRate: number;
  /** Requests in flight, for uploads together and for each other endpoint; 429 beyond. */
  readonly maxConcurrent: { readonly upload: number; readonly other: number };
  readonly variants: Partial<Variants>;
  /** Undefined: no calling. */
  readonly calls?: CallOptions | undefined;
  /** In [0, 1); decides which requests fail. */
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Told of each request of the API when it is over. */
  readonly onRequest?: (seen: SeenRequest) => void;
  /** Told what made a request end in an unforeseen 500. */
  readonly onDefect?: (error: unknown) => void;
}

export interface RunningService {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
  /** For who looks at it, or plays with it, from the same process. */
  readonly service: Service;
  /** Lets requests in flight finish (a second at most), then closes the port and the store. */
  close(): Promise<void>;
}

/** What every room of the service works with. */
export interface Service {
  readonly store: Database;
  readonly zone: Zone;
  readonly variants: Variants;
  readonly options: ServiceOptions;
  /** Slots that are taken, by path. */
  readonly inFlight: Map<string, number>;
  /** The service's time, which is the world's until a test moves it. */
  readonly clock: Clock;
  readonly requests: RequestLog;
  readonly faults: FaultRules;
  readonly snapshots: Snapshots;
  readonly calls: CallSystem | undefined;
  /** Loads the seed into a store that is empty. */
  readonly plantSeed: () => Promise<void>;
  /** Aborted when the service closes: what only waits, ends. */
  readonly closing: AbortSignal;
}
