import { subscriptionStatuses, subscriptionTypes } from '../contract/record-fields.js';
import { quoteValue, TextSlice } from '../text/text-slice.js';
import { textRules } from './cell-types.js';
import { missingColumnsError } from './columns.js';
import { addressError, addressHash, placeholderError, keySeeds } from './identity.js';
import { valueError, RowValues, UnseenMembers, type ValueRules } from './row-values.js';
import { quoteForShell } from '../wording.js';
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
  readonly cleaning?: UploadMapping['cleaning'];
  /** Whether to send lines of a rejects file with stage `unknown`. */
  readonly retryUnknown: boolean;
}

export const parts = ['type', 'value', 'status'] as const;
/** Columns that are not read, but must not contradict `--type` or `--status`, such as `Status ` and `subscription_status`. */
const similarColumns = {
  type: /^[\W_]*type[\W_]*$/i,
  status: /^[\W_]*(?:subscription[\W_]*)?status[\W_]*$/i,
} as const;
/** Words of other programs for a status, in lower case. */
const statusWords: Words<SubscriptionStatus> = {
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
/** The same, and words that are never read as a status, but can contradict the one of `--status`. */
const statesOfUsers: Words<SubscriptionStatus> = {
  ...statusWords,
  subscribe: 'Resubscribe',
  subscribed: 'Resubscribe',
  optin: 'Resubscribe',
  optout: 'Unsubscribe',
};
/** Longer texts cannot be a type or status, and are not converted to strings. */
const longestWord = 20;

type Words<T> = Readonly<Record<string, T>>;

function wordOf<T>(text: TextSlice, words: Words<T>, clean = asTyped): T | undefined {
  const typed = text.end - text.start > longestWord ? '' : clean(text.toString().toLowerCase());
  return Object.hasOwn(words, typed) ? words[typed] : undefined;
}

const asTyped = (word: string): string => word;
/** Also recognizes `opted out`, and words with spaces around them. */
const asMeant = (word: string): string => word.trim().replaceAll(/\s+/g, '-');

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

/** Marks around or between addresses: `Ann <a@x.test>`, `mailto:a@x.test`, `'a@x.test`, `a@x.test;b@x.test`. */
const addressMarks = /^['‘’`=]|[<>,;:[\]]|[^\p{L}\p{M}\p{N}.]$/u;
/** Characters that no email address starts with, as in `(a@x.test` and `→a@x.test`. Most others are allowed before the `@`. */
const emailStartMarks =
  /^(?:[()*|\\]|(?!\p{ASCII})\p{P}|(?!\p{ASCII}|\p{Extended_Pictographic})\p{S})/u;
/** ASCII characters that no domain has, as in `a@x.test|b` and `a@x.test/b`. */
const domainMarks = /[!-,/:-@[-^`{-~]/;
/** What no email address has beside its `@`: another one, or a blank. A phone number may have blanks. */
const secondAddress = /[@\s]/u;

/** What no phone number has: letters, a plus sign behind its start, and marks that separate two numbers, as in `+47… / +47…`. */
const numberMarks = /(?!^)\+|[&/，、\p{L}]/u;

/**
 * Returns why a text is not a single address or number, or undefined. The service would accept it, and people who
 * unsubscribed would still get messages.
 */
function addressMarkError(text: TextSlice, type: unknown): string | undefined {
  const value = text.toString();
  const isEmail = value.includes('@');
  const isNumber = !isEmail && (type === 'phone' || type === 'whatsapp');
  const found =
    addressMarks.exec(value) ??
    (isEmail ? (secondAddress.exec(value.replace('@', '')) ?? emailMark(value)) : null) ??
    (isNumber ? numberMarks.exec(value) : null);
  const mark = found?.[0];
  if (mark === undefined) return undefined;
  return `${quoteValue(text)} contains ${JSON.stringify(mark)}: give one address or number per row, without a name, quotes, brackets or a prefix`;
}

/** Finds a mark in front of an email address or in its domain. */
const emailMark = (value: string): RegExpExecArray | null =>
  emailStartMarks.exec(value) ?? domainMarks.exec(value.slice(value.lastIndexOf('@') + 1));

/** Maps rows with columns or members `type`, `value`, `status` to subscription records (endpoint 2). */
export function subscribeMapper(options: SubscribeMapping): Mapper {
  const records = new RecordBuilder();
  const { out } = records;
  const values = new RowValues(parts, options.retryUnknown, rulesOf(options));
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
    words: Words<T>,
    supplied: T | undefined,
  ): T | RejectReason => {
    const failure = values.readOptional(part, text);
    if (failure) return failure;
    if (text.isEmpty && supplied !== undefined)
      return contradiction(values, { part, words, supplied }) ?? supplied;
    return (
      wordOf(text, words) ??
      valueError(values.columnOf(part), `${quoteValue(text)} is not one of ${listed(words)}`)
    );
  };

  const valueFailure = (type: unknown): RejectReason | undefined => {
    const failure =
      addressError(text) ?? placeholderError(values, text) ?? addressMarkError(text, type);
    return failure === undefined ? undefined : valueError(values.columnOf('value'), failure);
  };

  const write = (): RejectReason | undefined => {
    if (!values.isNamed) return validationError('a record must be a JSON object');
    const type = word('type', subscriptionTypes, options.type);
    const status = word('status', statusWords, options.status);
    const failure = values.readOptional('value', text) ?? valueFailure(type);
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

/** Refuses a header that lacks a part which no flag supplies. */
function checkParts(header: readonly string[], source: string, options: SubscribeMapping): void {
  const missing = parts.filter(
    (part) =>
      !header.includes(options.columns.get(part) ?? part) &&
      (part === 'value' || options[part] === undefined),
  );
  if (missing.length > 0) throw missingColumnsError(missing, header, source, fixFor(missing));
}

interface Supplied<T> {
  readonly part: 'type' | 'status';
  readonly words: Words<T>;
  readonly supplied: T;
}

/** Returns why a row has another type or status, in a column of another spelling, than a flag supplies; or undefined. */
function contradiction<T extends string>(
  values: RowValues<(typeof parts)[number]>,
  { part, words, supplied }: Supplied<T>,
): RejectReason | undefined {
  const text = new TextSlice();
  for (const index of values.named(similarColumns[part])) {
    const column = values.nameAt(index);
    if (values.readAt(index, column, text)) continue;
    const found = wordOf<string>(text, part === 'status' ? statesOfUsers : words, asMeant);
    if (found === undefined || found === supplied) continue;
    return valueError(
      column,
      `is ${found}, and --${part} is ${supplied}: read it with --map ${quoteForShell(`${column}=${part}`)}, or rename ${JSON.stringify(column)}`,
    );
  }
  return undefined;
}
