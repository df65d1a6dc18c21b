import { endpointNames, type EndpointName } from '../endpoints.js';
import { done, numberOf, wrong, type Control } from './control-route.js';
import type { SeenRequest } from './request-log.js';

/** `GET /_local/requests?endpoint=&since=&limit=&bodies=no`: those after the id `since`. */
export const listRequests: Control = ({ query }, { requests }) => {
  const endpoint = query.get('endpoint') as EndpointName | null;
  if (endpoint !== null && !endpointNames.includes(endpoint))
    throw wrong('endpoint', `"${endpoint}" is none of ${endpointNames.join(', ')}`);
  const since = numberOf(query, 'since', { fallback: 0 });
  const limit = numberOf(query, 'limit', { fallback: 1000, most: 1000 });
  const all = requests.list({ ...(endpoint === null ? {} : { endpoint }), since });
  const isBare = query.get('bodies') === 'no';
  const shown = all.slice(0, limit).map((seen) => (isBare ? { ...seen, body: undefined } : seen));
  return `{"requests":[${shown.map(seenText).join(',')}]}`;
};

export const clearRequests: Control = (_, { requests }) => {
  requests.clear();
  return done;
};

/** With the body as it was sent, so that no number changes; as a text when it is not JSON. */
function seenText({ body, ...seen }: SeenRequest): string {
  const text = JSON.stringify(seen);
  return body === undefined
    ? text
    : `${text.slice(0, -1)},"body":${isJson(body) ? body : JSON.stringify(body)}}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
