import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { pageMarkup } from '../web-ui/markup.js';
import { pageScript } from '../web-ui/script.js';
import { pageStyle } from './page-style.js';
import { sdkRoute } from '../web-ui/routes.js';
import { sendAsset } from './send-asset.js';
import type { Route } from '../router.js';

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
