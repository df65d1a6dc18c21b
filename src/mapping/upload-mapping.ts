import type { TimeZone } from '../time-zone.js';

/** What a column's cells are sent as. */
export const cellTypes = ['string', 'integer', 'number', 'boolean', 'date', 'json'] as const;
export type PlainType = (typeof cellTypes)[number];
/** Phone numbers of one country, by its code. */
type PhoneType = `phone:+${string}`;
export type CellType = PlainType | PhoneType;

/** A type as it is written, to be found in a longer text. */
export const typePattern = `${cellTypes.join('|')}|phone:\\+[1-9]\\d{0,2}`;
const wholeType = new RegExp(`^(?:${typePattern})$`);

export const isCellType = (word: unknown): word is CellType =>
  typeof word === 'string' && wholeType.test(word);

export const isPhoneType = (type: CellType | undefined): type is PhoneType =>
  type?.startsWith('phone:') === true;

/** What a mapping file expects of an input, beside how it is mapped. All names are input columns. */
export interface Expectations {
  /** Columns that have a value in every row. */
  readonly required: ReadonlySet<string>;
  /** Every column is one that the mapping names. */
  readonly isExact: boolean;
  /** The values that a column may have; an empty one too, unless it is required. */
  readonly values: ReadonlyMap<string, ReadonlySet<string>>;
  /** Fewer records are too few. */
  readonly minRecords: number;
}

/** How `upload` turns rows into records (contract §2, upload). All names are input columns. */
export interface UploadMapping {
  /** What flat rows become; a record that says its own type keeps it. */
  readonly kind: 'profile' | 'event';
  /** Column of the identity. */
  readonly identity: string;
  /** Whether the user named that column: then it must be there, even beside `objectId`. */
  readonly identityGiven: boolean;
  /** Column of the objectId, as the key of rows without an identity. */
  readonly objectId?: string;
  /** Column to the key it is sent as. */
  readonly map: ReadonlyMap<string, string>;
  readonly drop: ReadonlySet<string>;
  /** When given, the only columns that are sent, besides identity, objectId, ts and evtName. */
  readonly only?: ReadonlySet<string>;
  readonly types: ReadonlyMap<string, CellType>;
  /** What an empty cell is sent as: left out, null, or (untyped and string columns only) "". */
  readonly empty: 'omit' | 'null' | 'string';
  /** Name of events whose row has none. */
  readonly eventName?: string;
  /** Epoch seconds of events whose row has no `ts`. */
  readonly tsNow?: number;
  /** In which times without an offset are read. */
  readonly zone: TimeZone;
  /** Whether lines of a rejects file with stage `unknown` are sent. */
  readonly retryUnknown: boolean;
  /** What else the mapping file says of an input; undefined where it says nothing. */
  readonly expected?: Expectations;
}
