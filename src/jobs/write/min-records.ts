import { PeekableIterator } from '../../bulk/peekable-iterator.js';
import { EngagectlError, groupDigits } from '../../errors.js';
import type { Inputs } from '../../input/inputs.js';

/** Reads files until there are as many records as are expected. Throws E-EXPECTED where there are not. */
export async function requireRecords(
  least: number,
  inputs: Inputs,
  signal: AbortSignal,
): Promise<void> {
  let records = 0;
  try {
    for await (const { count, faults } of new PeekableIterator(inputs.blocks()).until(signal)) {
      records += count + faults.length;
      if (records >= least) return;
    }
    signal.throwIfAborted();
  } finally {
    await inputs.close();
  }
  throw tooFewRecordsError(records, least, inputs);
}

/**
 * Of an input that was read to its end: E-EXPECTED, which says that nothing was sent, else E-TOO-FEW.
 * `accepted`: of those that were sent; undefined: none were.
 */
export function tooFewRecordsError(
  records: number,
  least: number,
  {
    names,
    accepted,
  }: { readonly names: readonly string[]; readonly accepted?: number | undefined },
): EngagectlError {
  const [file = 'stdin'] = names;
  const what = `${groupDigits(records)} ${records === 1 ? 'record' : 'records'}`;
  const where = names.length > 1 ? `${names.length} files` : file === '-' ? 'stdin' : file;
  const message = `${where}: ${what}, at least ${groupDigits(least)} expected`;
  if (accepted === undefined) {
    return new EngagectlError('E-EXPECTED', message, {
      why: 'the mapping file says so under "records"; what was read may have been cut short',
      fix: 'ask who made the input, or correct "min" in the mapping file',
      file,
    });
  }
  const taken =
    accepted === 1 ? '1 was sent and accepted' : `${groupDigits(accepted)} were sent and accepted`;
  return new EngagectlError('E-TOO-FEW', `${message}; ${taken}`, {
    why: 'how many a pipe holds is known at its end, and the mapping file asks for more under "records"',
    fix: 'look at what writes into the pipe; a file with too few records is refused before anything is sent',
  });
}
