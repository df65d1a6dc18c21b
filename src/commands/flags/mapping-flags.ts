import { choice } from './value-parsers.js';
import type { OptionRow, OptionTable } from './option-table.js';

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
