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

/** A command that writes: limits of its endpoint, and properties that flags, prompts and messages derive from. */
export interface WriteProperties {
  /** Maximum records or identities per request. */
  readonly records: number;
  /** Initial and maximum requests in flight. */
  readonly inFlight: number;
  readonly mostInFlight: number;
  /** Whether the response must count records. */
  readonly counts: boolean;
  /** Whether `dryRun` is documented. */
  readonly dryRun: boolean;
  /** Verb of the summary, in the past tense. */
  readonly verb: string;
  /** Verb phrase for prompts. */
  readonly does: string;
  /** Noun for its records, in the plural. */
  readonly noun: string;
  /** Whether resending a record has the same effect as sending it once; `mixed`: it depends on the record. */
  readonly idempotent: boolean | 'mixed';
  /** Whether records with the same key arrive in input order. */
  readonly ordered: boolean;
  /** Whether it can send only what changed. */
  readonly tracksChanges: boolean;
  /** Whether its records are searched for likely mistakes. */
  readonly hints: boolean;
  /** Effect that cannot be undone. A write that has one always asks for confirmation, others only for production profiles. */
  readonly irreversible?: string;
  /** Command that reads back what was sent; undefined if nothing can. */
  readonly verify?: 'verify' | 'verify --subscriptions';
  /** Whether `verify --settle` can look up records of unknown outcome. */
  readonly settles: boolean;
}

/** Names of the write commands, each with an endpoint of the same name. */
export type WriteEndpoint = 'upload' | 'subscribe' | 'demerge';

/** The write commands. */
export const writeEndpoints: Readonly<Record<WriteEndpoint, WriteProperties>> = {
  upload: {
    records: limits.recordsPerUpload,
    inFlight: 8,
    mostInFlight: limits.uploadsInFlight,
    counts: true,
    dryRun: false,
    verb: 'uploaded',
    does: 'creates or updates user profiles',
    noun: 'records',
    idempotent: 'mixed',
    ordered: true,
    tracksChanges: true,
    hints: true,
    verify: 'verify',
    settles: true,
  },
  subscribe: {
    records: limits.recordsPerSubscribe,
    inFlight: limits.othersInFlight,
    mostInFlight: limits.uploadsInFlight,
    counts: true,
    dryRun: true,
    verb: 'set',
    does: 'sets subscription statuses',
    noun: 'subscription statuses',
    idempotent: true,
    ordered: true,
    tracksChanges: true,
    hints: true,
    verify: 'verify --subscriptions',
    settles: false,
  },
  demerge: {
    records: limits.identitiesPerDemerge,
    inFlight: 1,
    mostInFlight: limits.othersInFlight,
    counts: false,
    dryRun: false,
    verb: 'demerged',
    does: 'demerges profiles',
    noun: 'identities',
    idempotent: false,
    ordered: false,
    tracksChanges: false,
    hints: false,
    irreversible: 'merged profiles are split, and event data of the profiles may be lost',
    settles: false,
  },
};

/** Whether a command is a write. */
export const isWrite = (command: string): command is WriteEndpoint =>
  Object.hasOwn(writeEndpoints, command);

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

/** The eight endpoints. An export has two of them. */
export type EndpointName =
  | 'upload'
  | 'subscribe'
  | 'profiles-cursor'
  | 'profiles'
  | 'profile'
  | 'events-cursor'
  | 'events'
  | 'demerge';
type PathName = keyof typeof endpointPaths;
type ExportName = 'profiles' | 'events';

const isExport = (name: PathName): name is ExportName => name === 'profiles' || name === 'events';
const pathNames = Object.keys(endpointPaths) as PathName[];

/** Names of the endpoints, in the order of the specification. */
export const endpointNames: readonly EndpointName[] = pathNames.flatMap((name) =>
  isExport(name) ? [`${name}-cursor` as const, name] : [name],
);

/** Returns the endpoint of a path. A cursor distinguishes reading an export from opening it. */
export function endpointOf(path: string, hasCursor: boolean): EndpointName | undefined {
  const name = pathNames.find((known) => endpointPaths[known] === path);
  return name && isExport(name) && !hasCursor ? `${name}-cursor` : name;
}

export const pathOf = (name: EndpointName): string =>
  endpointPaths[name.replace('-cursor', '') as PathName];
