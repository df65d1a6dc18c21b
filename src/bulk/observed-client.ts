import { RequestFailure, type Attempt, type Failure } from '../client/failure.js';
import {
  RequestHistory,
  type Ended,
  type HistoryFigures,
  type RequestObserver,
} from './request-history.js';
import type { Client } from '../client/client.js';
import type { ReadBody } from '../client/transport.js';
import type { Runtime } from '../runtime.js';

/** The same client, with somebody watching. A page's request lasts until its body has arrived. */
function observed(client: Client, observer: RequestObserver): Client {
  const noted = async <T>(
    request: () => Promise<Attempt<T>>,
    arriving?: (answer: T, ended: Ended) => T,
  ): Promise<Attempt<T>> => {
    const ended = observer.began();
    try {
      const attempt = await request();
      if (attempt.ok && arriving) return { ok: true, answer: arriving(attempt.answer, ended) };
      ended(attempt.ok ? undefined : attempt.failure);
      return attempt;
    } catch (error) {
      ended(givenUp);
      throw error;
    }
  };
  return {
    write: (...request) => noted(() => client.write(...request)),
    openCursor: (query, signal) => noted(() => client.openCursor(query, signal)),
    page: (...request) =>
      noted(
        () => client.page(...request),
        ({ length, read }, ended) => ({ length, read: notedBody(read, ended) }),
      ),
    profile: (...request) => noted(() => client.profile(...request)),
    checkCursor: (cursor) => client.checkCursor(cursor),
    shown: client.shown,
    silence: client.silence,
    close: () => client.close(),
  };
}

/** A reader that leaves the body is no failure of the request. */
function notedBody(read: ReadBody, ended: Ended): ReadBody {
  return async (take) => {
    let isTaking = false;
    let failure: Failure | undefined;
    try {
      await read((chunk) => {
        isTaking = true;
        take(chunk);
        isTaking = false;
      });
    } catch (error) {
      if (!isTaking) failure = error instanceof RequestFailure ? error.failure : givenUp;
      throw error;
    } finally {
      ended(failure);
    }
  };
}

/** Of a request that was aborted by the caller. */
const givenUp: Failure = { kind: 'connection', sent: true, message: 'given up' };

interface Watch {
  /** Nobody asks for it: then nothing is noted. */
  readonly isWanted: boolean;
  /** Records that came through so far. */
  readonly records: () => number;
  readonly runtime: Runtime;
}

/** The client, if any, with its requests noted from now on, and what they came to. */
export function watched<C extends Client | undefined>(
  client: C,
  { isWanted, records, runtime }: Watch,
): { readonly client: C | Client; readonly history: () => HistoryFigures | undefined } {
  if (!isWanted) return { client, history: () => undefined };
  const history = new RequestHistory(runtime, records);
  return { client: client && observed(client, history), history: () => history.figures() };
}
