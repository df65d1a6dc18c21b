import { CellText } from '../text/text-slice.js';
import { unknownBefore } from './rejects-input.js';
import { pickedRecords } from './picked-records.js';
import type { RowBlock } from '../input/row-block.js';
import type { Mapper, RecordReject } from './records.js';

/** Holds back the rows of a rejects file of CSV that an earlier run may have sent: they stay unknown. */
export function withoutUnknown(mapper: Mapper): Mapper {
  const text = new CellText();
  const isUnknown = ({ cells, bytes }: RowBlock, row: number): boolean => {
    const column = cells?.header.indexOf('engagectl_error') ?? -1;
    if (!cells || column < 0) return false;
    const at = 2 * (row * cells.header.length + column);
    const error = text.ofCell(bytes, cells.bounds[at]!, cells.bounds[at + 1]!).toString();
    return error.startsWith('unknown: ');
  };
  return {
    ...mapper,
    map: (rows, picked) => {
      const block = mapper.map(rows, picked);
      if (!rows.cells?.header.includes('engagectl_error')) return block;
      const unknown: RecordReject[] = [];
      const known = pickedRecords(block, (index) => {
        const row = block.row[index]!;
        if (!isUnknown(rows, row)) return true;
        unknown.push({ row, ...unknownBefore });
        return false;
      });
      return { ...known, rejects: [...block.rejects, ...unknown] };
    },
  };
}
