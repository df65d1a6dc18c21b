import { EngagectlError } from '../errors.js';

/** Also used between cells, but never guessed. */
const otherDelimiters = [';', '\t', '|', ','];

/**
 * Bytes between the cells: those the user named (any text, `\\t` for a tab), else a tab for TSV
 * and a comma for CSV. Throws EngagectlError E-USAGE for one that CSV gives another meaning.
 */
export function delimiterOf(format: 'csv' | 'tsv', named: string | undefined): Buffer {
  const delimiter = named === '\\t' ? '\t' : (named ?? (format === 'tsv' ? '\t' : ','));
  if (delimiter !== '' && !/["\r\n]/.test(delimiter)) return Buffer.from(delimiter);
  throw new EngagectlError('E-USAGE', `--delimiter ${JSON.stringify(named)} cannot be used`, {
    why: 'a delimiter is not empty and holds neither a quote nor a line break',
    fix: "use for example --delimiter ';' or --delimiter '\\t'",
  });
}

/**
 * Refuses a header of one column that holds another usual delimiter, rather than sending each
 * row as one value. Throws EngagectlError E-HEADER.
 */
export function expectDelimiter(
  [only = '', ...others]: readonly string[],
  { name, line }: { name: string; line: number },
): void {
  const delimiter = otherDelimiters.find((delimiter) => only.includes(delimiter));
  if (others.length > 0 || delimiter === undefined) return;
  const shown = delimiter === '\t' ? '\\t' : delimiter;
  throw new EngagectlError(
    'E-HEADER',
    `${name}: the header is one column, ${JSON.stringify(only)}`,
    {
      file: name,
      line,
      why: `its cells seem to be separated by ${JSON.stringify(delimiter)}`,
      fix: `add --delimiter '${shown}'`,
    },
  );
}
