import { limits } from './limits.js';

/** Paths of the eight endpoints (specification, Endpoints 1 to 8). */
export const endpointPaths = {
  upload: '/1/upload',
  subscribe: '/1/subscribe',
  profiles: '/1/profiles.json',
  profile: '/1/profile.json',
  events: '/1/events.json',
  demerge: '/1/demerge/profiles.json',
} as const;

/**
 * The endpoints that take records or identities: how many at most, how many requests are in flight
 * by default and at most, whether their answer counts records or says success alone, and whether
 * they can check records and change nothing.
 */
export const writeEndpoints = {
  upload: {
    records: limits.recordsPerUpload,
    inFlight: 8,
    mostInFlight: limits.uploadsInFlight,
    counts: true,
    dryRun: false,
  },
  subscribe: {
    records: limits.recordsPerSubscribe,
    inFlight: limits.othersInFlight,
    mostInFlight: limits.uploadsInFlight,
    counts: true,
    dryRun: true,
  },
  demerge: {
    records: limits.identitiesPerDemerge,
    inFlight: 1,
    mostInFlight: limits.othersInFlight,
    counts: false,
    dryRun: false,
  },
} as const satisfies Partial<Record<keyof typeof endpointPaths, object>>;
export type WriteEndpoint = keyof typeof writeEndpoints;

export const defaultHeaderPrefix = 'X-Service';

/** Names of the authentication headers (specification, Common headers). */
export const headerNames = (prefix: string) => ({
  accountId: `${prefix}-Account-Id`,
  passcode: `${prefix}-Passcode`,
});

/** What a user can be found by (specification, Endpoint 5); where a record has several, the first. */
export const identifierKinds = ['identity', 'email', 'objectId'] as const;
export type IdentifierKind = (typeof identifierKinds)[number];

/** Whether a host, as `URL.hostname` spells it, can only be this machine: plain http is allowed to it. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
