/** The rows of the table below this heading, cell by cell, without marks of emphasis or code. */
export function tableBelow(page: string, heading: string): string[][] {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll(/[`\\]/g, '')),
  );
}
