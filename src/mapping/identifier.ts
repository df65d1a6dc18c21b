import { identifierKinds, type IdentifierKind } from '../contract/endpoints.js';
import { CellText } from '../text/text-slice.js';
import { missingColumns } from './columns.js';
import { keyFault } from './identity.js';
import { faultOf, NamedValues } from './row-values.js';
import { invalid, type Fault } from './record-block.js';
import type { RowBlock } from '../input/row-block.js';

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
  const values = new NamedValues(kinds, true);
  const text = new CellText();

  const check = (header: readonly string[], source: string): void => {
    if (kinds.some((kind) => header.includes(kind))) return;
    const fix = 'give one of these columns, or a bare list with --by <kind>';
    throw missingColumns(kinds, header, source, fix);
  };

  /** Of an object, or of a string that is the identifier. */
  const read = (): Identifier | Fault => {
    const isWhole = values.readWhole(text);
    const kind = isWhole ? (by ?? 'identity') : kinds.find((kind) => values.has(kind));
    if (kind === undefined) return invalid(`"${kinds.join('" or "')}" is missing`);
    const fault = isWhole ? undefined : values.read(kind, text);
    if (fault) return fault;
    const textFault = keyFault(kind, text);
    if (textFault !== undefined) return faultOf(kind, textFault);
    return { by: kind, value: text.toString() };
  };

  return {
    check,
    read(rows, row) {
      if (rows.cells) check(rows.cells.header, rows.source);
      return values.to(rows, row) ?? read();
    },
  };
}

export const isIdentifier = (read: Identifier | Fault): read is Identifier => 'by' in read;
