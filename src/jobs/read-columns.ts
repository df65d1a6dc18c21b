import { statSync } from 'node:fs';
import path from 'node:path';
import { openInputs } from '../input/open.js';
import type { Runtime } from '../runtime.js';
import type { ReadOptions } from './job-options.js';
import { inputOptions } from './read-input.js';

/** Names of a table's columns, of which no more is read than its beginning; none of what is no file. */
export async function readColumns(
  file: string,
  options: ReadOptions,
  runtime: Runtime,
): Promise<readonly string[]> {
  // A pipe would be waited for.
  if (!statSync(path.resolve(runtime.cwd, file)).isFile()) return [];
  const inputs = await openInputs(inputOptions([file], options), runtime);
  try {
    return inputs.headers[0]?.header ?? [];
  } finally {
    await inputs.close();
  }
}
