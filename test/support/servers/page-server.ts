import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { accountAt } from '../account-environment.js';
import { startLoopbackServer, type LoopbackServer } from './loopback-server.js';
import { dayRanges } from '../../../src/jobs/date-range.js';
import { until } from '../until.js';

/** One answer to one request for a page. */
export interface PageReply {
  readonly status?: number;
  readonly body: string | Buffer;
  /** Pieces of this many bytes, each flushed on its own. */
  readonly chunk?: number;
  /** The connection breaks after this many bytes of the body. */
  readonly cutAfter?: number;
  /** Delays the last byte until this returns true; called repeatedly with the targets requested so far. */
  readonly until?: (asked: readonly string[]) => boolean;
}

/**
 * One page of a cursor: its replies in order; the last one is repeated.
 * `next` is the cursor of the page after it, undefined on the last.
 */
export type Page = (next: string | undefined) => string | Buffer | PageReply | readonly PageReply[];

/** First step of a bulk read, as it arrived. */
export interface Opening {
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly event_name: string;
  readonly from: number;
  readonly to: number;
  /** Number of times that this event and range were opened before. */
  readonly earlier: number;
}

export interface PageServer extends LoopbackServer {
  readonly openings: readonly Opening[];
  /** Target of each request for a page, in order of arrival. */
  readonly asked: readonly string[];
  /** Most requests that were being answered at the same time. */
  readonly mostInFlight: number;
  /** Requests answered by 429. */
  readonly throttled: number;
  /** Variables that point the tool at this server. */
  readonly env: Readonly<Record<string, string>>;
}

interface PageServerOptions {
  readonly nextCursor?: (cursor: string) => string;
  /** An event that the service does not know: its exports are refused. */
  readonly refused?: string;
  /** Requests beyond this are answered by 429. */
  readonly inFlight?: number;
}

/** Serves scripted pages on loopback; `pagesOf` says what an opened cursor leads to. */
export async function startPageServer(
  pagesOf: (opening: Opening) => readonly Page[],
  { nextCursor = (cursor) => cursor, refused, inFlight: limit = Infinity }: PageServerOptions = {},
): Promise<PageServer> {
  const openings: Opening[] = [];
  const asked: string[] = [];
  const pages = new Map<string, { readonly replies: readonly PageReply[]; asked: number }>();
  let inFlight = 0;
  let mostInFlight = 0;
  let throttled = 0;

  const open = (opening: Opening): string => {
    const id = openings.push(opening);
    const cursors = pagesOf(opening).map((_, index) => `c${id}%2Fp${index}%3D`);
    pagesOf(opening).forEach((page, index) => {
      const next = cursors[index + 1];
      const replies = asReplies(page(next === undefined ? undefined : nextCursor(next)));
      pages.set(cursors[index]!, { replies, asked: 0 });
    });
    return JSON.stringify({ status: 'success', cursor: cursors[0] });
  };
  const answer = async (request: IncomingMessage): Promise<PageReply> => {
    const body = await buffer(request);
    const url = new URL(request.url ?? '', 'http://127.0.0.1');
    if (request.method === 'POST') {
      const { event_name, from, to } = JSON.parse(body.toString()) as Opening;
      if (event_name === refused) {
        const error = `Invalid event : ${event_name}`;
        return { status: 400, body: JSON.stringify({ status: 'fail', error, code: 400 }) };
      }
      const same = openings.filter((o) => o.event_name === event_name && o.from === from);
      const parameters = Object.fromEntries(url.searchParams);
      const earlier = same.length;
      return { body: open({ path: url.pathname, parameters, event_name, from, to, earlier }) };
    }
    asked.push(request.url ?? '');
    const page = pages.get(/\?cursor=(.*)$/.exec(request.url ?? '')?.[1] ?? '');
    if (page === undefined) return { body: '{"status":"fail","error":"Incorrect Usage","code":3}' };
    page.asked += 1;
    return page.replies[Math.min(page.asked, page.replies.length) - 1]!;
  };
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    if (inFlight >= limit) {
      throttled += 1;
      request.resume();
      return send(response, { status: 429, body: tooMany }, asked);
    }
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    await send(response, await answer(request), asked);
    inFlight -= 1;
  };
  const server = await startLoopbackServer((request, response) => void respond(request, response));
  return {
    ...server,
    openings,
    asked,
    get mostInFlight() {
      return mostInFlight;
    },
    get throttled() {
      return throttled;
    },
    env: accountAt(server.url, 'test-passcode', 'TEST-ACCOUNT'),
  };
}

/** The pages of a range, from a script of the pages of one day. */
export const eachDay =
  (pagesOfDay: (opening: Opening) => readonly Page[]) =>
  (opening: Opening): readonly Page[] =>
    dayRanges(opening).flatMap((day) => pagesOfDay({ ...opening, ...day }));

/** A page of records as the service writes it; `next` is left out on the last. */
export const recordsPage =
  (...records: readonly string[]): Page =>
  (next) =>
    `{"status":"success","records":[${records.join(',')}]${nextMember(next)}}`;

export const nextMember = (next: string | undefined): string =>
  next === undefined ? '' : `,"next_cursor":${JSON.stringify(next)}`;

const tooMany = '{"status":"fail","error":"Too many concurrent requests","code":429}';

export const pendingBody =
  '{"status":"fail","error":"Request still in progress, please retry later","code":2}';

/** Answers of one page, one per asking. */
export const inTurn =
  (first: readonly (string | PageReply)[], page: Page): Page =>
  (next) => [...first.flatMap(asReplies), ...asReplies(page(next))];

function asReplies(answer: ReturnType<Page>): readonly PageReply[] {
  if (typeof answer === 'string' || Buffer.isBuffer(answer)) return [{ body: answer }];
  return Array.isArray(answer) ? (answer as readonly PageReply[]) : [answer as PageReply];
}

async function send(
  response: ServerResponse,
  reply: PageReply,
  asked: readonly string[],
): Promise<void> {
  const body = Buffer.from(reply.body);
  const { status = 200, cutAfter, chunk = body.length, until: mayEnd = () => true } = reply;
  const length = reply.chunk === undefined ? { 'Content-Length': body.length } : {};
  response.writeHead(status, { 'Content-Type': 'application/json', ...length });
  const end = cutAfter ?? body.length - (reply.until ? 1 : 0);
  for (let at = 0; at < end; at += chunk) {
    await new Promise((resolve) =>
      response.write(body.subarray(at, Math.min(at + chunk, end)), resolve),
    );
  }
  // A client that left waits no more, and the next one may come after minutes.
  await until(() => response.destroyed || mayEnd(asked), { deadline: 120_000 });
  if (cutAfter === undefined) response.end(body.subarray(end));
  else response.destroy();
}
