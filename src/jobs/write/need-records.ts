import { Intake } from '../../bulk/intake.js';
import { EngagectlError, grouped } from '../../errors.js';
import type { Inputs } from '../../input/open.js';

/** Reads files until there are as many records as are expected. Throws E-EXPECTED where there are not. */
export async function needRecords(
  least: number,
  inputs: Inputs,
  signal: AbortSignal,
): Promise<void> {
  let records = 0;
  try {
    for await (const { count, faults } of new Intake(inputs.blocks()).until(signal)) {
      records += count + faults.length;
      if (records >= least) return;
    }
    signal.throwIfAborted();
  } finally {
    await inputs.close();
  }
  throw tooFew(records, least, inputs.names);
}

/** Of an input that was read to its end. */
export function tooFew(records: number, least: number, names: readonly string[]): EngagectlError {
  const [file = 'stdin'] = names;
  const what = `${grouped(records)} ${records === 1 ? 'record' : 'records'}`;
  const where = names.length > 1 ? `${names.length} files` : file === '-' ? 'stdin' : file;
  return new EngagectlError(
    'E-EXPECTED',
    `${where}: ${what}, at least ${grouped(least)} expected`,
    {
      why: 'the mapping file says so under "records"; what was read may have been cut short',
      fix: 'ask who made the input, or correct "min" in the mapping file',
      file,
    },
  );
}
