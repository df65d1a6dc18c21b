import { Survey } from '../../mapping/preview/field-statistics.js';
import type { RequestCount } from '../../bulk/write/request-count.js';
import type { RecordBlock, RecordReject } from '../../mapping/record-block.js';

/** Rejects that are told one by one; the others are counted by reason. */
const toldRejects = 5;

interface Place {
  readonly source: string;
  readonly line: number;
}

/** A record as it would be sent, and the line on which it was read. */
export interface PreviewRecord extends Place {
  /** JSON text. */
  readonly record: string;
}

export type PreviewReject = Place & Omit<RecordReject, 'row'>;

/** What was read of an input so far: its first records, and figures about all of them. */
export class PreviewSample {
  readonly survey = new Survey();
  readonly requests: RequestCount;
  readonly first: PreviewRecord[] = [];
  readonly rejects: PreviewReject[] = [];
  readonly #shown: number;

  constructor(shown: number, requests: RequestCount) {
    this.#shown = shown;
    this.requests = requests;
  }

  add(block: RecordBlock): void {
    const { rows, count, row, json, bounds } = block;
    const { source, lines } = rows;
    this.survey.add(block);
    this.requests.add(block);
    const shown = Math.min(count, this.#shown - this.first.length);
    for (let index = 0; index < shown; index++) {
      const record = json.toString('utf8', bounds[2 * index], bounds[2 * index + 1]);
      this.first.push({ source, line: lines[row[index]!] ?? 0, record });
    }
    const told = toldRejects - this.rejects.length;
    if (told > 0) this.rejects.push(...rejectsOf(block).slice(0, told));
  }
}

/** In the order of their lines. */
function rejectsOf({ rows: { source, lines, faults }, rejects }: RecordBlock): PreviewReject[] {
  const unread = faults.map(
    ({ line, error }) => ({ source, line, stage: 'parse', error }) as const,
  );
  const unfit = rejects.map(({ row, ...why }) => ({ source, line: lines[row] ?? 0, ...why }));
  return [...unread, ...unfit].toSorted((a, b) => a.line - b.line);
}
