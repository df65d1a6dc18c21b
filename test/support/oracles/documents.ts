import * as fc from 'fast-check';

/** A text and the records that a reader must find in it. */
export interface Document {
  readonly text: string;
  readonly records: readonly { readonly text: string; readonly line: number }[];
}

/** Joins pieces, and notes the physical line of those that are records. */
export function assemble(
  pieces: readonly { readonly text: string; readonly record: boolean }[],
  lineEnds: RegExp,
): Document {
  const records: { text: string; line: number }[] = [];
  let text = '';
  for (const piece of pieces) {
    const line = (text.match(lineEnds)?.length ?? 0) + 1;
    if (piece.record) records.push({ text: piece.text, line });
    text += piece.text;
  }
  return { text, records };
}

/** Sizes in which text arrives: mostly tiny, so that chunks end everywhere. */
export const chunkSizes = fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 })), {
  minLength: 1,
  maxLength: 5,
});

export type Encoding = 'utf-8' | 'utf-8 with BOM' | 'utf-16le' | 'utf-16be';

export const encodings = fc.constantFrom<Encoding>(
  'utf-8',
  'utf-8 with BOM',
  'utf-16le',
  'utf-16be',
);

/** The bytes of a file; UTF-16 has a byte order mark. */
export function encode(text: string, encoding: Encoding): Buffer {
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(text);
    case 'utf-8 with BOM':
      return Buffer.from(`\u{FEFF}${text}`);
    case 'utf-16le':
      return Buffer.from(`\u{FEFF}${text}`, 'utf16le');
    case 'utf-16be':
      return Buffer.from(`\u{FEFF}${text}`, 'utf16le').swap16();
    default:
      throw encoding satisfies never;
  }
}
