import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultHeaderPrefix, type EndpointName } from './contract/endpoints.js';
import { limits } from './contract/limits.js';
import { nodeRuntime } from './runtime.js';
import { advanceClock, checkEndpoint, parseInstant } from './service/control/routes.js';
import { resetService, validSnapshotName, restoreSnapshot } from './service/control/snapshots.js';
import { requestError } from './service/response.js';
import { startService as start } from './service/start.js';
import type { Clock } from './service/clock.js';
import type { ServiceOptions } from './service/service.js';
import type { ServiceSettings, SettingsChanges, Variants } from './service/settings.js';
import { recordsSince, type CallRecord } from './service/calls/call-records.js';
import type {
  CallEventFilter,
  CallNetwork,
  CallScript,
  ObservedCallEvent,
} from './service/calls/steering.js';
import type { ServiceContext } from './service/service.js';
import type { CallingOptions, PushOffer } from './service/calls/call-options.js';
import type { FaultRuleInput, ActiveRule } from './service/control/fault-rules.js';
import type { LoggedRequest } from './service/control/request-log.js';

export type {
  ActiveRule,
  CallNetwork,
  CallRecord,
  CallScript,
  CallEventFilter,
  ObservedCallEvent,
  CallingOptions as CallOptions,
  EndpointName,
  FaultRuleInput,
  PushOffer,
  ServiceSettings,
  SettingsChanges,
  Variants,
};

/** Options of the test service. All are optional. Times are in milliseconds. */
export interface TestServiceOptions {
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
  readonly maxConcurrent?: { readonly upload: number; readonly other: number };
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
export type TestRequest = Omit<LoggedRequest, 'body' | 'answer'> & {
  readonly body: unknown;
  readonly answer: unknown;
};

export interface TestClock {
  now(): Date;
  /** Stops the clock at an instant: ISO 8601 with an offset, or epoch seconds. */
  set(instant: Date | string | number): void;
  /** Moves the clock forward, stopped or not. Calls whose time to ring or connect is up end. */
  advance(seconds: number): void;
  /** Returns to the system clock. */
  release(): void;
}

/** Steers the calls of the service. Needs the option `calls`; without it every function throws. */
export interface TestCalls {
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
  waitFor(wanted: CallEventFilter & { readonly timeoutMs?: number }): Promise<ObservedCallEvent>;
  /** Returns all calls, oldest first. */
  list(): CallRecord[];
  /** Removes scripts, network conditions and observed events. */
  clear(): void;
}

/** A running test service. Shares no state with other services in the same process. */
export interface TestService {
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
export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  const { checkTestOptions, parseSettings } = await import('./service/control/settings-schema.js');
  checkTestOptions(options);
  const { memory = true, tls = false } = options;
  const folder = memory && !tls ? undefined : mkdtempSync(join(tmpdir(), 'engagectl-testing-'));
  const removeFolder = () => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  try {
    const made = tls && folder !== undefined ? await certificateIn(folder) : undefined;
    const startOptions = serviceOptions(options, memory ? undefined : folder);
    const running = await start({ ...startOptions, tls: made?.tls });
    const { url, service } = running;
    const { accountId, passcode, headerPrefixes } = startOptions;
    const end = () => running.close().then(removeFolder);
    return {
      url,
      accountId,
      passcode,
      caFile: made?.file,
      env: {
        ENGAGECTL_BASE_URL: url,
        ENGAGECTL_ACCOUNT_ID: accountId,
        ENGAGECTL_PASSCODE: passcode,
        ENGAGECTL_HEADER_PREFIX: headerPrefixes[0] ?? defaultHeaderPrefix,
        ...(made ? { NODE_EXTRA_CA_CERTS: made.file } : {}),
        ...(options.calls ? callingAccount(options.calls) : {}),
      },
      requests: (filter) => {
        checkEndpoint(filter?.endpoint);
        return service.requests.list(filter).map(withBody);
      },
      reset: async () => void (await resetService(service)),
      snapshot: async (name) => {
        const checked = validSnapshotName(name);
        await service.mutex.run(() => service.snapshots.save(checked));
      },
      restore: async (name) => {
        if (!(await service.mutex.run(() => restoreSnapshot(service, name))))
          throw new Error(`snapshot ${name} does not exist`);
      },
      fault: async (rule) => {
        const { parseFaultRule } = await import('./service/control/settings-schema.js');
        return service.faults.add(parseFaultRule(rule));
      },
      settings: async (changes) => service.settings.change(parseSettings(changes)),
      clearFaults: (rule) => {
        if (rule) service.faults.remove(rule.id);
        else service.faults.clear();
      },
      clock: testClock(service.clock),
      calls: testCalls(service),
      close: end,
      [Symbol.asyncDispose]: end,
    };
  } catch (error) {
    removeFolder();
    throw error;
  }
}

const testClock = (clock: Clock): TestClock => ({
  now: () => new Date(clock.now()),
  set: (instant) =>
    clock.stopAt(parseInstant(instant instanceof Date ? instant.toISOString() : instant)),
  advance: (seconds) => advanceClock(clock, seconds),
  release: () => clock.release(),
});

const steeringParser = async () =>
  (await import('./service/control/settings-schema.js')).parseSteering;

function testCalls({ calls, store }: ServiceContext): TestCalls {
  const started = () => {
    if (calls === undefined) throw new Error('startService was called without the option calls');
    return calls;
  };
  return {
    script: async (script) => started().steering.add((await steeringParser())('script', script)),
    drop: (cuid) => {
      if (!started().router.drop(cuid)) throw new Error(`${cuid} is not connected`);
    },
    network: async (network) =>
      started().steering.setNetwork((await steeringParser())('network', network)),
    pushOnly: (cuid) => started().requirePush(cuid),
    waitFor: async (wanted) => {
      const { timeoutMs, ...filter } = (await steeringParser())('wait', wanted);
      return started().waitFor(filter, timeoutMs);
    },
    list: () => {
      started().router.turn.end();
      return JSON.parse(`[${[...(recordsSince(store, 0) ?? [])].join(',')}]`) as CallRecord[];
    },
    clear: () => started().steering.clear(),
  };
}

const callingAccount = ({ accountId, apiKey }: CallingOptions): Record<string, string> => ({
  ENGAGECTL_CALL_ACCOUNT_ID: accountId,
  ENGAGECTL_CALL_API_KEY: apiKey,
});

async function certificateIn(folder: string) {
  const { makeCertificate, writeCertificate } = await import('./service/test-certificate.js');
  const tls = makeCertificate([], nodeRuntime(new AbortController().signal).now());
  return { tls, file: writeCertificate(tls.cert, folder, 'certificate.pem') };
}

function serviceOptions(options: TestServiceOptions, dataDir: string | undefined): ServiceOptions {
  const { seed, port = 0, headerPrefix = defaultHeaderPrefix, timezone = 'UTC' } = options;
  const { now, random, token } = nodeRuntime(new AbortController().signal);
  const { accountId = 'TEST', passcode = token(), variants = {} } = options;
  const { latencyMs = 0, lagSeconds = 0, pendingPolls = 0, maxConcurrent, onRequest } = options;
  const { failRate = 0, failSeed = Math.floor(random() * 1e9), strict = false } = options;
  return {
    dataDir,
    seed,
    port,
    headerPrefixes: [headerPrefix].flat(),
    accountId,
    passcode,
    timezone,
    latencyMs,
    lagSeconds,
    calls: options.calls,
    pendingPolls,
    failRate,
    failSeed,
    strict,
    maxConcurrent: maxConcurrent ?? {
      upload: limits.uploadsInFlight,
      other: limits.othersInFlight,
    },
    variants,
    onArrival: onRequest && arrivalOf(onRequest),
    random,
    now,
  };
}

const arrivalOf =
  (onRequest: NonNullable<TestServiceOptions['onRequest']>) =>
  async (seen: LoggedRequest): Promise<void> => {
    try {
      await onRequest(withBody(seen));
    } catch (error) {
      throw requestError(500, `onRequest: ${String(error)}`);
    }
  };

const withBody = ({ body, answer, ...seen }: LoggedRequest): TestRequest => ({
  ...seen,
  body: parsed(body),
  answer: parsed(answer),
});

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}
