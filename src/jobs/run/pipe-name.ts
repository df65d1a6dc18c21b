import { EngagectlError } from '../../errors.js';
import type { Inputs } from '../../input/open.js';
import type { World } from '../world.js';
import type { WriteRequest } from '../write/write-request.js';

/** What stands for the files of a run from a pipe. */
export const pipeName = ({ runName }: Pick<WriteRequest, 'runName'>): string =>
  `stdin (${runName})`;

/** Throws E-USAGE where a name is given to a run that reads files. */
export function refuseFiles({ names, totalBytes }: Inputs, { words }: World): void {
  if (names.length === 1 && totalBytes === undefined) return;
  throw new EngagectlError('E-USAGE', `${words.option('runName')} is for input from one pipe`, {
    why: 'a run from files is found by their names',
    fix: 'leave it out, or read standard input alone',
  });
}
