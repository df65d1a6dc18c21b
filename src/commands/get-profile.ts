import type { Command } from 'commander';
import type { Runtime } from '../runtime.js';
import { inputOptions } from './input-options.js';
import { needInput } from './need-input.js';
import { resolveSettings, type Settings } from './options.js';
import { outputOptions } from './output-options.js';
import {
  userOptions,
  wantedUsers,
  type LookUpCommand,
  type LookUpFlags,
  type UserFlags,
} from './wanted-users.js';

const examples = `Examples:
  engagectl get-profile crm-00003
  engagectl get-profile --email someone@example.com --reachability
  engagectl get-profile --input identities.csv -o profiles.ndjson
  cut -d, -f2 users.csv | engagectl get-profile --input - --by email > profiles.ndjson
`;

export function registerGetProfile(program: Command, runtime: Runtime, run = getProfile): void {
  const command = program
    .command('get-profile')
    .summary('one or many profiles by identifier')
    .description(
      'Reads user profiles. One is indented on a terminal; many are written one a line, in order.',
    )
    .addHelpText('beforeAll', examples)
    .argument('[value...]', 'identities');
  for (const option of userOptions()) command.addOption(option.helpGroup('Users:'));
  for (const option of inputOptions()) command.addOption(option.helpGroup('Input:'));
  for (const option of outputOptions()) command.addOption(option.helpGroup('Output:'));
  command.action(async (values: string[], flags: LookUpFlags & UserFlags) => {
    const wanted = wantedUsers(values, flags);
    if ('input' in wanted) needInput(wanted.input === '-' ? [] : [wanted.input], command, runtime);
    await run({ wanted, flags }, resolveSettings(command, runtime), runtime);
  });
}

async function getProfile(
  command: LookUpCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const { runLookUp } = await import('./run-look-up.js');
  await runLookUp(command, settings, runtime);
}
