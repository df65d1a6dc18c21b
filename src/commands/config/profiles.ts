import { listSaved, removeSaved, withCurrent } from '../../config/profiles.js';
import { configPath, readConfig, updateConfig } from '../../config/config-file.js';
import { textTable } from '../../ui/format.js';
import { printAnswer } from '../../ui/messages.js';
import type { GlobalOptions } from '../shared/global-options.js';
import { profileName } from '../flags/value-parsers.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';

export const use: CommandSpec = {
  needs: 'account',
  summary: 'select the default profile, and its default region',
  operands: [['<profile>', 'config profile', { parse: profileName }]],
  examples: `
    # select the default profile
    engagectl config use staging
    # select its default region
    engagectl config use default --region eu1
  `,
  run: useProfile,
};

export const remove: CommandSpec = {
  needs: 'account',
  summary: 'remove a profile, or remove one region of it',
  operands: [['<profile>', 'config profile', { parse: profileName }]],
  examples: `
    # remove a profile
    engagectl config remove staging
    # remove one region of it
    engagectl config remove default --region eu1
  `,
  run: removeProfile,
};

export const list: CommandSpec = {
  needs: 'nothing',
  summary: 'list saved accounts, without passcodes',
  examples: `
    # without their passcodes
    engagectl config list
    # for a script
    engagectl config list --json
  `,
  run: listProfiles,
};

export const path: CommandSpec = {
  needs: 'nothing',
  summary: 'print the location of the config file',
  examples: `
    # print the path only
    engagectl config path
    # for a script
    engagectl config path --json
  `,
  run: showPath,
};

async function useProfile({ operands: [name = ''], runtime, ...call }: Invocation): Promise<void> {
  const settings = call.settings();
  const region = regionFlag(settings);
  await updateConfig(runtime, (config) => withCurrent(config, name, region));
  const used = { used: { profile: name, region } };
  printAnswer(settings, runtime, used, { note: `in use: ${described(name, region)}` });
}

async function removeProfile({
  operands: [name = ''],
  runtime,
  ...call
}: Invocation): Promise<void> {
  const settings = call.settings();
  const region = regionFlag(settings);
  await updateConfig(runtime, (config) => removeSaved(config, name, region));
  const removed = { removed: { profile: name, region } };
  printAnswer(settings, runtime, removed, { note: `removed: ${described(name, region)}` });
}

/** Only the flag counts: a change on disk should not depend on a variable set long ago. */
const regionFlag = ({ region, flags }: GlobalOptions): string | undefined =>
  flags.has('region') ? region : undefined;

const described = (profile: string, region: string | undefined): string =>
  region === undefined ? `profile ${profile}` : `profile ${profile}, region ${region}`;

async function listProfiles({ settings, runtime }: Invocation): Promise<void> {
  const file = configPath(runtime);
  const accounts = listSaved(await readConfig(runtime));
  const rows = accounts.map(
    ({ current, profile, region, baseUrl, accountId, passcode, production }) => [
      current ? '*' : ' ',
      profile,
      region,
      accountId,
      passcode,
      baseUrl,
      production ? 'yes' : '',
    ],
  );
  const header = [' ', 'PROFILE', 'REGION', 'ACCOUNT', 'PASSCODE', 'BASE URL', 'PRODUCTION'];
  const text = `${textTable([header, ...rows])}from ${file}\n`;
  const isEmpty = accounts.length === 0;
  const words = isEmpty ? { note: `no config profiles yet, in ${file}` } : { text };
  printAnswer(settings(), runtime, { file, accounts }, words);
}

function showPath({ settings, runtime }: Invocation): void {
  const file = configPath(runtime);
  printAnswer(settings(), runtime, { file }, { text: `${file}\n` });
}
