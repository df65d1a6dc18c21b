import { columnFault, type Column } from './columns.js';
import { shown } from './identity.js';
import type { CellRow } from './flat-row.js';
import type { Expectations } from './upload-mapping.js';

/** Values that a message lists. */
const mostTold = 8;

/** Why a row is not what was expected: all of it. `columns` are those of its cells. */
export function unexpectedIn(
  row: CellRow,
  columns: readonly Column[],
  { required }: Expectations,
): string | undefined {
  const faults: string[] = [];
  for (const name of required) {
    const index = columns.findIndex((column) => column.name === name);
    const isMissing = index < 0 || row.isEmpty(index);
    if (isMissing) faults.push(columnFault(name, 'a value is required'));
  }
  for (let index = 0; index < columns.length; index++) {
    const { name, isUnexpected, values } = columns[index]!;
    if (isUnexpected) faults.push(columnFault(name, 'the mapping file has no such column'));
    if (!values || row.isEmpty(index)) continue;
    const text = row.text(index);
    if (values.has(text.toString())) continue;
    faults.push(columnFault(name, `${shown(text)} is not among ${listed(values)}`));
  }
  return faults.length > 0 ? faults.join('; ') : undefined;
}

function listed(values: ReadonlySet<string>): string {
  const told = [...values].slice(0, mostTold).map((value) => JSON.stringify(value));
  const more = values.size - told.length;
  return more > 0 ? `${told.join(', ')} and ${more} more` : told.join(', ');
}
