import { paths } from '../contract/endpoints.js';
import { demerge } from './demerge.js';
import type { Export } from './exports.js';
import { openExport } from './open-export.js';
import { readPage } from './read-page.js';
import { readProfile } from './read-profile.js';
import { refused } from './refusal.js';
import type { Endpoint } from './service.js';
import { subscribe } from './subscribe.js';
import { upload } from './upload.js';

/** Opening and reading are told apart by the cursor: both come by GET and by POST (service-facts, Cursors). */
const exporting =
  (kind: Export['kind']): Endpoint =>
  (request, service) =>
    request.cursor === undefined
      ? openExport(kind, request, service)
      : readPage(kind, request.cursor, service);

const routes: ReadonlyMap<string, Readonly<Record<string, Endpoint>>> = new Map([
  [paths.upload, { POST: upload }],
  [paths.subscribe, { POST: subscribe }],
  [paths.profiles, { GET: exporting('profiles'), POST: exporting('profiles') }],
  [paths.profile, { GET: readProfile }],
  [paths.events, { GET: exporting('events'), POST: exporting('events') }],
  [paths.demerge, { POST: demerge }],
]);

/** The endpoint of a path and method; throws the Refusal 404 or 405. */
export function routeOf(path: string, method: string | undefined): Endpoint {
  const methods = routes.get(path);
  if (!methods) throw refused(404, 'Not found');
  const endpoint = Object.hasOwn(methods, method ?? '') ? methods[method ?? ''] : undefined;
  if (!endpoint) throw refused(405, 'Method not allowed');
  return endpoint;
}
