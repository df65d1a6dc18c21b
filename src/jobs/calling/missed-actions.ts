import type { MissedCallActions } from '../../calling/calling.js';
import { EngagectlError } from '../../errors.js';
import type { World } from '../world.js';
import { readJsonFile } from './read-json-file.js';

/** Of a missed call's notification: at most three identifiers, each with the label of its button. Throws E-FORMAT. */
export async function readMissedActions(
  file: string,
  runtime: Pick<World['runtime'], 'cwd' | 'signal'>,
): Promise<MissedCallActions> {
  const actions = await readJsonFile(file, runtime);
  const entries = typeof actions === 'object' && actions !== null ? Object.entries(actions) : [];
  const isGood =
    !Array.isArray(actions) &&
    entries.length >= 1 &&
    entries.length <= 3 &&
    entries.every(([id, label]) => id !== '' && typeof label === 'string' && label !== '');
  if (isGood) return actions as MissedCallActions;
  throw new EngagectlError('E-FORMAT', `${file} holds no actions of a missed call`, {
    why: 'a JSON object of one to three identifiers is needed, each with the label of its button',
    fix: 'write it like {"later":"Call me later"}',
    file,
  });
}
