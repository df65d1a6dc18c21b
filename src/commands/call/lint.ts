import { lintInit } from '../../jobs/calling/lint-init.js';
import { sanitizedJson, versioned } from '../../ui/sanitize.js';
import { messagePrinter } from '../../ui/messages.js';
import { choice } from '../flags/value-parsers.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const lintOptions = [
  'Options:',
  [
    '--platform <platform>',
    'android, ios or both',
    { parse: choice('android', 'ios', 'both'), default: 'both' },
  ],
] as const satisfies OptionTable;
type LintFlags = FlagsOf<typeof lintOptions>;

export const lint: CommandSpec<LintFlags> = {
  needs: 'nothing',
  summary: 'check the calling configuration of an app',
  description:
    'Checks a JSON file with the initProperties of an app; sends nothing. Prints each finding as a ' +
    'line on stdout: JSON pointer, rule, severity, and the error of initialize; exit code 3 if there ' +
    'are errors.',
  operands: [['<file.json>', 'the object that the app passes to initialize']],
  examples: `
    # on both platforms
    engagectl call lint init.json
    # in CI, for one platform
    engagectl call lint init.json --platform android --json
  `,
  options: lintOptions,
  run: runLint,
};

/** Runs `call lint`: prints one finding per line on stdout, or one object with --json. */
async function runLint({ operands, flags, settings, runtime }: Invocation<LintFlags>) {
  const set = settings();
  const [file = ''] = operands;
  const platforms = flags.platform === 'both' ? (['android', 'ios'] as const) : [flags.platform];
  const { error, ...result } = await lintInit(file, platforms, { runtime });
  const { findings, errors, warnings } = result;
  const lines = set.json ? [versioned({ command: 'call lint', ...result })] : findings;
  for (const line of lines) runtime.stdout.write(`${sanitizedJson(line)}\n`);
  if (error) throw error;
  if (!set.json)
    messagePrinter(set, runtime).note(`${file}: ${errors} errors, ${warnings} warnings`);
}
