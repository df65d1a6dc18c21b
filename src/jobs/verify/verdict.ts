import { countOf, groupDigits } from '../../errors.js';
import { sanitizeJsonText } from '../../wording.js';
import { isMap, parseLossless, stringifyLossless } from '../../text/lossless-json.js';
import { reportedPlace, type SentRecord } from './sent-records.js';
import type { AbsentEvent, ArrivedEvents } from '../../bulk/event-memory/event-log.js';
import type { SettledCounts } from '../job-results.js';

/** A value that differs from what was sent. */
export interface Difference {
  readonly source: string;
  readonly line: number;
  /** Identity or objectId; for a subscription the address. */
  readonly identity: string;
  /** Key of profileData, or event name; null if the whole user is missing. */
  readonly key: string | null;
  /** JSON text. */
  readonly sent: string;
  readonly found: string;
  /** `extra`: an event is in the account more often than in the input. */
  readonly verdict: 'different' | 'missing' | 'extra';
}

/** Result of checking a user, an address, or equal events. */
export interface Verdict {
  readonly what: 'users' | 'addresses' | 'events';
  /** `untold`: the service does not show enough to decide. */
  readonly verdict: 'same' | 'different' | 'missing' | 'untold';
  /** Number of users, events or addresses. */
  readonly count: number;
  /** Records that were checked. */
  readonly records: readonly SentRecord[];
  readonly differences: readonly Difference[];
  /** Descriptions of values that cannot be compared. */
  readonly untold: readonly string[];
  /** Number of keys that the service returned in another spelling. */
  readonly foldedKeys: number;
  /** How many of the records of events arrived, the first ones, how often the account has the event, and whether that is often enough. */
  readonly arrived?: { readonly count: number; readonly times: number; readonly isWhole: boolean };
  /** The account has no event equal to the one that was not found. */
  readonly hasNone?: boolean;
}

/** Builds the verdict of an item that cannot be checked. */
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

/**
 * Formats a difference as a line, with members in the documented order. CI jobs print these lines, so commands to CI
 * runners in them are escaped: the JSON values stay the same.
 */
export const formatDifference = (difference: Difference): string => {
  const { source, line, identity, key, sent, found, verdict } = difference;
  const [place, who, what] = [source, identity, key].map((one) => JSON.stringify(one));
  return sanitizeJsonText(
    `{"source":${place},"line":${line},"identity":${who},"key":${what},"sent":${sent},"found":${found},"verdict":"${verdict}"}`,
  );
};

type What = Verdict['what'];

/** Counts verdicts. */
export class VerdictTally {
  readonly counts = { checked: 0, same: 0, different: 0, missing: 0, untold: 0, foldedKeys: 0 };
  readonly #byWhat = new Map<What, { checked: number; differing: number }>();
  /** Events that are in the account more often than in the input; they are among those that differ. */
  extra = 0;
  readonly #untold = new Map<string, number>();

  add({ what, verdict, count, untold, foldedKeys, differences }: Verdict): void {
    const of = this.of(what);
    this.#byWhat.set(what, of);
    this.counts[verdict] += count;
    if (differences[0]?.verdict === 'extra') this.extra += count;
    this.counts.foldedKeys += foldedKeys;
    for (const why of untold) this.#untold.set(why, (this.#untold.get(why) ?? 0) + count);
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

  /** Yields messages about values that could not be compared and about changed keys. */
  *notes({ rejected }: { readonly rejected: number }): Generator<string> {
    if (rejected > 0) {
      yield `${groupDigits(rejected)} not compared: not sent, because a write rejects them`;
    }
    for (const [why, count] of this.#untold) yield `${groupDigits(count)} not compared: ${why}`;
    const { foldedKeys } = this.counts;
    if (foldedKeys > 0) {
      yield `${countOf(foldedKeys, 'key')} returned in another spelling: lower case, without spaces`;
    }
  }
}

/** Resolves the records of unknown outcome of a rejects file. */
export class UnknownResolution {
  readonly counts = { accepted: 0, absent: 0, unknown: 0 } satisfies SettledCounts;
  /** Lines of the records that were not found or could not be compared. */
  readonly #lines: OpenLine[] = [];
  /** Records without a verdict, with their keys (`reportedKey`). */
  readonly #open = new Map<SentRecord, string>();
  /** How often one rejects file at most reports the same record of the same line of the input: others report it again. */
  readonly #most = new Map<string, number>();
  /** The events that were found. */
  readonly arrived: ArrivedEvents[] = [];

  /** Adds the records to resolve. */
  begin(records: Iterable<SentRecord>): void {
    const ofFiles = new Map<string, Map<string, number>>();
    for (const record of records) {
      const key = reportedKey(record);
      this.#open.set(record, key);
      const ofFile = ofFiles.get(record.source) ?? new Map<string, number>();
      const count = (ofFile.get(key) ?? 0) + 1;
      ofFiles.set(record.source, ofFile.set(key, count));
      this.#most.set(key, Math.max(count, this.#most.get(key) ?? 0));
    }
  }

  /** Adds a verdict. */
  settle(settled: Verdict): void {
    const { what, verdict, records, untold, differences, arrived, hasNone = false } = settled;
    if (arrived) {
      const texts = records.slice(0, arrived.count).map(({ text }) => text);
      this.arrived.push({ ...arrived, texts });
    }
    // An event that another source also sent has arrived: sending it again would add one more.
    const hasArrived = verdict === 'same' || differences[0]?.verdict === 'extra';
    const isAgain = repeatsByFile();
    for (const record of records) {
      const key = this.#open.get(record);
      if (key === undefined) continue;
      this.#open.delete(record);
      if (this.#isRepeated(key)) continue;
      if (hasArrived) {
        this.counts.accepted += 1;
      } else if (verdict === 'untold') {
        const why = untold[0] ?? 'records without a value to compare';
        this.#leave(record, `verify could not decide whether it was accepted: ${why}`);
      } else if (isAgain(record)) {
        this.#leave(record, 'verify did not find it; another line or rejects file lists it, too');
      } else {
        this.counts.absent += 1;
        const event = what === 'events' ? { text: record.text, hasNone } : undefined;
        this.#lines.push({ record, stage: 'notSent', error: 'verify did not find it', event });
      }
    }
  }

  /** The events that were not found. */
  get absent(): readonly AbsentEvent[] {
    return this.#lines.flatMap(({ event }) => event ?? []);
  }

  /**
   * Returns all lines, in the order of the input: look-ups of the same records write the same text, by which the ledger
   * knows it once it was sent. Those that were not checked stay unknown, and so do those that were not found, if an upload
   * would skip them because of the event memory; `skipped` has their positions among `absent`.
   */
  lines(skipped: ReadonlySet<number>): readonly Buffer[] {
    for (const [record, key] of this.#open)
      if (!this.#isRepeated(key)) this.#leave(record, 'verify stopped before it was checked');
    this.#open.clear();
    let absent = 0;
    const final = this.#lines.map((open): OpenLine => {
      const { record, event } = open;
      if (!event || !skipped.has(absent++)) return open;
      this.counts.absent -= 1;
      this.counts.unknown += 1;
      return { record, stage: 'unknown', error: event.hasNone ? notInMemory : equalArrived };
    });
    return final
      .toSorted(({ record: a }, { record: b }) => a.ordinal - b.ordinal)
      .map(({ record, stage, error }) => lineOf(record, stage, error));
  }

  /** Whether a record with this key was settled already, which another rejects file reports, too. */
  #isRepeated(key: string): boolean {
    const left = this.#most.get(key)!;
    if (left > 0) this.#most.set(key, left - 1);
    return left === 0;
  }

  #leave(record: SentRecord, error: string): void {
    this.counts.unknown += 1;
    this.#lines.push({ record, stage: 'unknown', error });
  }
}

interface OpenLine {
  readonly record: SentRecord;
  readonly stage: 'unknown' | 'notSent';
  readonly error: string;
  /** The event that was not found. */
  readonly event?: AbsentEvent | undefined;
}

const equalArrived =
  'verify did not find it, but an equal event: --retry-unknown sends this one, too';
const notInMemory =
  'verify did not find it, but no run sent it in this form: settle it with the options of its upload, such as the time zone, the types and the columns';

/** Identifies a record and its place in the input. */
const reportedKey = (record: SentRecord): string => `${reportedPlace(record)}\n${record.text}`;

/** Returns a function that says whether a record was given before: by another rejects file, or by the same for the same line. */
function repeatsByFile(): (record: SentRecord) => boolean {
  const given = new Map<string, number>();
  const ofFile = new Map<string, Set<string>>();
  return (record) => {
    const { source, text } = record;
    const key = JSON.stringify([source, text]);
    const places = ofFile.get(key) ?? new Set();
    ofFile.set(key, places.add(reportedPlace(record)));
    if (places.size <= (given.get(text) ?? 0)) return true;
    given.set(text, places.size);
    return false;
  };
}

/** Builds a line of a rejects file with the record and place of the original line. */
function lineOf({ row = '{}' }: SentRecord, stage: 'unknown' | 'notSent', error: string): Buffer {
  const before = parseLossless(row);
  const member = (name: string): string =>
    stringifyLossless((isMap(before) && before.get(name)) || null);
  const content = isMap(before) && before.has('recordBase64') ? 'recordBase64' : 'record';
  const columns = isMap(before) && before.has('columns') ? `,"columns":${member('columns')}` : '';
  return Buffer.from(
    `{"source":${member('source')},"line":${member('line')},"stage":"${stage}","error":${JSON.stringify(error)},"${content}":${member(content)}${columns}}`,
  );
}
