import { groupDigits } from '../../errors.js';
import { isMap, parseLossless, stringifyLossless } from '../../text/lossless-json.js';
import type { SentRecord } from './sent-records.js';
import type { SettledCounts } from '../job-results.js';

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
export const inconclusive = (
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
export const formatDifference = (difference: Difference): string => {
  const { source, line, identity, key, sent, found, verdict } = difference;
  const [place, who, what] = [source, identity, key].map((one) => JSON.stringify(one));
  return `{"source":${place},"line":${line},"identity":${who},"key":${what},"sent":${sent},"found":${found},"verdict":"${verdict}"}`;
};

type What = Verdict['what'];

/** Counts verdicts. */
export class VerdictTally {
  readonly counts = { checked: 0, same: 0, different: 0, missing: 0, untold: 0, foldedKeys: 0 };
  readonly #byWhat = new Map<What, { checked: number; differing: number }>();
  readonly #untold = new Map<string, number>();

  add({ what, verdict, count, untold, foldedKeys }: Verdict): void {
    const of = this.of(what);
    this.#byWhat.set(what, of);
    this.counts[verdict] += count;
    this.counts.foldedKeys += foldedKeys;
    for (const why of untold) this.#untold.set(why, (this.#untold.get(why) ?? 0) + 1);
    if (verdict === 'untold') return;
    this.counts.checked += count;
    of.checked += count;
    if (verdict !== 'same') of.differing += count;
  }

  get checked(): number {
    return this.counts.checked;
  }

  get differing(): number {
    return this.counts.different + this.counts.missing;
  }

  of(what: What): { checked: number; differing: number } {
    return this.#byWhat.get(what) ?? { checked: 0, differing: 0 };
  }

  /** For people: what could not be compared, and what came back in another spelling. */
  *notes(): Generator<string> {
    for (const [why, count] of this.#untold) yield `${groupDigits(count)} not compared: ${why}`;
    const { foldedKeys } = this.counts;
    if (foldedKeys > 0) {
      yield `${groupDigits(foldedKeys)} keys came back in another spelling: lower case, without blanks`;
    }
  }
}

/** What becomes of the records of a rejects file whose outcome was unknown. */
export class UnknownResolution {
  readonly counts = { accepted: 0, absent: 0, unknown: 0 } satisfies SettledCounts;
  readonly #open = new Set<SentRecord>();

  /** Records that are to be settled. */
  begin(records: Iterable<SentRecord>): void {
    for (const record of records) this.#open.add(record);
  }

  /** The lines to write for those that were not found, or that cannot be told. */
  *settle({ verdict, records, untold }: Verdict): Generator<Buffer> {
    for (const record of records) {
      if (!this.#open.delete(record)) continue;
      if (verdict === 'same') {
        this.counts.accepted += 1;
      } else if (verdict === 'untold') {
        this.counts.unknown += 1;
        const why = untold[0] ?? 'records without a value that could be compared';
        yield lineOf(record, 'unknown', `it cannot be told whether it was accepted: ${why}`);
      } else {
        this.counts.absent += 1;
        yield lineOf(record, 'notSent', 'verify did not find it');
      }
    }
  }

  /** The lines of those that were not reached: they stay what they were. */
  *leave(): Generator<Buffer> {
    for (const record of this.#open) {
      this.counts.unknown += 1;
      yield lineOf(record, 'unknown', 'verify was stopped before it was looked for');
    }
    this.#open.clear();
  }
}

/** A line of a rejects file; the record and its place are those of the line before. */
function lineOf({ row = '{}' }: SentRecord, stage: 'unknown' | 'notSent', error: string): Buffer {
  const before = parseLossless(row);
  const member = (name: string): string =>
    stringifyLossless((isMap(before) && before.get(name)) || null);
  const content = isMap(before) && before.has('recordBase64') ? 'recordBase64' : 'record';
  return Buffer.from(
    `{"source":${member('source')},"line":${member('line')},"stage":"${stage}","error":${JSON.stringify(error)},"${content}":${member(content)}}`,
  );
}
