import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import type { Route } from '../router.js';
import { pageMarkup } from './page-markup.js';
import { pageScript } from './page-script.js';
import { pageStyle } from './page-style.js';
import { sdkRoute } from './sdk-route.js';
import { sendAsset } from './send-asset.js';

export const pageRoutes: readonly Route[] = [
  pageRoute('/', 'text/html', (prefix) =>
    pageMarkup.replace('<html ', () => `<html data-prefix="${prefix}" `),
  ),
  pageRoute('/page/style.css', 'text/css', () => pageStyle),
  pageRoute('/page/script.js', 'text/javascript', () => pageScript),
  sdkRoute,
];

function pageRoute(path: string, type: string, text: (prefix: string) => string): Route {
  return {
    method: 'GET',
    path,
    answer: ({ response }, { options }) => {
      sendAsset(response, type, text(options.headerPrefixes[0] ?? defaultHeaderPrefix));
      return Promise.resolve();
    },
  };
}
