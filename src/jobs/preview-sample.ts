import type { RequestCount } from '../bulk/write/request-count.js';
import type { RowBlock } from '../input/rows.js';
import type { RecordBlock } from '../mapping/records.js';
import { Survey } from '../mapping/survey/survey.js';

/** A record as it would be sent, and the line on which it was read. */
export interface PreviewRecord {
  readonly source: string;
  readonly line: number;
  /** JSON text. */
  readonly record: string;
}

export interface PreviewReject {
  readonly source: string;
  readonly line: number;
  readonly stage: string;
  readonly error: string;
}

/** Rejects that are shown one by one; the others are counted by reason. */
const shownRejects = 5;

/** What was read of an input so far: its first records, and figures about all of them. */
export class PreviewSample {
  readonly survey = new Survey();
  readonly requests: RequestCount;
  readonly first: PreviewRecord[] = [];
  readonly rejects: PreviewReject[] = [];
  /** Of decoded text. */
  bytes = 0;
  readonly #shown: number;

  constructor(shown: number, requests: RequestCount) {
    this.#shown = shown;
    this.requests = requests;
  }

  add(rows: RowBlock, block: RecordBlock): void {
    this.bytes += rows.bytes.length;
    this.survey.add(block);
    this.requests.add(block);
    this.#showRecords(block);
    this.#showRejects(block);
  }

  #showRecords({ rows, count, row, json, bounds }: RecordBlock): void {
    const wanted = Math.min(count, this.#shown - this.first.length);
    for (let index = 0; index < wanted; index++) {
      const record = json.toString('utf8', bounds[2 * index], bounds[2 * index + 1]);
      this.first.push({ source: rows.source, line: rows.lines[row[index]!] ?? 0, record });
    }
  }

  #showRejects({ rows, rejects }: RecordBlock): void {
    if (this.rejects.length >= shownRejects) return;
    const { source, lines, faults } = rows;
    const all = [
      ...faults.map(({ line, error }) => ({ source, line, stage: 'parse', error })),
      ...rejects.map(({ row, ...why }) => ({ source, line: lines[row] ?? 0, ...why })),
    ];
    const inOrder = all.toSorted((a, b) => a.line - b.line);
    this.rejects.push(...inOrder.slice(0, shownRejects - this.rejects.length));
  }
}
