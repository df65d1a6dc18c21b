import type { Mapper } from './records.js';
import { UploadCsv } from './upload-csv.js';
import { UploadJson } from './upload-json.js';
import type { UploadMapping } from './upload-mapping.js';

export type { UploadMapping } from './upload-mapping.js';

/** Rows to upload records (endpoint 1): profiles and events. */
export function uploadMapper(options: UploadMapping): Mapper {
  const json = new UploadJson(options);
  let opened: UploadCsv | undefined;
  const csv = (): UploadCsv => (opened ??= new UploadCsv(options));
  return {
    check: (header, source) => csv().useHeader(header, source),
    map: (rows) => (rows.cells ? csv().build(rows, rows.cells) : json.build(rows)),
  };
}
