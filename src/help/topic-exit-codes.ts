import { exitCodes } from '../errors.js';
import type { Topic } from './topic.js';

const meanings = {
  ok: 'everything done and accounted for',
  defect: 'a defect in the program',
  usage: 'wrong usage or configuration; nothing was sent',
  rejected: 'finished; some records were rejected, or a user was not found',
  credentials: 'the service refused the credentials',
  unavailable: 'the service stayed unreachable, failing or pending after all attempts',
  unknown: 'records whose outcome is unknown are in the rejects file',
  protocol: 'the service broke the protocol',
  refused: 'input, journal or existing output refused before anything was sent',
  file: 'a local file could not be read or written',
  interrupted: 'interrupted by SIGINT (Ctrl-C)',
  closedPipe: 'standard output was closed by its reader',
  terminated: 'interrupted by SIGTERM',
} as const satisfies Record<keyof typeof exitCodes, string>;

export const exitCodesTopic: Topic = {
  examples: [
    ['what a script does with it', 'engagectl upload users.csv --quiet || echo "exit code $?"'],
    ['what leads to one', 'engagectl help errors E-UNAVAILABLE'],
  ],
  parts: [
    'Scripts may branch on these numbers: they never change their meaning. Treat a number that is ' +
      'not listed as a failure.',
    {
      heading: 'Exit codes:',
      rows: Object.entries(exitCodes)
        .map(([name, code]) => [String(code), meanings[name as keyof typeof exitCodes]] as const)
        .toSorted(([one], [other]) => Number(one) - Number(other)),
    },
    'When several apply, the most serious one wins: 6, then 130 or 143, 7, 9, 4, 5, 3. After 4, 5, ' +
      '9, 130 and 143 the same command with --resume goes on; so it does after 6, for what is known.',
  ],
};
