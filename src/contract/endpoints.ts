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
 * Endpoints that accept records or identities: maximum per request, initial and maximum requests in
 * flight, whether the response counts records, and whether `dryRun` is documented.
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

/** Identifiers of a look-up (specification, Endpoint 5). The first that a record has is used. */
export const identifierKinds = ['identity', 'email', 'objectId'] as const;
export type IdentifierKind = (typeof identifierKinds)[number];

/** Whether a host (`URL.hostname`) is always this machine, so that plain HTTP is allowed. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
