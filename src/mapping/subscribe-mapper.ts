import { subscriptionStatuses, subscriptionTypes } from '../contract/record-fields.js';
import { TextSlice } from '../text/text-slice.js';
import { missingColumnsError } from './columns.js';
import { quoteValue, nameError, keyHash, keySeeds } from './identity.js';
import { valueError, RowValues } from './row-values.js';
import {
  validationError,
  RecordBuilder,
  type RejectReason,
  type KeyPlaces,
  type Mapper,
} from './record-block.js';

type SubscriptionType = keyof typeof subscriptionTypes;
type SubscriptionStatus = (typeof subscriptionStatuses)[keyof typeof subscriptionStatuses];

export interface SubscribeMapping {
  /** Of rows that have none. */
  readonly type?: SubscriptionType;
  readonly status?: SubscriptionStatus;
  /** Whether lines of a rejects file with stage `unknown` are sent. */
  readonly retryUnknown: boolean;
}

const parts = ['type', 'value', 'status'] as const;
/** Longer texts are no word, and need not be made strings. */
const longestWord = 20;

const keysOf = ({ type }: SubscribeMapping): KeyPlaces => ({
  cells: (header) => ({
    key: [header.indexOf('value'), -1],
    before: { column: header.indexOf('type'), ofEmpty: `${type ?? ''}\0` },
  }),
  member: undefined, // the key has two parts
});

/** Rows to subscription records (endpoint 2): columns or members `type`, `value`, `status`. */
export function subscribeMapper(options: SubscribeMapping): Mapper {
  const records = new RecordBuilder();
  const { out } = records;
  const values = new RowValues(parts, options.retryUnknown);
  const text = new TextSlice();

  const check = (header: readonly string[], source: string): void => {
    const missing = parts.filter(
      (part) => !header.includes(part) && (part === 'value' || options[part] === undefined),
    );
    if (missing.length === 0) return;
    const flags = missing.filter((part) => part !== 'value').map((part) => `--${part} <${part}>`);
    const fix = !missing.includes('value')
      ? `add to the file what is missing, or use ${flags.join(' and ')}`
      : flags.length === 0
        ? 'call the column of the numbers or addresses "value"'
        : 'call the columns "type", "value" and "status"; a list of values alone needs --type <type> and --status <status>';
    throw missingColumnsError(missing, header, source, fix);
  };

  /** The documented spelling of a row's word, or why it has none. */
  const word = <T extends string>(
    part: 'type' | 'status',
    words: Readonly<Record<string, T>>,
    supplied: T | undefined,
  ): T | RejectReason => {
    const fault = values.readOptional(part, text);
    if (fault) return fault;
    if (text.isEmpty && supplied !== undefined) return supplied;
    const typed = text.end - text.start > longestWord ? '' : text.toString().toLowerCase();
    if (Object.hasOwn(words, typed)) return words[typed]!;
    return valueError(part, `${quoteValue(text)} is none of ${Object.values(words).join(', ')}`);
  };

  const valueFault = (): RejectReason | undefined => {
    const fault = nameError(text);
    return fault === undefined ? undefined : valueError('value', fault);
  };

  const write = (): RejectReason | undefined => {
    if (!values.isNamed) return validationError('a record is a JSON object');
    const type = word('type', subscriptionTypes, options.type);
    const status = word('status', subscriptionStatuses, options.status);
    const fault = values.readOptional('value', text) ?? valueFault();
    if (typeof type === 'object' || typeof status === 'object' || fault) {
      const faults = [type, status, fault].filter((each) => typeof each === 'object');
      return validationError(faults.map(({ error }) => error).join('; '));
    }
    out.ascii(`{"type":"${type}","value":"`);
    out.escaped(text.bytes, text.start, text.end);
    out.ascii(`","status":"${status}"}`);
    const seed = keySeeds.subscription ^ type.charCodeAt(0);
    records.key = keyHash(text.bytes, text.start, text.end, seed);
    return undefined;
  };

  return {
    keys: keysOf(options),
    check,
    map(rows, picked) {
      if (rows.cells) check(rows.cells.header, rows.source);
      return records.build(rows, (row) => values.to(rows, row) ?? write(), picked);
    },
  };
}
