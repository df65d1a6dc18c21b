import { subscriptionStatuses, subscriptionTypes } from '../contract/subscriptions.js';
import type { RowBlock } from '../input/rows.js';
import { CellText } from './cell-text.js';
import { columnFault, missingColumns } from './columns.js';
import { shown, textFault } from './identity.js';
import { readJsonRecord } from './json-record.js';
import { JsonText } from './json-text.js';
import { token } from './json-tokens.js';
import { named } from './member-names.js';
import { hashBytes, keySeeds, recordKey } from './key-hash.js';
import { invalid, RecordBuilder, type Fault } from './record-builder.js';
import type { Mapper, RecordBlock } from './records.js';

type Part = 'type' | 'value' | 'status';
type SubscriptionType = keyof typeof subscriptionTypes;
type SubscriptionStatus = (typeof subscriptionStatuses)[keyof typeof subscriptionStatuses];

export interface SubscribeMapping {
  /** Of rows that have none. */
  readonly type?: SubscriptionType;
  readonly status?: SubscriptionStatus;
  /** Whether lines of a rejects file with stage `unknown` are sent. */
  readonly retryUnknown: boolean;
}

/** Reads a part's text, until the next call; says why there is none. */
type Read = (part: Part, text: CellText) => string | undefined;

const parts: readonly Part[] = ['type', 'value', 'status'];

/** Rows to subscription records (endpoint 2): columns or members `type`, `value`, `status`. */
export function subscribeMapper(options: SubscribeMapping): Mapper {
  const records = new RecordBuilder();
  const write = subscriptionWriter(options, records);
  const json = new JsonText();

  const check = (header: readonly string[], source: string): void => {
    const missing = parts.filter(
      (part) => !header.includes(part) && (part === 'value' || options[part] === undefined),
    );
    if (missing.length === 0) return;
    const flags = missing.filter((part) => part !== 'value').map((part) => `--${part} <${part}>`);
    throw missingColumns(
      missing,
      header,
      source,
      ['add to the file what is missing', ...flags].join(', or use '),
    );
  };

  const mapCsv = (rows: RowBlock, { header, bounds }: NonNullable<RowBlock['cells']>) => {
    const columns = {
      type: header.indexOf('type'),
      value: header.indexOf('value'),
      status: header.indexOf('status'),
    };
    let first = 0;
    const read: Read = (part, text) => {
      const at = first + 2 * columns[part];
      if (columns[part] < 0) text.ofCell(rows.bytes, 0, 0);
      else text.ofCell(rows.bytes, bounds[at]!, bounds[at + 1]!);
      return undefined;
    };
    return records.build(rows, (row) => {
      first = 2 * row * header.length;
      return write(read);
    });
  };

  const readMember: Read = (part, text) => {
    const index = json.find(named[part]);
    if (index < 0 || json.isEmptyAt(index)) text.ofCell(json.bytes, 0, 0);
    else if (!json.stringAt(index, text)) return 'the value is no string: put it in quotes';
    return undefined;
  };

  const map = (rows: RowBlock): RecordBlock => {
    if (rows.cells) {
      check(rows.cells.header, rows.source);
      return mapCsv(rows, rows.cells);
    }
    return records.build(rows, (row) => {
      const fault = readJsonRecord(json, rows, row, options.retryUnknown);
      if (fault) return fault;
      if (json.kind !== token.openObject) return invalid('a record is a JSON object');
      return write(readMember);
    });
  };

  return { check, map };
}

function subscriptionWriter(options: SubscribeMapping, records: RecordBuilder) {
  const { out } = records;
  const text = new CellText();

  const word = <T extends string>(
    read: Read,
    part: 'type' | 'status',
    words: Readonly<Record<string, T>>,
  ): T | Fault => {
    const fault = read(part, text);
    if (fault !== undefined) return invalid(columnFault(part, fault));
    const supplied = options[part] as T | undefined;
    if (text.isEmpty && supplied !== undefined) return supplied;
    // longer texts are no word, and need not be made strings
    const typed = text.end - text.start > 20 ? '' : text.toString().toLowerCase();
    if (Object.hasOwn(words, typed)) return words[typed]!;
    const known = Object.values(words).join(', ');
    return invalid(columnFault(part, `${shown(text)} is none of ${known}`));
  };

  return (read: Read): Fault | undefined => {
    const type = word(read, 'type', subscriptionTypes);
    if (typeof type === 'object') return type;
    const status = word(read, 'status', subscriptionStatuses);
    if (typeof status === 'object') return status;
    const fault = read('value', text) ?? textFault(text);
    if (fault !== undefined) return invalid(columnFault('value', fault));
    out.ascii(`{"type":"${type}","value":"`);
    out.escaped(text.bytes, text.start, text.end);
    out.ascii(`","status":"${status}"}`);
    const seed = keySeeds.subscription ^ type.charCodeAt(0);
    records.key = recordKey(hashBytes(text.bytes, text.start, text.end, seed));
    return undefined;
  };
}
