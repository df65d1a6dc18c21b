import { csvCell } from '../../output/csv-cell.js';
import { isOfUser, type RecordKey } from '../../text/record-key.js';

/** A line for somebody the input does not hold: of users a bare list, of addresses type and value. */
export function goneLine({ space, key }: RecordKey, isFirst: boolean): string {
  if (isOfUser({ space })) return `${csvCell(key)}\n`;
  return `${isFirst ? 'type,value\n' : ''}${space},${csvCell(key)}\n`;
}
