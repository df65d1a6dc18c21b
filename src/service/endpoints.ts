import { endpointPaths } from '../contract/endpoints.js';

/** The eight endpoints of the specification by name, in its order. */
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

/** The endpoint that a request means: reading an export is told from opening it by the cursor. */
export function endpointOf(path: string, hasCursor: boolean): EndpointName | undefined {
  const [name] = Object.entries(endpointPaths).find(([, known]) => known === path) ?? [];
  if (name === 'profiles' || name === 'events') return hasCursor ? name : `${name}-cursor`;
  return name as EndpointName | undefined;
}

export const pathOf = (name: EndpointName): string =>
  endpointPaths[name.replace('-cursor', '') as keyof typeof endpointPaths];
