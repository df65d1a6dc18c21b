/** A text as a cell of a CSV; quoted where it has to be (RFC 4180, 2). */
export const csvCell = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
