import { subscriptionStatuses, subscriptionTypes } from '../contract/record-fields.js';
import { TextSlice } from '../text/text-slice.js';
import { missingColumnsError } from './columns.js';
import { quoteValue, addressError, placeholderError, keyHash, keySeeds } from './identity.js';
import { valueError, RowValues } from './row-values.js';
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
  /** Whether to send lines of a rejects file with stage `unknown`. */
  readonly retryUnknown: boolean;
}

const parts = ['type', 'value', 'status'] as const;
/** Longer texts cannot be a type or status, and are not converted to strings. */
const longestWord = 20;

const keysOf = ({ type }: SubscribeMapping): KeyLocation => ({
  cells: (header) => ({
    key: [header.indexOf('value'), -1],
    before: { column: header.indexOf('type'), ofEmpty: `${type ?? ''}\0` },
  }),
  member: undefined, // the key has two parts
});

/** Maps rows with columns or members `type`, `value`, `status` to subscription records (endpoint 2). */
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
      ? `add the missing columns to the file, or use ${flags.join(' and ')}`
      : flags.length === 0
        ? 'name the column of the numbers or addresses "value"'
        : 'name the columns "type", "value" and "status"; a list of values alone needs --type <type> and --status <status>';
    throw missingColumnsError(missing, header, source, fix);
  };

  /** Returns the documented spelling of a row's type or status, or why it is invalid. */
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
    return valueError(part, `${quoteValue(text)} is not one of ${Object.values(words).join(', ')}`);
  };

  const valueFault = (): RejectReason | undefined => {
    const fault = addressError(text) ?? placeholderError(values, text);
    return fault === undefined ? undefined : valueError('value', fault);
  };

  const write = (): RejectReason | undefined => {
    if (!values.isNamed) return validationError('a record must be a JSON object');
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
      return records.build(rows, (row) => values.moveTo(rows, row) ?? write(), picked);
    },
  };
}
