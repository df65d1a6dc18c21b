import path from 'node:path';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { requestError } from '../response.js';
import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { pageMarkup, pageStyle } from './markup.js';
import { pageScript } from './script.js';
import type { Route } from '../router.js';
import type { ServerResponse } from 'node:http';

const prefix = '/page/calling/';

/** Serves the modules of `engagectl/calling` for the softphone. */
const sdkRoute: Route = {
  method: 'GET',
  path: `${prefix}*`,
  answer: ({ response, path: requested }) => {
    const name = requested.slice(prefix.length);
    // Resolving the package by name works from its sources, its build and its bundle.
    const entry = createRequire(import.meta.url).resolve('engagectl/calling');
    if (!/^[a-z-]+\.js$/.test(name)) throw requestError(404, 'Not found');
    // `require` finds the CommonJS entry, calling/cjs/index.js. Browsers need the module in the directory above.
    const folder = path.join(path.dirname(entry), '..');
    sendAsset(response, 'text/javascript', textOf(path.join(folder, name)));
    return Promise.resolve();
  },
};

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw requestError(404, 'Not found');
  }
}

/** Content security policy: own assets only, no framing. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sends an asset of the page. */
function sendAsset(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  response.end(text);
}

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
