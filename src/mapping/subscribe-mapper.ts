import { subscriptionStatuses, subscriptionTypes } from '../contract/record-fields.js';
import { TextSlice } from '../text/text-slice.js';
import { textRules } from './cell-types.js';
import { missingColumnsError } from './columns.js';
import { quoteValue, addressError, addressHash, placeholderError, keySeeds } from './identity.js';
import { valueError, RowValues, UnseenMembers, type ValueRules } from './row-values.js';
import type { UploadMapping } from './upload-mapping.js';
import {
  validationError,
  RecordBuilder,
  type RejectReason,
  type KeyLocation,
  type Mapper,
} from './record-block.js';

type SubscriptionType = keyof typeof subscriptionTypes;
type SubscriptionStatus = (typeof subscriptionStatuses)[keyof typeof subscriptionStatuses];

export interface SubscribeMapping {
  /** Type and status of rows without them. */
  readonly type?: SubscriptionType;
  readonly status?: SubscriptionStatus;
  /** Columns whose names differ from their parts, by part. */
  readonly columns: ReadonlyMap<string, string>;
  readonly types: UploadMapping['types'];
  readonly lowercase: ReadonlySet<string>;
  /** Whether to send lines of a rejects file with stage `unknown`. */
  readonly retryUnknown: boolean;
}

export const parts = ['type', 'value', 'status'] as const;
/** Spellings that are not read: what such a column says is never replaced by `--type` or `--status`. */
const otherSpellings = { type: ['Type', 'TYPE'], status: ['Status', 'STATUS'] } as const;
/** Words of other programs for a status, in lower case. */
const statusWords: Readonly<Record<string, SubscriptionStatus>> = {
  ...subscriptionStatuses,
  unsubscribed: 'Unsubscribe',
  'opt-out': 'Unsubscribe',
  opt_out: 'Unsubscribe',
  'opted-out': 'Unsubscribe',
  opted_out: 'Unsubscribe',
  resubscribed: 'Resubscribe',
  'opt-in': 'Resubscribe',
  opt_in: 'Resubscribe',
  'opted-in': 'Resubscribe',
  opted_in: 'Resubscribe',
};
/** Longer texts cannot be a type or status, and are not converted to strings. */
const longestWord = 20;

const keysOf = ({ type, columns, types, lowercase }: SubscribeMapping): KeyLocation => ({
  cells: (header) =>
    types.size + lowercase.size > 0
      ? undefined // the key is that of the converted value
      : {
          key: [header.indexOf(columns.get('value') ?? 'value'), -1],
          before: {
            column: header.indexOf(columns.get('type') ?? 'type'),
            ofEmpty: `${type ?? ''}\0`,
          },
        },
  member: undefined, // the key has two parts
});

/** Marks around or between addresses: `Ann <a@x.test>`, `mailto:a@x.test`, `'a@x.test'`, `a@x.test;b@x.test`. */
const addressMarks = /[<>,;:[\]]|[^\p{L}\p{M}\p{N}.]$/u;

/**
 * Returns why a text is not a single address or number, or undefined. The service would accept it, and people who
 * unsubscribed would still get messages.
 */
function addressMarkError(text: TextSlice): string | undefined {
  const mark = addressMarks.exec(text.toString())?.[0];
  if (mark === undefined) return undefined;
  return `${quoteValue(text)} contains ${JSON.stringify(mark)}: give one address or number per row, without a name, quotes, brackets or a prefix`;
}

/** Maps rows with columns or members `type`, `value`, `status` to subscription records (endpoint 2). */
export function subscribeMapper(options: SubscribeMapping): Mapper {
  const records = new RecordBuilder();
  const { out } = records;
  const names = [...parts, ...otherSpellings.type, ...otherSpellings.status];
  const values = new RowValues(names, options.retryUnknown, rulesOf(options));
  const text = new TextSlice();
  const named = namedColumns(options);
  const members = new UnseenMembers(named);

  const check = (header: readonly string[], source: string): void => {
    const unknown = named.filter((column) => !header.includes(column));
    if (unknown.length > 0) throw missingColumnsError(unknown, header, source);
    checkParts(header, source, options);
  };

  /** Returns the documented spelling of a row's type or status, or why it is invalid. */
  const word = <T extends string>(
    part: 'type' | 'status',
    words: Readonly<Record<string, T>>,
    supplied: T | undefined,
  ): T | RejectReason => {
    const failure = values.readOptional(part, text);
    if (failure) return failure;
    if (text.isEmpty && supplied !== undefined)
      return spellingError(part, values, options) ?? supplied;
    const typed = text.end - text.start > longestWord ? '' : text.toString().toLowerCase();
    if (Object.hasOwn(words, typed)) return words[typed]!;
    return valueError(values.columnOf(part), `${quoteValue(text)} is not one of ${listed(words)}`);
  };

  const valueFailure = (): RejectReason | undefined => {
    const failure = addressError(text) ?? placeholderError(values, text) ?? addressMarkError(text);
    return failure === undefined ? undefined : valueError(values.columnOf('value'), failure);
  };

  const write = (): RejectReason | undefined => {
    if (!values.isNamed) return validationError('a record must be a JSON object');
    const type = word('type', subscriptionTypes, options.type);
    const status = word('status', statusWords, options.status);
    const failure = values.readOptional('value', text) ?? valueFailure();
    if (typeof type === 'object' || typeof status === 'object' || failure) {
      const failures = [type, status, failure].filter((each) => typeof each === 'object');
      return validationError(failures.map(({ error }) => error).join('; '));
    }
    out.ascii(`{"type":"${type}","value":"`);
    out.escaped(text.bytes, text.start, text.end);
    out.ascii(`","status":"${status}"}`);
    records.key = addressHash(text, seedOf(type));
    return undefined;
  };

  return {
    keys: keysOf(options),
    check,
    namedColumns: named,
    unseenColumns: () => members.names,
    map(rows, picked) {
      if (rows.cells) check(rows.cells.header, rows.source);
      else members.look(rows);
      return records.build(rows, (row) => values.moveTo(rows, row) ?? write(), picked);
    },
  };
}

const rulesOf = (options: SubscribeMapping): ValueRules => ({
  columns: options.columns,
  ...textRules(options),
});

const seedOf = (type: SubscriptionType): number => keySeeds.subscription ^ type.charCodeAt(0);

const namedColumns = ({ columns, types, lowercase }: SubscribeMapping): readonly string[] => [
  ...new Set([...columns.values(), ...types.keys(), ...lowercase]),
];

const listed = (words: Readonly<Record<string, string>>): string =>
  [...new Set(Object.values(words))].join(', ');

/** Returns what to do about columns that a header does not have. */
function fixFor(missing: readonly (typeof parts)[number][]): string {
  const others = missing.filter((part) => part !== 'value');
  const flags = others.map((part) => `--${part} <${part}>`);
  if (!missing.includes('value')) {
    const maps = others.map((part) => `--map <column>=${part}`);
    return `name the columns with ${maps.join(' and ')}; if the file has none, use ${flags.join(' and ')} for all of its rows`;
  }
  return flags.length === 0
    ? 'name the column of the numbers or addresses with --map <column>=value'
    : 'name the columns with --map <column>=type, =value and =status; a list of values alone needs --type <type> and --status <status>';
}

/** Returns what to do about a column in another spelling, beside a flag for records without it. */
const fixForSpelling = (part: 'type' | 'status', column: string): string =>
  `use --map ${column}=${part}; to send one ${part} for all, remove or rename "${column}"`;

/** Refuses a header that lacks a part, or has it in a spelling that would not be read. */
function checkParts(header: readonly string[], source: string, options: SubscribeMapping): void {
  const lacking = parts.filter((part) => !header.includes(options.columns.get(part) ?? part));
  const missing = lacking.filter((part) => part === 'value' || options[part] === undefined);
  if (missing.length > 0) throw missingColumnsError(missing, header, source, fixFor(missing));
  for (const part of lacking) {
    if (part === 'value') continue;
    const other = otherSpellings[part].find((name) => header.includes(name));
    if (other === undefined) continue;
    throw missingColumnsError([part], header, source, fixForSpelling(part, other));
  }
}

/** Returns why a record whose part has another spelling is invalid, or undefined. */
function spellingError(
  part: 'type' | 'status',
  values: RowValues<string>,
  { columns }: SubscribeMapping,
): RejectReason | undefined {
  const other = otherSpellings[part].find((name) => values.has(name));
  if (other === undefined || columns.has(part) || values.has(part)) return undefined;
  return valueError(other, `not read as the ${part}: ${fixForSpelling(part, other)}`);
}
