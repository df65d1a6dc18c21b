import type { CommandSpec } from '../shared/command-spec.js';

/** Credentials per region, in named config profiles (contract §5). */
export const command: CommandSpec = {
  summary: 'manage credentials per region in named config profiles',
  examples: `
    # save an account; asks for the passcode without showing it
    engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1
    # try it
    engagectl config check --region eu1
    # for commands that name no region
    engagectl config use default --region eu1
  `,
  subcommands: {
    set: async () => (await import('./set.js')).set,
    use: async () => (await import('./profiles.js')).use,
    remove: async () => (await import('./profiles.js')).remove,
    list: async () => (await import('./profiles.js')).list,
    path: async () => (await import('./profiles.js')).path,
    show: async () => (await import('./show.js')).show,
    check: async () => (await import('./check.js')).check,
  },
};
