import { inputFormatNames } from '../../contract/file-formats.js';
import { Option, type Command } from 'commander';
import { EngagectlError } from '../../errors.js';
import { optionWords } from '../../jobs/job-options.js';
import { byteCount, choice, integer, matching, suggesting } from './value-parsers.js';
import type { Invocation } from '../shared/command-spec.js';
import type { OptionTable, OptionRow } from './option-table.js';

const unquoted = matching(
  /^[^"\r\n]+$/,
  'Use one or more characters other than quotes and newlines.',
);

const delimiter = (text: string): string => unquoted(text === '\\t' ? '\t' : text);

export const inputOptions: OptionTable = [
  'Input:',
  [
    '--input-format <format>',
    `${inputFormatNames.join(', ')}; default: by extension, then content`,
    choice(...inputFormatNames),
  ],
  ['--delimiter <text>', 'CSV delimiter (default: detected; tab for TSV)', delimiter],
  [
    '--skip-lines <n>',
    'lines above the header or the list (default: detected)',
    integer({ min: 0 }),
  ],
  ['--records <path>', 'array of records inside a JSON object, such as data.users'],
  [
    '--quote <char>',
    'quote character (default: "; empty string disables quoting)',
    matching(/^[^\r\n]?$/u, 'Use one character, or an empty text for none.'),
  ],
  [
    '--escape <char>',
    'character that escapes a quote (default: the quote character)',
    matching(/^[^\r\n]$/u, 'Use one character.'),
  ],
  [
    '--comment <text>',
    'skip CSV lines that start with this text',
    matching(/^[^\r\n]+$/, 'Use one or more characters of one line.'),
  ],
  ['--recover-quotes', 'after an unclosed CSV quote, resume on the next line (default: stop)'],
  [
    '--encoding <name>',
    'encoding of the input (default: detected: UTF-8, UTF-16 or windows-1252)',
    suggesting('utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'iso-8859-15', 'shift_jis', 'gbk'),
  ],
  ['--trim', 'remove whitespace and invisible characters around cells'],
  [
    '--null-values <list>',
    "cells that count as empty, such as NULL,nan (default: rejected in identities only; '': none)",
    { parse: (text: string) => text.split(',') },
  ],
  [
    '--max-record-bytes <bytes>',
    'reject longer records',
    { parse: byteCount, default: 1024 * 1024, defaultText: '1MiB' },
  ],
  ['--limit <n>', 'read only the first n records', integer({ min: 0 })],
];

/** Requires an input: a file, or stdin that is not a terminal. Otherwise throws E-USAGE, with help. */
export function requireInput(
  files: readonly string[],
  { command, runtime }: Pick<Invocation, 'command' | 'runtime'>,
): void {
  if (files.length > 0 || runtime.stdin.isTTY !== true) return;
  throw new EngagectlError('E-USAGE', `${command.name()} needs input`, {
    why: 'no file was named, and standard input is a terminal',
    fix: `engagectl ${command.name()} <file>, or pipe records into it`,
    help: command.helpInformation(),
  });
}

/** Throws E-USAGE for input flags if no input is read. `--limit` counts operands, too. */
export function refuseInputFlags(command: Command): void {
  const rows = [...inputOptions, ...textOptions].filter((row) => typeof row !== 'string');
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
  'what each row is: profile or event',
  { parse: choice('profile', 'event'), default: 'profile', common: true },
];

/** Flags for columns that are texts. */
export const textOptions: OptionTable = [
  [
    '--types <column:type,…>',
    'column types: string (also for JSON numbers), phone(DE), phone:+91 (repeatable)',
    { repeatable: true },
  ],
  ['--lowercase <a,b>', 'read these columns in lower case (repeatable)', { repeatable: true }],
];

/** Flags that control how rows become records of an upload. */
export const mappingOptions: OptionTable = [
  ['--identity <column>', 'column or path of the identity (default: identity)', { common: true }],
  [
    '--object-id <column>',
    'column that contains the objectId, used instead of an identity (beside it with --identity)',
  ],
  ['--map <column=key>', 'rename a column (repeatable)', { repeatable: true, common: true }],
  ['--drop <column>', 'omit a column (repeatable)', { repeatable: true }],
  ['--only <a,b>', 'send only these columns (repeatable)', { repeatable: true }],
  [
    '--types <column:type,…>',
    'column types: string (default), integer, number, boolean, date, json, phone(DE), phone:+91, list(;); with a format: date(DD.MM.YYYY), number(1.234,56), boolean(ja,nein) (repeatable)',
    { repeatable: true },
  ],
  [
    '--set <key=value>',
    'send this member with every row, such as Source=import (repeatable)',
    { repeatable: true },
  ],
  ['--lowercase <a,b>', 'send these columns in lower case (repeatable)', { repeatable: true }],
  [
    '--locale <tag>',
    'format of dates, numbers and booleans without one, such as de-DE',
    suggesting('de-DE', 'en-GB', 'en-US', 'es-ES', 'fr-FR', 'it-IT', 'nl-NL', 'pt-BR'),
  ],
  ['--mapping <file>', 'JSON file with these options and with expectations', { common: true }],
  [
    '--empty <how>',
    'empty cells: omit, null or string',
    { parse: choice(...optionWords.empty), default: 'omit' },
  ],
  ['--event-name <name>', 'event name for rows without evtName'],
  ['--ts <when>', 'now: time for event rows without ts', choice(...optionWords.ts)],
];
