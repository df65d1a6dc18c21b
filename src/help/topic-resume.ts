import type { Topic } from './topic.js';

export const resumeTopic: Topic = {
  examples: [
    ['what did not finish', 'engagectl runs list'],
    ['go on with it, or start', 'engagectl upload users.csv --resume'],
    ['forget it, and start', 'engagectl upload users.csv --fresh'],
    ['forget the old ones', 'engagectl runs prune --older-than 30d'],
  ],
  parts: [
    'A run that did not finish (killed, interrupted, disk full, service away) goes on with ' +
      '--resume, given to the same command, or with engagectl runs resume <id> from any folder. It ' +
      'ends as a run that nothing disturbed would have ended. Where nothing is unfinished, --resume ' +
      'starts afresh, so that a cron job may always carry it.',
    {
      heading: 'What happened, and what to do:',
      rows: [
        ['killed, power cut', 'what was settled is on the disk: --resume'],
        ['130, 143', 'requests in flight got up to 10 s to finish: --resume'],
        ['4, 5', '--resume when account or service work again'],
        ['9', 'free space, then --resume'],
        ['6', 'never sent again by itself: see stage "unknown" in the rejects file'],
        ['8', 'input, options or files are not those of the run: restore them, or --fresh'],
        ['7, cursor', 'an expired cursor: --fresh starts the export again'],
      ],
    },
    {
      heading: 'Flags:',
      rows: [
        ['--resume', 'go on with the unfinished run; without one, start'],
        ['--fresh', 'forget it and start anew; of an export, set its partial file aside'],
        ['--no-journal', 'keep nothing to resume from, where no folder can be written'],
        ['--retry-unknown', 'send records of unknown outcome again, knowingly'],
      ],
    },
    'Records that do harm when sent twice (events, demerges, $incr, $decr, $add) are noted before ' +
      'they are sent; those without an outcome count as unknown. Not resumed: input from a pipe ' +
      '(records not sent are in the rejects file), output to standard output, --check, --dry-run.',
    'Runs are kept in the state folder (engagectl help environment), readable by you only; a ' +
      'finished one leaves nothing there.',
  ],
};
