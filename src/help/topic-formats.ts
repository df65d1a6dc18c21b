import type { Topic } from './topic.js';

export const formatsTopic: Topic = {
  examples: [
    ['what is read, and what is wrong with it', 'engagectl upload users.csv --check'],
    [
      'other column names, types',
      'engagectl upload crm.csv --identity CustomerId --map mail=Email --types Age:integer',
    ],
    [
      'not RFC 4180',
      "engagectl upload semicolons.txt --input-format csv --delimiter ';' --encoding windows-1252",
    ],
    ['a table', 'engagectl export-events --event Charged --from 7d --to today -o charged.csv'],
  ],
  parts: [
    'Input is told by its name, else by its content, else by --input-format. Gzip is recognised by ' +
      'content, UTF-8 and UTF-16 by their byte order mark; other encodings need --encoding.',
    {
      heading: 'Input:',
      rows: [
        [
          '.csv, .tsv',
          'RFC 4180 with a header line; for other dialects --delimiter, --quote, --escape, --comment',
        ],
        ['.ndjson, .jsonl', 'one JSON object a line; numbers are passed on as they are written'],
        ['.json', 'one array of such objects'],
        ['list', 'one value a line, for subscribe, demerge and get-profile'],
      ],
    },
    {
      heading: 'Columns of profiles:',
      rows: [
        ['identity', 'who it is; another column with --identity, or --object-id'],
        ['all others', 'profile data of the same name; --map, --drop and --only choose'],
        ['MSG-…', 'boolean, so that an opt-out never goes out as text'],
      ],
    },
    {
      heading: 'Columns of events (--type event):',
      rows: [
        ['identity, ts, evtName', 'who, when (epoch seconds or ISO 8601), what (or --event-name)'],
        ['all others', 'event properties'],
      ],
    },
    {
      heading: 'Types (--types <column>:<type>):',
      rows: [
        ['string', 'the default'],
        ['integer, number', 'with every digit as it is written'],
        ['boolean', 'true, false, 1, 0, yes, no, in any case'],
        ['date', 'ISO 8601 or epoch seconds'],
        ['json', 'any JSON value'],
      ],
    },
    'A cell that does not fit its type rejects its record, and the rejects file says why. Empty ' +
      'cells are left out; --empty null or string sends them. For wide files all of this goes into a ' +
      'JSON file for --mapping: {"identity":"Id","map":{"mail":"Email"},"types":{"Age":"integer"},"drop":["Note"]}',
    {
      heading: 'Output of exports, by the name of --output or by --format:',
      rows: [
        ['.ndjson', 'each record byte for byte as the service sent it; the default'],
        [
          '.csv',
          'dotted columns (profileData.City), arrays as JSON; --columns chooses, --bom for Excel',
        ],
        ['.json', 'one array'],
        ['.gz', 'behind any of these: compressed'],
      ],
    },
  ],
};
