import { Argument, type Command } from 'commander';
import { addExamples } from '../help/examples.js';
import type { Runtime } from '../runtime.js';

type Shell = 'bash' | 'zsh' | 'fish';

/** Prints a completion script made from the command tree (contract §1). */
export function registerCompletion(
  program: Command,
  runtime: Runtime,
  wholeProgram: (runtime: Runtime) => Promise<Command>,
): void {
  const command = program
    .command('completion')
    .summary('completion script for a shell')
    .description(
      'Prints a script that completes commands, flags, their values, file names, profiles,\n' +
        'regions and run ids. Load it in ~/.bashrc, or put it where your shell looks for completions.',
    )
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: Shell) => {
      const { commandWords } = await import('../help/command-words.js');
      const [script, whole] = await Promise.all([scripts[shell](), wholeProgram(runtime)]);
      runtime.stdout.write(script(commandWords(whole)));
    });
  addExamples(command, [
    ['in ~/.bashrc', 'source <(engagectl completion bash)'],
    ['once, in a folder of $fpath', 'engagectl completion zsh > _engagectl'],
    ['once', 'engagectl completion fish > ~/.config/fish/completions/engagectl.fish'],
  ]);
}

const scripts = {
  bash: async () => (await import('../help/completion-bash.js')).bashCompletion,
  zsh: async () => (await import('../help/completion-zsh.js')).zshCompletion,
  fish: async () => (await import('../help/completion-fish.js')).fishCompletion,
};
