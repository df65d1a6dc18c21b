import type { CommandSpec } from './command-spec.js';
import { inputOptions, needInput } from './flags/input-flags.js';
import { outputOptions } from './flags/output-flags.js';
import { userOptions, wantedUsers, type LookUpFlags, type UserFlags } from './wanted-users.js';

export const command: CommandSpec<LookUpFlags & UserFlags> = {
  summary: 'one or many profiles by identifier',
  description:
    'Reads user profiles. One is indented on a terminal; many are written one a line, in order.',
  operands: [['[value...]', 'identities']],
  examples: `
    # one user
    engagectl get-profile crm-00003
    # by another identifier; can the user be reached
    engagectl get-profile --email someone@example.com --reachability
    # many, in the order of the input
    engagectl get-profile --input identities.csv -o profiles.ndjson
    # in a pipe
    tail -n +2 users.csv | cut -d, -f2 | engagectl get-profile --input - --by email > found.ndjson
  `,
  options: [...userOptions, ...inputOptions, ...outputOptions()],
  run: async (call) => {
    const { operands, flags } = call;
    const users = wantedUsers(operands, flags);
    if ('input' in users) needInput(users.input === '-' ? [] : [users.input], call);
    const settings = call.settings();
    const { runLookUp } = await import('./job/run-look-up.js');
    await runLookUp({ users, flags }, settings, call.runtime);
  },
};
