import type { CommandSpec } from '../shared/command-spec.js';

export const command: CommandSpec = {
  summary: 'place, receive and test calls; check app settings',
  examples: `
    # in one terminal
    engagectl call listen --cuid ann_1 --region local
    # in another
    engagectl call place --cuid bob_1 --to ann_1 --context hello --region local
    # check the configuration of an app
    engagectl call lint init.json
  `,
  subcommands: {
    listen: async () => (await import('./listen.js')).listen,
    place: async () => (await import('./place.js')).place,
    run: async () => (await import('./run.js')).run,
    missed: async () => (await import('./log.js')).missed,
    log: async () => (await import('./log.js')).log,
    token: async () => (await import('./token.js')).token,
    lint: async () => (await import('./lint.js')).lint,
  },
};
