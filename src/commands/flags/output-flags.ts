import { InvalidArgumentError } from 'commander';
import { formatNames } from '../../jobs/output-options.js';
import { choice, notEmpty } from './value-parsers.js';
import type { FileOptions } from '../../jobs/job-options.js';
import type { FlagsOf, OptionTable } from './option-table.js';

/** Flags of every command that writes records. */
export interface OutputFlags extends FileOptions {
  readonly output?: string;
}

/** `places`: what else than `{date}` may stand in the name. */
export const outputOptions = (places: readonly string[] = []): OptionTable => [
  'Output:',
  [
    '-o, --output <file>',
    'default: standard output; .gz compresses; {date} is today',
    nameWith(['{date}', ...places]),
  ],
  [
    '--format <format>',
    `${formatNames.slice(0, -1).join(', ')} or ${formatNames.at(-1)!}; default: by the extension, else ndjson`,
    choice(...formatNames),
  ],
  [
    '--columns <list>',
    'columns of a CSV, like identity,profileData.City; default: all',
    columnList,
  ],
  [
    '--csv-formulas <how>',
    "cells that a spreadsheet would run: keep, or escape with '",
    { parse: choice('keep', 'escape'), default: 'keep' },
  ],
  ['--bom', 'begin a CSV with a byte order mark, which Excel needs for UTF-8'],
  ['--overwrite', 'replace an existing output file'],
  ['--fresh', 'start again, setting the partial file of an earlier run aside'],
];

/** Flag of the commands that can write a page about their run. */
export const reportOptions = [
  'Report:',
  [
    '--report <file.html>',
    'write a page about the run: figures, charts over time, samples of rejects',
  ],
] as const satisfies OptionTable;
export type ReportFlag = FlagsOf<typeof reportOptions>;

/** A place that nothing comes to stand in is a slip: the file would have it in its name. */
const nameWith =
  (places: readonly string[]) =>
  (text: string): string => {
    const wrong = (text.match(/\{[A-Za-z]\w*\}/g) ?? []).find((place) => !places.includes(place));
    if (wrong === undefined) return notEmpty(text);
    throw new InvalidArgumentError(`${wrong} stands for nothing here. Use ${places.join(', ')}.`);
  };

function columnList(text: string): string[] {
  const columns = text.split(',');
  const repeated = columns.find((column, index) => columns.indexOf(column) !== index);
  if (columns.includes('')) throw new InvalidArgumentError('A column name is empty.');
  if (repeated !== undefined) throw new InvalidArgumentError(`Column "${repeated}" appears twice.`);
  return columns;
}
