import { EngagectlError } from '../../errors.js';
import { isStdout, type OutputOptions } from '../../output/formats.js';
import { outputOf } from '../output-options.js';
import { DerivedRecords, type DerivedRows } from './derived-rows.js';
import { DerivedTable } from './derived-table.js';
import type { Inputs } from '../../input/inputs.js';
import type { NamedValues } from '../../mapping/row-values.js';
import type { Words } from '../job-context.js';

interface OutputWish {
  readonly files: readonly string[];
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly fresh?: boolean;
}

/** What is read, and by which values of a row. */
interface Reading {
  readonly inputs: Inputs;
  readonly values: NamedValues<string>;
}

/**
 * How the rows are written, in the format of the input, and where to. Throws E-USAGE for tables
 * among other records and for a file whose name says another format, E-HEADER… for tables that are
 * not of one kind.
 */
export function derivedOutput(
  { files, output: name, overwrite = false, fresh = false }: OutputWish,
  { inputs, values }: Reading,
  { option }: Words,
): { readonly rows: DerivedRows; readonly output: OutputOptions } {
  const table = tableOf(inputs, Math.max(1, files.length));
  const says = /\.([a-z]+)(?:\.gz)?$/i.exec(name ?? '')?.[1]?.toLowerCase() ?? '';
  const wrong = table ? ['ndjson', 'jsonl', 'json'] : ['csv', 'tsv'];
  if (wrong.includes(says)) {
    throw new EngagectlError('E-USAGE', `${name} cannot hold what is read`, {
      why: `rows are kept as they are, and these are ${table ? 'lines of a table' : 'JSON objects'}`,
      fix: table ? 'name a .csv' : 'name an .ndjson or .json file',
    });
  }
  const output = outputOf(isStdout(name) ? undefined : name, { overwrite, fresh }, option);
  if (!table) return { rows: new DerivedRecords(values), output };
  return { rows: table, output: { ...output, encoding: table.encoding } };
}

/** Undefined for JSON records. */
function tableOf({ headers }: Inputs, count: number): DerivedTable | undefined {
  const [first, ...others] = headers;
  if (!first) return undefined;
  if (headers.reduce((sum, { inputs: those }) => sum + those, 0) < count) {
    throw new EngagectlError('E-USAGE', 'CSV and JSON inputs cannot go into one output', {
      why: 'an output holds either rows of a table or JSON objects',
      fix: 'derive from them one by one',
    });
  }
  const unlike = others.find(
    ({ header, markers }) =>
      header.join('\n') !== first.header.join('\n') ||
      !markers.delimiter.equals(first.markers.delimiter),
  );
  if (unlike) {
    throw new EngagectlError(
      'E-HEADER',
      `${unlike.source}: its header is not that of ${first.source}`,
      {
        why: 'the rows of all inputs go into one output',
        fix: 'derive from them one by one',
        file: unlike.source,
        line: 1,
      },
    );
  }
  for (const { source, header } of headers) if (header.includes('cuid')) throw taken(source);
  return new DerivedTable(first);
}

const taken = (source: string): EngagectlError =>
  new EngagectlError('E-HEADER-DUPLICATE', `${source}: there is a column "cuid" already`, {
    why: 'that is the name of the column which is added',
    fix: 'rename it, or remove it',
    file: source,
    line: 1,
  });
