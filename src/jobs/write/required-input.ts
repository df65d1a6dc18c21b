import { PeekableIterator } from '../../bulk/peekable-iterator.js';
import { EngagectlError, groupDigits } from '../../errors.js';
import type { Mapper } from '../../mapping/record-block.js';
import type { Inputs } from '../../input/inputs.js';

/** Reads files until the minimum of records is reached. Throws E-EXPECTED if there are fewer. */
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
 * Reads JSON files until each column that the options name has occurred in a record, which mostly is at their start.
 * Throws E-COLUMN-MISSING if one occurs in none. Records in the format of the service have no columns.
 */
export async function requireColumns(
  mapper: Pick<Mapper, 'map' | 'unseenColumns'>,
  inputs: Inputs,
  signal: AbortSignal,
): Promise<void> {
  const missing = (): readonly string[] => mapper.unseenColumns?.() ?? [];
  try {
    for await (const block of new PeekableIterator(inputs.blocks()).until(signal)) {
      if (block.cells) return;
      mapper.map(block);
      if (missing().length === 0) return;
    }
    signal.throwIfAborted();
  } finally {
    await inputs.close();
  }
  if (missing().length > 0) throw unseenColumnsError(missing(), inputs.first);
}

/** Builds the error for columns or paths that occur in no record. */
export function unseenColumnsError(names: readonly string[], source: string): EngagectlError {
  const list = names.map((name) => JSON.stringify(name)).join(', ');
  return new EngagectlError('E-COLUMN-MISSING', `${source}: no record has the column ${list}`, {
    why: 'an option or the mapping file names it',
    fix: 'correct the name; --preview without it shows the columns (a value in an object is named by its path, such as traits.email)',
    file: source,
  });
}

/**
 * Builds the error for an input with too few records: E-EXPECTED if nothing was sent (`accepted`
 * is undefined), otherwise E-TOO-FEW.
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
  const message = `${where} has ${what}, expected at least ${groupDigits(least)}`;
  if (accepted === undefined) {
    return new EngagectlError('E-EXPECTED', message, {
      why: 'the mapping file requires this under "records"; the input may be truncated',
      fix: 'check how the input was created, or correct "min" in the mapping file',
      file,
    });
  }
  const taken =
    accepted === 1 ? '1 was sent and accepted' : `${groupDigits(accepted)} were sent and accepted`;
  return new EngagectlError('E-TOO-FEW', `${message}; ${taken}`, {
    why: 'the mapping file requires more under "records", and a pipe can be counted only at its end',
    fix: 'check the program that writes into the pipe; a file is counted before anything is sent',
  });
}
