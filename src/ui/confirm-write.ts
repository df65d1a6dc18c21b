import { EngagectlError } from '../errors.js';
import { confirm, mayAsk, type AskRuntime } from './ask.js';
import { inert } from './inert.js';

/** A write to a production account, about to begin. */
export interface ProductionWrite {
  readonly command: string;
  /** What the command does, like `creates or updates user profiles`. */
  readonly does: string;
  readonly files: readonly string[];
  readonly profile: string | undefined;
  readonly accountId: string;
  readonly region: string;
  readonly baseUrl: string;
}

/**
 * Returns when the write may begin: its region was typed at the terminal, as the wrong place is the
 * mistake to fear. Where there is no terminal it returns at once. E-CONFIRM (exit 2) otherwise.
 */
export async function confirmWrite(write: ProductionWrite, runtime: AskRuntime): Promise<void> {
  if (!mayAsk(runtime)) return refuseSilence(runtime);
  const { command, does, files, profile, accountId, region, baseUrl } = write;
  const account = `account ${accountId}, region ${region} (${baseUrl}), config profile "${profile}"`;
  runtime.stderr.write(inert(`PRODUCTION ${account}\n  ${command} ${files.join(' ')}: ${does}\n`));
  await confirm({ word: region, noun: 'region' }, runtime);
}

/** On a terminal `--no-input` is no consent; without one nobody is there to ask. */
function refuseSilence({ stdin, stderr }: AskRuntime): void {
  if (stdin.isTTY !== true || stderr.isTTY !== true) return;
  throw new EngagectlError('E-CONFIRM', 'a write to a production account asks on a terminal', {
    why: '--no-input was given',
    fix: 'add --yes when you are sure',
  });
}
