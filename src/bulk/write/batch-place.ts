import type { Batch } from './batch.js';

/** Where its records were read, like `users.csv:2-1001 (1000 records)`: for a log. */
export function batchPlace(batch: Batch): string {
  const { size } = batch;
  const [source, from] = placeAt(batch, 0);
  const [lastSource, to] = placeAt(batch, size - 1);
  if (size === 1) return `${source}:${from}`;
  const end = source === lastSource ? String(to) : `${lastSource}:${to}`;
  return `${source}:${from}-${end} (${size} records)`;
}

function placeAt(batch: Batch, position: number): readonly [source: string, line: number] {
  const [rows, row] = batch.source(position);
  return [rows.source, rows.lines[row] ?? 0];
}
