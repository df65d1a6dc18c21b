import { EngagectlError } from '../errors.js';
import {
  dateFormat,
  fittingDate,
  fittingNumber,
  numberFormat,
  numberWriter,
  phoneFormat,
  readIsoBytes,
  utc,
} from './cell-formats.js';
import { phonePattern } from '../contract/record-fields.js';
import { defaultType } from './columns.js';
import { booleanWords, lowercaseText, noBoolean } from '../text/cell-cleaning.js';
import { parseTimestamp } from './timestamps.js';
import { JsonParser } from '../text/json-parser.js';
import {
  isPhoneType,
  isTextType,
  type CellType,
  type PlainType,
  type UploadMapping,
} from './upload-mapping.js';
import type { TimeZone } from '../time-zone.js';
import type { ValueRules } from './row-values.js';
import { quoteValue, TextSlice } from '../text/text-slice.js';
import { RecordBuilder } from './record-block.js';

/** Writes a text as a type; if it does not fit, returns the reason, which follows the quoted text in a message. */
export type Write = (text: TextSlice, records: RecordBuilder, zone: TimeZone) => string | undefined;

const openDate = Buffer.from('"$D_');
const writeInteger = numberWriter('', '')!;
const writeNumber = numberWriter('', '.')!;

/** Writers by type; numbers and JSON keep their spelling. */
const writers: Readonly<Record<PlainType, Write>> = {
  string: writeString,
  integer: (text, records) =>
    writeInteger(text.bytes, text.start, text.end, records.out)
      ? undefined
      : isInteger(text)
        ? copy(text, records)
        : 'is not an integer',
  number: (text, records) =>
    writeNumber(text.bytes, text.start, text.end, records.out)
      ? undefined
      : isNumber(text)
        ? copy(text, records)
        : noNumber(text),
  boolean(text, { out }) {
    for (const { bytes, json } of booleanWords) {
      if (!isWord(text, bytes)) continue;
      out.raw(json);
      return undefined;
    }
    return noBoolean;
  },
  date: dateWriter((text, zone) => {
    const { bytes, start, end } = text;
    const seconds = readIsoBytes(bytes, start, end);
    if (seconds === undefined) return parseTimestamp(text, zone);
    return end - start === 20 ? seconds : zone.toEpoch(seconds);
  }),
  json(text, records) {
    if (!json.read(text.bytes, text.start, text.end)) return `is not JSON: it ${json.failure}`;
    if (json.hasOperator) records.idempotent = false;
    records.out.raw(text.bytes, json.start, json.end);
    return undefined;
  },
};
/** Parses a time as epoch seconds; returns why it is not one, to follow the quoted text in a message. */
type ReadTime = (text: TextSlice, zone: TimeZone) => number | string;

function dateWriter(read: ReadTime): Write {
  return (text, { out }, zone) => {
    const instant = read(text, zone);
    if (typeof instant === 'string') return instant;
    out.raw(openDate);
    out.integer(instant);
    out.byte(0x22);
    return undefined;
  };
}

function dateReader(format: string): ReadTime {
  const { read, readBytes } = dateFormat(format);
  return (text, zone) => {
    const local = readBytes?.(text.bytes, text.start, text.end);
    if (local !== undefined) return zone.toEpoch(local);
    return (
      read(text.toString(), zone) ??
      notFitting(`a date like ${format}`, fittingDate(text.toString()))
    );
  };
}

const timeReaders = new Map<CellType | undefined, ReadTime>();

/** Returns the parser of the times of events in a column of this type: its format, or ISO 8601 and epoch seconds. */
export function timeReader(type: CellType | undefined): ReadTime {
  let reader = timeReaders.get(type);
  if (!reader) {
    const [, format] = /^date\((.*)\)$/s.exec(type ?? '') ?? [];
    reader = format === undefined ? parseTimestamp : dateReader(format);
    timeReaders.set(type, reader);
  }
  return reader;
}

/** Writers of types with a format, by type. */
const formatted = new Map<string, Write>();

/** Returns the writer of a type with a format. Throws EngagectlError E-USAGE for an invalid format. */
export function formattedWriter(type: CellType): Write {
  const known = formatted.get(type);
  if (known) return known;
  const [, kind = '', format = ''] = /^(\w+)\((.*)\)$/s.exec(type) ?? [];
  const writer = compileFormat(kind, format);
  formatted.set(type, writer);
  return writer;
}

function compileFormat(kind: string, format: string): Write {
  switch (kind) {
    case 'date':
      return dateWriter(dateReader(format));
    case 'boolean': {
      const [yes, no] = booleanPair(format);
      return (text, { out }) => {
        const word = text.toString().toLowerCase();
        if (word !== yes && word !== no) return `is not "${yes}" or "${no}"`;
        out.ascii(String(word === yes));
        return undefined;
      };
    }
    case 'phone': {
      const { read } = phoneFormat(format);
      return (text, { out }) => {
        const number = read(text.toString());
        if (!number.startsWith('+')) return number;
        out.string(number);
        return undefined;
      };
    }
    case 'list':
      return (text, { out }) => {
        const values = text.toString().split(format === '' ? ',' : format);
        const filled = values.map((value) => value.trim()).filter((value) => value !== '');
        if (filled.length === 0) return 'has no values (--trim reads blanks as an empty cell)';
        out.raw(Buffer.from(JSON.stringify(filled)));
        return undefined;
      };
    default: {
      const { read, writeBytes } = numberFormat(format, kind === 'integer' ? 'integer' : 'number');
      return (text, { out }) => {
        if (writeBytes?.(text.bytes, text.start, text.end, out)) return undefined;
        const number = read(text.toString());
        if (number === undefined)
          return notFitting(`a number like ${format}`, fittingNumber(text.toString()));
        out.ascii(number);
        return undefined;
      };
    }
  }
}

const notFitting = (expected: string, fitting: string | undefined): string =>
  `is not ${expected}${fitting === undefined ? '' : `; ${fitting} would fit`}`;

/** Returns the words for true and false in lower case. Throws E-USAGE. */
function booleanPair(format: string): [yes: string, no: string] {
  const pair = format.toLowerCase().split(',');
  const [yes = '', no = ''] = pair;
  if (pair.length === 2 && yes !== no) return [yes, no];
  throw new EngagectlError('E-USAGE', `the type boolean(${format}) has an unknown format`, {
    why: 'expected the word for true, a comma, and the word for false',
    fix: 'for example boolean(ja,nein)',
  });
}

/** Returns the reason, with a hint for the decimal comma of spreadsheets in many countries. */
const noNumber = ({ bytes, start, end }: TextSlice): string =>
  /^[-+]?\d+(?:[. ]\d{3})*,\d+$/.test(bytes.toString('latin1', start, end))
    ? 'is not a number: its decimal separator must be a point, not a comma'
    : 'is not a number';
const json = new JsonParser();

/** Writes a cell as its type; returns an error if it does not fit. */
export function writeTypedValue(
  text: TextSlice,
  type: CellType,
  records: RecordBuilder,
  zone: TimeZone,
): string | undefined {
  return writeWith(typeWriter(type), text, records, zone);
}

/** Returns the type of a JSON value by its first byte: a number has no notation, such as that of `number(1.234,56)`. */
export function typeOfValue(type: CellType, first: number): CellType {
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  const [, kind] = (isNumber && /^(number|integer)\(/.exec(type)) || [];
  return (kind as PlainType | undefined) ?? type;
}

/** As `writeTypedValue`, with the writer of a type, which a table keeps for each column. */
export function writeWith(
  write: Write,
  text: TextSlice,
  records: RecordBuilder,
  zone: TimeZone,
): string | undefined {
  const failure = text.broken ? 'has half of a surrogate pair' : write(text, records, zone);
  return failure === undefined ? undefined : `${quoteValue(text)} ${failure}`;
}

/** Returns the writer of a type. Throws EngagectlError E-USAGE for an invalid format. */
export function typeWriter(type: CellType): Write {
  if (!isPhoneType(type)) return writers[type as PlainType] ?? formattedWriter(type);
  const country = type.slice('phone:'.length);
  return (text, records) => writePhone(text, records, country);
}

/** Members that every flat record gets. */
export interface ConstantMembers {
  /** As `"key":value,…`, or nothing. */
  readonly json: string;
  /** Whether none is an operator such as $incr. */
  readonly idempotent: boolean;
}

/** Returns the members that every flat record gets. Throws EngagectlError E-USAGE. */
export function constantMembers({ constants, types, zone }: UploadMapping): ConstantMembers {
  const records = new RecordBuilder();
  const slice = new TextSlice();
  for (const [key, value] of constants) {
    if (records.out.length > 0) records.out.ascii(',');
    records.out.string(key);
    records.out.ascii(':');
    const bytes = Buffer.from(String(value));
    const type = types.get(key) ?? defaultType(key) ?? 'string';
    if (typeof value !== 'string') records.out.raw(bytes);
    else {
      const failure = writeTypedValue(slice.of(bytes, 0, bytes.length), type, records, zone);
      if (failure !== undefined)
        throw new EngagectlError('E-USAGE', `--set ${key}=${value}: ${failure}`, {
          why: `the value is sent as ${type}`,
          fix: 'correct the value, or the type of this key in --types',
        });
    }
  }
  const { bytes, length } = records.out;
  return { json: bytes.toString('utf8', 0, length), idempotent: records.idempotent };
}

/** Throws EngagectlError E-USAGE if one of these columns has a type that is not a text. */
export function refuseOtherThanTexts(
  types: UploadMapping['types'],
  columns: Iterable<string> = types.keys(),
): void {
  for (const column of columns) {
    const type = types.get(column);
    if (isTextType(type)) continue;
    throw new EngagectlError(
      'E-USAGE',
      `column ${JSON.stringify(column)} cannot have the type ${type}`,
      {
        why: 'identifiers, addresses, statuses and names of events are texts',
        fix: 'use string, or a type of phone numbers such as phone(DE)',
      },
    );
  }
}

/**
 * Returns the rules of values with these types, which must be texts, and of columns in lower case. Throws
 * EngagectlError E-USAGE for a type that is not a text.
 */
export function textRules({
  types,
  lowercase,
}: Pick<UploadMapping, 'types' | 'lowercase'>): Pick<ValueRules, 'spelled' | 'convert'> {
  refuseOtherThanTexts(types);
  const records = new RecordBuilder();
  return {
    spelled: new Set(types.keys()),
    convert: (column, text) => {
      if (lowercase.has(column)) lowercaseText(text);
      const type = types.get(column) ?? 'string';
      if (type === 'string') return undefined;
      records.out.length = 0;
      const failure = writeTypedValue(text, type, records, utc);
      if (failure !== undefined) return failure;
      const value = Buffer.from(records.out.bytes.subarray(1, records.out.length - 1)); // without its quotes
      text.of(value, 0, value.length);
      return undefined;
    },
  };
}

function writePhone(text: TextSlice, records: RecordBuilder, country: string): string | undefined {
  const number = text.toString();
  if (number.startsWith(country) && phonePattern.test(number)) return writeString(text, records);
  return `is not a ${country} number (expected ${country} and digits)`;
}

export function writeString({ bytes, start, end }: TextSlice, { out }: RecordBuilder): undefined {
  out.byte(0x22);
  out.escaped(bytes, start, end);
  out.byte(0x22);
}

const emptyValues = {
  omit: undefined,
  null: Buffer.from('null'),
  string: Buffer.from('""'),
} as const;

/** Returns the value that --empty sends; an empty string only for columns sent as strings. */
export function emptyValue(
  type: CellType | undefined,
  { empty }: UploadMapping,
): Buffer | undefined {
  const pair = type?.startsWith('boolean(') ? booleanPair(type.slice(8, -1)) : ['-', '-'];
  if (pair.includes('')) return Buffer.from(String(pair[0] === ''));
  return empty === 'string' && !isTextType(type) ? undefined : emptyValues[empty];
}

function copy({ bytes, start, end }: TextSlice, { out }: RecordBuilder): undefined {
  out.raw(bytes, start, end);
}

/** Whether the text is a JSON number (RFC 8259, section 6). */
const isNumber = (text: TextSlice): boolean =>
  /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text.toString());

const isInteger = (text: TextSlice): boolean => /^-?(?:0|[1-9]\d*)$/.test(text.toString());

/** Compares without regard to case: setting the bit 0x20 lowercases letters and keeps digits. */
function isWord({ bytes, start, end }: TextSlice, word: Buffer): boolean {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at++) {
    const byte = bytes[start + at]!;
    if ((byte >= 0x40 ? byte | 0x20 : byte) !== word[at]) return false;
  }
  return true;
}
