import { recordCodes, reservedEventNames } from '../../contract/codes.js';
import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/profile-fields.js';
import type { Field, Sighting, Trait } from './field.js';
import { fixOfValue } from './fix-of-value.js';
import type { Finding } from './mistake.js';
import { isFlag, meantKey } from './spelling.js';

interface FieldContext {
  /** Of the input. */
  readonly column: string;
  /** Whether profiles are sent with this key, too. */
  readonly hasKey: (key: string) => boolean;
  /** A command-line flag as a fix, and where it helps. */
  readonly flag: (text: string) => string;
}

/** Finds one kind of mistake in what was seen of a key; pure. */
type FieldRule = (field: Field, context: FieldContext) => Finding | undefined;

/** Share of the values from which on a look is that of the whole column. */
const mostly = 0.9;

/** By id. Each names where it comes from: the specification (spec) or service-facts (facts). */
export const fieldRules: Readonly<Record<string, FieldRule>> = {
  // facts, Answers: codes 514 to 520
  'field-value': (field, context) => {
    const rule = profileFields.get(field.key);
    const seen = field.saw('unfit');
    if (field.part !== 'profileData' || !rule || !seen) return undefined;
    const what = `${some(seen, field)} not ${rule.wanted}, like ${shown(seen)}`;
    const typed = context.flag(`--types "${context.column}:date"`);
    const fix = field.key === 'DOB' ? dateFix(seen, typed) : fixOfValue(field.key, seen);
    return { what, fix, code: rule.code, seen };
  },
  // facts, Answers: code 513
  'reserved-event': (field) => {
    const seen = field.part === 'record' && field.key === 'evtName' && field.saw('unfit');
    if (!seen) return undefined;
    const what = `${shown(seen)} is an event of the service itself`;
    const fix = `give it another name; reserved are ${reservedEventNames.join(', ')}`;
    return { what, fix, code: recordCodes.reservedEventName, seen };
  },
  // facts, Limits
  'value-too-long': (field) => {
    const seen = field.saw('too long');
    if (!seen) return undefined;
    const most = limits.profileValueBytes;
    return { what: `${some(seen, field)} longer than ${most} bytes`, fix: 'shorten them', seen };
  },
  // facts, Limits
  'key-too-long': ({ key, part }) =>
    part !== 'record' && Buffer.byteLength(key) > limits.profileKeyBytes
      ? {
          what: `the name has more than ${limits.profileKeyBytes} bytes`,
          fix: 'send it under a shorter name: --map <column>=<key>',
        }
      : undefined,
  // facts, Limits: the oldest of too many values are dropped
  'too-many-values': (field) => {
    const seen = field.saw('too many');
    const what = `the service keeps ${limits.multiValueStrings} values of a list and drops the rest`;
    return seen && { what, fix: 'send fewer', seen };
  },
  // facts, Upload: evtData is flat, but for the Items of Charged
  'nested-property': (field) => {
    const seen = field.part === 'evtData' && field.key !== 'Items' && field.saw('nested');
    if (!seen) return undefined;
    const what = `${some(seen, field)} objects or arrays, which events do not take`;
    return { what, fix: 'flatten them', code: recordCodes.eventStructure, seen };
  },
  // spec, Profile record: whatever is not in profileData is no part of it
  'outside-data': ({ part, key }) =>
    part === 'record' && !recordKeys.has(key)
      ? {
          what: 'stands beside the data of the record, where the service does not look',
          fix: 'move it into profileData or evtData',
        }
      : undefined,
  // facts, Upload: an unknown identity creates a profile
  'padded-identity': (field) => {
    const isKey = field.part === 'record' && keys.has(field.key);
    const seen = isKey && field.saw('padded');
    if (!seen) return undefined;
    const what = `${some(seen, field)} surrounded by spaces, like ${shown(seen)}`;
    return { what, fix: 'take the spaces away: with them it is another user', seen };
  },
  // what spreadsheets make of long numbers
  'shortened-number': (field) => {
    const seen = field.saw('scientific');
    if (!seen) return undefined;
    const what = `${some(seen, field)} like ${shown(seen)}: a spreadsheet has shortened it`;
    return { what, fix: 'export the column as text', seen };
  },
  // facts, Upload: default fields
  'field-spelling': ({ key, part }, { column, hasKey, flag }) => {
    const meant = part === 'profileData' ? meantKey(key) : undefined;
    if (meant === undefined || hasKey(meant)) return undefined;
    const what = `is sent as a custom field "${key}"; the service's own is "${meant}"`;
    return { what, fix: flag(`--map "${column}=${meant}"`) };
  },
  // spec, Profile record: flags are boolean
  'flag-as-text': (field, { column, flag }) => {
    const texts = field.types.get('string') ?? 0;
    if (field.part !== 'profileData' || !isFlag(field.key) || texts === 0) return undefined;
    const what = `${texts} values are text; the flag is true or false without quotes`;
    return { what, fix: flag(`--types "${column}:boolean"`) };
  },
  // spec, Profile record: one type is the other endpoint record's
  'event-as-profile': ({ key, part }) =>
    part === 'profileData' && key === 'evtName'
      ? { what: 'is the name of an event, and profiles are sent', fix: '--type event' }
      : undefined,
  // facts, Upload: dates are $D_<epoch seconds>
  milliseconds: (field) => {
    const seen = field.key === 'Phone' ? undefined : column(field, 'milliseconds');
    if (!seen) return undefined;
    const what = `${some(seen, field)} like ${shown(seen)}: probably milliseconds`;
    return { what, fix: 'write seconds and type them as a date, if a date is meant', seen };
  },
  // facts, Upload: dates are $D_<epoch seconds>
  'date-as-text': (field, context) => {
    const seen = column(field, 'day or time');
    if (!seen || field.key === 'DOB') return undefined;
    const fix = dateFix(seen, context.flag(`--types "${context.column}:date"`));
    return { what: `dates like ${shown(seen)} are sent as text`, fix, seen };
  },
  // spec, Profile record: a value keeps its type
  'number-as-text': (field, context) => {
    const seen = column(field, 'integer') ?? column(field, 'number');
    if (!seen || profileFields.has(field.key) || isFlag(field.key)) return undefined;
    const isWhole = field.saw('number') === undefined;
    const typed = `--types "${context.column}:${isWhole ? 'integer' : 'number'}"`;
    const fix = `${context.flag(typed)}; leave codes as text`;
    return { what: `numbers like ${shown(seen)} are sent as text`, fix, seen };
  },
  // spec, Profile record: a value keeps its type
  'boolean-as-text': (field, context) => {
    const seen = column(field, 'boolean');
    if (!seen || profileFields.has(field.key) || isFlag(field.key)) return undefined;
    const what = `values like ${shown(seen)} are sent as text`;
    return { what, fix: context.flag(`--types "${context.column}:boolean"`), seen };
  },
  // contract §2, upload: only an empty cell is left out
  placeholder: (field) => {
    const seen = field.saw('placeholder');
    if (!seen) return undefined;
    const what = `${some(seen, field)} the text ${shown(seen)}`;
    return { what, fix: 'leave such cells empty: they are not sent then', seen };
  },
};

const keys = new Set(['identity', 'objectId', 'FBID', 'GPID']);
const recordKeys = new Set([...keys, 'ts', 'evtName', 'profileData', 'evtData']);

/** A look that nearly all values of a data column have. */
function column(field: Field, look: Trait): Sighting | undefined {
  const seen = field.part === 'record' ? undefined : field.saw(look);
  return seen && seen.count >= mostly * field.count ? seen : undefined;
}

/** The date type reads ISO 8601 only. */
const dateFix = ({ example }: Sighting, typed: string): string =>
  /^\d{4}-/.test(example) ? typed : `write YYYY-MM-DD, then ${typed}`;

function some({ count }: Sighting, field: Field): string {
  if (field.count === 1) return 'the only value is';
  if (count === field.count) return `all ${grouped(count)} values are`;
  return `${grouped(count)} of ${grouped(field.count)} values ${count === 1 ? 'is' : 'are'}`;
}

const grouped = (count: number): string => count.toLocaleString('en-US');

const shown = ({ example }: Sighting): string => JSON.stringify(example);
