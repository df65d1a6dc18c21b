import type { Batch } from './batch.js';

/** Where its records were read, like `users.csv:2-1001 (1000 records)`: for a log. */
export function placeOf(batch: Batch): string {
  const { size } = batch;
  const [first, last] = [batch.source(0), batch.source(size - 1)];
  const [[source, from], [lastSource, to]] = [first, last].map(
    ([rows, row]) => [rows.source, rows.lines[row] ?? 0] as const,
  ) as [readonly [string, number], readonly [string, number]];
  if (size === 1) return `${source}:${from}`;
  const end = source === lastSource ? String(to) : `${lastSource}:${to}`;
  return `${source}:${from}-${end} (${size} records)`;
}
