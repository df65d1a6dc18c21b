import type { RecordBlock } from '../records.js';
import type { Sighting } from './field.js';

/** Reasons that are told apart; the rest is one more, so that memory stays flat. */
const mostReasons = 100;
const others = 'other reasons';

/** Why rows would not be sent, and how often: reasons that differ in the value alone are one. */
export class RejectReasons {
  count = 0;
  /** By the reason without the value. */
  readonly reasons = new Map<string, Sighting>();

  add({ rows, rejects }: RecordBlock): void {
    for (const { line, error } of rows.faults) this.#note(rows.source, line, error);
    for (const { row, error } of rejects) this.#note(rows.source, rows.lines[row] ?? 0, error);
  }

  #note(source: string, line: number, error: string): void {
    this.count += 1;
    const reason = withoutValue(error);
    const known = this.reasons.get(reason);
    if (known) known.count += 1;
    else if (this.reasons.size < mostReasons)
      this.reasons.set(reason, { count: 1, source, line, example: error });
    else {
      const rest = this.reasons.get(others) ?? { count: 0, source, line, example: error };
      rest.count += 1;
      this.reasons.set(others, rest);
    }
  }
}

const quoted = /"(?:[^"\\]|\\.)*"/g;

/** `column "Age": "x" is not an integer` and the same of "y" are one reason; column names stay. */
function withoutValue(error: string): string {
  const column = /^columns? "(?:[^"\\]|\\.)*"(?: and "(?:[^"\\]|\\.)*")?: /.exec(error)?.[0] ?? '';
  return (
    column +
    error
      .slice(column.length)
      .replace(quoted, '…')
      .replace(/\b\d+$/, '…')
  );
}
