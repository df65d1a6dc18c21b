import type { CsvProgram } from '../text/csv-program.js';
import type { Markers } from '../text/csv-scanner.js';
import { openInput, type OpenInput } from './open-input.js';
import type { InputOptions } from './options.js';
import type { InputFormat, Position } from './rows.js';
import type { Source } from './source.js';

/** Names of the columns, and what stands between and around the cells. */
export interface Table {
  readonly header: readonly string[];
  readonly markers: Markers;
}

/** An input whose start was read. One that can be read only once is still open. */
export interface CheckedInput {
  readonly source: Source;
  readonly table: Table | undefined;
  readonly guessed: InputFormat | undefined;
  readonly open: OpenInput | undefined;
}

/** Files are closed again, and tables of one form are kept once: there may be many thousands. */
export async function checkInputs(
  sources: readonly Source[],
  options: InputOptions,
  context: { readonly csv: CsvProgram; readonly signal: AbortSignal; readonly digests: boolean },
): Promise<readonly CheckedInput[]> {
  const checked: CheckedInput[] = [];
  try {
    for (const source of sources) {
      const open = await openInput(source, options, inputsStart, context);
      const { header, markers } = open.cutter;
      const found = header && markers && { header, markers };
      const before = checked.at(-1)?.table;
      const table = isSameTable(found, before) ? before : found;
      const once = source.size === undefined;
      checked.push({ source, table, guessed: open.guessed, open: once ? open : undefined });
      if (!once) open.close();
    }
    return checked;
  } catch (error) {
    for (const { open } of checked) open?.close();
    throw error;
  }
}

export const isSame = (header?: readonly string[], other?: readonly string[]): boolean =>
  header?.length === other?.length && (header?.every((name, at) => name === other?.[at]) ?? true);

const isSameTable = (table?: Table, other?: Table): boolean =>
  table !== undefined &&
  other !== undefined &&
  isSame(table.header, other.header) &&
  markerNames.every((name) => table.markers[name].equals(other.markers[name]));

const markerNames = ['delimiter', 'quote', 'escape', 'comment'] as const;

/** Where the first of all inputs begins. */
export const inputsStart: Position = { input: 0, offset: 0, line: 1, ordinal: 0 };
