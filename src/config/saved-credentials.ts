import type { Runtime } from '../runtime.js';
import { checkedAccountId, checkedPasscode, type SourcedCredentials } from './credentials.js';
import type { passcodeFromCommand } from './passcode-command.js';
import type { Saved } from './saved-account.js';

/** The pair of one saved region. E-CONFIG when a header could not carry it, or its command fails. */
export async function savedCredentials(
  { source, values }: Saved,
  runtime: Pick<Runtime, 'env' | 'cwd' | 'sleep' | 'signal'>,
  run: typeof passcodeFromCommand,
): Promise<SourcedCredentials> {
  const { accountId, passcode, passcode_command: command } = values;
  const sources = {
    accountId: source,
    passcode: command === undefined ? source : `passcode_command of ${source}`,
  };
  return {
    accountId: checkedAccountId(accountId, source),
    passcode:
      command === undefined
        ? checkedPasscode(passcode ?? '', source)
        : await run(command, sources.passcode, runtime),
    sources,
  };
}
