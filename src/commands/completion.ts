import type { CommandSpec } from './shared/command-spec.js';

const scripts = {
  bash: async () => (await import('../help/completion/bash.js')).bashCompletion,
  zsh: async () => (await import('../help/completion/zsh.js')).zshCompletion,
  fish: async () => (await import('../help/completion/fish.js')).fishCompletion,
  powershell: async () => (await import('../help/completion/powershell.js')).powershellCompletion,
};

/** Prints a completion script made from the command tree (contract §1). */
export const command: CommandSpec = {
  needs: 'nothing',
  summary: 'completion script for a shell',
  description:
    'Prints a script that completes commands, flags, their values, file names, profiles, regions, ' +
    'run ids, ids of errors, and the columns of the input. Load it in ~/.bashrc, or put it where your shell looks for completions.',
  operands: [['<shell>', 'bash, zsh, fish or powershell', { choices: Object.keys(scripts) }]],
  examples: `
    # in ~/.bashrc
    source <(engagectl completion bash)
    # once, in a folder of $fpath
    engagectl completion zsh > _engagectl
    # once
    engagectl completion fish > ~/.config/fish/completions/engagectl.fish
  `,
  run: async ({ operands: [shell], program, runtime }) => {
    const { commandWords } = await import('../help/completion/command-words.js');
    const script = await scripts[shell as keyof typeof scripts]();
    runtime.stdout.write(script(commandWords(await program.tree(runtime))));
  },
};
