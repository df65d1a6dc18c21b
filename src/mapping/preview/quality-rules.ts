import { groupDigits } from '../../errors.js';
import { recordCodes, reservedEventNames } from '../../contract/error-codes.js';
import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/record-fields.js';
import { isReachabilityFlag, suggestField } from './field-spelling.js';
import { keyParts } from '../../text/record-hash.js';
import { quoteForShell } from '../../wording.js';
import type { FieldProfile, Trait, FieldStatistics, Occurrence } from './field-statistics.js';

/** What is looked for in the fields of an input, and what is said of it. */
interface FieldRule {
  /** Of which fields it is; of all where it is left out. */
  readonly of?: (field: FieldProfile, survey: FieldStatistics) => boolean;
  /** What is looked for in their values: in any of them. */
  readonly saw?: Trait;
  /** In nearly all of them, in the data of a record: one of these. */
  readonly mostly?: readonly Trait[];
  readonly what: Text;
  readonly fix: Text;
  /** With which the service refuses it. */
  readonly code?: (key: string) => number | undefined;
}

type Text = string | ((found: Found) => string);

/** A field for which a rule holds. */
interface Found {
  readonly field: FieldProfile;
  readonly key: string;
  /** Of the input. */
  readonly column: string;
  /** How many values were seen, like `all 5 values are`; the first of them, and that in quotes. */
  readonly some: string;
  readonly example: string;
  readonly value: string;
  /** A command-line flag as a fix, and where it helps. */
  readonly flag: (text: string) => string;
}

/** Share of the values that is nearly all. */
const nearlyAll = 0.9;
const keys = new Set<string>(keyParts);
const recordKeys = new Set([...keys, 'ts', 'evtName', 'profileData', 'evtData']);

const isCustom = ({ key }: FieldProfile): boolean =>
  !profileFields.has(key) && !isReachabilityFlag(key);
const typed = (type: string) => (found: Found) =>
  found.flag(`--types ${quoteForShell(`${found.column}:${type}`)}`);

/** By id, in the order in which they are shown. Each names its source: specification or service-facts. */
const fieldRules: Readonly<Record<string, FieldRule>> = {
  // service-facts, Answers: codes 514 to 520
  'field-value': {
    of: ({ part, key }) => part === 'profileData' && profileFields.has(key),
    saw: 'unfit',
    what: ({ some, key, value }) => `${some} not ${profileFields.get(key)!.wanted}, like ${value}`,
    fix: fixOfValue,
    code: (key) => profileFields.get(key)?.code,
  },
  // service-facts, Answers: code 513
  'reserved-event': {
    of: ({ part, key }) => part === 'record' && key === 'evtName',
    saw: 'unfit',
    what: ({ value }) => `${value} is an event of the service itself`,
    fix: `give it another name; reserved are ${reservedEventNames.join(', ')}`,
    code: () => recordCodes.reservedEventName,
  },
  // service-facts, Limits
  'value-too-long': {
    saw: 'too long',
    what: ({ some }) => `${some} longer than ${limits.profileValueBytes} bytes`,
    fix: 'shorten them',
  },
  // service-facts, Limits
  'key-too-long': {
    of: ({ part, key }) => part !== 'record' && Buffer.byteLength(key) > limits.profileKeyBytes,
    what: `the name has more than ${limits.profileKeyBytes} bytes`,
    fix: 'send it under a shorter name: --map <column>=<key>',
  },
  // service-facts, Limits: the oldest of too many values are dropped
  'too-many-values': {
    saw: 'too many',
    what: `the service keeps ${limits.multiValueStrings} values of a list and drops the rest`,
    fix: 'send fewer',
  },
  // service-facts, Upload: evtData is flat, but for the Items of Charged
  'nested-property': {
    of: ({ part, key }) => part === 'evtData' && key !== 'Items',
    saw: 'nested',
    what: ({ some }) => `${some} objects or arrays, which events do not take`,
    fix: 'flatten them',
    code: () => recordCodes.eventStructure,
  },
  // specification, Profile record: whatever is not in profileData is no part of it
  'outside-data': {
    of: ({ part, key }) => part === 'record' && !recordKeys.has(key),
    what: 'stands beside the data of the record, where the service does not look',
    fix({ key }) {
      const meant = [...recordKeys].find((known) => known.toLowerCase() === key.toLowerCase());
      return meant ? `write it "${meant}"` : 'move it into profileData or evtData';
    },
  },
  // service-facts, Upload: an unknown identity creates a profile
  'padded-identity': {
    of: ({ part, key }) => part === 'record' && keys.has(key),
    saw: 'padded',
    what: ({ some, value }) => `${some} surrounded by spaces, like ${value}`,
    fix: 'take the spaces away: with them it is another user',
  },
  // what spreadsheets make of long numbers
  'shortened-number': {
    saw: 'scientific',
    what: ({ some, value }) => `${some} like ${value}: a spreadsheet has shortened it`,
    fix: 'its digits are lost; export it anew, with the column formatted as text',
  },
  // service-facts, Upload: default fields
  'field-spelling': {
    of({ part, key }, survey) {
      const meant = part === 'profileData' ? suggestField(key) : undefined;
      return meant !== undefined && !survey.has('profileData', meant);
    },
    what: ({ key }) =>
      `is sent as a custom field "${key}"; the service's own is "${suggestField(key)}"`,
    fix: ({ key, column, flag }) =>
      flag(`--map ${quoteForShell(`${column}=${suggestField(key)}`)}`),
  },
  // specification, Profile record: flags are boolean
  'flag-as-text': {
    of: ({ part, key, types }) =>
      part === 'profileData' && isReachabilityFlag(key) && types.has('string'),
    what: ({ field }) =>
      `${field.types.get('string')} values are text; the flag is true or false without quotes`,
    fix: typed('boolean'),
  },
  // specification, Profile record: one type is the other endpoint record's
  'event-as-profile': {
    of: ({ part, key }) => part === 'profileData' && key === 'evtName',
    what: 'is the name of an event, and profiles are sent',
    fix: '--type event',
  },
  // service-facts, Upload: dates are $D_<epoch seconds>
  milliseconds: {
    of: ({ key }) => key !== 'Phone',
    mostly: ['milliseconds'],
    what: ({ some, value }) => `${some} like ${value}: probably milliseconds`,
    fix: 'write seconds and type them as a date, if a date is meant',
  },
  // service-facts, Upload: dates are $D_<epoch seconds>
  'date-as-text': {
    of: ({ key }) => key !== 'DOB',
    mostly: ['day or time'],
    what: ({ value }) => `dates like ${value} are sent as text`,
    fix: dateFix,
  },
  // specification, Profile record: a value keeps its type
  'number-as-text': {
    of: isCustom,
    mostly: ['integer', 'number'],
    what: ({ value }) => `numbers like ${value} are sent as text`,
    fix(found) {
      const type = found.field.traits.has('number') ? 'number' : 'integer';
      return `${typed(type)(found)}; leave codes as text`;
    },
  },
  // specification, Profile record: a value keeps its type
  'boolean-as-text': {
    of: isCustom,
    mostly: ['boolean'],
    what: ({ value }) => `values like ${value} are sent as text`,
    fix: typed('boolean'),
  },
  // contract §2, upload: only an empty cell is left out
  placeholder: {
    saw: 'placeholder',
    what: ({ some, value }) => `${some} the text ${value}`,
    fix: 'leave such cells empty: they are not sent then',
  },
};

/** What to do about a field of the service whose value it does not take. */
function fixOfValue(found: Found): string {
  switch (found.key) {
    case 'DOB':
      return dateFix(found);
    case 'Phone':
      return phoneFix(found);
    case 'Employed':
    case 'Married':
      return 'write Y or N; not true or false';
    default:
      return `write ${profileFields.get(found.key)?.wanted}, or leave them empty`;
  }
}

function phoneFix({ example }: Found): string {
  if (/^[1-9]\d{6,14}$/.test(example)) return `write +${example}, if the country code is in there`;
  if (/^00[1-9]\d+$/.test(example)) return `write +${example.slice(2)}`;
  return 'write +, country code and digits, without spaces';
}

/** The date type reads ISO 8601 only. */
function dateFix(found: Found): string {
  const asDate = typed('date')(found);
  return /^\d{4}-/.test(found.example) ? asDate : `write YYYY-MM-DD, then ${asDate}`;
}

/** What the rules find in a field, which is this column of the input. */
export function checkField(
  field: FieldProfile,
  column: string,
  survey: FieldStatistics,
): QualityIssue[] {
  const flag = (text: string): string =>
    survey.hasJson ? `${text} where rows are flat, else in the records themselves` : text;
  return Object.entries(fieldRules).flatMap(([id, rule]) => {
    const seen = sightingFor(rule, field);
    const isSeen = seen !== undefined || (!rule.saw && !rule.mostly);
    if (!isSeen || rule.of?.(field, survey) === false) return [];
    const { key, count } = field;
    const example = seen?.example ?? '';
    const some = countOf(seen?.count ?? count, count);
    const found = { field, key, column, some, example, value: JSON.stringify(example), flag };
    const said = (text: Text): string => (typeof text === 'string' ? text : text(found));
    const [what, fix, code] = [said(rule.what), said(rule.fix), rule.code?.(key) ?? null];
    return [issue({ id, column, what, fix, code }, seen, count)];
  });
}

function sightingFor({ saw, mostly }: FieldRule, { part, count, traits }: FieldProfile) {
  if (saw) return traits.get(saw);
  if (!mostly || part === 'record') return undefined;
  const all = mostly.map((trait) => traits.get(trait));
  return all.find((seen) => seen && seen.count >= nearlyAll * count);
}

function countOf(count: number, all: number): string {
  if (all === 1) return 'the only value is';
  if (count === all) return `all ${groupDigits(all)} values are`;
  return `${groupDigits(count)} of ${groupDigits(all)} values ${count === 1 ? 'is' : 'are'}`;
}

/** Something in an input that is probably not meant so. */
export interface QualityIssue {
  /** Stable, for scripts. */
  readonly id: string;
  /** Of the input; null when it concerns whole records. */
  readonly column: string | null;
  /** Records or values that it concerns. */
  readonly count: number;
  readonly what: string;
  readonly fix: string;
  /** With which the service refuses such records; null where it takes them. */
  readonly code: number | null;
  /** Where it was seen first, if that is one place. */
  readonly source: string | null;
  readonly line: number | null;
}

/** A mistake that is the key of a column, or was seen in values or records. */
export function issue(
  { id, column, what, fix, code }: Pick<QualityIssue, 'id' | 'column' | 'what' | 'fix' | 'code'>,
  seen: Occurrence | undefined,
  count = 0,
): QualityIssue {
  const { source = null, line = null } = seen ?? {};
  return { id, column, count: seen?.count ?? count, what, fix, code, source, line };
}
