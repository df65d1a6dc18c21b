import { profileName } from '../flags/value-parsers.js';
import type { CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const setOptions = [
  'Options:',
  ['--account-id <id>', 'account (project) id'],
  ['--passcode-stdin', 'read the passcode from standard input'],
  ['--passcode-file <file>', 'read the passcode from a file', { conflicts: 'passcodeStdin' }],
  [
    '--passcode-command <command>',
    'save a shell command that prints the passcode, like "pass show engagectl/eu1"',
    { conflicts: ['passcodeStdin', 'passcodeFile'] },
  ],
  ['--call-account-id <id>', 'account id of the calling system'],
  ['--call-api-key-file <file>', 'read the API key of the calling system from a file'],
  ['--production', 'of the whole profile: writes ask first, on a terminal'],
  ['--no-production', 'writes do not ask'],
  ['--no-check', 'do not try what was saved, by one harmless request'],
] as const satisfies OptionTable;
export type SetFlags = FlagsOf<typeof setOptions>;

const setAccount: CommandSpec<SetFlags> = {
  summary: 'save or change the account of one region',
  description:
    'Saves the account of one region, and tries it by one harmless request of at most 5 s (--timeout). ' +
    'It is saved, exit code 0, also where it does not fit or the service cannot be reached: that is a ' +
    'warning. What is not given stays as it was. On a terminal the passcode is asked for; no flag takes it.',
  examples: `
    # save an account; asks for the passcode without showing it
    engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1
    # in a job, where nobody can be asked
    engagectl config set --region eu1 --account-id ACC-1 --passcode-file ./passcode
    # kept in a secret store, never in a file
    engagectl config set --region eu1 --account-id ACC-1 --passcode-command "pass show engagectl/eu1"
    # change one thing of another profile
    engagectl config set --profile staging --region us1 --timezone America/New_York
  `,
  options: setOptions,
  run: async (call) => (await import('./set.js')).setRegion(call),
};

const saved = () => import('./profiles.js');

/** What is saved, whichever account a command would use. */
const savedAccounts: Readonly<Record<string, CommandSpec>> = {
  use: {
    needs: 'account',
    summary: 'choose the profile, and its region, for commands that name none',
    operands: [['<profile>', 'config profile', { parse: profileName }]],
    examples: `
      # the profile for commands that name none
      engagectl config use staging
      # and its region
      engagectl config use default --region eu1
    `,
    run: async (call) => (await saved()).useProfile(call),
  },
  remove: {
    needs: 'account',
    summary: 'forget a profile, or one region of it',
    operands: [['<profile>', 'config profile', { parse: profileName }]],
    examples: `
      # a whole profile
      engagectl config remove staging
      # one region of it
      engagectl config remove default --region eu1
    `,
    run: async (call) => (await saved()).removeProfile(call),
  },
  list: {
    needs: 'nothing',
    summary: 'all saved accounts, without their passcodes',
    examples: `
      # without their passcodes
      engagectl config list
      # for a script
      engagectl config list --json
    `,
    run: async (call) => (await saved()).listProfiles(call),
  },
  path: {
    needs: 'nothing',
    summary: 'where the config file is',
    examples: `
      # a path and nothing else
      engagectl config path
      # for a script
      engagectl config path --json
    `,
    run: async (call) => (await saved()).showPath(call),
  },
};

const showOptions = [
  'Options:',
  ['--sources', 'also the other settings and the folders'],
] as const satisfies OptionTable;
export type ShowFlags = FlagsOf<typeof showOptions>;

const showAccount: CommandSpec<ShowFlags> = {
  summary: 'the account a command would use, and where each value comes from',
  examples: `
    # what a command would use
    engagectl config show
    # all settings of another region
    engagectl config show --region us1 --sources
  `,
  options: showOptions,
  run: async (call) => (await import('./show.js')).showAccount(call),
};

const checkAccount: CommandSpec = {
  summary: 'whether account, passcode and region fit together: one harmless request',
  examples: `
    # the account that commands use
    engagectl config check
    # another one
    engagectl config check --profile staging --region us1
  `,
  run: async (call) => (await import('./check.js')).checkCredentials(call),
};

/** Credentials per region, in named config profiles (contract §5). */
export const command: CommandSpec = {
  summary: 'credentials per region, in named config profiles',
  examples: `
    # save an account; asks for the passcode without showing it
    engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1
    # try it
    engagectl config check --region eu1
    # for commands that name no region
    engagectl config use default --region eu1
  `,
  subcommands: { set: setAccount, ...savedAccounts, show: showAccount, check: checkAccount },
};
