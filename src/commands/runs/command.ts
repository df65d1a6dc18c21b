import { age } from '../flags/value-parsers.js';
import type { CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

/** Loaded when used: `--help` of other commands needs none of it. */
const actions = () => import('./unfinished-runs.js');

const pruneOptions = [
  'Options:',
  ['--older-than <age>', 'only those begun longer ago, like 12h or 30d', { parse: age }],
  ['-y, --yes', 'do not ask, though no age is named'],
] as const satisfies OptionTable;
export type PruneFlags = FlagsOf<typeof pruneOptions>;

const prune: CommandSpec<PruneFlags> = {
  needs: 'nothing',
  summary: 'forgets unfinished runs: they cannot be resumed any more; what exports left is removed',
  examples: `
    # those begun more than 30 days ago
    engagectl runs prune --older-than 30d
    # all of them, without being asked
    engagectl runs prune --yes
  `,
  options: pruneOptions,
  run: async (call) => (await actions()).pruneRuns(call),
};

const list: CommandSpec<{ readonly finished?: boolean }> = {
  needs: 'nothing',
  summary: 'the unfinished runs, the oldest first; or writes that are finished',
  examples: `
    # the oldest first
    engagectl runs list
    # for a script
    engagectl runs list --json
    # what was sent, and when
    engagectl runs list --finished
  `,
  options: ['Options:', ['--finished', 'writes that ended with their whole input worked through']],
  run: async (call) => (await actions()).listRunsOf(call),
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
    list,
    show: {
      needs: 'nothing',
      summary: 'one run: its command, account and files, and how far it came or how it ended',
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
      summary: 'goes on with a run, by the command line it was begun with',
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
