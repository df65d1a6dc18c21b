import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/record-fields.js';
import { CellText, sameBytes } from '../../text/text-slice.js';
import { JsonText, token } from '../../text/json-parser.js';
import { Field, Sightings, type JsonType, type Part, type Place } from '../survey/field.js';
import type { RecordBlock } from '../records.js';

/** Keys that are looked at; the others are passed over, so that memory stays flat. */
const mostFields = 2000;
/** Reasons that are told apart; the rest is one more, for the same cause. */
const mostReasons = 100;

const typeOf: Readonly<Record<number, JsonType>> = {
  [token.quote]: 'string',
  [token.t]: 'boolean',
  [token.f]: 'boolean',
  [token.n]: 'null',
  [token.openArray]: 'array',
  [token.openObject]: 'object',
};

/** What the records of many blocks would be when they were sent. */
export class Survey {
  /** Records that would be sent. */
  records = 0;
  /** Rows that would not, and why: reasons that differ in the value alone are one. */
  rejected = 0;
  readonly reasons = new Sightings<string>();
  /** Some rows are JSON, which --map and --types only change where they are flat. */
  hasJson = false;
  /** Of whole records: they have more custom keys or properties than the service takes. */
  readonly traits = new Sightings<'too many keys'>();
  /** Keys beyond those that are looked at were seen. */
  hasMoreFields = false;
  readonly #fields = new Map<string, Field>();
  /** Of the member at each place, in the record before: mostly the same again. */
  readonly #before: Record<Part, { readonly spelling: Buffer; readonly field: Field }[]> = {
    record: [],
    profileData: [],
    evtData: [],
  };
  readonly #record = new JsonText();
  readonly #data = new JsonText();
  readonly #text = new CellText();

  add({ rows, rejects, count, row, json, bounds }: RecordBlock): void {
    const { source, lines, faults } = rows;
    const lineOf = (row: number): number => lines[row] ?? 0;
    for (const { line, error } of faults) this.#reject({ source, line }, error);
    for (const { row, error } of rejects) this.#reject({ source, line: lineOf(row) }, error);
    this.hasJson ||= rows.cells === undefined;
    this.records += count;
    for (let index = 0; index < count; index++) {
      this.#record.read(json, bounds[2 * index]!, bounds[2 * index + 1]!);
      this.#addRecord({ source, line: lineOf(row[index]!) });
    }
  }

  /** In the order in which they first appeared. */
  get fields(): readonly Field[] {
    return [...this.#fields.values()].filter(({ count }) => count > 0);
  }

  has(part: Part, key: string): boolean {
    return this.#fields.has(`${part} ${key}`);
  }

  #reject(place: Place, error: string): void {
    this.rejected += 1;
    const reason = withoutValue(error);
    const isToldApart = this.reasons.has(reason) || this.reasons.size < mostReasons;
    this.reasons.note(isToldApart ? reason : 'other reasons', place, error);
  }

  #addRecord(place: Place): void {
    const record = this.#record;
    for (let index = 0; index < record.count; index++) {
      const field = this.#fieldAt('record', record, index);
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
    let keys = 0;
    for (let index = 0; index < data.count; index++) {
      const field = this.#fieldAt(part, data, index);
      this.#addMember(data, index, field, place);
      // the service's own fields are not counted among the keys of a profile
      if (part === 'evtData' || !profileFields.has(field?.key ?? keyAt(data, index))) keys++;
    }
    if (keys > limits.profileKeys) this.traits.note('too many keys', place, `${keys} keys`);
  }

  #addMember(json: JsonText, index: number, field: Field | undefined, place: Place): void {
    if (!field) return;
    const [start, end] = [json.valueStart(index), json.valueEnd(index)];
    const type = typeOf[json.kindOf(index)] ?? 'number';
    if (type === 'object' || type === 'array') {
      field.addNested(type, json.bytes.toString('utf8', start, end), place);
      return;
    }
    const text = json.stringAt(index, this.#text) ?? this.#text.ofCell(json.bytes, start, end);
    field.addScalar(type, text.toString(), text.end - text.start, place);
  }

  /** The field of an object's member; undefined beyond those that are looked at. */
  #fieldAt(part: Part, json: JsonText, index: number): Field | undefined {
    const { bytes } = json;
    const [start, end] = [json.keyStart(index), json.keyEnd(index)];
    const before = this.#before[part][index];
    if (before && sameBytes(bytes, start, end, before.spelling)) return before.field;
    const key = keyAt(json, index);
    let field = this.#fields.get(`${part} ${key}`);
    if (!field) {
      this.hasMoreFields ||= this.#fields.size >= mostFields;
      if (this.hasMoreFields) return undefined;
      this.#fields.set(`${part} ${key}`, (field = new Field(part, key)));
    }
    this.#before[part][index] = { spelling: Buffer.from(bytes.subarray(start, end)), field };
    return field;
  }
}

function keyAt(json: JsonText, index: number): string {
  const spelling = json.bytes.toString('utf8', json.keyStart(index), json.keyEnd(index));
  return spelling.includes('\\') ? (JSON.parse(`"${spelling}"`) as string) : spelling;
}

const column = /^columns? "(?:[^"\\]|\\.)*"(?: and "(?:[^"\\]|\\.)*")?: /;
const value = /"(?:[^"\\]|\\.)*"|\b\d+$/g;

/** `column "Age": "x" is not an integer` and the same of "y" are one reason; column names stay. */
function withoutValue(error: string): string {
  const name = column.exec(error)?.[0] ?? '';
  return name + error.slice(name.length).replace(value, '…');
}
