import type { RowBlock } from '../input/rows.js';
import { CellText } from './cell-text.js';
import { columnFault, missingColumns } from './columns.js';
import { readJsonRecord } from './json-record.js';
import { JsonText } from './json-text.js';
import { token } from './json-tokens.js';
import { invalid, RecordBuilder, type Fault } from './record-builder.js';
import { takeKey } from './record-key.js';
import type { Mapper, RecordBlock } from './records.js';
import { writeString } from './typed-cell.js';

export interface DemergeMapping {
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
  const json = new JsonText();
  const text = new CellText();
  const member = json.named(identity);

  const write = (): Fault | undefined => {
    records.converges = false;
    const fault = takeKey('identity', text, records);
    if (fault !== undefined) return invalid(columnFault(identity, fault));
    writeString(text, records.out);
    return undefined;
  };

  const check = (header: readonly string[], source: string): void => {
    if (header.includes(identity)) return;
    throw missingColumns([identity], header, source, 'name the column with --identity <column>');
  };

  const mapCsv = (rows: RowBlock, { header, bounds }: NonNullable<RowBlock['cells']>) => {
    const column = header.indexOf(identity);
    return records.build(rows, (row) => {
      const at = 2 * (row * header.length + column);
      text.ofCell(rows.bytes, bounds[at]!, bounds[at + 1]!);
      return write();
    });
  };

  /** A string, or an object with a string as its identity. */
  const writeJson = (): Fault | undefined => {
    if (json.kind === token.quote) {
      text.ofJson(json.bytes, json.start + 1, json.end - 1);
      return write();
    }
    if (json.kind !== token.openObject) return invalid('a record is a JSON object or string');
    const index = json.find(member);
    if (index < 0) return invalid(columnFault(identity, 'the value is missing'));
    if (json.stringAt(index, text)) return write();
    return invalid(columnFault(identity, 'the value is no string: put it in quotes'));
  };

  const map = (rows: RowBlock): RecordBlock => {
    if (rows.cells) {
      check(rows.cells.header, rows.source);
      return mapCsv(rows, rows.cells);
    }
    return records.build(
      rows,
      (row) => readJsonRecord(json, rows, row, retryUnknown) ?? writeJson(),
    );
  };

  return { check, map };
}
