import { sourceRecord } from '../source-record.js';
import { recordMarks } from '../upload.js';
import { ColumnSample, type SampledRows } from '../preview/column-inference.js';
import type { RowBlock } from '../../input/row-block.js';
import type { Zone } from '../../zone.js';

/**
 * Looks at flat rows, whose header is given where they have one. Undefined where one of them is a
 * record of the service or of an export, which has no columns. What is no JSON is passed over.
 */
export function sampleRows(
  blocks: readonly RowBlock[],
  header: readonly string[],
  zone: Zone,
): SampledRows | undefined {
  const columns = new Map(header.map((name) => [name, new ColumnSample(name, zone)]));
  let rows = 0;
  let isCsv = true;
  for (const block of blocks) {
    isCsv &&= block.cells !== undefined;
    for (let at = 0; at < block.count; at++) {
      const row = JSON.parse(sourceRecord(block, at)) as unknown;
      if (typeof row !== 'object' || row === null || Array.isArray(row)) continue;
      if (!block.cells && recordMarks.some((mark) => Object.hasOwn(row, mark))) return undefined;
      rows += 1;
      for (const [name, value] of Object.entries(row)) {
        let column = columns.get(name);
        if (!column) columns.set(name, (column = new ColumnSample(name, zone)));
        column.add(value);
      }
    }
  }
  return { columns: [...columns.values()], rows, isCsv };
}
