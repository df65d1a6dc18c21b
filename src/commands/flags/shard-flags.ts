import { EngagectlError } from '../../errors.js';
import { formatShard } from '../../jobs/shard.js';
import { integer, matching } from './value-parsers.js';
import type { Shard } from '../../jobs/job-options.js';
import type { Invocation } from '../shared/command-spec.js';
import type { OptionTable } from './option-table.js';
import type { GlobalOptions } from '../shared/global-options.js';

/** Flags of commands whose work can be divided among processes. */
export interface ShardFlags {
  readonly shard?: string;
  readonly shards?: number;
  readonly concurrency?: number | 'auto';
}

export const shardOptions: OptionTable = [
  'Several machines:',
  [
    '--shard <i/n>',
    'process only shard i of n; auto: as set by the scheduler',
    matching(/^(auto|\d{1,6}\/\d{1,6})$/, 'Use one like 2/8, or auto.'),
  ],
  [
    '--shards <n>',
    'number of shards, if the scheduler does not set it',
    integer({ min: 1, max: 999_999 }),
  ],
];

/** Variables by which schedulers number the processes of a job. */
const schedulers = [
  { index: 'JOB_COMPLETION_INDEX' },
  { index: 'AWS_BATCH_JOB_ARRAY_INDEX', count: 'AWS_BATCH_JOB_ARRAY_SIZE' },
  {
    index: 'SLURM_ARRAY_TASK_ID',
    count: 'SLURM_ARRAY_TASK_COUNT',
    first: 'SLURM_ARRAY_TASK_MIN',
    step: 'SLURM_ARRAY_TASK_STEP',
  },
  { index: 'CLOUD_RUN_TASK_INDEX', count: 'CLOUD_RUN_TASK_COUNT' },
] as const satisfies readonly Scheduler[];

interface Scheduler {
  readonly index: string;
  readonly count?: string;
  readonly first?: string;
  readonly step?: string;
}

interface Sharded {
  readonly shard?: Shard;
  /** Limit of all shards together; undefined: default of the job. */
  readonly concurrency?: number | 'auto' | undefined;
  /** Settings with the shard added to the command line, so that a resumed run keeps it. */
  readonly settings: GlobalOptions;
}

/** Returns the shard given by flags or scheduler variables, if any. Throws E-USAGE. */
export function resolveShard({
  flags,
  command,
  runtime,
  settings,
}: Pick<Invocation<ShardFlags>, 'flags' | 'command' | 'runtime' | 'settings'>): Sharded {
  const shard = shardIn(flags, runtime.env);
  if (!shard) return { settings: settings(), concurrency: flags.concurrency };
  const isTyped = command.getOptionValueSource('concurrency') !== 'default';
  const { argv, ...others } = settings();
  const named = formatShard(shard);
  const words = argv.map((word, at) => {
    if (word === '--shard=auto') return `--shard=${named}`;
    return word === 'auto' && argv[at - 1] === '--shard' ? named : word;
  });
  return {
    shard,
    concurrency: isTyped ? flags.concurrency : undefined,
    settings: { ...others, argv: words },
  };
}

function shardIn({ shard, shards }: ShardFlags, env: Variables): Shard | undefined {
  if (shard === undefined && shards === undefined) return undefined;
  if (shard === undefined) {
    throw usage(`--shards ${shards} says how many parts, and nothing which one`, 'add --shard');
  }
  if (shard === 'auto') return shardFromScheduler(shards, env);
  const [index = 0, count = 0] = shard.split('/').map(Number);
  if (shards !== undefined && shards !== count) {
    throw usage(`--shard ${shard} contradicts --shards ${shards}`, 'leave one of them out');
  }
  return inRange({ index, count }, `--shard ${shard}`);
}

type Variables = Readonly<Record<string, string>>;

/** Reads the shard from the variables of the first scheduler found. */
function shardFromScheduler(shards: number | undefined, env: Variables): Shard {
  const scheduler: Scheduler | undefined = schedulers.find(({ index }) => env[index] !== undefined);
  if (!scheduler) {
    const names = schedulers.map(({ index }) => index).join(', ');
    throw usage(`--shard auto: none of ${names} is set`, 'name the shard, like --shard 2/8');
  }
  const number = (name: string | undefined, fallback: number): number => {
    const text = name === undefined ? undefined : env[name];
    if (text === undefined) return fallback;
    if (/^\d{1,9}$/.test(text)) return Number(text);
    throw usage(`--shard auto: ${name} is "${text}", which is not a number`, 'name the shard');
  };
  const first = number(scheduler.first, 0);
  const index = (number(scheduler.index, 0) - first) / number(scheduler.step, 1) + 1;
  const count = number(scheduler.count, shards ?? 0);
  if (count === 0) {
    const why = `${scheduler.index} says which part, and nothing how many there are`;
    throw usage(`--shard auto: ${why}`, 'add --shards <n>');
  }
  if (first > 1 && count === 1) {
    const message = `--shard auto: ${scheduler.index} is ${env[scheduler.index]}, the only task`;
    throw usage(message, 'for a task that runs again, name its shard, like --shard 3/5');
  }
  if (shards !== undefined && shards !== count) {
    const message = `--shards ${shards} contradicts ${scheduler.count}, which is ${count}`;
    throw usage(message, 'leave --shards out; for tasks that run again, name the shard');
  }
  return inRange({ index, count }, `${scheduler.index} of ${count} parts`);
}

function inRange(shard: Shard, what: string): Shard {
  const { index, count } = shard;
  if (Number.isInteger(index) && index >= 1 && index <= count) return shard;
  throw usage(`${what} is out of range`, 'shards are counted from 1/n to n/n');
}

const usage = (message: string, fix: string): EngagectlError =>
  new EngagectlError('E-USAGE', message, {
    why: 'each part has to know which it is, and of how many',
    fix,
  });
