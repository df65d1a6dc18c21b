import { EngagectlError } from '../errors.js';
import type { InputOptions } from './options.js';

/** How a CSV marks its cells, in UTF-8 bytes. An empty marker is one that does not occur. */
export interface Dialect {
  readonly delimiter: Buffer;
  readonly quote: Buffer;
  /** Within quotes it makes the next character an ordinary one. */
  readonly escape: Buffer;
  /** Begins a line that is no record. */
  readonly comment: Buffer;
}

const quotationMark = '"';

/**
 * The dialect that the options name; by default RFC 4180 with a comma, or a tab for TSV. A bare
 * list is a CSV without delimiter. Throws EngagectlError E-USAGE for markers that leave open what
 * is meant.
 */
export function dialectOf(format: 'csv' | 'tsv' | 'list', options: InputOptions): Dialect {
  const { quote = quotationMark, escape = quote, comment = '' } = options;
  const delimiter = delimiterOf(format, options.delimiter);
  refuseClash({
    '--delimiter': delimiter,
    '--quote': quote,
    ...(escape !== quote && { '--escape': escape }),
    '--comment': comment,
  });
  return {
    delimiter: Buffer.from(delimiter),
    quote: Buffer.from(quote),
    escape: Buffer.from(escape),
    comment: Buffer.from(comment),
  };
}

/** Whether this is RFC 4180, if with another delimiter of one byte, or none. */
export const isStandard = ({ delimiter, quote, escape, comment }: Dialect): boolean =>
  delimiter.length <= 1 &&
  quote.equals(Buffer.from(quotationMark)) &&
  escape.equals(quote) &&
  comment.length === 0;

function delimiterOf(format: 'csv' | 'tsv' | 'list', named: string | undefined): string {
  if (format === 'list') return '';
  if (named !== undefined) return named === '\\t' ? '\t' : named;
  return format === 'tsv' ? '\t' : ',';
}

function refuseClash(markers: Readonly<Record<string, string>>): void {
  const named = Object.entries(markers).filter(([, text]) => text !== '');
  for (const [flag, text] of named) {
    if (/[\r\n]/.test(text)) throw clash(flag, text, 'a line break ends the record');
    const other = named.find(([each, part]) => each !== flag && text.includes(part));
    if (other) throw clash(flag, text, `it holds that of ${other[0]}, ${JSON.stringify(other[1])}`);
  }
}

const clash = (flag: string, text: string, why: string): EngagectlError =>
  new EngagectlError('E-USAGE', `${flag} ${JSON.stringify(text)} cannot be used`, {
    why,
    fix: 'delimiter, quote, escape and comment have to differ: --quote and --escape change two of them',
  });
