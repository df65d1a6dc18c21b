import type { Topic } from './topic.js';

export const securityTopic: Topic = {
  examples: [
    ['from a file', 'engagectl config set --region eu1 --passcode-file passcode.txt'],
    [
      'from a mounted secret',
      'ENGAGECTL_ACCOUNT_ID=ACC-1 ENGAGECTL_PASSCODE_FILE=passcode.txt engagectl config check',
    ],
    ['never the passcode itself', 'engagectl config show'],
  ],
  parts: [
    {
      heading: 'Passcodes:',
      rows: [
        ['given by', 'config set (asks without echo), --passcode-stdin, --passcode-file'],
        ['or by', 'ENGAGECTL_PASSCODE_FILE, else ENGAGECTL_PASSCODE, for jobs; never by a flag'],
        ['or by', 'the command of a secret store: config set --passcode-command'],
        ['kept in', 'the config file, 0600 in a folder of 0700; a looser mode is refused'],
        ['shown', 'nowhere: not in output, errors, logs, journals, rejects, process arguments'],
      ],
    },
    {
      heading: 'Network:',
      rows: [
        ['address', 'the one you configured and nothing else: no telemetry, no update check'],
        ['https only', 'but to loopback; redirects are never followed'],
        ['local service', 'loopback only, with a passcode made for it'],
      ],
    },
    {
      heading: 'Files:',
      rows: [
        ['private', 'rejects files, partial outputs, journals: 0600, as they hold personal data'],
        ['formulas', 'cells that a spreadsheet would run are counted; --csv-formulas escape'],
        ['foreign text', 'is made harmless before a terminal shows it'],
      ],
    },
    'Writes with a config profile marked production (config set --production) ask on a terminal. ' +
      'A demerge asks for its count to be typed; without a terminal it needs --yes.',
  ],
};
