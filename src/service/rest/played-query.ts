import { refused } from '../refusal.js';
import type { EndpointName } from '../endpoints.js';

const parts = ['batch_size', 'app', 'events', 'profile'];

/** The parameters that the service plays (specification, Endpoints 1 to 8; service-facts, Cursors). */
export const playedParameters: Readonly<Record<EndpointName, readonly string[]>> = {
  upload: ['dryRun'],
  subscribe: ['dryRun'],
  'profiles-cursor': [...parts, 'query'],
  profiles: [...parts, 'query', 'cursor'],
  profile: ['email', 'identity', 'objectId'],
  'events-cursor': [...parts, 'query'],
  events: [...parts, 'query', 'cursor'],
  demerge: [],
};

/** Throws the Refusal 501: who sent it would take an answer for what it is not. */
export function refuseUnplayed(endpoint: EndpointName, query: URLSearchParams): void {
  for (const name of query.keys())
    if (!playedParameters[endpoint].includes(name)) throw notPlayed(`the parameter "${name}"`);
}

/** The Refusal for what deployments may have and this service does not. */
export const notPlayed = (what: string) => refused(501, `This local service does not play ${what}`);

/** Throws the Refusal 400 for a value that could be meant either way. */
export function isDryRun(query: URLSearchParams): boolean {
  const value = query.get('dryRun') ?? '0';
  if (value !== '0' && value !== '1') throw refused(400, 'dryRun is 1, or it is left out');
  return value === '1';
}
