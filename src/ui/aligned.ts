import { fitted, widthOf } from './format.js';

/** A column of a table is not cut to fewer letters than this. */
const narrowest = 8;

/**
 * Columns as wide as their widest cell, two spaces apart. Where a row is wider than `most`, cells of
 * the widest columns are cut.
 */
export function aligned(
  rows: readonly (readonly string[])[],
  most = Number.POSITIVE_INFINITY,
): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const tooWide = () => widths.reduce((sum, width) => sum + width + 2, -2) > most;
  while (tooWide()) {
    const widest = Math.max(...widths);
    if (widest <= narrowest) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => padded(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}

function padded(cell: string, width: number): string {
  const shown = widthOf(cell) > width ? `${fitted(cell, width - 1)}…` : cell;
  return shown + ' '.repeat(width - widthOf(shown));
}
