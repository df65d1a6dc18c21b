import { columnOf, type Role } from './columns.js';
import { writeExportedEvent, writeExportedProfile } from './api-records.js';
import { readJsonRecord } from './rejects-input.js';
import { JsonRow } from './upload-mapper.js';
import { JsonText, token } from '../text/json-parser.js';
import { invalid, RecordBuilder, type Fault } from './record-block.js';
import { misspelt } from './preview/field-spelling.js';
import { writeTypedRecord } from './typed-record.js';
import { UploadCsv } from './upload-csv.js';
import type { RowBlock } from '../input/row-block.js';
import type { KeyPlaces, Mapper, RecordBlock } from './records.js';
import type { UploadMapping } from './upload-mapping.js';

export { type UploadMapping } from './upload-mapping.js';

/** Rows to upload records (endpoint 1): profiles and events. */
export function uploadMapper(options: UploadMapping): Mapper {
  const json = new UploadJson(options);
  let opened: UploadCsv | undefined;
  const csv = (): UploadCsv => (opened ??= new UploadCsv(options));
  return {
    keys: keysOf(options),
    check: (header, source) => csv().useHeader(header, source),
    doubts: (header) =>
      options.kind === 'event' ? [] : misspelt(header.map((name) => columnOf(name, options))),
    unseen: () => json.unseen(),
    map: (rows, picked) =>
      rows.cells ? csv().build(rows, rows.cells, picked) : json.build(rows, picked),
  };
}

/** Whatever a JSON row may become: with another column for the key it depends on what the row is. */
function keysOf(options: UploadMapping): KeyPlaces {
  const placed = (header: readonly string[], wanted: Role): number =>
    header.findIndex((name) => columnOf(name, options).role === wanted);
  return {
    cells: (header) => ({ key: [placed(header, 'identity'), placed(header, 'objectId')] }),
    member: placed(['identity'], 'identity') === 0 ? 'identity' : undefined,
  };
}

/** Of records that have no columns. */
const shapeFault =
  'the mapping file expects columns, and this is a record of the service or of an export';
const profileMarks = ['profileData', 'events', 'platformInfo', 'all_identities'];
/** Members that a flat row has not. */
export const recordMarks: readonly string[] = ['type', 'event_props', ...profileMarks];

/** JSON rows to upload records. A line of a rejects file has the record within it looked at. */
class UploadJson {
  readonly #json = new JsonText();
  readonly #row: JsonRow;
  readonly #records = new RecordBuilder();
  readonly #options: UploadMapping;

  constructor(options: UploadMapping) {
    this.#options = options;
    this.#row = new JsonRow(this.#json, this.#records, options);
  }

  /** Columns that only rows could have had. */
  unseen(): readonly string[] {
    return this.#row.unseen();
  }

  build(rows: RowBlock, picked: Int32Array | undefined): RecordBlock {
    return this.#records.build(rows, (row) => this.#write(rows, row), picked);
  }

  #write(rows: RowBlock, row: number): Fault | undefined {
    const fault = readJsonRecord(this.#json, rows, row, this.#options.retryUnknown);
    if (fault) return fault;
    if (this.#json.kind !== token.openObject) return invalid('a record is a JSON object');
    const error = this.#writeRecord();
    return error === undefined ? undefined : invalid(error);
  }

  /** The shapes of a record (contract §2, upload), told apart by their members in this order. */
  #writeRecord(): string | undefined {
    const json = this.#json;
    const records = this.#records;
    const type = json.find('type');
    const isExported = profileMarks.some((mark) => json.find(mark) >= 0);
    const isEvent = json.find('event_props') >= 0;
    const isFlat = type < 0 && !isEvent && !isExported;
    if (this.#options.expected && !isFlat) return shapeFault;
    if (type >= 0) return writeTypedRecord(json, type, records);
    if (isEvent) return writeExportedEvent(json, records, this.#options);
    if (isExported) return writeExportedProfile(json, records);
    return this.#row.next() ?? this.#row.write(); // like a CSV row
  }
}
