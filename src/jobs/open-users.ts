import { namedValues } from '../errors.js';
import { openInputs, type Inputs } from '../input/inputs.js';
import { identifierReader, type IdentifierReader } from '../mapping/identity.js';
import { inputOptions } from './input-files.js';
import type { IdentifierKind } from '../contract/endpoints.js';
import type { RowBlock } from '../input/row-block.js';
import type { Runtime } from '../runtime.js';
import type { ReadOptions } from './job-options.js';

/** Whom to look up: users that are named, or those of an input. */
export type WantedUsers =
  | { readonly by: IdentifierKind; readonly values: readonly string[] }
  | { readonly by?: IdentifierKind | undefined; readonly input: string };

/** The users to look up, as rows, and how a row tells which user is meant. */
export interface Users extends Pick<
  Inputs,
  'first' | 'totalBytes' | 'bytesRead' | 'blocks' | 'close'
> {
  readonly reader: IdentifierReader;
}

/** Opens the input and checks its header. Throws like `openInputs`, and E-COLUMN-MISSING. */
export async function openUsers(
  wanted: WantedUsers,
  options: ReadOptions,
  runtime: Pick<Runtime, 'stdin' | 'cwd' | 'signal'>,
): Promise<Users> {
  const reader = identifierReader(wanted.by);
  if ('values' in wanted) return { ...valuesAsInput(wanted.values, wanted.by), reader };
  const listColumn = wanted.by ?? 'identity';
  const inputs = await openInputs(inputOptions([wanted.input], options, listColumn), runtime);
  for (const { header, source } of inputs.headers) reader.check(header, source);
  return {
    first: inputs.first,
    totalBytes: inputs.totalBytes,
    bytesRead: (records) => inputs.bytesRead(records),
    blocks: () => inputs.blocks(),
    close: () => inputs.close(),
    reader,
  };
}

function valuesAsInput(values: readonly string[], column: string): Omit<Users, 'reader'> {
  return {
    first: namedValues,
    totalBytes: 0,
    bytesRead: () => 0,
    // oxlint-disable-next-line typescript/require-await -- the shape of an input
    blocks: async function* blocks() {
      yield valueRows(values, column);
    },
    close: () => Promise.resolve(),
  };
}

/** One row a value, on the "lines" 1, 2, 3 … */
function valueRows(values: readonly string[], column: string): RowBlock {
  const texts = values.map((value) => Buffer.from(value));
  const bounds = new Int32Array(2 * texts.length);
  let end = 0;
  for (const [index, text] of texts.entries()) {
    bounds[2 * index] = end;
    end += text.length;
    bounds[2 * index + 1] = end;
  }
  return {
    source: namedValues,
    bytes: Buffer.concat(texts),
    count: texts.length,
    bounds,
    lines: Uint32Array.from(texts, (_, index) => index + 1),
    cells: { header: [column], bounds },
    first: 0,
    end: { input: 0, offset: end, line: values.length + 1, ordinal: values.length },
    faults: [],
  };
}
