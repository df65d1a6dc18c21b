import { InvalidArgumentError, type Command } from 'commander';
import type { Runtime } from '../runtime.js';
import { duration, resolveSettings } from './options.js';

/** Runs a command line in another folder. */
export type RunArgv = (argv: readonly string[], runtime: Runtime) => Promise<void>;

const examples = `Examples:
  engagectl runs list
  engagectl runs resume 20261121-044512-7kq2
  engagectl runs prune --older-than 30d
`;

export function registerRuns(program: Command, runtime: Runtime, runArgv: RunArgv): void {
  const runs = program
    .command('runs')
    .summary('runs that did not finish, and how to go on')
    .description('Lists, shows, resumes and forgets runs that did not finish.')
    .addHelpText('beforeAll', examples);
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
    .description('forgets unfinished runs: they can not be resumed any more')
    .option('--older-than <age>', 'only those begun longer ago, like 12h or 30d', age, 0)
    .action(async ({ olderThan }: { olderThan: number }) =>
      (await actions()).pruneRuns(olderThan, settings(), runtime),
    );
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
