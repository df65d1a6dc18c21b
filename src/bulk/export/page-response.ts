import {
  cutAtWord,
  isError,
  RequestFailure,
  type Failure,
  type Attempt,
} from '../../client/failure.js';
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
import { rawMembers } from '../../text/raw-json.js';
import type { Client, PageBody } from '../../client/client.js';

/** Response to a cursor (docs/service-api.md, "Reads"). */
export type PageResponse =
  | { readonly kind: 'page'; readonly page: ScannedPage; readonly next: string | undefined }
  | { readonly kind: 'pending' }
  /** The cursor is corrupt or expired. */
  | { readonly kind: 'refused'; readonly message: string };

/**
 * Reads the response of one attempt into the scanner. A body that is not a complete page is a
 * failure of the attempt and may be retried; a complete body of unknown shape throws E-ANSWER.
 * `onNextCursor` receives the next cursor as soon as it is read, often long before the page ends.
 */
export async function readPage(
  attempt: Attempt<PageBody>,
  scanner: PageScanner,
  { client, onNextCursor }: Reading,
): Promise<Attempt<PageResponse>> {
  if (!attempt.ok) {
    const answer = refusalAnswer(attempt.failure);
    return answer === undefined ? attempt : { ok: true, answer };
  }
  const page = await scanBody(attempt.answer, scanner, onNextCursor);
  const { redact } = client;
  const { members } = page;
  // Without records nothing was read; without a next cursor the export would end here.
  const provesNothing = page.count === 0 || isLast(members);
  const isFailure = members.status === 'fail' || (provesNothing && isError(members));
  const answer = isFailure ? failAnswer(page, redact) : pageAnswer(page, redact);
  if (answer.kind === 'page' && answer.next !== undefined) client.checkCursor(answer.next);
  return { ok: true, answer };
}

interface Reading {
  readonly client: Pick<Client, 'redact' | 'checkCursor'>;
  readonly onNextCursor: (cursor: string) => void;
}

async function scanBody(
  { length, read }: PageBody,
  scanner: PageScanner,
  onNextCursor: (cursor: string) => void,
): Promise<ScannedPage> {
  try {
    scanner.reset(length);
    await read((chunk) => {
      scanner.push(chunk);
      const { nextCursor } = scanner;
      if (typeof nextCursor === 'string' && cursorPattern.test(nextCursor))
        onNextCursor(nextCursor);
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
  message: `HTTP 200 with a body that is not a page: ${what}`,
});

/** Converts a success body; throws E-ANSWER unless it has status success and records or an end. */
function pageAnswer(page: ScannedPage, redact: Redact): PageResponse {
  const { status, records, next_cursor: next } = page.members;
  if (status !== 'success')
    throw noPage(
      redact(
        `its status is ${typeof status === 'string' ? JSON.stringify(status) : (toText(status) ?? 'missing')}`,
      ),
    );
  if (records === 'other') throw noPage('its "records" is not an array');
  if (records === undefined && !isLast(page.members))
    throw noPage('it has a next_cursor but no "records"');
  if (isLast(page.members)) {
    const more = contradictionOf(page);
    if (more !== undefined)
      throw noPage(`it has no next_cursor, but "${cutAtWord(redact(more), 100)}"`);
    return { kind: 'page', page, next: undefined };
  }
  if (typeof next !== 'string') throw noPage('its next_cursor is not a string');
  if (!cursorPattern.test(next)) throw noPage('its next_cursor is invalid in a URL');
  return { kind: 'page', page, next };
}

/**
 * Returns the name of a member that contradicts the end of the data; undefined if there is none. The specification shows
 * the end as `status` alone, or with the last records. Other texts and empty values are harmless, as are numbers if there
 * are records.
 */
function contradictionOf({ bytes, bounds, count }: ScannedPage): string | undefined {
  const [start, end] = count > 0 ? [bounds[0], bounds[2 * count - 1]] : [0, 0];
  const envelope = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
  if (envelope.length > mostEnvelope)
    throw noPage(`it has ${envelope.length} bytes beside records`);
  const content = count > 0 ? /^[[{t]/ : /^[^"]/;
  for (const { key, value } of rawMembers(envelope)) {
    const name = JSON.parse(key.toString()) as string;
    const text = value.toString('latin1', 0, 64);
    if (checkedMember.test(name)) continue;
    if (memberOfOthers.test(name)) return name;
    if (emptyValue.test(text)) continue;
    if (/cursor|next/i.test(name) || content.test(text)) return name;
  }
  return undefined;
}

/** Bytes beside the records of a last page. Real ones have less than 1 KB. */
const mostEnvelope = 64 * 1024;
const checkedMember = /^(?:status|code|previous_cursor)$/;
/** Members of the answers to writes and look-ups. */
const memberOfOthers = /^(?:record|(?:un)?processed)$/;
const emptyValue = /^(?:null|false|""|-?0|\[\s*\]|\{\s*\})$/;

const noPage = (why: string): EngagectlError =>
  new EngagectlError(
    'E-ANSWER',
    'the service answered a cursor with something that is not a page',
    {
      why,
      fix: 'check the base URL: engagectl config show',
    },
  );

/** Converts a fail body: pending, a refused cursor, or the failure that its code stands for. */
function failAnswer({ members }: ScannedPage, redact: Redact): PageResponse {
  const words = toText(members.error) ?? 'no reason given';
  const number = codeOf(members);
  if (number === requestCodes.pending) return { kind: 'pending' };
  const namesCursor = /\bcursor\b/i.test(words);
  if (isRefusedCursor(number, namesCursor) || isWord(members)) {
    return { kind: 'refused', message: redact(words) };
  }
  if (number === undefined) throw noPage(redact(`it is a failure without a code: ${words}`));
  const message = redact(`HTTP 200, code ${number}: ${words}`);
  throw new RequestFailure({ kind: 'refused', sent: true, status: number, message });
}

const isLast = ({ next_cursor: next }: PageMembers): boolean =>
  next === undefined || next === null || next === '';

/** Returns the code of an answer; undefined if it has none that is a number. */
const codeOf = ({ code }: PageMembers): number | undefined =>
  /^\d{1,9}$/.test(String(code)) ? Number(code) : undefined;

/** The response to an expired cursor is undocumented: code 3, a text, or a code that is a word. */
const isRefusedCursor = (code: number | undefined, namesCursor: boolean): boolean =>
  code === requestCodes.incorrectUsage || (code !== 429 && namesCursor);
const isWord = ({ code }: PageMembers): boolean => typeof code === 'string' && /\D/.test(code);

/** Converts a failure with an HTTP status that means pending or a refused cursor. */
function refusalAnswer(failure: Failure): PageResponse | undefined {
  if (failure.kind !== 'refused') return undefined;
  const { status, message, namesCursor = false } = failure;
  if (status === requestCodes.pending) return { kind: 'pending' };
  const mayBeCursor = status < 500 && status !== 401 && status !== 403;
  return mayBeCursor && isRefusedCursor(status, namesCursor)
    ? { kind: 'refused', message }
    : undefined;
}
