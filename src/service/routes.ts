import { paths } from '../contract/endpoints.js';
import { callRoutes, signalRefusal } from './calls/http-routes.js';
import { controlRoutes } from './control/routes.js';
import { pageRoutes } from './web-ui/routes.js';
import { demergeUserProfiles } from './rest/demerge-user-profiles.js';
import { getUserProfile } from './rest/get-user-profile.js';
import { openCursor, useCursor } from './rest/export-cursors.js';
import { restRoute, type Endpoint } from './rest/rest-route.js';
import { setSubscriptionStatus } from './rest/set-subscription-status.js';
import { uploadUserProfiles } from './rest/upload-user-profiles.js';
import type { Route } from './router.js';
import type { Export } from './store/exports.js';

/** Everything the service answers: a new endpoint is one line here, and the file of its handler. */
export const routes: readonly Route[] = [
  restRoute('POST', paths.upload, uploadUserProfiles),
  restRoute('POST', paths.subscribe, setSubscriptionStatus),
  restRoute('GET', paths.profiles, exporting('profiles')),
  restRoute('POST', paths.profiles, exporting('profiles')),
  restRoute('GET', paths.profile, getUserProfile),
  restRoute('GET', paths.events, exporting('events')),
  restRoute('POST', paths.events, exporting('events')),
  restRoute('POST', paths.demerge, demergeUserProfiles),
  signalRefusal,
  ...callRoutes,
  ...controlRoutes,
  ...pageRoutes,
];

/** Opening and reading are told apart by the cursor: both come by GET and by POST (service-facts, Cursors). */
function exporting(kind: Export['kind']): Endpoint {
  return (request, service) =>
    request.cursor === undefined
      ? openCursor(kind, request, service)
      : useCursor(kind, request.cursor, service);
}
