import type { Runtime } from '../runtime.js';
import { confirmWrite } from '../ui/confirm-write.js';
import type { WriteCommand } from '../jobs/write-context.js';

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
): NonNullable<WriteCommand['confirm']> {
  return async ({ account }, again) => {
    const inputIsStdin = again === undefined;
    if (!account.production || flags.yes || flags.dryRun || inputIsStdin) return;
    await confirmWrite({ ...account, ...write }, runtime);
  };
}
