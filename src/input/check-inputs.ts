import { openInput, type OpenInput } from './open-input.js';
import type { CsvProgram, Markers } from '../text/csv-scanner.js';
import type { InputOptions } from './options.js';
import type { InputFormat, Position } from './row-block.js';
import type { Sources } from './sources.js';

/** Names of the columns, and what stands between and around the cells. */
export interface Table {
  readonly header: readonly string[];
  readonly markers: Markers;
}

/** Inputs whose starts were read. */
export interface CheckedInputs {
  /** Of an input; undefined where it is no table. Those of one form are one object. */
  tableOf(input: number): Table | undefined;
  /** Those that can be read only once are still open. */
  readonly open: ReadonlyMap<number, OpenInput>;
  /** The first one whose format only its content tells, and how many others there are. */
  readonly guessed: GuessedInput | undefined;
}

export interface GuessedInput {
  readonly name: string;
  readonly format: InputFormat;
  readonly others: number;
}

/** Files are closed again, and tables of one form are kept once: there may be many thousands. */
export async function checkInputs(
  sources: Sources,
  options: InputOptions,
  context: { readonly csv: CsvProgram; readonly signal: AbortSignal; readonly digests: boolean },
): Promise<CheckedInputs> {
  const open = new Map<number, OpenInput>();
  const tables: (Table | undefined)[] = [undefined];
  const forms = new Map<string, number>();
  const formOf = new Uint32Array(sources.names.length);
  let first: Omit<GuessedInput, 'others'> | undefined;
  let guesses = 0;
  try {
    for (const [input, name] of sources.names.entries()) {
      const source = sources.at(input);
      const opened = await openInput(source, options, inputsStart, context);
      const { cutter, guessed: format } = opened;
      const table = tableIn(cutter);
      if (table) {
        const form = JSON.stringify(table);
        formOf[input] = forms.get(form) ?? tables.push(table) - 1;
        forms.set(form, formOf[input]);
      }
      if (format) first ??= { name, format };
      if (format) guesses += 1;
      if (source.size === undefined) open.set(input, opened);
      else opened.close();
    }
    const tableOf = (input: number) => tables[formOf[input]!];
    return { tableOf, open, guessed: first && { ...first, others: guesses - 1 } };
  } catch (error) {
    for (const opened of open.values()) opened.close();
    throw error;
  }
}

const tableIn = ({ header, markers }: OpenInput['cutter']): Table | undefined =>
  header && markers && { header, markers };

export const isSame = (header?: readonly string[], other?: readonly string[]): boolean =>
  header?.length === other?.length && (header?.every((name, at) => name === other?.[at]) ?? true);

/** Where the first of all inputs begins. */
export const inputsStart: Position = { input: 0, offset: 0, line: 1, ordinal: 0 };
