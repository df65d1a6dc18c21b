import { PeekableIterator } from '../../bulk/peekable-iterator.js';
import { EngagectlError, exitCodes, groupDigits } from '../../errors.js';
import { limitRecords, type RowBlock } from '../../input/row-block.js';
import { timeZone } from '../../time-zone.js';
import { refuseJoined } from '../input-files.js';
import type { NamedColumns } from '../../bulk/write/write-job.js';
import type { Mapper } from '../../mapping/record-block.js';
import type { Inputs } from '../../input/inputs.js';
import type { WriteContext } from './write-request.js';

/** Yields what is read of inputs, then closes them. Throws the reason of `signal` if it aborts. */
export async function* blocksOf(
  inputs: Inputs,
  signal: AbortSignal,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<RowBlock> {
  try {
    yield* new PeekableIterator(limitRecords(inputs.blocks(), limit)).until(signal);
    signal.throwIfAborted();
  } finally {
    await inputs.close();
  }
}

/** Reads files until the minimum of records is reached. Throws E-EXPECTED if there are fewer. */
export async function requireRecords(
  least: number,
  inputs: Inputs,
  signal: AbortSignal,
): Promise<void> {
  let records = 0;
  for await (const { count, parseErrors } of blocksOf(inputs, signal)) {
    records += count + parseErrors.length;
    if (records >= least) return;
  }
  throw tooFewRecordsError(records, least, inputs);
}

/**
 * Reads files to their end, or to the limit, before the first record is sent that is not safe to resend: an input that has
 * to be corrected cannot be resumed, and would be sent again as a whole. Throws E-HEADER, E-CSV-QUOTE.
 */
export async function requireReadable(
  mapper: Pick<Mapper, 'keys'>,
  inputs: Inputs,
  { limit, signal }: { limit: number | undefined; signal: AbortSignal },
): Promise<void> {
  try {
    for await (const rows of blocksOf(inputs, signal, limit)) refuseJoined(rows, mapper);
  } catch (error) {
    // a file that cannot be read now may be readable when the run is resumed
    if (error instanceof EngagectlError && error.exitCode === exitCodes.refused) throw error;
    signal.throwIfAborted();
  }
}

/**
 * Reads JSON files until each column that the options name has occurred in a record, which mostly is at their start.
 * Throws E-COLUMN-MISSING if one occurs in none. Records in the format of the service have no columns.
 */
export async function requireColumns(
  mapper: Pick<Mapper, 'unseenColumns'> & { readonly map: (rows: RowBlock) => unknown },
  inputs: Inputs,
  signal: AbortSignal,
): Promise<void> {
  const missing = (): readonly string[] => mapper.unseenColumns?.() ?? [];
  for await (const block of blocksOf(inputs, signal)) {
    if (block.cells) return;
    mapper.map(block);
    if (missing().length === 0) return;
  }
  if (missing().length > 0) throw unseenColumnsError(missing(), inputs.first);
}

/**
 * Whether an input is searched to its end for the columns that options name, before anything is sent. The header of a
 * table names its columns, and a pipe can be read only once.
 */
const isSearched = ({ headers, totalBytes }: Inputs): boolean =>
  headers.length === 0 && totalBytes !== undefined;

/** Whether `requireColumns` is to be called. */
export const namesSearchedColumns = (
  mapper: Pick<Mapper, 'namedColumns'>,
  inputs: Inputs,
): boolean =>
  isSearched(inputs) && mapper.namedColumns !== undefined && mapper.namedColumns.length > 0;

/** The search for the columns that options name in the first records of a pipe. */
interface ColumnSearch extends NamedColumns {
  /** Returns the columns that were not found. */
  readonly unseen: () => readonly string[];
}

/**
 * Starts to search the columns that options name in the first records of a pipe. Undefined for files, which were
 * searched to their end, and for a check, which searches all records.
 */
export function searchNamedColumns({
  kind,
  inputs,
  rehearsal,
  connection,
  context,
}: WriteContext): ColumnSearch | undefined {
  if (inputs.totalBytes !== undefined || rehearsal === 'check') return undefined;
  // A mapper of its own, because that of a shard maps only a part of the records.
  const mapper = kind.mapper(connection?.zone ?? timeZone(context.timezone));
  if (!mapper.namedColumns?.length) return undefined;
  const unseen = () => mapper.unseenColumns?.() ?? [];
  return {
    unseen,
    look: (rows) => {
      if (!rows.cells) mapper.map(rows);
      return unseen().length === 0;
    },
    refusal: (records) => {
      const names = unseen();
      return names.length > 0 ? unseenColumnsError(names, inputs.first, records) : undefined;
    },
  };
}

/** Returns the columns that options name, but that no record had, of an input that was not searched to its end. */
export function unseenColumns(
  inputs: Inputs,
  mapper: Mapper,
  search: ColumnSearch | undefined,
): readonly string[] {
  if (isSearched(inputs)) return [];
  const unseen = mapper.unseenColumns?.() ?? [];
  return search ? unseen.filter((name) => search.unseen().includes(name)) : unseen;
}

/** Builds the error for columns or paths that occur in no record, or in none of the `first` records of a pipe. */
export function unseenColumnsError(
  names: readonly string[],
  source: string,
  first?: number,
): EngagectlError {
  const list = names.map((name) => JSON.stringify(name)).join(', ');
  const records =
    first === undefined ? 'no record has' : `none of the first ${groupDigits(first)} records has`;
  const later =
    first === undefined
      ? ''
      : '; if later records have it, save the pipe to a file, which is searched to its end';
  return new EngagectlError('E-COLUMN-MISSING', `${source}: ${records} the column ${list}`, {
    why: 'an option or the mapping file names it',
    fix: `correct the name; --preview without it shows the columns (a value in an object is named by its path, such as traits.email)${later}`,
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
