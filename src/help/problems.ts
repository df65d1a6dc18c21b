import { CommanderError, type Command } from 'commander';

/** What is wrong with a command line, by its program. */
const problems = new WeakMap<Command, string[]>();

const rootOf = (command: Command): Command => (command.parent ? rootOf(command.parent) : command);

/** Keeps it until all of the command line is read. */
export function noteProblem(command: Command, problem: string): void {
  const root = rootOf(command);
  problems.set(root, [...(problems.get(root) ?? []), problem]);
}

export const problemsOf = (command: Command): readonly string[] =>
  problems.get(rootOf(command)) ?? [];

/** Several problems as one sentence. */
export const oneAfterAnother = (all: readonly string[]): string =>
  all.length === 1 ? all[0]! : all.map((problem) => problem.replace(/\.$/, '')).join('; ');

/** Throws all that was noted. */
export function refuseProblems(command: Command): void {
  const noted = problemsOf(command);
  if (noted.length > 0) throw new CommanderError(2, 'engagectl.problems', oneAfterAnother(noted));
}
