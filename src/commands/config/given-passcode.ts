import path from 'node:path';
import { text as wholeText } from 'node:stream/consumers';
import { checkedPasscode, passcodeFromFile, withoutNewline } from '../../config/credentials.js';
import { EngagectlError } from '../../errors.js';
import { askSecret } from '../../ui/prompt.js';
import { isOn } from '../../ui/display-settings.js';
import type { Readable } from 'node:stream';
import type { SavedRegion } from '../../config/schema.js';
import type { Runtime } from '../../runtime.js';
import type { SetFlags } from './command.js';

type Secret = Pick<SavedRegion, 'passcode' | 'passcode_command'>;

/**
 * What is to be saved; empty when the saved one stays: a new account id never goes with the old
 * passcode.
 */
export async function givenPasscode(
  { passcodeFile, passcodeStdin, passcodeCommand }: SetFlags,
  runtime: Runtime,
  needed: boolean,
): Promise<Secret> {
  if (passcodeCommand !== undefined) return { passcode_command: passcodeCommand };
  if (passcodeFile !== undefined)
    return {
      passcode: await passcodeFromFile(
        path.resolve(runtime.cwd, passcodeFile),
        '--passcode-file',
        runtime.signal,
      ),
    };
  if (!needed && passcodeStdin !== true) return {};
  if (runtime.stdin.isTTY === true && !isOn(runtime.env['ENGAGECTL_NO_INPUT'])) {
    return {
      passcode: checkedPasscode(await askSecret('Passcode (not shown): ', runtime), 'typed'),
    };
  }
  if (passcodeStdin !== true)
    throw new EngagectlError('E-CONFIG', 'the passcode is missing', {
      why: 'standard input is no terminal, or --no-input was given, so nobody can be asked for it',
      fix: 'add --passcode-stdin, --passcode-file <file> or --passcode-command <command>',
    });
  const piped = withoutNewline(await pipedText(runtime));
  return { passcode: checkedPasscode(piped, '--passcode-stdin') };
}

/** All of standard input; throws the signal's reason when it is aborted before the end. */
async function pipedText({ stdin, signal }: Runtime): Promise<string> {
  const leave = () => (stdin as Partial<Readable>).destroy?.();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await wholeText(stdin);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
