import type { TimeZone } from '../time-zone.js';

/** Types of columns. */
export const cellTypes = ['string', 'integer', 'number', 'boolean', 'date', 'json'] as const;
export type PlainType = (typeof cellTypes)[number];
/** Phone numbers of one country, given by its code. */
type PhoneType = `phone:+${string}`;
/** Values in a format: `date(DD.MM.YYYY)`, `number(1.234,56)`, `boolean(ja,nein)`, `phone(DE)`, `list(;)`. */
type FormattedType = `${'date' | 'number' | 'integer' | 'boolean' | 'phone' | 'list'}(${string})`;
export type CellType = PlainType | PhoneType | FormattedType;

/** Regular expression of a type, without anchors. */
export const typePattern = `(?:date|number|integer|boolean|phone|list)\\([^()]*\\)|${cellTypes.join('|')}|phone:\\+[1-9]\\d{0,2}`;
const wholeType = new RegExp(`^(?:${typePattern})$`);

export const isCellType = (word: unknown): word is CellType =>
  typeof word === 'string' && wholeType.test(word);

/** Whether values are phone numbers: `phone:+49`, or `phone(DE)`. Of the types of texts, only these change a text. */
export const isPhoneNumber = (type: CellType | undefined): type is CellType =>
  type?.startsWith('phone') === true;

/** Whether values are texts, as those without a type are. */
export const isTextType = (type: CellType | undefined): boolean =>
  type === undefined || type === 'string' || isPhoneNumber(type);

export const isPhoneType = (type: CellType | undefined): type is PhoneType =>
  type?.startsWith('phone:') === true;

/** Value of a constant member. */
export type Constant = string | number | boolean;

/** Expectations of a mapping file about an input. All names are input columns. */
export interface Expectations {
  /** Columns that must have a value in every row. */
  readonly required: ReadonlySet<string>;
  /** Whether the mapping must list every column. */
  readonly isExact: boolean;
  /** Allowed values by column; empty cells are allowed, too, unless the column is required. */
  readonly values: ReadonlyMap<string, ReadonlySet<string>>;
  /** Minimum number of records. */
  readonly minRecords: number;
}

/** Options for mapping rows to upload records (contract §2, upload). All names are input columns. */
export interface UploadMapping {
  /** Kind of record that flat rows become; a record with a `type` keeps it. */
  readonly kind: 'profile' | 'event';
  /** Column of the identity. */
  readonly identity: string;
  /** Whether the user named that column: then it must exist, even beside `objectId`. */
  readonly identityGiven: boolean;
  /** Column of the objectId, which is used instead of the identity unless the user named that, too. */
  readonly objectId?: string;
  /** Keys under which columns are sent, by column. */
  readonly map: ReadonlyMap<string, string>;
  readonly drop: ReadonlySet<string>;
  /** If set, the only columns that are sent, besides identity, objectId, ts and evtName. */
  readonly only?: ReadonlySet<string>;
  readonly types: ReadonlyMap<string, CellType>;
  /** Members that every flat record gets, by key; texts can have a type. */
  readonly constants: ReadonlyMap<string, Constant>;
  /** Columns whose texts are sent in lower case. */
  readonly lowercase: ReadonlySet<string>;
  /** How the mapping file says that cells are cleaned. */
  readonly cleaning?: { readonly trim?: boolean; readonly nullValues?: readonly string[] };
  /** Value for empty cells: none, null, or "" (untyped and string columns only). */
  readonly empty: 'omit' | 'null' | 'string';
  /** Event name for rows without one. */
  readonly eventName?: string;
  /** Epoch seconds for events without `ts`. */
  readonly tsNow?: number;
  /** Time zone of times without an offset. */
  readonly zone: TimeZone;
  /** Whether to send lines of a rejects file with stage `unknown`. */
  readonly retryUnknown: boolean;
  /** Send lines of a rejects file with stage `alreadySent`. */
  readonly again?: boolean;
  /** Expectations of the mapping file; undefined if it has none. */
  readonly expected?: Expectations;
}
