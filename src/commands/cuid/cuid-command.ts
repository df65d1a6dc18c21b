import type { CommandSpec } from '../command-spec.js';
import { inputOptions } from '../input-flags.js';
import type { CheckFlags } from './check-cuids.js';

const input = 'CSV, TSV, NDJSON or JSON, each also .gz, or a list; - reads stdin';

const check: CommandSpec<CheckFlags> = {
  summary: 'whether each cuid can be used, and is there once',
  description:
    'Checks each cuid by itself and against the others, and sends nothing. Rows with errors or warnings are\n' +
    'written to stdout as NDJSON, each with the ids of its rules; exit code 3 when there are errors.',
  operands: [['[file...]', input]],
  examples: `
    # what is wrong, where, and by which rule
    engagectl cuid check cuids.csv
    # in CI: warnings are errors, one summary object
    engagectl cuid check cuids.csv --strict --json
    # of another column, in a pipe
    cut -d, -f1,2 cuids.csv | engagectl cuid check - --column cuid > findings.ndjson
  `,
  options: [
    'Options:',
    ['--column <column>', 'column of the cuid', { default: 'cuid' }],
    ['--strict', 'warnings are errors'],
    ['--rejects <file>', 'where rows with errors go (default: beside the first input)'],
    ...inputOptions,
  ],
  run: async (call) => (await import('./check-cuids.js')).runCheck(call),
};

/** Identities of users who call each other (calling SDK, initProperties). */
export const command: CommandSpec = {
  summary: 'check and derive cuids, the identities of users who call each other',
  examples: `
    # whether each can be used, and is there once
    engagectl cuid check cuids.csv
  `,
  subcommands: { check },
};
