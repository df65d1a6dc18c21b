import type { CommandSpec } from '../command-spec.js';
import { age } from '../option-values.js';

/** Loaded when used: `--help` of other commands needs none of it. */
const actions = () => import('./unfinished-runs.js');

const prune: CommandSpec<{ readonly olderThan: number }> = {
  offline: true,
  description:
    'forgets unfinished runs: they can not be resumed any more; what exports left is removed',
  examples: `
    # those begun more than 30 days ago
    engagectl runs prune --older-than 30d
    # all of them
    engagectl runs prune
  `,
  options: [
    'Options:',
    [
      '--older-than <age>',
      'only those begun longer ago, like 12h or 30d',
      { parse: age, default: 0 },
    ],
  ],
  run: async (call) => (await actions()).pruneRuns(call),
};

export const command: CommandSpec = {
  summary: 'runs that did not finish, and how to go on',
  description: 'Lists, shows, resumes and forgets runs that did not finish.',
  examples: `
    # what did not finish
    engagectl runs list
    # go on with one
    engagectl runs resume 20261121-044512-7kq2
    # forget the old ones
    engagectl runs prune --older-than 30d
  `,
  subcommands: {
    list: {
      offline: true,
      description: 'the unfinished runs, the oldest first',
      examples: `
        # the oldest first
        engagectl runs list
        # for a script
        engagectl runs list --json
      `,
      run: async (call) => (await actions()).listUnfinished(call),
    },
    show: {
      offline: true,
      description: 'one run: its command, account, files and folder',
      operands: [['<id>', '']],
      examples: `
        # its command, account, files and folder
        engagectl runs show 20261121-044512-7kq2
        # for a script
        engagectl runs show 20261121-044512-7kq2 --json
      `,
      run: async (call) => (await actions()).showRun(call),
    },
    resume: {
      description: 'goes on with a run, by the command line it was begun with',
      operands: [['<id>', '']],
      examples: `
        # from any folder
        engagectl runs resume 20261121-044512-7kq2
        # for a script
        engagectl runs resume 20261121-044512-7kq2 --json
      `,
      run: async (call) => (await actions()).resumeRun(call),
    },
    prune,
  },
};
