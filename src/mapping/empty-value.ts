import type { Column } from './columns.js';
import { pieceOf, type Piece } from './json-writer.js';
import type { UploadMapping } from './upload-mapping.js';

const emptyString = pieceOf('""');
const nullWord = pieceOf('null');

/** What --empty sends; an empty string only where strings are sent. */
export function emptyValue(type: Column['type'], { empty }: UploadMapping): Piece | undefined {
  if (empty === 'null') return nullWord;
  const isString = type === undefined || type === 'string';
  return empty === 'string' && isString ? emptyString : undefined;
}
