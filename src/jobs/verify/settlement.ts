import { isMap, parseExact, exactText } from '../../text/lossless-json.js';
import type { SettledCounts } from '../job-results.js';
import type { SentRecord } from './sent.js';
import type { Verdict } from './verdict.js';

/** What becomes of the records of a rejects file whose outcome was unknown. */
export class Settlement {
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
  const before = parseExact(row);
  const member = (name: string): string => exactText((isMap(before) && before.get(name)) || null);
  const content = isMap(before) && before.has('recordBase64') ? 'recordBase64' : 'record';
  return Buffer.from(
    `{"source":${member('source')},"line":${member('line')},"stage":"${stage}","error":${JSON.stringify(error)},"${content}":${member(content)}}`,
  );
}
