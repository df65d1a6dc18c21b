import { CellText } from '../text/text-slice.js';
import { writeString } from './cell-types.js';
import { missingColumns } from './columns.js';
import { takeKey } from './identity.js';
import { faultOf, NamedValues } from './row-values.js';
import { invalid, RecordBuilder, type Fault, type Mapper } from './record-block.js';

interface DemergeMapping {
  /** Column or member of the identity. */
  readonly identity: string;
  /** Whether lines of a rejects file with stage `unknown` are sent. */
  readonly retryUnknown: boolean;
}

/**
 * Rows to identities (endpoint 8): a record is the identity as a JSON string. However the input
 * escapes or quotes an identity, its record has the same bytes, so that duplicates can be found.
 */
export function demergeMapper({ identity, retryUnknown }: DemergeMapping): Mapper {
  const records = new RecordBuilder();
  const values = new NamedValues([identity], retryUnknown);
  const text = new CellText();

  const check = (header: readonly string[], source: string): void => {
    if (header.includes(identity)) return;
    throw missingColumns([identity], header, source, 'name the column with --identity <column>');
  };

  const read = (): Fault | undefined => {
    if (values.isNamed) return values.read(identity, text);
    return values.readWhole(text) ? undefined : invalid('a record is a JSON object or string');
  };

  const write = (): Fault | undefined => {
    records.converges = false;
    const fault = takeKey('identity', text, records);
    if (fault !== undefined) return faultOf(identity, fault);
    return writeString(text, records);
  };

  return {
    keys: { cells: (header) => ({ key: [header.indexOf(identity), -1] }), member: identity },
    check,
    map(rows, picked) {
      if (rows.cells) check(rows.cells.header, rows.source);
      return records.build(rows, (row) => values.to(rows, row) ?? read() ?? write(), picked);
    },
  };
}
