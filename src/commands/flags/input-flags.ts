import { Option, type Command } from 'commander';
import { EngagectlError } from '../../errors.js';
import { byteCount, choice, integer, matching } from './value-parsers.js';
import type { Call } from '../shared/command-spec.js';
import type { OptionTable, OptionRow } from './option-table.js';

const unquoted = matching(
  /^[^"\r\n]+$/,
  'Use one or more characters that are no quote or newline.',
);

const delimiter = (text: string): string => unquoted(text === '\\t' ? '\t' : text);

export const inputOptions: OptionTable = [
  'Input:',
  [
    '--input-format <format>',
    'csv, tsv, ndjson, json, list; default: by extension, else by content',
    choice('csv', 'tsv', 'ndjson', 'json', 'list'),
  ],
  ['--delimiter <text>', 'CSV delimiter (default: comma; tab for TSV)', delimiter],
  [
    '--quote <char>',
    'around CSV cells (default: "; empty: none)',
    matching(/^[^\r\n]?$/u, 'Use one character, or an empty text for none.'),
  ],
  [
    '--escape <char>',
    'before a quote in a quoted cell (default: the quote)',
    matching(/^[^\r\n]$/u, 'Use one character.'),
  ],
  [
    '--comment <text>',
    'CSV lines that begin with it are no records',
    matching(/^[^\r\n]+$/, 'Use one or more characters of one line.'),
  ],
  [
    '--recover-quotes',
    'after a CSV quote that is never closed, resume on the next line (default: stop)',
  ],
  ['--encoding <name>', 'of the input, when it is neither UTF-8 nor has a BOM'],
  [
    '--max-record-bytes <bytes>',
    'a longer record is rejected',
    { parse: byteCount, default: 1024 * 1024, shown: '1MiB' },
  ],
  ['--limit <n>', 'take the first n records only', integer({ min: 0 })],
];

/** Without a file, input comes from stdin; from a terminal it never would: help instead, exit 2. */
export function needInput(
  files: readonly string[],
  { command, runtime }: Pick<Call, 'command' | 'runtime'>,
): void {
  if (files.length > 0 || runtime.stdin.isTTY !== true) return;
  command.outputHelp({ error: true });
  throw new EngagectlError('E-USAGE', `${command.name()} needs input`, {
    why: 'no file was named, and standard input is a terminal',
    fix: `engagectl ${command.name()} <file>, or pipe records into it`,
  });
}

/**
 * Throws E-USAGE for flags that say how to read an input, where no input is read. `--limit` counts
 * operands, too.
 */
export function refuseInputFlags(command: Command): void {
  const rows = inputOptions.filter((row) => typeof row !== 'string');
  const names = new Set(rows.map(([flags]) => new Option(flags).attributeName()));
  const typed = command.options.filter((option) => {
    const name = option.attributeName();
    return name !== 'limit' && names.has(name) && command.getOptionValueSource(name) === 'cli';
  });
  if (typed.length === 0) return;
  const flags = typed.map(({ long }) => long).join(', ');
  throw new EngagectlError('E-USAGE', `${flags} ${typed.length === 1 ? 'needs' : 'need'} --input`, {
    why: 'these flags say how to read an input, and no input is read',
    fix: `leave out ${flags}, or name an input with --input <file>`,
  });
}

export const typeOption: OptionRow = [
  '--type <type>',
  'profile or event: what flat rows are',
  { parse: choice('profile', 'event'), default: 'profile' },
];

/** How rows become records of an upload, beside their type. */
export const mappingOptions: OptionTable = [
  ['--identity <column>', 'column of the identity (default: identity)'],
  ['--object-id <column>', 'key by the objectId in this column'],
  ['--map <column=key>', 'send a column under another name (repeatable)', { repeatable: true }],
  ['--drop <column>', 'do not send this column (repeatable)', { repeatable: true }],
  ['--only <a,b>', 'send these columns only (repeatable)', { repeatable: true }],
  [
    '--types <column:type,…>',
    'string, integer, number, boolean, date, json or phone:+91; else strings (repeatable)',
    { repeatable: true },
  ],
  ['--mapping <file>', 'JSON file with all of this, and what is expected'],
  [
    '--empty <how>',
    'empty cells: omit, null or string',
    { parse: choice('omit', 'null', 'string'), default: 'omit' },
  ],
  ['--event-name <name>', 'of events whose row has no evtName'],
  ['--ts <when>', 'now: the time of events whose row has no ts', choice('now')],
];
