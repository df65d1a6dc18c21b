import type { ServerResponse } from 'node:http';
import type { Service } from './service.js';

/** Aborted when the client goes or the service closes. */
export function goneSignal(response: ServerResponse, { closing }: Service): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}
