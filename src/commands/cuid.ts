import { inputFormatsText } from '../contract/file-formats.js';
import { inputOptions, requireInput } from './flags/input-flags.js';
import { choice, nonEmpty, rejectsFile } from './flags/value-parsers.js';
import type { CheckCuidsHooks, CheckCuidsOptions } from '../jobs/cuid/check-cuids.js';
import type { DeriveCuidsOptions } from '../jobs/cuid/derive-cuids.js';
import type { CommandSpec } from './shared/command-spec.js';

const input = `${inputFormatsText}, or a list; - reads stdin`;

const check: CommandSpec<Omit<CheckCuidsOptions, 'files'>> = {
  needs: 'nothing',
  summary: 'check that each cuid is valid and unique',
  description:
    'Checks each cuid by itself and against the others; sends nothing. Prints rows with errors or ' +
    'warnings as NDJSON, with the ids of the violated rules; exit code 3 if there are errors.',
  operands: [['[file...]', input]],
  examples: `
    # list violations with their location and rule
    engagectl cuid check cuids.csv
    # in CI: treat warnings as errors, JSON summary
    engagectl cuid check cuids.csv --strict --json
    # another column, from standard input
    engagectl cuid check - --column cuid < cuids.csv > findings.ndjson
  `,
  options: [
    'Options:',
    ['--column <column>', 'column that contains the cuid', { default: 'cuid', common: true }],
    ['--strict', 'treat warnings as errors', { common: true }],
    [
      '--rejects <file>',
      'file for rows with errors (default: next to the first input)',
      { parse: rejectsFile, common: true, writes: true },
    ],
    ...inputOptions,
  ],
  run: async (call) => {
    const { operands: files, flags, runtime } = call;
    requireInput(files, call);
    const settings = call.settings();
    const [{ checkCuids }, { openLineWriter }, { sanitizedJson }, { cliAdvice }, { runJob }] =
      await Promise.all([
        import('../jobs/cuid/check-cuids.js'),
        import('../jobs/record-output.js'),
        import('../ui/sanitize.js'),
        import('./shared/job-context.js'),
        import('./shared/run-job.js'),
      ]);
    // With --json, only the summary.
    const write = settings.json ? undefined : openLineWriter(runtime, cliAdvice);
    const found: CheckCuidsHooks['found'] =
      write && ((rows) => write(rows.map((row) => `${sanitizedJson(row)}\n`).join('')));
    await runJob(
      {
        name: 'cuid check',
        flags: {},
        verb: 'passed',
        nouns: 'rows',
        reads: !settings.json,
        job: (context, hooks) =>
          checkCuids({ ...flags, files }, context, { ...hooks, ...(found && { found }) }),
      },
      settings,
      runtime,
    );
  },
};

const derive: CommandSpec<Omit<DeriveCuidsOptions, 'files'>> = {
  needs: 'nothing',
  summary: 'add a column "cuid" derived from another column',
  description:
    'Writes each row as it was read, with a cuid more: the same one for the same value, always. Two rows that would ' +
    'have one cuid are an error that names both. What is written passes cuid check --strict.',
  operands: [['[file...]', input]],
  examples: `
    # readable, of an id
    engagectl cuid derive users.csv --from identity -o with-cuids.csv
    # of an address, which the other party of a call must not see
    engagectl cuid derive users.csv --from Email --key-file cuid.key -o with-cuids.csv
    # one for each device, in a pipe
    engagectl cuid derive devices.csv --from identity --device-column device | engagectl cuid check - --strict
  `,
  options: [
    'Options:',
    ['--from <column>', 'column of what names the user', { parse: nonEmpty, required: true }],
    [
      '--device-column <column>',
      'column that tells the devices of a user apart',
      { parse: nonEmpty, common: true },
    ],
    [
      '--style <style>',
      'slug: readable; hash: hides the value (default: hash for emails, phones and with a key)',
      { parse: choice('slug', 'hash'), common: true },
    ],
    [
      '--key-file <file>',
      'key of the style hash: who has it can derive the same cuids',
      { parse: nonEmpty, common: true },
    ],
    [
      '--rejects <file>',
      'where rows without a cuid go (default: beside the first input)',
      { parse: rejectsFile, common: true, writes: true },
    ],
    'Output:',
    [
      '-o, --output <file>',
      'default: standard output; .gz compresses',
      { parse: nonEmpty, common: true, writes: true },
    ],
    ['--overwrite', 'replace an existing output file'],
    ['--fresh', 'start from scratch; rename the partial file of an earlier run'],
    ...inputOptions,
  ],
  run: async (call) => {
    const { operands: files, flags, runtime } = call;
    requireInput(files, call);
    const [{ deriveCuids }, { runJob }] = await Promise.all([
      import('../jobs/cuid/derive-cuids.js'),
      import('./shared/run-job.js'),
    ]);
    await runJob(
      {
        name: 'cuid derive',
        flags,
        verb: 'derived',
        nouns: 'cuids',
        reads: true,
        job: (context, hooks) => deriveCuids({ ...flags, files }, context, hooks),
      },
      call.settings(),
      runtime,
    );
  },
};

/** Identities of users who call each other (calling SDK, initProperties). */
export const command: CommandSpec = {
  summary: 'check and derive cuids, the identities for calls',
  examples: `
    # check that each is valid and unique
    engagectl cuid check cuids.csv
    # derive them from existing ids
    engagectl cuid derive users.csv --from identity -o with-cuids.csv
  `,
  subcommands: { check: () => check, derive: () => derive },
};
