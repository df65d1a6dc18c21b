import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { askLine } from './ask.js';
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
 * mistake to fear. Where nobody can be asked it returns at once. E-CONFIRM (exit 2) otherwise.
 */
export async function confirmWrite(
  write: ProductionWrite,
  { stdin, stderr, signal }: Pick<Runtime, 'stdin' | 'stderr' | 'signal'>,
): Promise<void> {
  if (stdin.isTTY !== true || stderr.isTTY !== true) return;
  const { command, does, files, profile, accountId, region, baseUrl } = write;
  stderr.write(
    inert(
      `PRODUCTION account ${accountId}, region ${region} (${baseUrl}), config profile "${profile}"\n` +
        `  ${command} ${files.join(' ')}: ${does}\n`,
    ),
  );
  const typed = await askLine(`Type ${inert(region)} to go on: `, { stdin, stderr, signal });
  if (typed.trim() === region) return;
  throw new EngagectlError('E-CONFIRM', 'not confirmed: nothing was sent', {
    why: `what was typed is not the region, ${region}`,
    fix: 'run it again and type the region, or add --yes',
  });
}
