import { History, type HistoryFigures } from '../bulk/request-history.js';
import { observed } from '../client/observed.js';
import type { Client } from '../client/client.js';
import type { Runtime } from '../runtime.js';

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
  const history = new History(runtime, records);
  return { client: client && observed(client, history), history: () => history.figures() };
}
