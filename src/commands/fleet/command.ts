import { choice, duration, integer } from '../flags/value-parsers.js';
import { queueOption, runOptions, type QueueFlag } from './fleet-flags.js';
import type { CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

/** Loaded when used: `--help` of other commands needs none of it. */
const actions = async () => import('./queue.js');

const submitOptions = [
  'Options:',
  [
    '--shards <n>',
    'how many parts of a write; those of an export are its slices',
    integer({ min: 1, max: 10_000 }),
  ],
  ['--work-dir <dir>', 'a folder that all workers see', { required: true }],
  [
    '--budget <n>',
    "the account's requests in flight, from now on (default: as it is; at first 15, of exports and demerges 3)",
    integer({ min: 1, max: 9999 }),
  ],
  ['--wait', 'return when the run is over, with its exit code'],
  queueOption,
] as const satisfies OptionTable;
export type SubmitFlags = FlagsOf<typeof submitOptions>;

const submit: CommandSpec<SubmitFlags> = {
  summary: 'submits a command to the fleet, in shards; prints the id of the run',
  description:
    'Submits a command to the fleet, in shards, and prints the id of the run. Files and the work folder have to be the ' +
    'same paths for all workers.',
  operands: [['<command...>', 'upload, subscribe, demerge or export-events, and its arguments']],
  examples: `
    # an upload in eight parts
    engagectl fleet submit upload users.csv --shards 8 --work-dir /shared/fleet
    # an export, a slice a day; waits for its end
    engagectl fleet submit export-events --event Charged --from 7d --to yesterday -o charged.ndjson --work-dir /shared/fleet --wait
  `,
  takesAnyFlag: true,
  options: submitOptions,
  run: async (call) => (await import('./submit-action.js')).submit(call),
};

const workOptions = [
  'Options:',
  [
    '--slots <n>',
    'shards at once, of each account',
    { parse: integer({ min: 1, max: 100 }), default: 4 },
  ],
  ['--drain', 'end when nothing is left to do'],
  [
    '--lease <duration>',
    'a worker that is silent for so long has lost its shards',
    { parse: duration, default: 30_000, shown: '30s' },
  ],
  queueOption,
] as const satisfies OptionTable;
export type WorkFlags = FlagsOf<typeof workOptions>;

const work: CommandSpec<WorkFlags> = {
  summary: 'takes shards until it is told to stop; then gives them back',
  examples: `
    # until SIGTERM or Ctrl-C
    engagectl fleet work
    # until there is nothing left to do
    engagectl fleet work --drain
  `,
  options: workOptions,
  run: async (call) => (await actions()).work(call),
};

const statusOptions = [
  'Options:',
  ['--watch', 'draw it again until the run is over'],
  ...runOptions,
] as const satisfies OptionTable;
export type StatusFlags = FlagsOf<typeof statusOptions>;

const status: CommandSpec<StatusFlags> = {
  needs: 'nothing',
  summary: 'how far a run is; without an id, the runs there are',
  description:
    'Shows how far a run is; without an id, the runs there are. Exit code 0: done or under way; 3: done with rejects; ' +
    '5: no worker is alive.',
  operands: [['[run]', 'its id']],
  examples: `
    # how far it is
    engagectl fleet status 0123456789ab
    # a live table, until it is over
    engagectl fleet status 0123456789ab --watch
  `,
  options: statusOptions,
  run: async (call) => (await import('./status.js')).status(call),
};

const collectOptions = [
  'Options:',
  ['-o, --output <file>', 'the rejects file, or the file of the export'],
  ['--overwrite', 'replace existing files of an export'],
  ['--report <file.html>', 'write a page about the run: workers, shards, throughput, 429s'],
  ...runOptions,
] as const satisfies OptionTable;
export type CollectFlags = FlagsOf<typeof collectOptions>;

const collect: CommandSpec<CollectFlags> = {
  needs: 'nothing',
  summary: 'one summary and one rejects file of a run that is done; of an export its files',
  description:
    'Makes one summary of a run that is done, one rejects file in the order of the input, and of the slices of an ' +
    'export the files that were asked for.',
  operands: [['<run>', 'its id']],
  examples: `
    # beside the input, or where --output of the export says
    engagectl fleet collect 0123456789ab
    # to another place; figures as JSON
    engagectl fleet collect 0123456789ab -o /tmp/rejects.ndjson --json
  `,
  options: collectOptions,
  run: async (call) => (await import('./collect.js')).collect(call),
};

const budgetOptions = [
  'Options:',
  [
    '--lane <kind>',
    'upload: uploads and subscriptions; other: exports and demerges',
    { parse: choice('upload', 'other'), default: 'upload' },
  ],
  queueOption,
] as const satisfies OptionTable;
export type BudgetFlags = FlagsOf<typeof budgetOptions>;

const budget: CommandSpec<BudgetFlags> = {
  needs: 'account',
  summary: 'how many requests the account may have in flight, over all workers',
  operands: [['<n>', 'requests']],
  examples: `
    # uploads and subscriptions
    engagectl fleet budget 10
    # exports and demerges
    engagectl fleet budget 2 --lane other
  `,
  options: budgetOptions,
  run: async (call) => (await actions()).budget(call),
};

const init: CommandSpec<QueueFlag> = {
  needs: 'nothing',
  summary: 'prepares the queue: reachable, its version, tables, nothing evicted',
  examples: `
    # Redis
    engagectl fleet init --queue redis://localhost:6379
    # PostgreSQL: makes its tables
    engagectl fleet init --queue postgres://fleet@localhost/fleet
  `,
  options: ['Options:', queueOption],
  run: async (call) => (await actions()).init(call),
};

export const command: CommandSpec = {
  summary: 'one run on many machines, by an existing queue',
  description:
    'Runs the shards of a command on many machines, through Redis or PostgreSQL (--queue or ' +
    'ENGAGECTL_QUEUE). Needs the packages bullmq and ioredis, or bullmq and pg.',
  examples: `
    # once
    engagectl fleet init
    # on each machine
    engagectl fleet work
    # an upload in eight parts; prints the id of the run
    engagectl fleet submit upload users.csv --shards 8 --work-dir /shared/fleet
    # one summary and one rejects file
    engagectl fleet collect 0123456789ab
  `,
  subcommands: {
    init,
    submit,
    work,
    status,
    cancel: {
      needs: 'nothing',
      summary: 'stops a run: waiting shards at once, running ones after their request',
      operands: [['<run>', 'its id']],
      examples: `
        # retry goes on with it
        engagectl fleet cancel 0123456789ab
        # of a run that the queue has lost
        engagectl fleet cancel 0123456789ab --work-dir /shared/fleet
      `,
      options: ['Options:', ...runOptions],
      run: async (call) => (await actions()).cancel(call),
    },
    retry: {
      needs: 'nothing',
      summary: 'tries the shards again that failed, were cancelled, or were lost by the queue',
      operands: [['<run>', 'its id']],
      examples: `
        # what failed goes on where it stopped
        engagectl fleet retry 0123456789ab
        # of a run that the queue has lost
        engagectl fleet retry 0123456789ab --work-dir /shared/fleet
      `,
      options: ['Options:', ...runOptions],
      run: async (call) => (await actions()).retry(call),
    },
    collect,
    budget,
  },
};
