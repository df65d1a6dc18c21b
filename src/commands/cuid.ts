import { inputOptions, needInput } from './flags/input-flags.js';
import { choice, notEmpty } from './flags/value-parsers.js';
import type { CheckCuidsHooks, CheckCuidsOptions } from '../jobs/cuid/check-cuids.js';
import type { DeriveCuidsOptions } from '../jobs/cuid/derive-cuids.js';
import type { CommandSpec } from './shared/command-spec.js';

const input = 'CSV, TSV, NDJSON or JSON, each also .gz, or a list; - reads stdin';

const check: CommandSpec<Omit<CheckCuidsOptions, 'files'>> = {
  needs: 'nothing',
  summary: 'whether each cuid can be used, and is there once',
  description:
    'Checks each cuid by itself and against the others, and sends nothing. Rows with errors or warnings are ' +
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
  run: async (call) => {
    const { operands: files, flags, runtime } = call;
    needInput(files, call);
    const settings = call.settings();
    const [{ checkCuids }, { openLines }, { inertJson }, { jobWords }, { runJob }] =
      await Promise.all([
        import('../jobs/cuid/check-cuids.js'),
        import('../jobs/record-output.js'),
        import('../ui/sanitize.js'),
        import('./shared/job-context.js'),
        import('./shared/run-job.js'),
      ]);
    // With --json the summary alone.
    const write = settings.json ? undefined : openLines(runtime, jobWords);
    const found: CheckCuidsHooks['found'] =
      write && ((rows) => write(rows.map((row) => `${inertJson(row)}\n`).join('')));
    await runJob(
      {
        name: 'cuid check',
        flags: {},
        nouns: 'rows',
        reads: !settings.json,
        job: (world, hooks) =>
          checkCuids({ ...flags, files }, world, { ...hooks, ...(found && { found }) }),
      },
      settings,
      runtime,
    );
  },
};

const derive: CommandSpec<Omit<DeriveCuidsOptions, 'files'>> = {
  needs: 'nothing',
  summary: 'add a column "cuid", made of another one',
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
    ['--from <column>', 'column of what names the user', { parse: notEmpty, required: true }],
    ['--device-column <column>', 'column that tells the devices of a user apart', notEmpty],
    [
      '--style <style>',
      'slug: readable; hash: hides the value (default: hash for emails, phones and with a key)',
      choice('slug', 'hash'),
    ],
    ['--key-file <file>', 'key of the style hash: who has it can derive the same cuids', notEmpty],
    ['--rejects <file>', 'where rows without a cuid go (default: beside the first input)'],
    'Output:',
    ['-o, --output <file>', 'default: standard output; .gz compresses', notEmpty],
    ['--overwrite', 'replace an existing output file'],
    ['--fresh', 'start again, setting the partial file of an earlier run aside'],
    ...inputOptions,
  ],
  run: async (call) => {
    const { operands: files, flags, runtime } = call;
    needInput(files, call);
    const [{ deriveCuids }, { runJob }] = await Promise.all([
      import('../jobs/cuid/derive-cuids.js'),
      import('./shared/run-job.js'),
    ]);
    await runJob(
      {
        name: 'cuid derive',
        flags,
        nouns: 'cuids',
        reads: true,
        job: (world, hooks) => deriveCuids({ ...flags, files }, world, hooks),
      },
      call.settings(),
      runtime,
    );
  },
};

/** Identities of users who call each other (calling SDK, initProperties). */
export const command: CommandSpec = {
  summary: 'check and derive cuids, the identities of users who call each other',
  examples: `
    # whether each can be used, and is there once
    engagectl cuid check cuids.csv
    # made of the ids that there are
    engagectl cuid derive users.csv --from identity -o with-cuids.csv
  `,
  subcommands: { check: () => check, derive: () => derive },
};
