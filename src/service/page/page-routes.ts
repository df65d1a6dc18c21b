import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import type { Route } from '../router.js';
import { pageMarkup } from './page-markup.js';
import { pageScript } from './page-script.js';
import { pageStyle } from './page-style.js';

/** The page, which asks for nothing but what this service has, and may be framed by nobody. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const pageRoutes: readonly Route[] = [
  pageRoute('/', 'text/html', (prefix) =>
    pageMarkup.replace('<html ', () => `<html data-prefix="${prefix}" `),
  ),
  pageRoute('/page/style.css', 'text/css', () => pageStyle),
  pageRoute('/page/script.js', 'text/javascript', () => pageScript),
];

function pageRoute(path: string, type: string, text: (prefix: string) => string): Route {
  return {
    method: 'GET',
    path,
    answer: ({ response }, { options }) => {
      response.writeHead(200, {
        'Content-Type': `${type}; charset=utf-8`,
        'Content-Security-Policy': policy,
        'X-Content-Type-Options': 'nosniff',
        'Cache-Control': 'no-store',
      });
      response.end(text(options.headerPrefixes[0] ?? defaultHeaderPrefix));
      return Promise.resolve();
    },
  };
}
