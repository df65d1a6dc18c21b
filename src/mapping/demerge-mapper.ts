import { TextSlice } from '../text/text-slice.js';
import { writeString } from './cell-types.js';
import { missingColumnsError } from './columns.js';
import { unlistedIdentity } from './exported-csv.js';
import { placeholderError, setKey } from './identity.js';
import { valueError, RowValues, UnseenMembers } from './row-values.js';
import { validationError, RecordBuilder, type RejectReason, type Mapper } from './record-block.js';

const defaultIdentity = 'identity';
/** Column of a CSV export that no spreadsheet changes. */
const listColumn = 'all_identities';

interface DemergeMapping {
  /** Column, member or path that contains the identity. */
  readonly identity: string;
  /** Whether to send lines of a rejects file with stage `unknown`. */
  readonly retryUnknown: boolean;
}

/**
 * Maps rows to identities (endpoint 8): a record is the identity as a JSON string. However the input
 * escapes or quotes an identity, its record has the same bytes, so that duplicates are found.
 */
export function demergeMapper({ identity, retryUnknown }: DemergeMapping): Mapper {
  const records = new RecordBuilder();
  const values = new RowValues([identity, listColumn], retryUnknown);
  const [text, list] = [new TextSlice(), new TextSlice()];
  const named = identity === defaultIdentity ? [] : [identity];
  const members = new UnseenMembers(named);

  const check = (header: readonly string[], source: string): void => {
    if (header.includes(identity)) return;
    throw missingColumnsError(
      [identity],
      header,
      source,
      'set the column with --identity <column>, or read each line as one identity with --input-format list',
    );
  };

  const read = (): RejectReason | undefined => {
    if (values.isNamed) return values.read(identity, text);
    return values.readWhole(text)
      ? undefined
      : validationError('a record must be a JSON object or string');
  };

  /** Returns why the row of a CSV export has another identity than its user. */
  const changed = (): string | undefined => {
    if (identity !== defaultIdentity || !values.isNamed || !values.has(listColumn))
      return undefined;
    const isText = values.readOptional(listColumn, list) === undefined;
    return isText ? unlistedIdentity(text.toString(), list.toString()) : undefined;
  };

  const write = (): RejectReason | undefined => {
    records.idempotent = false;
    const failure =
      setKey('identity', text, records) ?? placeholderError(values, text) ?? changed();
    if (failure !== undefined) return valueError(identity, failure);
    return writeString(text, records);
  };

  return {
    keys: {
      cells: (header) => ({ key: [header.indexOf(identity), -1] }),
      member: identity.includes('.') ? undefined : identity, // a path
    },
    check,
    namedColumns: named,
    unseenColumns: () => members.names,
    map(rows, picked) {
      if (rows.cells) check(rows.cells.header, rows.source);
      else members.look(rows);
      return records.build(rows, (row) => values.moveTo(rows, row) ?? read() ?? write(), picked);
    },
  };
}
