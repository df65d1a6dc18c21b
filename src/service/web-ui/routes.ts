import path from 'node:path';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { refused } from '../refusal.js';
import { sendAsset } from '../page/send-asset.js';
import type { Route } from '../router.js';

const prefix = '/page/calling/';

/** The modules of `engagectl/calling`, or the one that is published, for the softphone of the page. */
export const sdkRoute: Route = {
  method: 'GET',
  path: `${prefix}*`,
  answer: ({ response, path: asked }) => {
    const name = asked.slice(prefix.length);
    // By its own name the package is found from its sources, its build and its bundle.
    const entry = createRequire(import.meta.url).resolve('engagectl/calling');
    if (!/^[a-z-]+\.js$/.test(name)) throw refused(404, 'Not found');
    sendAsset(response, 'text/javascript', textOf(path.join(path.dirname(entry), name)));
    return Promise.resolve();
  },
};

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw refused(404, 'Not found');
  }
}
