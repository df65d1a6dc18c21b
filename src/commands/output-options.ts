import { InvalidArgumentError } from 'commander';
import { EngagectlError } from '../errors.js';
import type { OutputFormat, OutputOptions } from '../output/output.js';
import type { OptionGroup } from './option-table.js';
import { choice, notEmpty } from './option-values.js';
import { formatOf } from './output-name.js';

/** Flags of every command that writes records. */
export interface OutputFlags {
  readonly output?: string;
  readonly format?: OutputFormat;
  readonly columns?: readonly string[];
  readonly csvFormulas: 'keep' | 'escape';
  readonly bom?: true;
  readonly overwrite?: true;
  readonly fresh?: true;
}

export const outputOptions: OptionGroup = [
  'Output:',
  [
    [
      '-o, --output <file>',
      'default: standard output; .gz compresses; {date} is today',
      { parse: notEmpty },
    ],
    [
      '--format <format>',
      'ndjson, csv or json; default: by the extension, else ndjson',
      { parse: choice('ndjson', 'csv', 'json') },
    ],
    [
      '--columns <list>',
      'columns of a CSV, like identity,profileData.City; default: all',
      { parse: columnList },
    ],
    [
      '--csv-formulas <how>',
      "cells that a spreadsheet would run: keep, or escape with '",
      { parse: choice('keep', 'escape'), default: 'keep' },
    ],
    ['--bom', 'begin a CSV with a byte order mark, which Excel needs for UTF-8'],
    ['--overwrite', 'replace an existing output file'],
    ['--fresh', 'start again, setting the partial file of an earlier run aside'],
  ],
];

/** Flag of the commands that can write a page about their run. */
export interface ReportFlag {
  readonly report?: string;
}

export const reportOptions: OptionGroup = [
  'Report:',
  [
    [
      '--report <file.html>',
      'write a page about the run: figures, charts over time, samples of rejects',
    ],
  ],
];

function columnList(text: string): string[] {
  const columns = text.split(',');
  const repeated = columns.find((column, index) => columns.indexOf(column) !== index);
  if (columns.includes('')) throw new InvalidArgumentError('A column name is empty.');
  if (repeated !== undefined) throw new InvalidArgumentError(`Column "${repeated}" appears twice.`);
  return columns;
}

/** The output at `path`; its format by the flag, else by its extension. */
export function outputOf(path: string | undefined, flags: OutputFlags): OutputOptions {
  const { format, gzip } = formatOf(path);
  return {
    path,
    format: flags.format ?? format,
    gzip,
    overwrite: flags.overwrite === true,
    fresh: flags.fresh === true,
    ...(flags.columns && { columns: flags.columns }),
    escapeFormulas: flags.csvFormulas === 'escape',
    bom: flags.bom === true,
  };
}

/** Throws E-USAGE. */
export function refuseCsvFlags({ columns, bom, format, output }: OutputFlags): void {
  if ((format ?? formatOf(output).format) === 'csv') return;
  const flag = bom ? '--bom' : columns && '--columns';
  if (flag === undefined) return;
  throw new EngagectlError('E-USAGE', `${flag} is for CSV`, {
    why: 'in the other formats every record is written as it came',
    fix: `add --format csv, or leave out ${flag}`,
  });
}
