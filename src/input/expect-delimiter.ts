import { EngagectlError } from '../errors.js';

/** Also used between cells, but never guessed. */
const otherDelimiters = [';', '\t', '|', ','];

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
