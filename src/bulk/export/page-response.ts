import { RequestFailure, type Failure, type Attempt } from '../../client/failure.js';
import { toText, type Redact } from '../../redact.js';
import { requestCodes } from '../../contract/error-codes.js';
import { cursorPattern } from '../../contract/limits.js';
import { EngagectlError } from '../../errors.js';
import {
  PageSyntaxError,
  type PageMembers,
  type PageScanner,
  type ScannedPage,
} from '../../text/page-scanner.js';
import type { Client, PageBody } from '../../client/client.js';

/** What the answer to a cursor says (specification, "Bulk read cursor cycle"). */
export type PageResponse =
  | { readonly kind: 'page'; readonly page: ScannedPage; readonly next: string | undefined }
  | { readonly kind: 'pending' }
  /** Corrupt or expired: the service will not take this cursor again. */
  | { readonly kind: 'refused'; readonly message: string };

/**
 * Reads one attempt's answer into the scanner. A body that is no whole page is the attempt's
 * failure, and may be asked for again; a whole page that says nothing known throws E-ANSWER.
 * `tellNext` gets the next cursor as soon as it has been read, often long before the page ends.
 */
export async function readPage(
  attempt: Attempt<PageBody>,
  scanner: PageScanner,
  { client, tellNext }: Reading,
): Promise<Attempt<PageResponse>> {
  if (!attempt.ok) {
    const answer = refusalAnswer(attempt.failure);
    return answer === undefined ? attempt : { ok: true, answer };
  }
  const page = await scanBody(attempt.answer, scanner, tellNext);
  const { shown } = client;
  const answer = page.members.status === 'fail' ? failAnswer(page, shown) : pageAnswer(page, shown);
  if (answer.kind === 'page' && answer.next !== undefined) client.checkCursor(answer.next);
  return { ok: true, answer };
}

interface Reading {
  readonly client: Pick<Client, 'shown' | 'checkCursor'>;
  readonly tellNext: (cursor: string) => void;
}

async function scanBody(
  { length, read }: PageBody,
  scanner: PageScanner,
  tellNext: (cursor: string) => void,
): Promise<ScannedPage> {
  try {
    scanner.reset(length);
    await read((chunk) => {
      scanner.push(chunk);
      const { nextCursor } = scanner;
      if (typeof nextCursor === 'string' && cursorPattern.test(nextCursor)) tellNext(nextCursor);
    });
    return scanner.end();
  } catch (error) {
    if (!(error instanceof PageSyntaxError)) throw error;
    throw new RequestFailure(unreadable(error.message), { cause: error });
  }
}

const unreadable = (what: string): Failure => ({
  kind: 'unreadable',
  sent: true,
  message: `HTTP 200 with a body that is no page: ${what}`,
});

/** `records` without status success, or success with neither records nor an end, is no page. */
function pageAnswer(page: ScannedPage, shown: Redact): PageResponse {
  const { status, records, next_cursor: next } = page.members;
  const isLast = next === undefined || next === null || next === '';
  if (status !== 'success')
    throw noPage(
      shown(
        `its status is ${typeof status === 'string' ? JSON.stringify(status) : (toText(status) ?? 'missing')}`,
      ),
    );
  if (records === 'other') throw noPage('its "records" is no array');
  if (records === undefined && !isLast) throw noPage('it has a next_cursor but no "records"');
  if (isLast) return { kind: 'page', page, next: undefined };
  if (typeof next !== 'string') throw noPage('its next_cursor is no text');
  if (!cursorPattern.test(next)) throw noPage('its next_cursor cannot go into a URL');
  return { kind: 'page', page, next };
}

const noPage = (why: string): EngagectlError =>
  new EngagectlError('E-ANSWER', 'the service answered a cursor with something that is no page', {
    why,
    fix: 'check the base URL: engagectl config show',
  });

/** A fail body: pending, a refused cursor, or, by its code, the failure of that HTTP status. */
function failAnswer({ members }: ScannedPage, shown: Redact): PageResponse {
  const { code, error } = members;
  const words = toText(error) ?? 'no reason given';
  const number = /^\d{1,9}$/.test(String(code)) ? Number(code) : undefined;
  if (number === requestCodes.pending) return { kind: 'pending' };
  const namesCursor = /\bcursor\b/i.test(words);
  if (isRefusedCursor(number, namesCursor) || isWord(members)) {
    return { kind: 'refused', message: shown(words) };
  }
  if (number === undefined) throw noPage(shown(`it is a failure without a code: ${words}`));
  const message = shown(`HTTP 200, code ${number}: ${words}`);
  throw new RequestFailure({ kind: 'refused', sent: true, status: number, message });
}

/** How an expired cursor is answered is not documented: code 3, a text, or a code that is a word. */
const isRefusedCursor = (code: number | undefined, namesCursor: boolean): boolean =>
  code === requestCodes.incorrectUsage || (code !== 429 && namesCursor);
const isWord = ({ code }: PageMembers): boolean => typeof code === 'string' && /\D/.test(code);

/** The same under an HTTP status of its own. */
function refusalAnswer(failure: Failure): PageResponse | undefined {
  if (failure.kind !== 'refused') return undefined;
  const { status, message, namesCursor = false } = failure;
  if (status === requestCodes.pending) return { kind: 'pending' };
  const mayBeCursor = status < 500 && status !== 401 && status !== 403;
  return mayBeCursor && isRefusedCursor(status, namesCursor)
    ? { kind: 'refused', message }
    : undefined;
}
