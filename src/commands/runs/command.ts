import type { CommandSpec } from '../shared/command-spec.js';

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
    list: async () => (await import('./unfinished-runs.js')).list,
    show: async () => (await import('./unfinished-runs.js')).show,
    resume: async () => (await import('./unfinished-runs.js')).resume,
    prune: async () => (await import('./unfinished-runs.js')).prune,
  },
};
