import { Option, type Command } from 'commander';
import { addExamplesTo, type Example } from '../help/examples.js';
import type { Runtime } from '../runtime.js';
import type { SetFlags } from './config-set.js';
import { profileName } from './option-values.js';
import { resolveSettings, type Settings } from './options.js';

const examples: Readonly<Record<string, readonly Example[]>> = {
  '': [
    [
      'save an account; asks for the passcode without showing it',
      'engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1',
    ],
    ['try it', 'engagectl config check --region eu1'],
    ['for commands that name no region', 'engagectl config use default --region eu1'],
  ],
  set: [
    [
      'save an account; asks for the passcode without showing it',
      'engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1',
    ],
    [
      'in a job, where nobody can be asked',
      'engagectl config set --region eu1 --account-id ACC-1 --passcode-file ./passcode',
    ],
    [
      'kept in a secret store, never in a file',
      'engagectl config set --region eu1 --account-id ACC-1 --passcode-command "pass show engagectl/eu1"',
    ],
    [
      'change one thing of another profile',
      'engagectl config set --profile staging --region us1 --timezone America/New_York',
    ],
  ],
  use: [
    ['the profile for commands that name none', 'engagectl config use staging'],
    ['and its region', 'engagectl config use default --region eu1'],
  ],
  remove: [
    ['a whole profile', 'engagectl config remove staging'],
    ['one region of it', 'engagectl config remove default --region eu1'],
  ],
  list: [
    ['without their passcodes', 'engagectl config list'],
    ['for a script', 'engagectl config list --json'],
  ],
  path: [
    ['a path and nothing else', 'engagectl config path'],
    ['for a script', 'engagectl config path --json'],
  ],
  show: [
    ['what a command would use', 'engagectl config show'],
    ['all settings of another region', 'engagectl config show --region us1 --sources'],
  ],
  check: [
    ['the account that commands use', 'engagectl config check'],
    ['another one', 'engagectl config check --profile staging --region us1'],
  ],
};

/** Credentials per region, in named config profiles (contract §5). */
export function registerConfig(program: Command, runtime: Runtime): void {
  const config = program
    .command('config')
    .summary('credentials per region, in named config profiles');
  registerSet(config, runtime);
  registerProfiles(config, runtime);
  registerAccount(config, runtime);
  addExamplesTo(config, examples);
}

function registerSet(config: Command, runtime: Runtime): void {
  config
    .command('set')
    .summary('save or change the account of one region')
    .description(
      'Saves the account of one region. What is not given stays as it was. On a terminal the passcode is asked for; no flag takes it.',
    )
    .option('--account-id <id>', 'account (project) id')
    .option('--passcode-stdin', 'read the passcode from standard input')
    .addOption(
      new Option('--passcode-file <file>', 'read the passcode from a file').conflicts(
        'passcodeStdin',
      ),
    )
    .addOption(
      new Option(
        '--passcode-command <command>',
        'save a shell command that prints the passcode, like "pass show engagectl/eu1"',
      ).conflicts(['passcodeStdin', 'passcodeFile']),
    )
    .option('--production', 'of the whole profile: writes ask first, on a terminal')
    .option('--no-production', 'writes do not ask')
    .action(async (flags: SetFlags, command: Command) => {
      const settings = resolveSettings(command, runtime);
      const { setRegion } = await import('./config-set.js');
      await setRegion(flags, settings, runtime);
    });
}

const profileRuns = () => import('./config-profiles.js');

/** What is saved, whichever account a command would use. */
function registerProfiles(config: Command, runtime: Runtime): void {
  config
    .command('use')
    .summary('choose the profile, and its region, for commands that name none')
    .argument('<profile>', 'config profile', profileName)
    .action(async (name: string, _flags: object, command: Command) => {
      const settings = resolveSettings(command, runtime);
      await (await profileRuns()).useProfile(name, settings, runtime);
    });
  config
    .command('remove')
    .summary('forget a profile, or one region of it')
    .argument('<profile>', 'config profile', profileName)
    .action(async (name: string, _flags: object, command: Command) => {
      const settings = resolveSettings(command, runtime);
      await (await profileRuns()).removeProfile(name, settings, runtime);
    });
  config
    .command('list')
    .summary('all saved accounts, without their passcodes')
    .action(
      withSettings(runtime, async (settings) => {
        await (await profileRuns()).listProfiles(settings, runtime);
      }),
    );
  config
    .command('path')
    .summary('where the config file is')
    .action(
      withSettings(runtime, async (settings) => {
        (await profileRuns()).showPath(settings, runtime);
      }),
    );
}

/** The account a command would use. */
function registerAccount(config: Command, runtime: Runtime): void {
  config
    .command('show')
    .summary('the account a command would use, and where each value comes from')
    .option('--sources', 'also the other settings and the folders')
    .action(async ({ sources }: { sources?: true }, command: Command) => {
      const settings = resolveSettings(command, runtime);
      const { showAccount } = await import('./config-show.js');
      await showAccount(settings, runtime, { all: sources === true });
    });
  config
    .command('check')
    .summary('whether account, passcode and region fit together: one harmless request')
    .action(
      withSettings(runtime, async (settings) => {
        const { checkAccount } = await import('./config-check.js');
        await checkAccount(settings, runtime);
      }),
    );
}

/** The action of a subcommand without arguments and options of its own. */
const withSettings =
  (runtime: Runtime, run: (settings: Settings) => Promise<void>) =>
  (_flags: object, command: Command): Promise<void> =>
    run(resolveSettings(command, runtime));
