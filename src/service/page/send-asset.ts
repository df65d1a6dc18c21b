import type { ServerResponse } from 'node:http';

/** The page, which asks for nothing but what this service has, and may be framed by nobody. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sends a part of the page. */
export function sendAsset(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  response.end(text);
}
