import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/record-fields.js';
import { TextSlice, equalBytes } from '../../text/text-slice.js';
import { JsonParser, jsonToken } from '../../text/json-parser.js';
import { reservedEventNames } from '../../contract/error-codes.js';
import type { CountedRecords, RecordBlock } from '../record-block.js';
import type { Cells } from '../../input/row-block.js';

/** Maximum number of keys in the statistics; others are ignored, so that memory stays flat. */
const maxFields = 2000;
/** Maximum characters of their names together. A single one is read, so that a rule can name it. */
const maxNames = 1024 * 1024;
/** Maximum number of distinct reasons; the rest is counted together, also to keep memory flat. */
const maxReasons = 100;

const typeOf: Readonly<Record<number, JsonType>> = {
  [jsonToken.quote]: 'string',
  [jsonToken.t]: 'boolean',
  [jsonToken.f]: 'boolean',
  [jsonToken.n]: 'null',
  [jsonToken.openArray]: 'array',
  [jsonToken.openObject]: 'object',
};

/** A column whose cells are values of one key. */
export interface RuledColumn {
  readonly index: number;
  readonly part: Part;
  readonly key: string;
}

/** Statistics of the records of many blocks, in the form in which they would be sent. */
export class FieldStatistics {
  /** Number of records that would be sent. */
  records = 0;
  /** Number of rejected rows, and the reasons; those that differ only in a value count as one. */
  rejected = 0;
  readonly reasons = new Occurrences<string>();
  /** Whether some rows are JSON, to which --map and --types apply only if they are flat. */
  hasJson = false;
  /** Records with more custom keys or properties than the service accepts. */
  readonly tooManyKeys = new Occurrences<Part>();
  /** Whether some keys were ignored because there are too many. */
  hasMoreFields = false;
  readonly #fields = new Map<string, FieldProfile>();
  /** Characters of the names of these fields. */
  #names = 0;
  /** Fields of the previous record's members, which most records repeat. */
  readonly #before: Record<Part, { readonly spelling: Buffer; readonly field: FieldProfile }[]> = {
    record: [],
    profileData: [],
    evtData: [],
  };
  readonly #record = new JsonParser();
  readonly #data = new JsonParser();
  readonly #text = new TextSlice();
  readonly #shape = new RecordShape();
  readonly #onlyRules: boolean;

  /** `onlyRules`: count only what the service rejects, which is faster. */
  constructor({ onlyRules = false } = {}) {
    this.#onlyRules = onlyRules;
  }

  add(block: CountedRecords): void {
    const { rows, count, row, json, bounds } = block;
    const { source, lines } = rows;
    this.addRejects(block);
    this.hasJson ||= rows.cells === undefined;
    this.records += count;
    // the memory of a block is reused, so a parser would not load the next one if it were not another view
    const length = bounds.subarray(0, 2 * count).reduce((most, end) => Math.max(most, end), 0);
    const texts = json.subarray(0, length);
    for (let index = 0; index < count; index++) {
      const [start, end] = [bounds[2 * index]!, bounds[2 * index + 1]!];
      const place = { source, line: lines[row[index]!] ?? 0 };
      if (this.#onlyRules && this.#shape.addRuled(texts, start, end, place)) continue;
      this.#record.readFrom(texts, start, end);
      this.#shape.begin(texts, start, end);
      this.#addRecord(place);
    }
  }

  /** Counts what the service rejects in these cells of profiles, sent as they are, without parsing the records. */
  addCells({ rows, count, row }: RecordBlock, cells: Cells, columns: readonly RuledColumn[]): void {
    const { source, lines, bytes } = rows;
    const { header, bounds } = cells;
    const fields = columns.flatMap(({ index, part, key }) => {
      const field = this.#fieldOf(part, key);
      return field ? [{ index, field }] : [];
    });
    // no value is too long in a short row
    const fitting = Math.min(...fields.map(({ field }) => field.fittingBytes));
    const long = row.filter(
      (at, record) => record < count && rows.bounds[2 * at + 1]! - rows.bounds[2 * at]! > fitting,
    );
    this.records += count;
    for (const { index, field } of fields) {
      const picked = field.isRuled ? row.subarray(0, count) : long;
      const doubtful = field.addFitting(bytes, bounds, { picked, index, width: header.length });
      for (const at of doubtful) {
        const cell = 2 * (at * header.length + index);
        const text = this.#text.ofCell(bytes, bounds[cell]!, bounds[cell + 1]!);
        field.addRuled(text.toString(), text.end - text.start, { source, line: lines[at] ?? 0 });
      }
    }
  }

  /** Fields in the order of their first appearance. */
  get fields(): readonly FieldProfile[] {
    return [...this.#fields.values()].filter(({ count }) => count > 0);
  }

  has(part: Part, key: string): boolean {
    return this.#fields.has(`${part} ${key}`);
  }

  /** Counts the rows that were rejected before they became records. */
  addRejects({ rows: { source, lines }, rejects, parseErrors }: CountedRecords): void {
    const located = rejects.map(({ row, error }) => ({ line: lines[row] ?? 0, error }));
    for (const { line, error } of [...parseErrors, ...located]) {
      this.rejected += 1;
      const reason = withoutValue(error);
      const isDistinct = this.reasons.has(reason) || this.reasons.size < maxReasons;
      this.reasons.note(isDistinct ? reason : 'other reasons', { source, line }, error);
    }
  }

  #addRecord(place: Place): void {
    const record = this.#record;
    for (let index = 0; index < record.count; index++) {
      const field = this.#fieldAt('record', record, index);
      const isObject = record.kindOf(index) === jsonToken.openObject;
      const key = field?.key;
      if (isObject && (key === 'profileData' || key === 'evtData')) {
        this.#addData(index, key, place);
        continue;
      }
      this.#shape.add(field, record.valueStart(index), record.valueEnd(index));
      if (key !== 'type') this.#addMember(record, index, field, place);
    }
  }

  #addData(at: number, part: 'profileData' | 'evtData', place: Place): void {
    const data = this.#data;
    data.readFrom(this.#record.bytes, this.#record.valueStart(at), this.#record.valueEnd(at));
    for (let index = 0; index < data.count; index++) {
      const field = this.#fieldAt(part, data, index);
      this.#shape.add(field, data.valueStart(index), data.valueEnd(index));
      this.#addMember(data, index, field, place);
    }
    if (data.count > limits.profileKeys) this.#countKeys(part, place);
  }

  #countKeys(part: 'profileData' | 'evtData', place: Place): void {
    const names = Array.from({ length: this.#data.count }, (_, index) => this.#data.nameAt(index));
    // the service's own fields are not counted among the keys of a profile
    const keys = names.filter((name) => part === 'evtData' || !profileFields.has(name)).length;
    if (keys > limits.profileKeys) this.tooManyKeys.note(part, place, `${keys} keys`);
  }

  #addMember(json: JsonParser, index: number, field: FieldProfile | undefined, place: Place): void {
    if (!field || (this.#onlyRules && this.#isPlain(json, index, field))) return;
    const [start, end] = [json.valueStart(index), json.valueEnd(index)];
    const type = typeOf[json.kindOf(index)] ?? 'number';
    if (type === 'object' || type === 'array') {
      field.addNested(type, json.bytes.toString('utf8', start, end), place);
      return;
    }
    const text = json.stringAt(index, this.#text) ?? this.#text.ofCell(json.bytes, start, end);
    if (this.#onlyRules && type !== 'null')
      return field.addRuled(text.toString(), text.end - text.start, place);
    field.addScalar(type, text.toString(), text.end - text.start, place);
  }

  /** Whether the bytes of a value show that the service accepts it; counts it if a rule applies to it. */
  #isPlain(json: JsonParser, index: number, field: FieldProfile): boolean {
    const [start, end, kind] = [json.valueStart(index), json.valueEnd(index), json.kindOf(index)];
    if (kind === jsonToken.openObject || kind === jsonToken.openArray) return false;
    if (end - start > field.fittingBytes) return false;
    if (!field.isRuled || kind === jsonToken.n) return !field.isRuled;
    const text = json.stringAt(index, this.#text) ?? this.#text.of(json.bytes, start, end);
    return field.addPlain(text.bytes, text.start, text.end);
  }

  #fieldOf(part: Part, key: string): FieldProfile | undefined {
    let field = this.#fields.get(`${part} ${key}`);
    if (field) return field;
    this.hasMoreFields ||= this.#fields.size >= maxFields || this.#names > maxNames;
    if (this.hasMoreFields) return undefined;
    this.#names += key.length;
    this.#fields.set(`${part} ${key}`, (field = new FieldProfile(part, key)));
    return field;
  }

  /** Returns the field of a member; undefined if there are too many. */
  #fieldAt(part: Part, json: JsonParser, index: number): FieldProfile | undefined {
    const { bytes } = json;
    const [start, end] = [json.keyStart(index), json.keyEnd(index)];
    const before = this.#before[part][index];
    if (before && equalBytes(bytes, start, end, before.spelling)) return before.field;
    const field = this.#fieldOf(part, json.nameAt(index));
    if (!field) return undefined;
    this.#before[part][index] = { spelling: Buffer.from(bytes.subarray(start, end)), field };
    return field;
  }
}

/** Maximum bytes of a record whose shape is kept, which is too short for more keys than the service accepts. */
const longestShape = 1024;

/**
 * The text around the values of the last record that was parsed. Most records of an input repeat it, and their values
 * are found without parsing them.
 */
class RecordShape {
  readonly #text = Buffer.alloc(longestShape);
  #length = 0;
  /** Position of the parsed record, from which those of its values count. */
  #start = 0;
  readonly #fields: (FieldProfile | undefined)[] = [];
  /** Start and end of each value in `#text`. */
  readonly #bounds: number[] = [];
  /** Start and end of each value of the record that was found. */
  readonly #found: number[] = [];

  /** Begins with a parsed record, whose values are added in their order. */
  begin(bytes: Buffer, start: number, end: number): void {
    this.#fields.length = 0;
    this.#bounds.length = 0;
    this.#start = start;
    this.#length = end - start > longestShape ? 0 : bytes.copy(this.#text, 0, start, end);
  }

  add(field: FieldProfile | undefined, start: number, end: number): void {
    this.#fields.push(field);
    this.#bounds.push(start - this.#start, end - this.#start);
  }

  /** Counts what the service rejects in a record; false if it has another shape, or a value that needs a parser. */
  addRuled(bytes: Buffer, start: number, end: number, place: Place): boolean {
    if (!this.#find(bytes, start, end)) return false;
    for (let index = 0; index < this.#fields.length; index++) {
      const field = this.#fields[index];
      if (!field?.isRuled) continue;
      const quotes = Number(bytes[this.#found[2 * index]!] === jsonToken.quote);
      const [from, to] = [this.#found[2 * index]! + quotes, this.#found[2 * index + 1]! - quotes];
      if (field.addPlain(bytes, from, to)) continue;
      field.addRuled(bytes.toString('utf8', from, to), to - from, place);
    }
    return true;
  }

  #find(bytes: Buffer, start: number, end: number): boolean {
    if (this.#length === 0) return false;
    let at = start;
    let before = 0;
    for (let index = 0; index < this.#fields.length; index++) {
      const next = this.#bounds[2 * index]!;
      if (!this.#repeats(bytes, at, before, next)) return false;
      at += next - before;
      before = this.#bounds[2 * index + 1]!;
      const field = this.#fields[index];
      const valueEnd = plainEnd(bytes, at, end);
      if (valueEnd < 0 || (field && valueEnd - at > field.fittingBytes)) return false;
      if (field?.isRuled && bytes[at] === jsonToken.n) return false;
      this.#found[2 * index] = at;
      this.#found[2 * index + 1] = at = valueEnd;
    }
    return end - at === this.#length - before && this.#repeats(bytes, at, before, this.#length);
  }

  /** Whether the bytes at a position are `#text[start, end)`. */
  #repeats(bytes: Buffer, at: number, start: number, end: number): boolean {
    for (let place = start; place < end; place++) {
      if (bytes[at + place - start] !== this.#text[place]) return false;
    }
    return true;
  }
}

const endsScalar = (byte: number): boolean =>
  byte <= space || byte === jsonToken.comma || byte === jsonToken.closeObject;

/** Returns the end of a JSON value in a valid text; -1 for an object, an array or a string with escapes. */
function plainEnd(bytes: Buffer, start: number, limit: number): number {
  const first = bytes[start]!;
  if (first === jsonToken.openObject || first === jsonToken.openArray) return -1;
  let end = start + 1;
  if (first === jsonToken.quote) {
    for (; end < limit && bytes[end] !== jsonToken.quote; end++)
      if (bytes[end] === backslash) return -1;
    return end + 1;
  }
  while (end < limit && !endsScalar(bytes[end]!)) end++;
  return end;
}

const column = /^columns? "(?:[^"\\]|\\.)*"(?: and "(?:[^"\\]|\\.)*")?: /;
const value = /"(?:[^"\\]|\\.)*"|\b\d+$/g;

/** Removes values from an error, so that `column "Age": "x" is not an integer` and that of "y" are one reason; keeps column names. */
function withoutValue(error: string): string {
  const name = column.exec(error)?.[0] ?? '';
  return name + error.slice(name.length).replace(value, '…');
}

/** Location of a value: beside the data of a record, or in it. */
export type Part = 'record' | 'profileData' | 'evtData';

export type JsonType = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array';

/** Pattern of a text. */
export type ValuePattern = 'empty' | 'text' | (typeof numeric | typeof verbal)[number][0];

/** Property of one value. */
export type Trait =
  ValuePattern | ('unfit' | 'padded' | 'too long' | 'too many' | 'nested' | 'old' | 'total');

/** Position in an input; `line` is the physical line. */
export type Place = Pick<Occurrence, 'source' | 'line'>;

/** Number of occurrences, and the position and value of the first. */
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

/** Texts with which spreadsheets mark a row of totals. */
const totals =
  /^(?:summe|gesamt|gesamtsumme|insgesamt|zwischensumme|sum|totals?|grand total|subtotal|somme|totale|suma):?$/i;

/** Texts that the service rejects, by member of a record. */
const unfitTexts = new Map<string, readonly string[]>([
  ['evtName', reservedEventNames],
  ['ts', ['0']],
]);

/** Bytes of a short text that is remembered as a number. */
const longestWord = 3;

const [space, plus, dot, digitZero, at, backslash, del] = [
  0x20, 0x2b, 0x2e, 0x30, 0x40, 0x5c, 0x7f,
];

/** Whether a text of ASCII is surely an email address for the service. */
function isPlainEmail(bytes: Buffer, start: number, end: number): boolean {
  let sign = -1;
  let lastDot = -1;
  for (let place = start; place < end; place++) {
    const byte = bytes[place]!;
    if (byte <= space || byte >= del) return false;
    if (byte === at) {
      if (sign >= 0) return false;
      sign = place;
    } else if (byte === dot && sign >= 0) {
      if (Math.max(sign, lastDot) === place - 1) return false;
      lastDot = place;
    }
  }
  return sign > start && lastDot > sign && lastDot < end - 1;
}

/** Whether a text is surely a phone number for the service, see `phonePattern`. */
function isPlainPhone(bytes: Buffer, start: number, end: number): boolean {
  const length = end - start;
  if (length < 7 || length > 16 || bytes[start] !== plus) return false;
  for (let place = start + 1; place < end; place++) {
    const digit = bytes[place]! - digitZero;
    if (digit < 0 || digit > 9) return false;
  }
  return bytes[start + 1] !== digitZero;
}

const plainTexts: ReadonlyMap<string, typeof isPlainEmail> = new Map([
  ['Email', isPlainEmail],
  ['Phone', isPlainPhone],
]);

/** Statistics of the values of one key in all records. */
export class FieldProfile {
  readonly part: Part;
  /** Key under which it is sent. */
  readonly key: string;
  /** Number of records that have it. */
  count = 0;
  /** Lengths of the shortest and longest value in characters; numbers as written. */
  shortest = Number.POSITIVE_INFINITY;
  longest = 0;
  readonly types = new Map<JsonType, number>();
  /** Patterns of its strings, with their counts. */
  readonly patterns = new Map<ValuePattern, number>();
  readonly traits = new Occurrences<Trait>();
  /** Whether a rule of the service applies to values under this key. */
  readonly isRuled: boolean;
  /** Maximum bytes of a value that is short enough, whatever it is. */
  readonly fittingBytes: number;
  /** Whether the service accepts a value under this key, according to its documentation. */
  readonly #fits: (text: string) => boolean;
  /** Texts of at most `longestWord` bytes that fit, as numbers: 1 and the bytes. */
  readonly #words = new Set<number>();
  /** Whether the bytes of a text show that it fits. */
  readonly #isPlain: typeof isPlainEmail;

  constructor(part: Part, key: string) {
    this.part = part;
    this.key = key;
    const { pattern, code } = (part === 'profileData' && profileFields.get(key)) || {};
    const unfit: readonly string[] = (part === 'record' && unfitTexts.get(key)) || [];
    this.#fits = (text) => pattern?.test(text) ?? !unfit.includes(text);
    this.isRuled = unfit.length > 0 || code !== undefined;
    this.fittingBytes = bytesMaximum[part];
    this.#isPlain = plainTexts.get(key) ?? this.#isKnown;
  }

  /** Adds a string, number, boolean or null with its text and length in bytes. */
  addScalar(type: JsonType, text: string, bytes: number, place: Place): void {
    this.#count(type, text.length);
    const pattern = patternOf(text);
    if (type === 'string') this.patterns.set(pattern, (this.patterns.get(pattern) ?? 0) + 1);
    if (type === 'string' || pattern === 'milliseconds') this.#note(pattern, text, place);
    if (type !== 'null' && !this.#fits(text)) this.#note('unfit', text, place);
    const isTime = this.part === 'record' && this.key === 'ts';
    if (isTime && /^[1-9]\d{3,7}$/.test(text)) this.#note('old', text, place);
    const isKey = this.part === 'record' && this.key === 'identity';
    if (isKey && totals.test(text)) this.#note('total', text, place);
    const isPadded = text.charCodeAt(0) <= 0x20 || text.charCodeAt(text.length - 1) <= 0x20;
    if (isPadded) this.#note('padded', text, place);
    if (bytes > bytesMaximum[this.part]) this.#note('too long', text, place);
  }

  /**
   * Adds the cells of a column, as `addRuled` does, whose bytes show that the service accepts them, and returns the rows
   * of the others. Most cells need no more, and a string for each would cost more than the rest of a check.
   */
  addFitting(
    bytes: Buffer,
    bounds: Int32Array,
    { picked, index, width }: { picked: Int32Array; index: number; width: number },
  ): number[] {
    const isPlain = this.isRuled ? this.#isPlain : undefined;
    const doubtful: number[] = [];
    for (const row of picked) {
      const cell = 2 * (row * width + index);
      const start = bounds[cell]!;
      const end = bounds[cell + 1]!;
      if (end === start) continue;
      const isShort = end > 0 && end - start <= this.fittingBytes;
      if (isShort && isPlain?.(bytes, start, end) !== false) this.count += 1;
      else doubtful.push(row);
    }
    return doubtful;
  }

  /** Counts a text whose bytes show that the service accepts it; false if they do not. */
  addPlain(bytes: Buffer, start: number, end: number): boolean {
    if (!this.#isPlain(bytes, start, end)) return false;
    this.count += 1;
    return true;
  }

  /** Whether a text is as short as a word, and one that fits. */
  readonly #isKnown = (bytes: Buffer, start: number, end: number): boolean => {
    if (end - start > longestWord) return false;
    let word = 1;
    for (let at = start; at < end; at++) word = (word << 8) | bytes[at]!;
    if (this.#words.has(word)) return true;
    if (!this.#fits(bytes.toString('latin1', start, end))) return false;
    this.#words.add(word);
    return true;
  };

  /** Adds only to the count, and what the service rejects. */
  addRuled(text: string, bytes: number, place: Place): void {
    this.count += 1;
    if (!this.#fits(text)) this.#note('unfit', text, place);
    if (bytes > this.fittingBytes) this.#note('too long', text, place);
  }

  /** Adds an object or an array as JSON text. */
  addNested(type: 'object' | 'array', json: string, place: Place): void {
    this.#count(type, json.length);
    this.#note('nested', json, place);
    if (type === 'object') return;
    const { length } = JSON.parse(json) as unknown[];
    if (length > limits.multiValueStrings) this.#note('too many', `${length} values`, place);
  }

  #count(type: JsonType, length: number): void {
    this.count += 1;
    this.types.set(type, (this.types.get(type) ?? 0) + 1);
    this.shortest = Math.min(this.shortest, length);
    this.longest = Math.max(this.longest, length);
  }

  #note(trait: Trait, text: string, place: Place): void {
    if (this.traits.has(trait)) return this.traits.note(trait, place, '');
    this.traits.note(trait, place, exampleOf(text));
  }
}

/** Copies the start of a long text, because a substring keeps the whole text in memory. */
const exampleOf = (text: string): string =>
  text.length > longestExample
    ? `${Buffer.from(text.slice(0, longestExample), 'utf16le').toString('utf16le')}…`
    : text;

/** Patterns of texts that start like a number; the first match counts. */
const numeric = [
  // 2001 to 2033, as epoch milliseconds
  ['milliseconds', /^1\d{12}$/],
  ['phone', /^\+[1-9]\d{5,14}$/],
  // a leading zero indicates a code, not a number
  ['integer', /^-?(0|[1-9]\d{0,17})$/],
  ['number', /^-?(0|[1-9]\d*)\.\d+$/],
  // German and French spreadsheets; 1,234 may be an English thousand, and a table can be of both
  ['decimal comma', /^-?(0|[1-9]\d{0,2}(\.\d{3})+|[1-9]\d*),\d+$/],
  ['scientific', /^-?\d([.,]\d+)?[eE][+-]?\d+$/],
  ['day or time', /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/i],
  ['day or time', /^\d{1,2}[./]\d{1,2}[./]\d{4}( \d{1,2}:\d\d(:\d\d)?)?$/],
] as const;
/** Patterns of other texts. */
const verbal = [
  ['date', /^\$D_/],
  ['boolean', /^(true|false|yes|no)$/i],
  // texts that programs write for missing values
  ['placeholder', /^(null|none|nil|nan|n\/a|undefined|#n\/a)$/i],
  ['email', /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/],
  // '01234 and ="01234", by which spreadsheets keep digits as text
  ['spreadsheet text', /^(?:'\S|="[^"]*"$)/],
  // a\nb and a\\b, as databases write line ends and backslashes into text files; paths and users of Windows, and JSON, have others
  [
    'escaped',
    /^(?![a-z]:\\[^\\]|[^\s\\]+\\[^\s\\]+$|[[{])[^\\]*\\(?:[\\nrt][^\\]*\\)*[\\nrt][^\\]*$/i,
  ],
] as const;

/** Returns the pattern of a text. */
export function patternOf(text: string): ValuePattern {
  if (text === '') return 'empty';
  const patterns = /^[-+0-9]/.test(text) ? numeric : verbal;
  return patterns.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text';
}
