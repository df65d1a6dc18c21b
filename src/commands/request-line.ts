import type { SeenRequest } from '../service/control/request-log.js';
import { inert, inertJson } from '../ui/inert.js';
import type { Settings } from './settings.js';

/** What `serve --log` writes of a request; an object under `--log-format json`. Neither has the body. */
export function requestLine(
  { headers: _, body: __, ...seen }: SeenRequest,
  { json, logJson }: Pick<Settings, 'json' | 'logJson'>,
): string {
  if (json || logJson) return `${inertJson({ type: 'request', ...seen })}\n`;
  const { at, method, url, status, ms, bodyBytes, fault } = seen;
  const end = status ?? 'no answer';
  const rule = fault === null ? '' : `, fault ${fault}`;
  return inert(`${at} ${method} ${url} ${end}, ${ms} ms, ${bodyBytes} bytes${rule}`) + '\n';
}
