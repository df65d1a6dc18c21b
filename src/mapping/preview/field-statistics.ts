import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/record-fields.js';
import { TextSlice, equalBytes } from '../../text/text-slice.js';
import { JsonParser, jsonToken } from '../../text/json-parser.js';
import { reservedEventNames } from '../../contract/error-codes.js';
import type { RecordBlock } from '../record-block.js';

/** Keys that are looked at; the others are passed over, so that memory stays flat. */
const mostFields = 2000;
/** Reasons that are told apart; the rest is one more, for the same cause. */
const mostReasons = 100;

const typeOf: Readonly<Record<number, JsonType>> = {
  [jsonToken.quote]: 'string',
  [jsonToken.t]: 'boolean',
  [jsonToken.f]: 'boolean',
  [jsonToken.n]: 'null',
  [jsonToken.openArray]: 'array',
  [jsonToken.openObject]: 'object',
};

/** What the records of many blocks would be when they were sent. */
export class FieldStatistics {
  /** Records that would be sent. */
  records = 0;
  /** Rows that would not, and why: reasons that differ in the value alone are one. */
  rejected = 0;
  readonly reasons = new Occurrences<string>();
  /** Some rows are JSON, which --map and --types only change where they are flat. */
  hasJson = false;
  /** Of whole records: they have more custom keys or properties than the service takes. */
  readonly traits = new Occurrences<'too many keys'>();
  /** Keys beyond those that are looked at were seen. */
  hasMoreFields = false;
  readonly #fields = new Map<string, FieldProfile>();
  /** Of the member at each place, in the record before: mostly the same again. */
  readonly #before: Record<Part, { readonly spelling: Buffer; readonly field: FieldProfile }[]> = {
    record: [],
    profileData: [],
    evtData: [],
  };
  readonly #record = new JsonParser();
  readonly #data = new JsonParser();
  readonly #text = new TextSlice();

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
  get fields(): readonly FieldProfile[] {
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
      const isObject = record.kindOf(index) === jsonToken.openObject;
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

  #addMember(json: JsonParser, index: number, field: FieldProfile | undefined, place: Place): void {
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
  #fieldAt(part: Part, json: JsonParser, index: number): FieldProfile | undefined {
    const { bytes } = json;
    const [start, end] = [json.keyStart(index), json.keyEnd(index)];
    const before = this.#before[part][index];
    if (before && equalBytes(bytes, start, end, before.spelling)) return before.field;
    const key = keyAt(json, index);
    let field = this.#fields.get(`${part} ${key}`);
    if (!field) {
      this.hasMoreFields ||= this.#fields.size >= mostFields;
      if (this.hasMoreFields) return undefined;
      this.#fields.set(`${part} ${key}`, (field = new FieldProfile(part, key)));
    }
    this.#before[part][index] = { spelling: Buffer.from(bytes.subarray(start, end)), field };
    return field;
  }
}

function keyAt(json: JsonParser, index: number): string {
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

/** Where a value stands: beside the data of a record, or in it. */
export type Part = 'record' | 'profileData' | 'evtData';

export type JsonType = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array';

/** What a text looks like. */
export type ValuePattern = 'empty' | 'text' | (typeof numeric | typeof verbal)[number][0];

/** What can be seen of one value. */
export type Trait = ValuePattern | 'unfit' | 'padded' | 'too long' | 'too many' | 'nested';

/** `line` is a physical one. */
export type Place = Pick<Occurrence, 'source' | 'line'>;

/** How often something was seen, where first, and the value there. */
export interface Occurrence {
  count: number;
  readonly source: string;
  readonly line: number;
  readonly example: string;
}

class Occurrences<Kind> extends Map<Kind, Occurrence> {
  note(kind: Kind, { source, line }: Place, example: string): void {
    const before = this.get(kind);
    if (before) before.count += 1;
    else this.set(kind, { count: 1, source, line, example });
  }
}

const longestExample = 40;
const bytesMaximum: Readonly<Record<Part, number>> = {
  record: Number.POSITIVE_INFINITY,
  profileData: limits.profileValueBytes,
  evtData: limits.eventPropertyValueBytes,
};

/** What all records together hold under one key. */
export class FieldProfile {
  readonly part: Part;
  /** As it is sent. */
  readonly key: string;
  /** Records that have it. */
  count = 0;
  /** Of the values, in characters; of numbers, as they are written. */
  shortest = Number.POSITIVE_INFINITY;
  longest = 0;
  readonly types = new Map<JsonType, number>();
  /** What its strings look like. */
  readonly looks = new Map<ValuePattern, number>();
  readonly traits = new Occurrences<Trait>();
  /** Whether the service takes a value under this key, as far as it says. */
  readonly #fits: (text: string) => boolean;

  constructor(part: Part, key: string) {
    this.part = part;
    this.key = key;
    const pattern = part === 'profileData' ? profileFields.get(key)?.pattern : undefined;
    const isName = part === 'record' && key === 'evtName';
    const reserved: readonly string[] = isName ? reservedEventNames : [];
    this.#fits = (text) => pattern?.test(text) ?? !reserved.includes(text);
  }

  /** A string, number, boolean or null: its text, and the bytes of it. */
  addScalar(type: JsonType, text: string, bytes: number, place: Place): void {
    this.#count(type, text.length);
    const look = patternOf(text);
    if (type === 'string') this.looks.set(look, (this.looks.get(look) ?? 0) + 1);
    if (type === 'string' || look === 'milliseconds') this.#see(look, text, place);
    if (type !== 'null' && !this.#fits(text)) this.#see('unfit', text, place);
    const isPadded = text.charCodeAt(0) <= 0x20 || text.charCodeAt(text.length - 1) <= 0x20;
    if (isPadded) this.#see('padded', text, place);
    if (bytes > bytesMaximum[this.part]) this.#see('too long', text, place);
  }

  /** An object or an array, as JSON text. */
  addNested(type: 'object' | 'array', json: string, place: Place): void {
    this.#count(type, json.length);
    this.#see('nested', json, place);
    if (type === 'object') return;
    const { length } = JSON.parse(json) as unknown[];
    if (length > limits.multiValueStrings) this.#see('too many', `${length} values`, place);
  }

  #count(type: JsonType, length: number): void {
    this.count += 1;
    this.types.set(type, (this.types.get(type) ?? 0) + 1);
    this.shortest = Math.min(this.shortest, length);
    this.longest = Math.max(this.longest, length);
  }

  #see(trait: Trait, text: string, place: Place): void {
    const isLong = text.length > longestExample;
    this.traits.note(trait, place, isLong ? `${text.slice(0, longestExample)}…` : text);
  }
}

/** The first that fits is what a text looks like that begins like a number. */
const numeric = [
  // 2001 to 2033, as epoch milliseconds
  ['milliseconds', /^1\d{12}$/],
  ['phone', /^\+[1-9]\d{5,14}$/],
  // a leading zero is a code's, not a number's
  ['integer', /^-?(0|[1-9]\d{0,17})$/],
  ['number', /^-?(0|[1-9]\d*)\.\d+$/],
  ['scientific', /^-?\d(\.\d+)?[eE][+-]?\d+$/],
  ['day or time', /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/i],
  ['day or time', /^\d{1,2}[./]\d{1,2}[./]\d{4}( \d{1,2}:\d\d(:\d\d)?)?$/],
] as const;
/** The same of another text. */
const verbal = [
  ['date', /^\$D_/],
  ['boolean', /^(true|false|yes|no)$/i],
  // what programs write where there is no value
  ['placeholder', /^(null|none|nil|nan|n\/a|undefined|#n\/a)$/i],
  ['email', /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/],
] as const;

export function patternOf(text: string): ValuePattern {
  if (text === '') return 'empty';
  const patterns = /^[-+0-9]/.test(text) ? numeric : verbal;
  return patterns.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text';
}
