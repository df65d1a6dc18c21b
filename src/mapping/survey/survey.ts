import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/profile-fields.js';
import { CellText } from '../cell-text.js';
import { JsonText } from '../json-text.js';
import { token } from '../json-tokens.js';
import type { RecordBlock } from '../records.js';
import type { Field, JsonType, Part, Place, Sighting } from './field.js';
import { Fields, keyAt } from './fields.js';
import { RejectReasons } from './reject-reasons.js';

const typeOf: Readonly<Record<number, JsonType>> = {
  [token.quote]: 'string',
  [token.t]: 'boolean',
  [token.f]: 'boolean',
  [token.n]: 'null',
};

/** What the records of many blocks would be when they were sent. */
export class Survey {
  readonly fields = new Fields();
  readonly rejects = new RejectReasons();
  /** Records that would be sent. */
  records = 0;
  /** Some rows are JSON, which --map and --types only change where they are flat. */
  hasJson = false;
  /** Records with more custom keys or properties than the service takes. */
  tooManyKeys: Sighting | undefined;
  readonly #record = new JsonText();
  readonly #data = new JsonText();
  readonly #text = new CellText();

  add(block: RecordBlock): void {
    this.rejects.add(block);
    this.hasJson ||= block.rows.cells === undefined;
    for (let index = 0; index < block.count; index++) {
      const [start, end] = [block.bounds[2 * index]!, block.bounds[2 * index + 1]!];
      const place = { rows: block.rows, row: block.row[index]! };
      this.records += 1;
      this.#record.read(block.json, start, end);
      this.#addRecord(place);
    }
  }

  #addRecord(place: Place): void {
    const record = this.#record;
    for (let index = 0; index < record.count; index++) {
      const field = this.fields.at('record', record, index);
      const isObject = record.kindOf(index) === token.openObject;
      const key = field?.key;
      if (isObject && (key === 'profileData' || key === 'evtData')) {
        this.#addData(index, key, place);
      } else if (key !== 'type') this.#addMember(record, index, field, place);
    }
  }

  #addData(at: number, part: 'profileData' | 'evtData', place: Place): void {
    const data = this.#data;
    data.read(this.#record.bytes, this.#record.valueStart(at), this.#record.valueEnd(at));
    for (let index = 0; index < data.count; index++) {
      this.#addMember(data, index, this.fields.at(part, data, index), place);
    }
    if (data.count > limits.profileKeys) this.#noteTooManyKeys(part, place);
  }

  #addMember(json: JsonText, index: number, field: Field | undefined, place: Place): void {
    if (!field) return;
    const { bytes } = json;
    const [start, end] = [json.valueStart(index), json.valueEnd(index)];
    const kind = json.kindOf(index);
    if (kind === token.openObject || kind === token.openArray) {
      const type = kind === token.openArray ? 'array' : 'object';
      return field.addNested(type, bytes.toString('utf8', start, end), place);
    }
    const string = json.stringAt(index, this.#text);
    if (string) {
      field.addScalar('string', string.toString(), string.end - string.start, place);
    } else {
      const text = bytes.toString('latin1', start, end);
      field.addScalar(typeOf[kind] ?? 'number', text, end - start, place);
    }
  }

  /** Default fields are not counted among the keys of a profile. */
  #noteTooManyKeys(part: Part, { rows, row }: Place): void {
    const isCustom = (_: unknown, at: number) => !profileFields.has(keyAt(this.#data, at));
    const keys = Array.from({ length: this.#data.count });
    const { length } = part === 'profileData' ? keys.filter(isCustom) : keys;
    if (length <= limits.profileKeys) return;
    const { source } = rows;
    const line = rows.lines[row] ?? 0;
    this.tooManyKeys ??= { count: 0, source, line, example: `${length} keys` };
    this.tooManyKeys.count += 1;
  }
}
