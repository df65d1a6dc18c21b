import type { CommandSpec } from '../shared/command-spec.js';

export const command: CommandSpec = {
  summary: 'list, resume, repair and remove unfinished runs',
  description: 'Lists, shows, resumes, repairs and removes unfinished runs.',
  examples: `
    # list unfinished runs
    engagectl runs list
    # resume one
    engagectl runs resume 20261121-044512-7kq2
    # remove old ones
    engagectl runs prune --older-than 30d
  `,
  subcommands: {
    list: async () => (await import('./manage-runs.js')).list,
    show: async () => (await import('./manage-runs.js')).show,
    resume: async () => (await import('./manage-runs.js')).resume,
    repair: async () => (await import('./manage-runs.js')).repair,
    prune: async () => (await import('./manage-runs.js')).prune,
  },
};
