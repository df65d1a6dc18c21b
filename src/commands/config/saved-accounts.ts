import { listed, without, withCurrent } from '../../config/changes.js';
import { configPath, readConfig, updateConfig } from '../../config/store.js';
import { aligned } from '../../ui/aligned.js';
import { inert, jsonAnswer } from '../../ui/inert.js';
import { messages } from '../../ui/messages.js';
import type { Call } from '../command-spec.js';
import type { Settings } from '../settings.js';

export async function useProfile({ operands: [name = ''], runtime, ...call }: Call): Promise<void> {
  const settings = call.settings();
  const region = regionFlag(settings);
  await updateConfig(runtime, (config) => withCurrent(config, name, region));
  if (settings.json) runtime.stdout.write(jsonAnswer({ used: { profile: name, region } }));
  else messages(settings, runtime).note(`in use: ${described(name, region)}`);
}

export async function removeProfile({
  operands: [name = ''],
  runtime,
  ...call
}: Call): Promise<void> {
  const settings = call.settings();
  const region = regionFlag(settings);
  await updateConfig(runtime, (config) => without(config, name, region));
  if (settings.json) runtime.stdout.write(jsonAnswer({ removed: { profile: name, region } }));
  else messages(settings, runtime).note(`removed: ${described(name, region)}`);
}

/** Of the flag only: what is changed on disk should not depend on a variable set long ago. */
const regionFlag = ({ region, flags }: Settings): string | undefined =>
  flags.has('region') ? region : undefined;

const described = (profile: string, region: string | undefined): string =>
  region === undefined ? `profile ${profile}` : `profile ${profile}, region ${region}`;

export async function listProfiles({ settings, runtime }: Call): Promise<void> {
  const { json } = settings();
  const { stdout } = runtime;
  const file = configPath(runtime);
  const accounts = listed(await readConfig(runtime));
  if (json) {
    stdout.write(jsonAnswer({ file, accounts }));
    return;
  }
  if (accounts.length === 0) {
    return messages(settings(), runtime).note(`no config profiles yet, in ${file}`);
  }
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
  stdout.write(inert(`${aligned([header, ...rows])}from ${file}\n`));
}

export function showPath({ settings, runtime }: Call): void {
  const { json } = settings();
  const file = configPath(runtime);
  runtime.stdout.write(json ? jsonAnswer({ file }) : `${file}\n`);
}
