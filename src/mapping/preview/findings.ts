import { groupDigits } from '../../errors.js';
import { recordCodes, reservedEventNames } from '../../contract/error-codes.js';
import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/record-fields.js';
import { fittingNumbers, fittingNumericTimes } from './column-inference.js';
import { isReachabilityFlag, suggestField } from './field-spelling.js';
import { keyParts } from '../../text/record-hash.js';
import { quoteForShell } from '../../wording.js';
import { fittingDate } from '../cell-formats.js';
import { resolveColumn } from '../columns.js';
import type { UploadMapping } from '../upload-mapping.js';
import type {
  FieldProfile,
  JsonType,
  Trait,
  ValuePattern,
  FieldStatistics,
  Occurrence,
} from './field-statistics.js';

/** Findings of a preview. */
export interface PreviewFindings {
  /** Columns in the order of the header, or of their first appearance if there is none. */
  readonly columns: readonly ColumnPreview[];
  /** Likely mistakes, those that cause rejected records first. */
  readonly mistakes: readonly QualityIssue[];
}

/** Preview of one column of the input. */
interface ColumnPreview {
  readonly column: string;
  /** Key under which it is sent; null if it is not sent. */
  readonly key: string | null;
  /** Part of the record that contains the key; null if it is not sent. */
  readonly part: FieldProfile['part'] | null;
  /** JSON types of its values, the most frequent first. */
  readonly types: readonly JsonType[];
  /** Pattern of its texts, if nearly all of them have the same. */
  readonly looksLike: Exclude<ValuePattern, 'text' | 'empty'> | null;
  /** Number of records that have it. */
  readonly filled: number;
  /** Lengths of the shortest and longest value in characters; null if there is none. */
  readonly shortest: number | null;
  readonly longest: number | null;
}

/** Derives the findings of a preview from the statistics of the records. */
export function previewFindings(
  statistics: FieldStatistics,
  headers: readonly (readonly string[])[],
  mapping: UploadMapping,
): PreviewFindings {
  const nameOf = columnNames(mapping);
  const sent = statistics.fields.map((field) => ofField(field, nameOf(field)));
  const names = [...new Set([...headers.flat(), ...(headers.length === 0 ? mapping.drop : [])])];
  const seen = new Set(sent.map(({ column }) => column));
  const unseen = names.filter((name) => !seen.has(name)).map((name) => unsent(name, mapping));
  const place = new Map(names.map((name, index) => [name, index]));
  const placeOf = ({ column }: ColumnPreview) => place.get(column) ?? names.length;
  return {
    columns: [...sent, ...unseen].toSorted((a, b) => placeOf(a) - placeOf(b)),
    mistakes: mistakesOf(statistics, nameOf, mapping),
  };
}

/** Returns a function from fields to the names of their columns, which the mapping may rename. */
function columnNames(mapping: UploadMapping): (field: FieldProfile) => string {
  const columns = new Map([...mapping.map].map(([column, key]) => [key, column]));
  return ({ part, key }) => {
    if (part === 'record' && key === 'identity') return mapping.identity;
    if (part === 'record' && key === 'objectId') return mapping.objectId ?? key;
    return columns.get(key) ?? key;
  };
}

function ofField(field: FieldProfile, column: string): ColumnPreview {
  const { part, key, count, shortest, longest } = field;
  const types = byCount(field.types).map(([type]) => type);
  return {
    column,
    key,
    part,
    types,
    looksLike: commonPattern(field),
    filled: count,
    shortest,
    longest,
  };
}

/** Returns the pattern of nine of ten texts, if there is one. */
function commonPattern(field: FieldProfile): ColumnPreview['looksLike'] {
  const texts = field.types.get('string') ?? 0;
  const [pattern, count] = byCount(field.patterns)[0] ?? ['text', 0];
  return pattern === 'text' || pattern === 'empty' || count < 0.9 * texts ? null : pattern;
}

const byCount = <Kind>(counts: ReadonlyMap<Kind, number>): [Kind, number][] =>
  [...counts].toSorted(([, a], [, b]) => b - a);

/** Returns the preview of a column that is dropped or always empty. */
function unsent(column: string, mapping: UploadMapping): ColumnPreview {
  const { role, key } = resolveColumn(column, mapping);
  const data = mapping.kind === 'event' ? 'evtData' : 'profileData';
  return {
    column,
    key: role === 'none' ? null : key,
    part: role === 'none' ? null : role === 'data' ? data : 'record',
    types: [],
    looksLike: null,
    filled: 0,
    shortest: null,
    longest: null,
  };
}

/** Likely mistakes behind frequent local rejects, by their reason. */
const rejectRules = [
  {
    id: 'identity-empty',
    pattern: /the value is empty or missing(?:;|$)|^identity is missing(?:;|$)/,
    fix: 'set another column with --identity, or the column of the objectId with --object-id',
  },
  {
    id: 'padded-identity',
    pattern:
      /^(?:column "(?:[^"\\]|\\.)*"|identity|objectId): .* (?:has whitespace around it|contains the invisible)/,
    fix: 'add --trim, or correct the identities',
  },
  {
    id: 'milliseconds',
    pattern: /more than 11 digits: expected epoch seconds|is not a number of epoch seconds/,
    fix: 'write seconds (the number without its last three digits), or ISO 8601',
  },
];

function mistakesOf(
  statistics: FieldStatistics,
  nameOf: (field: FieldProfile) => string,
  mapping: UploadMapping,
): QualityIssue[] {
  const fromRejects = rejectRules.flatMap(({ id, pattern, fix }) =>
    [...statistics.reasons]
      .filter(([reason]) => pattern.test(reason))
      .map(([, seen]) => recordIssue(id, seen.example, fix, seen)),
  );
  const fromKeys: QualityIssue[] = [];
  for (const [part, seen] of statistics.tooManyKeys) {
    const what = `a record may have 256 custom keys or properties, but some have ${seen.example}`;
    const code = part === 'evtData' ? recordCodes.tooManyEventProperties : null;
    const fix = 'choose columns with --only or --drop';
    fromKeys.push(issue({ id: 'too-many-keys', column: null, what, fix, code }, seen));
  }
  if (statistics.hasMoreFields) {
    const what =
      'there are more than 2,000 different keys, or very long ones, of which some may be values';
    fromKeys.push(recordIssue('too-many-fields', what, 'check how the keys are generated'));
  }
  const fromFields = statistics.fields.flatMap((field) =>
    checkField(field, nameOf(field), statistics, mapping),
  );
  const found = [...fromKeys, ...fromFields];
  const refused = found.filter(({ code }) => code !== null);
  const others = found.filter(({ code }) => code === null);
  return [...fromRejects, ...refused, ...others];
}

const recordIssue = (id: string, what: string, fix: string, seen?: Occurrence): QualityIssue =>
  issue({ id, column: null, what, fix, code: null }, seen);

/** A rule that detects a likely mistake in the fields of an input. */
interface FieldRule {
  /** Fields to which the rule applies; default: all. */
  readonly appliesTo?: (field: FieldProfile, statistics: Pick<FieldStatistics, 'has'>) => boolean;
  /** Trait that any of the values has. */
  readonly any?: Trait;
  /** Traits of which nearly all values in the data of a record have one; the example has the first that occurs. */
  readonly mostly?: readonly Trait[];
  /** Whether the options say that it is not a mistake. */
  readonly isMeant?: (column: string, options: MeantColumns) => boolean;
  readonly what: Text;
  readonly fix: Text;
  /** Error code of the service for such values. */
  readonly code?: (key: string) => number | undefined;
}

type MeantColumns = Pick<UploadMapping, 'types' | 'map'>;

type Text = string | ((found: Found) => string);

/** A field that a rule applies to, and the values for its message. */
interface Found {
  readonly field: FieldProfile;
  readonly key: string;
  /** Column of the input. */
  readonly column: string;
  /** Count of the affected values, like `all 5 values are`; the first of them, plain and quoted. */
  readonly some: string;
  readonly example: string;
  readonly value: string;
  /** Marks a fix as a command-line flag, which applies only to flat rows. */
  readonly flag: (text: string) => string;
}

/** Share of values that counts as nearly all. */
const nearlyAll = 0.9;
const keys = new Set<string>(keyParts);
const recordKeys = new Set([...keys, 'ts', 'evtName', 'profileData', 'evtData']);

const isCustom = ({ key }: FieldProfile): boolean =>
  !profileFields.has(key) && !isReachabilityFlag(key);
/** A column with a type, `string` included, or that is mapped to a key, is as the user wants it. */
const isTyped = (column: string, { types }: MeantColumns): boolean => types.has(column);
const isMapped = (column: string, { map }: MeantColumns): boolean => map.has(column);
const typed = (type: string) => (found: Found) =>
  found.flag(`--types ${quoteForShell(`${found.column}:${type}`)}`);

/** Rules by id, in the order of the messages. */
const fieldRules: Readonly<Record<string, FieldRule>> = {
  // codes 514 to 520
  'field-value': {
    appliesTo: ({ part, key }) => part === 'profileData' && profileFields.has(key),
    any: 'unfit',
    what: ({ some, key, value }) =>
      `${some} not ${profileFields.get(key)!.expected}, like ${value}`,
    fix: fixOfValue,
    code: (key) => profileFields.get(key)?.code,
  },
  // code 513
  'reserved-event': {
    appliesTo: ({ part, key }) => part === 'record' && key === 'evtName',
    any: 'unfit',
    what: ({ value }) => `${value} is a reserved event name`,
    fix: `use another name; reserved names are ${reservedEventNames.join(', ')}`,
    code: () => recordCodes.reservedEventName,
  },
  // code 525
  'no-time': {
    appliesTo: ({ part, key }) => part === 'record' && key === 'ts',
    any: 'unfit',
    what: ({ some, value }) => `${some} ${value}, which is not a time`,
    fix: 'write epoch seconds, or leave the time out',
    code: () => recordCodes.timestamp,
  },
  // years, day numbers of a spreadsheet, and days like 20240131
  'old-time': {
    appliesTo: ({ part, key }) => part === 'record' && key === 'ts',
    any: 'old',
    what: ({ some, value }) => `${some} like ${value}, which is a time between 1970 and 1973`,
    fix: 'write epoch seconds, such as 1735689600',
  },
  // service-facts, Limits
  'value-too-long': {
    any: 'too long',
    what: ({ some }) => `${some} longer than ${limits.profileValueBytes} bytes`,
    fix: 'shorten them',
  },
  // service-facts, Limits
  'key-too-long': {
    appliesTo: ({ part, key }) =>
      part !== 'record' && Buffer.byteLength(key) > limits.profileKeyBytes,
    what: `the name is longer than ${limits.profileKeyBytes} bytes`,
    fix: 'rename it with --map <column>=<key>',
  },
  // service-facts, Limits: the oldest of too many values are dropped
  'too-many-values': {
    any: 'too many',
    what: `the service keeps ${limits.multiValueStrings} values of a list and drops the rest`,
    fix: 'send fewer values',
  },
  // service-facts, Upload: evtData is flat, but for the Items of Charged
  'nested-property': {
    appliesTo: ({ part, key }) => part === 'evtData' && key !== 'Items',
    any: 'nested',
    what: ({ some }) => `${some} objects or arrays, which events cannot contain`,
    fix: 'flatten them',
    code: () => recordCodes.eventStructure,
  },
  // specification, Profile record: whatever is not in profileData is no part of it
  'outside-data': {
    appliesTo: ({ part, key }) => part === 'record' && !recordKeys.has(key),
    what: 'is outside the data of the record, where the service ignores it',
    fix({ key }) {
      const meant = [...recordKeys].find((known) => known.toLowerCase() === key.toLowerCase());
      return meant ? `write it "${meant}"` : 'move it into profileData or evtData';
    },
  },
  // what spreadsheets add below a table
  'totals-row': {
    any: 'total',
    isMeant: isTyped,
    what: ({ some, value }) => `${some} ${value}, which looks like a row of totals`,
    fix: (found) => `remove the row, or add ${typed('string')(found)} if it is a user`,
  },
  // what spreadsheets make of long numbers
  'shortened-number': {
    any: 'scientific',
    what: ({ some, value }) => `${some} like ${value}, which a spreadsheet has rounded`,
    fix: 'export it again with a number format without exponent, or as text if it is an id or a phone number',
  },
  // what spreadsheets write for digits that are text
  'spreadsheet-text': {
    mostly: ['spreadsheet text'],
    what: ({ some, value }) =>
      `${some} like ${value}, with the mark of a spreadsheet for text, which is sent too`,
    fix: 'remove the mark from the cells and export them again',
  },
  // what COPY of PostgreSQL in text format and mysql --batch write for line ends, tabs and backslashes
  'escaped-text': {
    any: 'escaped',
    isMeant: isTyped,
    what: ({ some, value }) =>
      `${some} like ${value}, with a backslash escape, which is sent as it is`,
    fix: (found) => `export them as CSV, or add ${typed('string')(found)} if they are meant`,
  },
  // service-facts, Upload: default fields
  'field-spelling': {
    appliesTo({ part, key }, statistics) {
      const meant = part === 'profileData' ? suggestField(key) : undefined;
      return meant !== undefined && !statistics.has('profileData', meant);
    },
    isMeant: isMapped,
    what: ({ key }) =>
      `is sent as a custom property ${JSON.stringify(key)}; the service's field is "${suggestField(key)}"`,
    fix: ({ key, column, flag }) =>
      flag(`--map ${quoteForShell(`${column}=${suggestField(key)}`)}`),
  },
  // specification, Profile record: flags are boolean
  'flag-as-text': {
    appliesTo: ({ part, key, types }) =>
      part === 'profileData' && isReachabilityFlag(key) && types.has('string'),
    what: ({ field }) =>
      `${field.types.get('string')} values are text; the flag must be true or false without quotes`,
    fix: typed('boolean'),
  },
  // specification, Profile record: one type is the other endpoint record's
  'event-as-profile': {
    appliesTo: ({ part, key }) => part === 'profileData' && key === 'evtName',
    what: 'is the name of an event, but profiles are sent',
    fix: '--type event',
  },
  // service-facts, Upload: dates are $D_<epoch seconds>
  milliseconds: {
    appliesTo: ({ key }) => key !== 'Phone',
    mostly: ['milliseconds'],
    isMeant: isTyped,
    what: ({ some, value }) => `${some} like ${value}, probably milliseconds`,
    fix: (found) => `${typed('date(epochMillis)')(found)}, if they are times`,
  },
  // service-facts, Upload: dates are $D_<epoch seconds>
  'date-as-text': {
    appliesTo: ({ key }) => key !== 'DOB',
    mostly: ['day or time'],
    isMeant: isTyped,
    what: ({ some, value }) => `${some} dates like ${value}, sent as text`,
    fix: dateFix,
  },
  // specification, Profile record: a value keeps its type
  'number-as-text': {
    appliesTo: (field) => isCustom(field) && !field.traits.has('decimal comma'),
    mostly: ['number', 'integer'],
    isMeant: isTyped,
    what: ({ some, value }) => `${some} numbers like ${value}, sent as text`,
    fix(found) {
      const type = found.field.traits.has('number') ? 'number' : 'integer';
      const times = fittingNumericTimes([found.example], found.column)?.types ?? [];
      const types = [...times, type].map((each) => typed(each)(found)).join(' or ');
      return `${types}, or ${typed('string')(found)} for codes`;
    },
  },
  // what spreadsheets of some countries make of 301.5
  'decimal-comma': {
    appliesTo: (field) => isCustom(field) && field.traits.has('decimal comma'),
    mostly: ['decimal comma', 'integer'],
    isMeant: isTyped,
    what: ({ some, value }) => `${some} numbers like ${value}, sent as text`,
    fix(found) {
      const types = fittingNumbers([found.example])?.types ?? [];
      return `${types.map((each) => typed(each)(found)).join(' or ')}, or ${typed('string')(found)} for codes`;
    },
  },
  // specification, Profile record: a value keeps its type
  'boolean-as-text': {
    appliesTo: isCustom,
    mostly: ['boolean'],
    isMeant: isTyped,
    what: ({ some, value }) => `${some} true or false, like ${value}, sent as text`,
    fix: typed('boolean'),
  },
  // contract §2, upload: only an empty cell is left out
  placeholder: {
    any: 'placeholder',
    what: ({ some, value }) => `${some} the text ${value}`,
    fix: ({ example }) =>
      `--null-values ${quoteForShell(example)} treats such cells as empty, and empty cells are not sent`,
  },
  // contract §2, upload: a cell is sent as it is
  'padded-value': {
    appliesTo: ({ part }) => part !== 'record',
    any: 'padded',
    what: ({ some }) => `${some} sent with the whitespace around`,
    fix: '--trim removes it',
  },
};

/** Returns the fix for a value that the service rejects in one of its fields. */
function fixOfValue(found: Found): string {
  switch (found.key) {
    case 'DOB':
      return dateFix(found);
    case 'Phone':
      return phoneFix(found);
    case 'Employed':
    case 'Married':
      return 'write Y or N, not true or false';
    default:
      return `write ${profileFields.get(found.key)?.expected}, or leave the cell empty`;
  }
}

function phoneFix(found: Found): string {
  const type = `${quoteForShell(`${found.column}:phone(DE)`)} with the country of the numbers`;
  return found.flag(`write +, country code and digits, or add --types ${type}`);
}

/** Returns the fix for dates. The type without a format accepts ISO 8601 only. */
function dateFix(found: Found): string {
  if (/^\d{4}-/.test(found.example)) return typed('date')(found);
  const types = fittingDate(found.example)?.split(' or ') ?? [];
  return types.length > 0
    ? types.map((type) => typed(type)(found)).join(' or ')
    : found.flag(`--types ${quoteForShell(`${found.column}:date(<format>)`)}`);
}

/** Applies the rules to a field, which is this column of the input. */
export function checkField(
  field: FieldProfile,
  column: string,
  statistics: Pick<FieldStatistics, 'has' | 'hasJson'>,
  options: MeantColumns,
): QualityIssue[] {
  let namesFlag = false;
  const flag = (text: string): string => {
    namesFlag = true;
    return text;
  };
  return Object.entries(fieldRules).flatMap(([id, rule]) => {
    const seen = firstMatch(rule, field);
    const isFound = seen !== undefined || (!rule.any && !rule.mostly);
    if (!isFound || rule.appliesTo?.(field, statistics) === false) return [];
    if (rule.isMeant?.(column, options) === true) return [];
    const { key, count } = field;
    const example = seen?.example ?? '';
    const some = countOf(seen?.count ?? count, count);
    const found = { field, key, column, some, example, value: JSON.stringify(example), flag };
    const textOf = (text: Text): string => (typeof text === 'string' ? text : text(found));
    namesFlag = false;
    const [what, advice, code] = [textOf(rule.what), textOf(rule.fix), rule.code?.(key) ?? null];
    const isPartial = namesFlag && statistics.hasJson;
    const fix = isPartial ? `${advice} (for flat rows; otherwise change the records)` : advice;
    return [issue({ id, column, what, fix, code }, seen, count)];
  });
}

function firstMatch({ any, mostly }: FieldRule, { part, count, traits }: FieldProfile) {
  if (any) return traits.get(any);
  if (!mostly || part === 'record') return undefined;
  const seen = mostly.flatMap((trait) => traits.get(trait) ?? []);
  const all = seen.reduce((sum, each) => sum + each.count, 0);
  return seen[0] && all >= nearlyAll * count ? { ...seen[0], count: all } : undefined;
}

function countOf(count: number, all: number): string {
  if (all === 1) return 'the only value is';
  if (count === all) return `all ${groupDigits(all)} values are`;
  return `${groupDigits(count)} of ${groupDigits(all)} values ${count === 1 ? 'is' : 'are'}`;
}

/** A likely mistake in an input. */
export interface QualityIssue {
  /** Stable, for scripts. */
  readonly id: string;
  /** Column of the input; null if it concerns whole records. */
  readonly column: string | null;
  /** Number of affected records or values. */
  readonly count: number;
  readonly what: string;
  readonly fix: string;
  /** Error code of the service for such records; null if it accepts them. */
  readonly code: number | null;
  /** Position of the first occurrence, if known. */
  readonly source: string | null;
  readonly line: number | null;
}

/** Returns a mistake with its first occurrence; `count` is for one that concerns the key of a column. */
export function issue(
  { id, column, what, fix, code }: Pick<QualityIssue, 'id' | 'column' | 'what' | 'fix' | 'code'>,
  seen: Occurrence | undefined,
  count = 0,
): QualityIssue {
  const { source = null, line = null } = seen ?? {};
  return { id, column, count: seen?.count ?? count, what, fix, code, source, line };
}
