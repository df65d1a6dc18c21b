import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultHeaderPrefix } from './contract/endpoints.js';
import { limits } from './contract/limits.js';
import { nodeRuntime } from './runtime.js';
import { parseInstant } from './service/control/clock.js';
import { resetService, validSnapshotName, restoreSnapshot } from './service/control/snapshots.js';
import { requestError } from './service/response.js';
import { startService as start } from './service/start.js';
import type { ServiceOptions } from './service/service.js';
import type { Variants } from './service/variants.js';
import type { CallingOptions, PushOffer } from './service/calls/call-options.js';
import type { FaultRuleInput, ActiveRule } from './service/control/fault-rules.js';
import type { LoggedRequest } from './service/control/request-log.js';
import type { EndpointName } from './service/endpoints.js';

export type {
  ActiveRule,
  CallingOptions as CallOptions,
  EndpointName,
  FaultRuleInput,
  PushOffer,
  Variants,
};

/** All of them may be left out. Times are in milliseconds. */
export interface TestServiceOptions {
  /** Upload records, or paths of files of them (NDJSON or JSON, also .gz); also what an export made. */
  readonly seed?: readonly (string | object)[];
  /** True, the default: nothing touches the disk. False: a temporary folder, for millions of users. */
  readonly memory?: boolean;
  /** 0, the default, takes any free port of 127.0.0.1. */
  readonly port?: number;
  /** Default `X-Service`; of several, each is taken. */
  readonly headerPrefix?: string | readonly string[];
  readonly accountId?: string;
  /** Made for this service when it is missing. */
  readonly passcode?: string;
  /** True: TLS, with a certificate made for this service: `caFile`. */
  readonly tls?: boolean;
  /** IANA name of the account's time zone; default UTC. */
  readonly timezone?: string;
  /** Every answer waits so long, after the request was processed. */
  readonly latencyMs?: number;
  /** Seconds after which reads see a write. */
  readonly lagSeconds?: number;
  /** Polls before a cursor is ready. */
  readonly pendingPolls?: number;
  /** Requests in flight: 429 beyond. Default 15 uploads, 3 of each other endpoint. */
  readonly maxConcurrent?: { readonly upload: number; readonly other: number };
  /** How it plays what deployments do differently. */
  readonly variants?: Partial<Variants>;
  /** Account and key of the calling system; without it no calls are routed. */
  readonly calls?: CallingOptions;
  /**
   * Is told of each request of the API when all of it has arrived, and waited for: what it does is done before the
   * request is, and a promise holds the request as long as a test wants it. What it throws is the text of a 500.
   */
  readonly onRequest?: (request: TestRequest) => void | Promise<void>;
}

/** A request that the service saw. `body`: its JSON, or its text where it is none. */
export type TestRequest = Omit<LoggedRequest, 'body'> & { readonly body: unknown };

export interface TestClock {
  now(): Date;
  /** Stops at this instant: a text is ISO 8601 with an offset, a number epoch seconds. */
  set(instant: Date | string | number): void;
  /** Moves it, stopped or not. */
  advance(seconds: number): void;
  /** Lets it run with the world's clock again. */
  release(): void;
}

/** A service of its own: nothing of it is shared with others in the same process. */
export interface TestService {
  readonly url: string;
  readonly accountId: string;
  readonly passcode: string;
  /** The certificate to trust, as NODE_EXTRA_CA_CERTS and others take it; undefined without TLS. */
  readonly caFile: string | undefined;
  /** For a program under test: ENGAGECTL_BASE_URL, _ACCOUNT_ID, _PASSCODE, _HEADER_PREFIX; with TLS NODE_EXTRA_CA_CERTS; with calls their account and key. */
  readonly env: Readonly<Record<string, string>>;
  /** The latest 1000 requests of the API, oldest first: after the id `since`, of one endpoint or of all. */
  requests(filter?: { readonly endpoint?: EndpointName; readonly since?: number }): TestRequest[];
  /** Back to the seed: data, calls, faults, requests seen and the clock. Snapshots stay. */
  reset(): Promise<void>;
  /** Keeps the data as it is now, under a name of letters, digits, - and _. */
  snapshot(name: string): void;
  /** Makes the data what it was then; throws when there is no such snapshot. */
  restore(name: string): void;
  /**
   * Has something happen to requests. Rejects with what is wrong with a rule, and where. Its `seen` and
   * `played` go on counting.
   */
  fault(rule: FaultRuleInput): Promise<ActiveRule>;
  /** Deletes one rule, or all of them. */
  clearFaults(rule?: ActiveRule): void;
  readonly clock: TestClock;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts the local service in this process; it is ready when this resolves (contract §10). */
export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  const { memory = true, tls = false } = options;
  const folder = memory && !tls ? undefined : mkdtempSync(join(tmpdir(), 'engagectl-testing-'));
  const removeFolder = () => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  try {
    const made = tls && folder !== undefined ? await certificateIn(folder) : undefined;
    const wanted = serviceOptions(options, memory ? undefined : folder);
    const running = await start({ ...wanted, tls: made?.tls });
    const { url, service } = running;
    const { accountId, passcode, headerPrefixes } = wanted;
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
      requests: (filter) => service.requests.list(filter).map(withBody),
      reset: async () => void (await resetService(service)),
      snapshot: (name) => service.snapshots.save(validSnapshotName(name)),
      restore: (name) => {
        if (!restoreSnapshot(service, name)) throw new Error(`there is no snapshot ${name}`);
      },
      fault: async (rule) => {
        const { parseFaultRule } = await import('./service/control/fault-rule-schema.js');
        return service.faults.add(parseFaultRule(rule));
      },
      clearFaults: (rule) => {
        if (rule) service.faults.remove(rule.id);
        else service.faults.clear();
      },
      clock: {
        now: () => new Date(service.clock.now()),
        set: (instant) =>
          service.clock.stopAt(
            parseInstant(instant instanceof Date ? instant.toISOString() : instant),
          ),
        advance: (seconds) => service.clock.advance(seconds * 1000),
        release: () => service.clock.release(),
      },
      close: end,
      [Symbol.asyncDispose]: end,
    };
  } catch (error) {
    removeFolder();
    throw error;
  }
}

const callingAccount = ({ accountId, apiKey }: CallingOptions): Record<string, string> => ({
  ENGAGECTL_CALL_ACCOUNT_ID: accountId,
  ENGAGECTL_CALL_API_KEY: apiKey,
});

async function certificateIn(folder: string) {
  const { makeCertificate, writeCertificate } = await import('./service/test-certificate.js');
  const tls = await makeCertificate([]);
  return { tls, file: writeCertificate(tls.cert, folder, 'certificate.pem') };
}

function serviceOptions(options: TestServiceOptions, dataDir: string | undefined): ServiceOptions {
  const { seed, port = 0, headerPrefix = defaultHeaderPrefix, timezone = 'UTC' } = options;
  const { now, random, token } = nodeRuntime(new AbortController().signal);
  const { accountId = 'TEST', passcode = token(), variants = {} } = options;
  const { latencyMs = 0, lagSeconds = 0, pendingPolls = 0, maxConcurrent, onRequest } = options;
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
    failRate: 0,
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

function withBody({ body, ...seen }: LoggedRequest): TestRequest {
  if (body === undefined) return { ...seen, body };
  try {
    return { ...seen, body: JSON.parse(body) as unknown };
  } catch {
    return { ...seen, body };
  }
}
