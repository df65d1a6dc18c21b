import type { Runtime } from '../runtime.js';
import { confirmWrite } from '../ui/confirm-write.js';
import type { WriteCommand } from './run-write.js';

interface Write {
  readonly command: string;
  /** What the command does, for people. */
  readonly does: string;
  readonly files: readonly string[];
  readonly flags: { readonly yes?: boolean; readonly dryRun?: boolean };
}

/** Asks before a write to an account whose config profile is marked production (contract §7). */
export function confirmProduction(
  { flags, ...write }: Write,
  runtime: Runtime,
): WriteCommand['confirm'] {
  return async ({ account }, { piped }) => {
    if (!account.production || flags.yes || flags.dryRun || piped) return;
    await confirmWrite({ ...account, ...write }, runtime);
  };
}
