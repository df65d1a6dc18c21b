import { lintInit } from '../../jobs/calling/lint-init.js';
import { inertJson, versioned } from '../../ui/sanitize.js';
import { messages } from '../../ui/messages.js';
import type { Call } from '../shared/command-spec.js';
import type { LintFlags } from './command.js';

/** `call lint`: a finding a line on stdout, or all of them in one object with --json. */
export async function runLint({ operands, flags, settings, runtime }: Call<LintFlags>) {
  const set = settings();
  const [file = ''] = operands;
  const platforms = flags.platform === 'both' ? (['android', 'ios'] as const) : [flags.platform];
  const { error, ...result } = await lintInit(file, platforms, { runtime });
  const { findings, errors, warnings } = result;
  const lines = set.json ? [versioned({ command: 'call lint', ...result })] : findings;
  for (const line of lines) runtime.stdout.write(`${inertJson(line)}\n`);
  if (error) throw error;
  const told = messages(set, runtime);
  if (!set.json) told.note(`${file}: ${errors} errors, ${warnings} warnings`);
}
