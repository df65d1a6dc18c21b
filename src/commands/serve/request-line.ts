import type { SeenRequest } from '../../service/control/request-log.js';
import type { Runtime } from '../../runtime.js';
import { inert, inertJson } from '../../ui/inert.js';
import { shortened } from '../../ui/shortened.js';
import type { Settings } from '../settings.js';

/**
 * What tells of each request that the service has answered: a line, or an object under `--log-format
 * json`; with `-vv` its headers, too. Never the body.
 */
export function requestTeller(
  isShown: boolean,
  settings: Pick<Settings, 'json' | 'logJson' | 'debug' | 'showPii'>,
  { stderr, log }: Pick<Runtime, 'stderr' | 'log'>,
): (seen: SeenRequest) => void {
  const { json, logJson, debug, showPii } = settings;
  return ({ headers, body: _, ...whole }) => {
    const seen = showPii ? whole : { ...whole, url: withoutIdentifier(whole.url) };
    const about = debug ? { ...seen, headers } : seen;
    const text = debug ? `${lineOf(seen)}${headerLines(headers)}` : lineOf(seen);
    log?.({ type: 'request', text, about });
    if (!isShown) return;
    const line = json || logJson ? inertJson({ type: 'request', ...about }) : inert(text);
    stderr.write(`${line}\n`);
  };
}

function lineOf(seen: Omit<SeenRequest, 'headers' | 'body'>): string {
  const { at, method, url, status, ms, bodyBytes, fault } = seen;
  const end = status ?? 'no answer';
  const rule = fault === null ? '' : `, fault ${fault}`;
  return `${at} ${method} ${url} ${end}, ${ms} ms, ${bodyBytes} bytes${rule}`;
}

/** Endpoint 5 names a person in its query. */
const withoutIdentifier = (url: string): string =>
  url.replace(
    /([?&](?:identity|email|objectId)=)([^&]+)/gi,
    (_, name: string, value: string) => `${name}${shortened(value.replaceAll('%40', '@'))}`,
  );

const headerLines = (headers: SeenRequest['headers']): string =>
  Object.entries(headers)
    .map(([name, value]) => `\n< ${name}: ${String(value)}`)
    .join('');
