import type { RowBlock } from '../input/rows.js';
import { writeRow } from './cell-row.js';
import { columnsOf } from './columns.js';
import { CsvRow } from './csv-row.js';
import { invalid, RecordBuilder, type Fault } from './record-builder.js';
import type { Mapper, RecordBlock } from './records.js';
import { UploadJson } from './upload-json.js';
import type { UploadMapping } from './upload-mapping.js';

export type { UploadMapping } from './upload-mapping.js';

/** Rows to upload records (endpoint 1): profiles and events. */
export function uploadMapper(options: UploadMapping): Mapper {
  const records = new RecordBuilder();
  const json = new UploadJson(options, records);
  let header: readonly string[] | undefined;
  let csv: CsvRow;

  const useHeader = (next: readonly string[], source: string): void => {
    if (next === header) return;
    csv = new CsvRow(columnsOf(next, options, source), records, options);
    header = next;
  };

  const map = (rows: RowBlock): RecordBlock => {
    const { cells } = rows;
    if (!cells) return records.build(rows, (row) => json.write(rows, row));
    useHeader(cells.header, rows.source);
    return records.build(rows, (row) =>
      asFault(writeRow(csv.to(rows, cells, row), records, options)),
    );
  };

  return { check: useHeader, map };
}

const asFault = (error: string | undefined): Fault | undefined =>
  error === undefined ? undefined : invalid(error);
