import type { KeyName } from '../../bulk/memory/names-file.js';
import { csvCell } from '../../output/csv-cell.js';

/** Whose records they are that a bare list holds. */
const users: ReadonlySet<string> = new Set(['identity', 'objectId', 'FBID', 'GPID']);

/** A line for somebody the input does not hold: of users a bare list, of addresses type and value. */
export function goneLine({ space, key }: KeyName, isFirst: boolean): string {
  if (users.has(space)) return `${csvCell(key)}\n`;
  return `${isFirst ? 'type,value\n' : ''}${space},${csvCell(key)}\n`;
}
