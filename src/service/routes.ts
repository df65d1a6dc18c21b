import { endpointPaths } from '../contract/endpoints.js';
import { callRoutes, upgradeRequiredRoute } from './calls/http-routes.js';
import { controlRoutes } from './control/routes.js';
import { pageRoutes } from './web-ui/routes.js';
import { demergeUserProfiles } from './rest/demerge-user-profiles.js';
import { getUserProfile } from './rest/get-user-profile.js';
import { openCursor, readPage } from './rest/export-cursors.js';
import { restRoute, type Endpoint } from './rest/rest-route.js';
import { setSubscriptionStatus } from './rest/set-subscription-status.js';
import { uploadUserProfiles } from './rest/upload-user-profiles.js';
import type { Route } from './router.js';
import type { Export } from './store/exports.js';

/** All routes of the service. A new endpoint is a line here and a file for its handler. */
export const routes: readonly Route[] = [
  restRoute('POST', endpointPaths.upload, uploadUserProfiles),
  restRoute('POST', endpointPaths.subscribe, setSubscriptionStatus),
  restRoute('GET', endpointPaths.profiles, exportEndpoint('profiles')),
  restRoute('POST', endpointPaths.profiles, exportEndpoint('profiles')),
  restRoute('GET', endpointPaths.profile, getUserProfile),
  restRoute('GET', endpointPaths.events, exportEndpoint('events')),
  restRoute('POST', endpointPaths.events, exportEndpoint('events')),
  restRoute('POST', endpointPaths.demerge, demergeUserProfiles),
  upgradeRequiredRoute,
  ...callRoutes,
  ...controlRoutes,
  ...pageRoutes,
];

/** A cursor distinguishes reading from opening: clients use GET and POST for both (service-facts, Cursors). */
function exportEndpoint(kind: Export['kind']): Endpoint {
  return (request, service) =>
    request.cursor === undefined
      ? openCursor(kind, request, service)
      : readPage(kind, request.cursor, service);
}
