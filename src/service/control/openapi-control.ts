import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import type { Control } from './control-route.js';

/** `GET /_local/openapi.json` (contract §10). */
export const showOpenApi: Control = async ({ origin }, { options }) => {
  // zod takes 50 ms to load.
  const { openApiDocument } = await import('./openapi.js');
  return JSON.stringify(openApiDocument(origin, options.headerPrefixes[0] ?? defaultHeaderPrefix));
};
