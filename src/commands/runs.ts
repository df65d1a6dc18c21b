import { InvalidArgumentError, type Command } from 'commander';
import { addExamplesTo, type Example } from '../help/examples.js';
import type { Runtime } from '../runtime.js';
import { duration } from './option-values.js';
import { resolveSettings } from './options.js';

/** Runs a command line in another folder. */
export type RunArgv = (argv: readonly string[], runtime: Runtime) => Promise<void>;

const examples: Readonly<Record<string, readonly Example[]>> = {
  '': [
    ['what did not finish', 'engagectl runs list'],
    ['go on with one', 'engagectl runs resume 20261121-044512-7kq2'],
    ['forget the old ones', 'engagectl runs prune --older-than 30d'],
  ],
  list: [
    ['the oldest first', 'engagectl runs list'],
    ['for a script', 'engagectl runs list --json'],
  ],
  show: [
    ['its command, account, files and folder', 'engagectl runs show 20261121-044512-7kq2'],
    ['for a script', 'engagectl runs show 20261121-044512-7kq2 --json'],
  ],
  resume: [
    ['from any folder', 'engagectl runs resume 20261121-044512-7kq2'],
    ['for a script', 'engagectl runs resume 20261121-044512-7kq2 --json'],
  ],
  prune: [
    ['those begun more than 30 days ago', 'engagectl runs prune --older-than 30d'],
    ['all of them', 'engagectl runs prune'],
  ],
};

export function registerRuns(program: Command, runtime: Runtime, runArgv: RunArgv): void {
  const runs = program
    .command('runs')
    .summary('runs that did not finish, and how to go on')
    .description('Lists, shows, resumes and forgets runs that did not finish.');
  const settings = () => resolveSettings(runs, runtime);
  runs
    .command('list')
    .description('the unfinished runs, the oldest first')
    .action(async () => (await actions()).listUnfinished(settings(), runtime));
  runs
    .command('show <id>')
    .description('one run: its command, account, files and folder')
    .action(async (id: string) => (await actions()).showRun(id, settings(), runtime));
  runs
    .command('resume <id>')
    .description('goes on with a run, by the command line it was begun with')
    .action(async (id: string) => (await actions()).resumeRun(id, runtime, runArgv));
  runs
    .command('prune')
    .description(
      'forgets unfinished runs: they can not be resumed any more; what exports left is removed',
    )
    .option('--older-than <age>', 'only those begun longer ago, like 12h or 30d', age, 0)
    .action(async ({ olderThan }: { olderThan: number }) =>
      (await actions()).pruneRuns(olderThan, settings(), runtime),
    );
  addExamplesTo(runs, examples);
}

/** Loaded when used: `--help` of other commands needs none of it. */
const actions = async () => import('./run-runs.js');

/** A duration, or days: `30d`; in milliseconds. */
function age(text: string): number {
  const days = /^(\d+)d$/.exec(text)?.[1];
  if (days !== undefined) return Number(days) * 86_400_000;
  try {
    return duration(text);
  } catch {
    throw new InvalidArgumentError('Use an age like 12h or 30d.');
  }
}
