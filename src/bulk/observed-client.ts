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

/** Wraps a client with an observer. The request of a page lasts until its body has arrived. */
function observed(client: Client, observer: RequestObserver): Client {
  const noted = async <T>(
    content: unknown,
    request: () => Promise<Attempt<T>>,
    arriving?: (answer: T, ended: Ended) => T,
  ): Promise<Attempt<T>> => {
    const ended = observer.began(content);
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
    write: (...request) => noted(request[1], () => client.write(...request)),
    openCursor: (query, signal) => noted(query, () => client.openCursor(query, signal)),
    page: (...request) =>
      noted(
        request[1],
        () => client.page(...request),
        ({ length, read }, ended) => ({ length, read: notedBody(read, ended) }),
      ),
    profile: (...request) => noted(request[1], () => client.profile(...request)),
    checkCursor: (cursor) => client.checkCursor(cursor),
    redact: client.redact,
    stall: client.stall,
    close: () => client.close(),
  };
}

/** Errors thrown by the reader of a body do not count as failures of the request. */
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

/** Failure of a request that the caller aborted. */
const givenUp: Failure = { kind: 'connection', sent: true, message: 'given up' };

interface Watch {
  /** Record the history. */
  readonly recordsHistory: boolean;
  /** Returns the number of successful records so far. */
  readonly records: () => number;
  /** Informed of each request as well. */
  readonly observer?: RequestObserver | undefined;
  readonly runtime: Runtime;
}

interface Watched<C> {
  readonly client: C | Client;
  /** Returns the number of requests in flight. */
  readonly inFlight: () => number;
  /** Returns the figures of all requests; undefined unless `recordsHistory`. Call once, after the run. */
  readonly history: () => HistoryFigures | undefined;
}

/** Wraps the client, if any, to count its requests in flight and to record their history. */
export function watched<C extends Client | undefined>(
  client: C,
  { recordsHistory, records, observer, runtime }: Watch,
): Watched<C> {
  let inFlight = 0;
  const history = recordsHistory ? new RequestHistory(runtime, records) : undefined;
  const began = (content: unknown): Ended => {
    inFlight += 1;
    const ended = [history?.began(), observer?.began(content)];
    return (failure) => {
      inFlight -= 1;
      for (const each of ended) each?.(failure);
    };
  };
  return {
    client: client && observed(client, { began }),
    inFlight: () => inFlight,
    history: () => history?.figures(),
  };
}
