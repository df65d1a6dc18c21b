import { EngagectlError } from '../../errors.js';
import { isStdout, type OutputOptions } from '../../output/formats.js';
import { outputOf } from '../output-of.js';
import type { Words } from '../words.js';
import type { DerivedRows } from './derived-rows.js';

interface OutputWish {
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly fresh?: boolean;
}

/** The output has the format of the input. Throws E-USAGE for a file whose name says another one. */
export function derivedOutput(
  { output: name, overwrite = false, fresh = false }: OutputWish,
  { encoding }: DerivedRows,
  { option }: Words,
): OutputOptions {
  const options = outputOf(isStdout(name) ? undefined : name, { overwrite, fresh }, option);
  const isTable = encoding !== undefined;
  const says = /\.([a-z]+)(?:\.gz)?$/i.exec(name ?? '')?.[1]?.toLowerCase() ?? '';
  const wrong = isTable ? ['ndjson', 'jsonl', 'json'] : ['csv', 'tsv'];
  if (wrong.includes(says)) {
    throw new EngagectlError('E-USAGE', `${name} cannot hold what is read`, {
      why: `rows are kept as they are, and these are ${isTable ? 'lines of a table' : 'JSON objects'}`,
      fix: isTable ? 'name a .csv' : 'name an .ndjson or .json file',
    });
  }
  return encoding ? { ...options, encoding } : options;
}
