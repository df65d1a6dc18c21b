import type { Command } from 'commander';
import { addExamples, type Example } from '../help/examples.js';
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

const examples: readonly Example[] = [
  ['one user', 'engagectl get-profile crm-00003'],
  [
    'by another identifier; can the user be reached',
    'engagectl get-profile --email someone@example.com --reachability',
  ],
  [
    'many, in the order of the input',
    'engagectl get-profile --input identities.csv -o profiles.ndjson',
  ],
  [
    'in a pipe',
    'tail -n +2 users.csv | cut -d, -f2 | engagectl get-profile --input - --by email > found.ndjson',
  ],
];

export function registerGetProfile(program: Command, runtime: Runtime, run = getProfile): void {
  const command = program
    .command('get-profile')
    .summary('one or many profiles by identifier')
    .description(
      'Reads user profiles. One is indented on a terminal; many are written one a line, in order.',
    )
    .argument('[value...]', 'identities');
  addExamples(command, examples);
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
  const { runLookUp } = await import('../jobs/run-look-up.js');
  await runLookUp(command, settings, runtime);
}
