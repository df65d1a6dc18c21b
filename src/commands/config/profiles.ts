import { listed, without, withCurrent } from '../../config/profiles.js';
import { configPath, readConfig, updateConfig } from '../../config/config-file.js';
import { aligned } from '../../ui/format.js';
import { answer } from '../../ui/messages.js';
import type { Settings } from '../shared/global-options.js';
import { profileName } from '../flags/value-parsers.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';

export const use: CommandSpec = {
  needs: 'account',
  summary: 'choose the profile, and its region, for commands that name none',
  operands: [['<profile>', 'config profile', { parse: profileName }]],
  examples: `
    # the profile for commands that name none
    engagectl config use staging
    # and its region
    engagectl config use default --region eu1
  `,
  run: useProfile,
};

export const remove: CommandSpec = {
  needs: 'account',
  summary: 'forget a profile, or one region of it',
  operands: [['<profile>', 'config profile', { parse: profileName }]],
  examples: `
    # a whole profile
    engagectl config remove staging
    # one region of it
    engagectl config remove default --region eu1
  `,
  run: removeProfile,
};

export const list: CommandSpec = {
  needs: 'nothing',
  summary: 'all saved accounts, without their passcodes',
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
  summary: 'where the config file is',
  examples: `
    # a path and nothing else
    engagectl config path
    # for a script
    engagectl config path --json
  `,
  run: showPath,
};

async function useProfile({ operands: [name = ''], runtime, ...call }: Call): Promise<void> {
  const settings = call.settings();
  const region = regionFlag(settings);
  await updateConfig(runtime, (config) => withCurrent(config, name, region));
  const used = { used: { profile: name, region } };
  answer(settings, runtime, used, { note: `in use: ${described(name, region)}` });
}

async function removeProfile({ operands: [name = ''], runtime, ...call }: Call): Promise<void> {
  const settings = call.settings();
  const region = regionFlag(settings);
  await updateConfig(runtime, (config) => without(config, name, region));
  const removed = { removed: { profile: name, region } };
  answer(settings, runtime, removed, { note: `removed: ${described(name, region)}` });
}

/** Of the flag only: what is changed on disk should not depend on a variable set long ago. */
const regionFlag = ({ region, flags }: Settings): string | undefined =>
  flags.has('region') ? region : undefined;

const described = (profile: string, region: string | undefined): string =>
  region === undefined ? `profile ${profile}` : `profile ${profile}, region ${region}`;

async function listProfiles({ settings, runtime }: Call): Promise<void> {
  const file = configPath(runtime);
  const accounts = listed(await readConfig(runtime));
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
  const text = `${aligned([header, ...rows])}from ${file}\n`;
  const isEmpty = accounts.length === 0;
  const words = isEmpty ? { note: `no config profiles yet, in ${file}` } : { text };
  answer(settings(), runtime, { file, accounts }, words);
}

function showPath({ settings, runtime }: Call): void {
  const file = configPath(runtime);
  answer(settings(), runtime, { file }, { text: `${file}\n` });
}
