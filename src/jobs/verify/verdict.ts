import type { SentRecord } from './sent.js';

/** One thing that is not as it was sent. */
export interface Difference {
  readonly source: string;
  readonly line: number;
  /** Identity or objectId; of a subscription its address. */
  readonly identity: string;
  /** Of profileData; an event's name; null where the user is missing as a whole. */
  readonly key: string | null;
  /** JSON texts. */
  readonly sent: string;
  readonly found: string;
  readonly verdict: 'different' | 'missing';
}

/** What was found out about a user, about equal events, or about an address. */
export interface Verdict {
  readonly what: 'users' | 'addresses' | 'events';
  /** `untold`: the service does not show what would decide it. */
  readonly verdict: 'same' | 'different' | 'missing' | 'untold';
  /** So many users, events or addresses. */
  readonly count: number;
  /** What it is about. */
  readonly records: readonly SentRecord[];
  readonly differences: readonly Difference[];
  /** Values that cannot be compared, and why, by what they are. */
  readonly untold: readonly string[];
  /** Keys that came back in another spelling. */
  readonly foldedKeys: number;
}

/** Of something that nothing can be told of. */
export const untold = (
  what: Verdict['what'],
  records: readonly SentRecord[],
  why: string,
): Verdict => ({
  what,
  verdict: 'untold',
  count: 1,
  records,
  differences: [],
  untold: [why],
  foldedKeys: 0,
});

/** The line of a difference, in the order of the contract. */
export const differenceText = (difference: Difference): string => {
  const { source, line, identity, key, sent, found, verdict } = difference;
  const [place, who, what] = [source, identity, key].map((one) => JSON.stringify(one));
  return `{"source":${place},"line":${line},"identity":${who},"key":${what},"sent":${sent},"found":${found},"verdict":"${verdict}"}`;
};
