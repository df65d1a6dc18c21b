import { countOf, groupDigits } from '../errors.js';
import { sanitizeLine } from '../wording.js';

export { countOf as count, groupDigits as grouped };

/** Formats bytes like `45.2 MB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.95 ? value.toFixed(0) : value.toFixed(1)} ${units[unit] ?? ''}`;
}

/** Formats a number: whole from ten on, otherwise with at most one decimal place. */
export const shortNumber = (value: number): string =>
  value >= 10 || Number.isInteger(value) ? groupDigits(Math.round(value)) : value.toFixed(1);

/** Formats milliseconds like `87 ms`, `1.4 s`, `12 s`. */
export const formatMs = (value: number): string =>
  value < 1000 ? `${shortNumber(value)} ms` : `${shortNumber(value / 1000)} s`;

/** Formats seconds like `2m 13s`, `1h 0m 5s`, `0.4s`. */
export function formatDuration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  return `${hours > 0 ? `${hours}h ` : ''}${minutes}m ${whole % 60}s`;
}

const wide = /[\u1100-\u115F\u2E80-\u{10FFFF}\p{Emoji_Presentation}]/u;
const columnsOf = (character: string): number => (wide.test(character) ? 2 : 1);

/** Returns the width of a text in terminal columns; wide characters count as two. */
const terminalWidth = (text: string): number =>
  Array.from(text).reduce((sum, character) => sum + columnsOf(character), 0);

/** Truncates a text to a number of terminal columns. */
export function truncate(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += columnsOf(character);
    if (width > columns) return text.slice(0, end);
    end += character.length;
  }
  return text;
}

/** Minimum width of a truncated table column. */
const narrowest = 8;

/**
 * Formats columns as wide as their widest cell, two spaces apart; sanitizes the cells. If a row exceeds `most`, the widest
 * columns are truncated.
 */
export function textTable(
  table: readonly (readonly string[])[],
  most = Number.POSITIVE_INFINITY,
): string {
  const rows = table.map((row) => row.map(sanitizeLine));
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => terminalWidth(row[column] ?? ''))),
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
  const truncated = terminalWidth(cell) > width ? `${truncate(cell, width - 1)}…` : cell;
  return truncated + ' '.repeat(width - terminalWidth(truncated));
}
