import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { startLoopbackServer, type LoopbackServer } from './loopback-server.js';

const answers = new URL('../../../fixtures/answers/', import.meta.url);

interface Exchange {
  readonly method: string;
  readonly path: string;
  /** Compared as text, so that a cursor encoded twice does not fit; undefined: any. */
  readonly query: string | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface RecordedServer extends LoopbackServer {
  /** `METHOD target` of each request, in order of arrival. */
  readonly requests: readonly string[];
  /** Requests that fit no exchange of the recording. */
  readonly unexpected: readonly string[];
}

/** Serves one file of `fixtures/answers/` on loopback; the format stands in the README there. */
export async function startRecordedServer(name: string): Promise<RecordedServer> {
  const next = player(parseRecording(readFileSync(new URL(`${name}.http`, answers))));
  const requests: string[] = [];
  const unexpected: string[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    await buffer(request);
    const line = `${request.method ?? ''} ${request.url ?? ''}`;
    requests.push(line);
    const exchange = next(request);
    if (exchange === undefined) {
      unexpected.push(line);
      response.writeHead(501).end();
      return;
    }
    response.writeHead(exchange.status, exchange.headers).end(exchange.body);
  };
  const server = await startLoopbackServer((request, response) => void respond(request, response));
  return { ...server, requests, unexpected };
}

/** The exchange for a request: the first that fits and was not served, else the last that fits. */
function player(exchanges: readonly Exchange[]) {
  const served = new Set<Exchange>();
  return ({ method, url = '' }: IncomingMessage): Exchange | undefined => {
    const [path, query = ''] = url.split('?', 2);
    const fitting = exchanges.filter(
      (exchange) =>
        (exchange.method === '*' || exchange.method === method) &&
        (exchange.path === '*' || exchange.path === path) &&
        (exchange.query === undefined || exchange.query === query),
    );
    const exchange = fitting.find((one) => !served.has(one)) ?? fitting.at(-1);
    if (exchange) served.add(exchange);
    return exchange;
  };
}

function parseRecording(file: Buffer): Exchange[] {
  // latin1 keeps every byte one character, so that bodies come out as they are in the file
  return file
    .toString('latin1')
    .split(/^###\n/m)
    .map(parseExchange);
}

function parseExchange(text: string): Exchange {
  const found = /^(?:#.*\n)*(\S+) (\S+)\n\nHTTP\/1\.1 (\d+)\n((?:.+\n)*)\n([^]*)$/.exec(text);
  if (!found) throw new Error(`this is no exchange of a recording:\n${text}`);
  const [, method = '', target = '', status, headers = '', body = ''] = found;
  const [path = '', query] = target.split('?', 2);
  return {
    method,
    path,
    query,
    status: Number(status),
    headers: Object.fromEntries(headers.trimEnd().split('\n').map(parseHeader)),
    body: Buffer.from(body.replace(/\n$/, ''), 'latin1'),
  };
}

function parseHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}
