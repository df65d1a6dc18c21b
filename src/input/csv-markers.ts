import { EngagectlError } from '../errors.js';
import { longestMarker, type Markers } from '../text/csv-scanner.js';
import type { InputOptions } from './options.js';

const quotationMark = '"';
/** One for each dialect: rows that wait hold theirs, and may be of many thousands of files. */
const dialects = new Map<string, Markers>();

/**
 * The dialect that the options name; by default RFC 4180 with a comma, or a tab for TSV. A bare
 * list is a CSV without delimiter. Throws EngagectlError E-USAGE for markers that leave open what
 * is meant.
 */
export function markersOf(format: 'csv' | 'tsv' | 'list', options: InputOptions): Markers {
  const { quote = quotationMark, escape = quote, comment = '' } = options;
  const delimiter = delimiterOf(format, options.delimiter);
  refuseClash({
    '--delimiter': delimiter,
    '--quote': quote,
    ...(escape !== quote && { '--escape': escape }),
    '--comment': comment,
  });
  const key = JSON.stringify([delimiter, quote, escape, comment]);
  const markers = dialects.get(key) ?? {
    delimiter: Buffer.from(delimiter),
    quote: Buffer.from(quote),
    escape: Buffer.from(escape),
    comment: Buffer.from(comment),
  };
  dialects.set(key, markers);
  return markers;
}

function delimiterOf(format: 'csv' | 'tsv' | 'list', named: string | undefined): string {
  if (format === 'list') return '';
  if (named !== undefined) return named === '\\t' ? '\t' : named;
  return format === 'tsv' ? '\t' : ',';
}

function refuseClash(markers: Readonly<Record<string, string>>): void {
  const named = Object.entries(markers).filter(([, text]) => text !== '');
  for (const [flag, text] of named) {
    if (/[\r\n]/.test(text)) throw clash(flag, text, 'a line break ends the record');
    if (Buffer.byteLength(text) > longestMarker)
      throw clash(flag, text, `it is longer than ${longestMarker} bytes`);
    const other = named.find(([each, part]) => each !== flag && text.includes(part));
    if (other) throw clash(flag, text, `it holds that of ${other[0]}, ${JSON.stringify(other[1])}`);
  }
}

const clash = (flag: string, text: string, why: string): EngagectlError =>
  new EngagectlError('E-USAGE', `${flag} ${JSON.stringify(text)} cannot be used`, {
    why,
    fix: 'delimiter, quote, escape and comment have to differ: --quote and --escape change two of them',
  });
