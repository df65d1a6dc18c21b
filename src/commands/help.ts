import type { Command } from 'commander';

/** `help [command…]`: commander's own prints the program's help for a name it does not know. */
export function registerHelp(program: Command): void {
  program
    .helpCommand(false)
    .command('help')
    .summary('help of a command')
    .argument('[command...]', 'none: all commands')
    .addHelpText('before', 'Examples:\n  engagectl help upload\n  engagectl help config set\n')
    .action(async (names: string[]) => {
      let command = program;
      for (const name of names) {
        const child = command.commands.find((each) => each.name() === name);
        // Only a command that has subcommands says which of them it does not know.
        if (!child && command.commands.length > 0)
          await program.parseAsync(names, { from: 'user' });
        command = child ?? command;
      }
      command.help();
    });
}
