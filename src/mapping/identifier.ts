import type { EngagectlError } from '../errors.js';
import type { RowBlock } from '../input/rows.js';
import { CellText } from './cell-text.js';
import { columnFault, missingColumns } from './columns.js';
import { identifierKinds, type IdentifierKind } from './identifier-kinds.js';
import { identityFault, objectIdFault } from './identity.js';
import { readJsonRecord } from './json-record.js';
import { JsonText } from './json-text.js';
import { token } from './json-tokens.js';
import { named } from './member-names.js';
import { invalid, type Fault } from './record-builder.js';

export interface Identifier {
  readonly by: IdentifierKind;
  readonly value: string;
}

export interface IdentifierReader {
  /** Throws E-COLUMN-MISSING when a CSV has no column to read from. */
  check(header: readonly string[], source: string): void;
  /** The row's identifier, or why it has none. */
  read(rows: RowBlock, row: number): Identifier | Fault;
}

/** Rows to identifiers: of the kind `by`, else of the first kind that a row or header has. */
export function identifierReader(by: IdentifierKind | undefined): IdentifierReader {
  const kinds = by === undefined ? identifierKinds : [by];
  const json = new JsonText();
  const text = new CellText();

  const checked = (kind: IdentifierKind): Identifier | Fault => {
    const fault = kind === 'objectId' ? objectIdFault(text) : identityFault(text);
    return fault === undefined
      ? { by: kind, value: text.toString() }
      : invalid(columnFault(kind, fault));
  };

  const ofCsv = (
    rows: RowBlock,
    { header, bounds }: NonNullable<RowBlock['cells']>,
    row: number,
  ) => {
    const kind = kinds.find((kind) => header.includes(kind));
    if (kind === undefined) throw noColumn(kinds, header, rows.source);
    const at = 2 * (row * header.length + header.indexOf(kind));
    text.ofCell(rows.bytes, bounds[at]!, bounds[at + 1]!);
    return checked(kind);
  };

  /** `json` holds an object with an identifier, or a string that is one. */
  const ofJson = (): Identifier | Fault => {
    if (json.kind === token.quote) return ofString(by ?? 'identity', json.start, json.end);
    const kind = kinds.find((kind) => json.find(named[kind]) >= 0);
    if (kind === undefined) return invalid(`"${kinds.join('" or "')}" is missing`);
    const index = json.find(named[kind]);
    if (json.kindOf(index) === token.quote) {
      return ofString(kind, json.valueStart(index), json.valueEnd(index));
    }
    return invalid(columnFault(kind, 'the value is no string: put it in quotes'));
  };

  const ofString = (kind: IdentifierKind, start: number, end: number) => {
    text.ofJson(json.bytes, start + 1, end - 1);
    return checked(kind);
  };

  return {
    check: (header, source) => {
      if (!kinds.some((kind) => header.includes(kind))) throw noColumn(kinds, header, source);
    },
    read: (rows, row) =>
      rows.cells
        ? ofCsv(rows, rows.cells, row)
        : (readJsonRecord(json, rows, row, true) ?? ofJson()),
  };
}

export const isIdentifier = (read: Identifier | Fault): read is Identifier => 'by' in read;

const noColumn = (
  kinds: readonly IdentifierKind[],
  header: readonly string[],
  source: string,
): EngagectlError =>
  missingColumns(
    kinds,
    header,
    source,
    'give one of these columns, or a bare list with --by <kind>',
  );
