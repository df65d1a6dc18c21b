import { InvalidArgumentError, Option } from 'commander';
import type { InputOptions } from '../input/options.js';
import { inputFormats, type InputFormat } from '../input/rows.js';
import { byteCount, choice, integer } from './option-values.js';

/** Flags of every command that reads records. */
export interface InputFlags {
  readonly inputFormat?: InputFormat;
  readonly delimiter?: string;
  readonly quote?: string;
  readonly escape?: string;
  readonly comment?: string;
  readonly encoding?: string;
  readonly maxRecordBytes: number;
  readonly limit?: number;
}

export const inputOptions = (): Option[] => [
  new Option(
    '--input-format <format>',
    `${inputFormats.join(', ')}; default: by extension, else by content`,
  ).argParser(choice(...inputFormats)),
  new Option('--delimiter <text>', 'CSV delimiter (default: comma; tab for TSV)').argParser(
    delimiter,
  ),
  new Option('--quote <char>', 'around CSV cells (default: "; empty: none)').argParser(quote),
  new Option('--escape <char>', 'before a quote in a quoted cell (default: the quote)').argParser(
    escape,
  ),
  new Option('--comment <text>', 'CSV lines that begin with it are no records').argParser(comment),
  new Option('--encoding <name>', 'of the input, when it is neither UTF-8 nor has a BOM'),
  new Option('--max-record-bytes <bytes>', 'a longer record is rejected')
    .argParser(byteCount)
    .default(1024 * 1024, '1MiB'),
  new Option('--limit <n>', 'take the first n records only').argParser(integer({ min: 0 })),
];

function delimiter(text: string): string {
  const value = text === '\\t' ? '\t' : text;
  if (value === '' || /["\r\n]/.test(value)) {
    throw new InvalidArgumentError('Use one or more characters that are no quote or newline.');
  }
  return value;
}

function quote(text: string): string {
  if (/^[^\r\n]?$/u.test(text)) return text;
  throw new InvalidArgumentError('Use one character, or an empty text for none.');
}

function escape(text: string): string {
  if (/^[^\r\n]$/u.test(text)) return text;
  throw new InvalidArgumentError('Use one character.');
}

function comment(text: string): string {
  if (text !== '' && !/[\r\n]/.test(text)) return text;
  throw new InvalidArgumentError('Use one or more characters of one line.');
}

/** What to read; `listColumn` is the column that a bare list stands for. */
export function inputsOf({
  files,
  flags: { inputFormat, delimiter, quote, escape, comment, encoding, maxRecordBytes },
  listColumn,
}: {
  readonly files: readonly string[];
  readonly flags: InputFlags;
  readonly listColumn?: string;
}): InputOptions {
  return {
    files,
    maxRecordBytes,
    ...(inputFormat && { format: inputFormat }),
    ...(delimiter !== undefined && { delimiter }),
    ...(quote !== undefined && { quote }),
    ...(escape !== undefined && { escape }),
    ...(comment !== undefined && { comment }),
    ...(encoding !== undefined && { encoding }),
    ...(listColumn !== undefined && { listColumn }),
  };
}
