import { endpointPaths } from '../contract/endpoints.js';

/** Names of the eight endpoints, in the order of the specification. */
export const endpointNames = [
  'upload',
  'subscribe',
  'profiles-cursor',
  'profiles',
  'profile',
  'events-cursor',
  'events',
  'demerge',
] as const;
export type EndpointName = (typeof endpointNames)[number];

/** Returns the endpoint of a path. A cursor distinguishes reading an export from opening it. */
export function endpointOf(path: string, hasCursor: boolean): EndpointName | undefined {
  const [name] = Object.entries(endpointPaths).find(([, known]) => known === path) ?? [];
  if (name === 'profiles' || name === 'events') return hasCursor ? name : `${name}-cursor`;
  return name as EndpointName | undefined;
}

export const pathOf = (name: EndpointName): string =>
  endpointPaths[name.replace('-cursor', '') as keyof typeof endpointPaths];
