import type { CommandSpec } from '../shared/command-spec.js';

export const command: CommandSpec = {
  summary: 'split one run among many machines, through a queue',
  description:
    'Runs the shards of a command on many machines, through Redis or PostgreSQL (--queue or ' +
    'ENGAGECTL_QUEUE). Needs the packages bullmq and ioredis, or bullmq and pg.',
  examples: `
    # once
    engagectl fleet init
    # on each machine
    engagectl fleet work --work-dir /shared/fleet
    # an upload in eight shards; prints the run id
    engagectl fleet submit upload users.csv --shards 8 --work-dir /shared/fleet
    # one summary and one rejects file
    engagectl fleet collect 0123456789ab
  `,
  subcommands: {
    init: async () => (await import('./queue.js')).init,
    submit: async () => (await import('./submit.js')).submit,
    work: async () => (await import('./work.js')).work,
    status: async () => (await import('./status.js')).status,
    cancel: async () => (await import('./queue.js')).cancel,
    retry: async () => (await import('./queue.js')).retry,
    repair: async () => (await import('./queue.js')).repair,
    collect: async () => (await import('./collect.js')).collect,
    budget: async () => (await import('./queue.js')).budget,
  },
};
