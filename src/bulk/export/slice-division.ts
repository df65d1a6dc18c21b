import { daysBetween, splitDays, type Day, type DayRange } from '../../contract/dates.js';
import { rawMembers } from '../../text/raw-json.js';
import type { RecordPage } from '../../output/output.js';

/**
 * Decides whether to divide a slice of events that is being read. Dividing repeats everything since
 * the slice was opened, so it pays only if the rest is expected to take longer than that. The
 * estimate assumes that records come in the order of their times; if they do not, the slice is read
 * with one cursor or some pages are read twice, and the output is the same.
 */
export class DivisionEstimate {
  readonly #range: DayRange;
  readonly #monotonic: () => number;
  readonly #opened: number;
  #firstPageAt: number | undefined;
  #first: Day | undefined;
  #last: Day | undefined;

  constructor(range: DayRange, monotonic: () => number) {
    this.#range = range;
    this.#monotonic = monotonic;
    this.#opened = monotonic();
  }

  /** Adds a page with at least one record. */
  add({ bytes, bounds, count }: RecordPage): void {
    this.#firstPageAt ??= this.#monotonic();
    const dayAt = (i: number) => recordDay(bytes.subarray(bounds[2 * i], bounds[2 * i + 1]));
    this.#first ??= dayAt(0);
    this.#last = dayAt(count - 1);
  }

  /** Returns the ranges that use the idle slots too; undefined if the slice should stay whole. */
  ranges(idleSlots: number): readonly DayRange[] | undefined {
    const { from, to } = this.#range;
    const [first, last, firstPageAt] = [this.#first, this.#last, this.#firstPageAt];
    if (idleSlots <= 0 || first === undefined || last === undefined || firstPageAt === undefined)
      return undefined;
    if (first < from || last < first || last >= to) return undefined;
    const now = this.#monotonic();
    const perDay = (now - firstPageAt) / (daysBetween(first, last) + 1);
    if (perDay * daysBetween(last, to) <= now - this.#opened) return undefined;
    const [head, ...others] = splitDays({ from: first, to }, idleSlots + 1);
    return [{ from, to: head!.to }, ...others];
  }
}

/** Returns the day of a record's `ts`, 14 digits in the account's time zone; undefined without one. */
function recordDay(record: Buffer): Day | undefined {
  const digits = /^"?(\d{8})\d{6}"?$/.exec(tsText(record))?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Returns the raw text of a record's `ts`; empty if there is none. */
export function tsText(record: Buffer): string {
  for (const { key, value } of rawMembers(record)) {
    if (key.length === 4 && key.toString('latin1') === '"ts"') return value.toString('latin1');
  }
  return '';
}
