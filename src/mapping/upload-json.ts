import type { RowBlock } from '../input/rows.js';
import { writeExportedEvent } from './exported-event.js';
import { writeExportedProfile } from './exported-profile.js';
import { openJsonRecord } from './json-record.js';
import { JsonRow } from './json-row.js';
import { JsonText } from './json-text.js';
import { token } from './json-tokens.js';
import { named } from './member-names.js';
import { invalid, RecordBuilder, type Fault } from './record-builder.js';
import { writeTypedRecord } from './typed-record.js';
import type { RecordBlock } from './records.js';
import type { UploadMapping } from './upload-mapping.js';

const profileMarks = [named.profileData, named.events, named.platformInfo, named.all_identities];

/**
 * The shapes that a JSON row may have (contract §2, upload), told apart by their members in this
 * order. A line of a rejects file has the record within it looked at (json-record.ts).
 *
 *     {"type":"profile"|"event", …}                    sent as written (typed-record.ts)
 *     {"event_props":{…},"profile":{…},"ts":…, …}      exported event (exported-event.ts)
 *     {"profileData":…}, {"events":…},
 *     {"platformInfo":…}, {"all_identities":…}         exported profile (exported-profile.ts)
 *     {…}                                              treated like a CSV row (json-row.ts)
 */
export class UploadJson {
  readonly #json = new JsonText();
  readonly #row: JsonRow;
  readonly #records = new RecordBuilder();
  readonly #options: UploadMapping;

  constructor(options: UploadMapping) {
    this.#options = options;
    this.#row = new JsonRow(this.#json, this.#records, options);
  }

  build(rows: RowBlock): RecordBlock {
    const records = this.#records;
    const json = this.#json;
    records.begin(rows);
    for (let row = 0; row < rows.count; row++) {
      const next = json.pass(rows, row);
      for (; row < next; row++) {
        records.key = json.keyOf(row);
        records.isEvent = json.isEvent(row);
        records.converges = json.converges(row);
        records.passRow(row);
      }
      if (row < rows.count) records.write(row, this.#write);
    }
    return records.end();
  }

  /** Writes the row that was read. */
  readonly #write = (): Fault | undefined => {
    const fault = openJsonRecord(this.#json, this.#options.retryUnknown);
    if (fault) return fault;
    if (this.#json.kind !== token.openObject) return invalid('a record is a JSON object');
    const error = this.#writeRecord();
    return error === undefined ? undefined : invalid(error);
  };

  #writeRecord(): string | undefined {
    const json = this.#json;
    const typeIndex = json.find(named.type);
    if (typeIndex >= 0) return writeTypedRecord(json, typeIndex, this.#records);
    if (json.find(named.event_props) >= 0)
      return writeExportedEvent(json, this.#records, this.#options);
    if (profileMarks.some((mark) => json.find(mark) >= 0)) {
      return writeExportedProfile(json, this.#records);
    }
    return this.#row.next() ?? this.#row.write();
  }
}
