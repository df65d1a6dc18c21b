import { columnError, NestedColumns } from './columns.js';
import { cleanText, placeholderReason } from '../text/cell-cleaning.js';
import { factsOfLine, isUnwrapped, readInputRecord, type RejectsReading } from './rejects-input.js';
import { JsonParser, jsonToken } from '../text/json-parser.js';
import { validationError, type RejectReason } from './record-block.js';
import type { RowBlock } from '../input/row-block.js';
import { TextSlice } from '../text/text-slice.js';

const nothing = Buffer.alloc(0);

/** How values are found and changed before they are used. All columns are those of the input. */
export interface ValueRules {
  /** Columns by the names of their values; by default, a value has the name of its column. */
  readonly columns: ReadonlyMap<string, string>;
  /** Columns that can also be JSON numbers, which are read as they are spelled. */
  readonly spelled: ReadonlySet<string>;
  /** Changes the value of a column; returns why it cannot. */
  readonly convert: (column: string, text: TextSlice) => string | undefined;
}

const noRules: ValueRules = {
  columns: new Map(),
  spelled: new Set(),
  convert: () => undefined,
};

/** Reads single values of rows by their names: cells of a CSV, members of a JSON object, or by paths within it. */
export class RowValues<Name extends string> {
  readonly #json = new JsonParser();
  readonly #names: readonly Name[];
  /** Argument for `find`, by name. */
  readonly #members = new Map<Name, string>();
  readonly #reading: RejectsReading;
  readonly #rules: ValueRules;
  readonly #nested: NestedColumns;
  /** Cells of the row; undefined for JSON. */
  #cells: RowBlock['cells'];
  readonly #columns = new Map<Name, number>();
  /** Indexes of the columns of `#cells` whose names match a pattern, as far as they were looked up. */
  readonly #matching = new Map<RegExp, readonly number[]>();
  #bytes: Buffer = nothing;
  #first = 0;
  #rows: RowBlock | undefined;
  readonly #record = new TextSlice();
  /** Whether the row is a line of a rejects file whose record was rejected for a placeholder in a CSV. */
  #hadPlaceholder = false;

  /** `retryUnknown`: whether to read lines of a rejects file with stage `unknown`. */
  constructor(names: readonly Name[], retryUnknown: boolean, rules = noRules) {
    this.#names = names;
    this.#rules = rules;
    for (const name of names)
      this.#members.set(name, Buffer.from(this.columnOf(name)).toString('latin1'));
    const columns = names.map((name) => this.columnOf(name));
    this.#nested = new NestedColumns(columns);
    this.#reading = { retryUnknown, columns };
  }

  /** Returns the column of a value. */
  columnOf(name: Name): string {
    return this.#rules.columns.get(name) ?? name;
  }

  /** Moves to a row; returns why it cannot be read, or undefined. */
  moveTo(rows: RowBlock, row: number): RejectReason | undefined {
    const { cells } = rows;
    this.#rows = rows;
    if (cells && cells !== this.#cells) {
      for (const name of this.#names)
        this.#columns.set(name, cells.header.indexOf(this.columnOf(name)));
      this.#matching.clear();
    }
    this.#cells = cells;
    if (!cells) return this.#readJson(rows, row);
    this.#bytes = rows.bytes;
    this.#first = 2 * row * cells.header.length;
    return undefined;
  }

  #readJson(rows: RowBlock, row: number): RejectReason | undefined {
    const failure = readInputRecord(this.#json, rows, row, this.#reading);
    const line = isUnwrapped(this.#json, rows, row) ? factsOfLine(rows, row) : undefined;
    this.#record.of(this.#json.bytes, this.#json.start, this.#json.end);
    this.#hadPlaceholder = line?.hadPlaceholder === true;
    if (failure || this.#json.kind !== jsonToken.openObject) return failure;
    const error = line?.columns ? undefined : this.#nested.flatten(this.#json);
    return error === undefined ? undefined : validationError(error);
  }

  /** Whether the row has named values: a CSV row, or a JSON object. */
  get isNamed(): boolean {
    return this.#cells !== undefined || this.#json.kind === jsonToken.openObject;
  }

  /** Reads a row that is a JSON string; false if it is not. */
  readWhole(text: TextSlice): boolean {
    if (this.#cells || this.#json.kind !== jsonToken.quote) return false;
    this.#clean(this.#json.unescaped(this.#json.start + 1, this.#json.end - 1, text));
    return true;
  }

  /** A JSON row as the input has it; for a line of a rejects file, its inner record. */
  get record(): Pick<TextSlice, 'bytes' | 'start' | 'end'> {
    return this.#record;
  }

  /** Returns the indexes of the columns or members whose names match a pattern. */
  named(pattern: RegExp): readonly number[] {
    const known = this.#cells && this.#matching.get(pattern);
    if (known) return known;
    const count = this.#cells?.header.length ?? this.#json.count;
    const found: number[] = [];
    for (let index = 0; index < count; index += 1)
      if (pattern.test(this.nameAt(index))) found.push(index);
    if (this.#cells) this.#matching.set(pattern, found);
    return found;
  }

  nameAt(index: number): string {
    return this.#cells ? this.#cells.header[index]! : this.#json.nameAt(index);
  }

  has(name: Name): boolean {
    return this.#indexOf(name) >= 0;
  }

  /** Reads the value of this name, which must be a string unless its numbers are read as spelled. */
  read(name: Name, text: TextSlice): RejectReason | undefined {
    const index = this.#indexOf(name);
    const column = this.columnOf(name);
    return index < 0
      ? valueError(column, 'the value is missing')
      : this.readAt(index, column, text);
  }

  /** Reads the value of this column or member; see `read`. */
  readAt(index: number, column: string, text: TextSlice): RejectReason | undefined {
    if (this.#cells) {
      const at = this.#first + 2 * index;
      text.ofCell(this.#bytes, this.#cells.bounds[at]!, this.#cells.bounds[at + 1]!);
    } else if (this.#json.stringAt(index, text)) this.#clean(text);
    else if (this.#rules.spelled.has(column) && this.#isNumber(index)) {
      const { bytes } = this.#json;
      text.of(bytes, this.#json.valueStart(index), this.#json.valueEnd(index));
    } else return valueError(column, 'the value must be a string');
    const failure = text.isEmpty ? undefined : this.#rules.convert(column, text);
    return failure === undefined ? undefined : valueError(column, failure);
  }

  #isNumber(index: number): boolean {
    return /[-\d]/.test(String.fromCharCode(this.#json.kindOf(index)));
  }

  /** Reads the value of this name; a missing value or null is an empty text. */
  readOptional(name: Name, text: TextSlice): RejectReason | undefined {
    const index = this.#indexOf(name);
    const isThere = index >= 0 && (this.#cells !== undefined || !this.#json.isEmptyAt(index));
    if (isThere) return this.read(name, text);
    text.ofCell(nothing, 0, 0);
    return undefined;
  }

  /** Returns why a CSV cell is a placeholder and not an identifier; see `placeholderReason`. */
  placeholderReason(text: TextSlice): string | undefined {
    const isOfCell = this.#cells !== undefined || this.#hadPlaceholder;
    return isOfCell ? placeholderReason(text, this.#rows?.cleaning) : undefined;
  }

  #clean(text: TextSlice): void {
    const cleaning = this.#rows?.cleaning;
    if (cleaning) cleanText(text, cleaning);
  }

  /** Returns the index of the column or member; negative if there is none. */
  #indexOf(name: Name): number {
    return this.#cells ? this.#columns.get(name)! : this.#json.find(this.#members.get(name)!);
  }
}

/** Returns the reject reason for the value of this name. */
export const valueError = (name: string, failure: string): RejectReason =>
  validationError(columnError(name, failure));

/** Members that options name, but that no JSON object has had so far. */
export class UnseenMembers {
  readonly #values: RowValues<string>;
  readonly #unseen: Set<string>;
  #hasObjects = false;

  constructor(names: readonly string[]) {
    this.#values = new RowValues(names, true);
    this.#unseen = new Set(names);
  }

  get names(): readonly string[] {
    return this.#hasObjects ? [...this.#unseen] : [];
  }

  look(rows: RowBlock): void {
    const values = this.#values;
    for (let row = 0; row < rows.count && this.#unseen.size > 0; row += 1) {
      if (values.moveTo(rows, row) !== undefined || !values.isNamed) continue;
      this.#hasObjects = true;
      for (const name of this.#unseen) if (values.has(name)) this.#unseen.delete(name);
    }
  }
}
