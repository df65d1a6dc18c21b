import { Command } from 'commander';
import { addExamples } from '../help/examples.js';
import { isTopic, loadTopic, topics, type TopicName } from '../help/topics.js';
import type { Runtime } from '../runtime.js';
import { environmentFlags } from './options.js';

/** `help [topic|command…]`: commander's own prints the program's help for a name it does not know. */
export function registerHelp(program: Command, { stdout }: Pick<Runtime, 'stdout'>): void {
  const help = program
    .helpCommand(false)
    .command('help')
    .summary('help of a command, or about a topic')
    .argument('[name...]', 'a command or a topic')
    .action(async (names: string[]) => {
      const [first, errorId] = names;
      if (isTopic(first)) await showTopic(first, errorId);
      else commandOf(program, names).help();
    });
  addExamples(help, [
    ['a command', 'engagectl help upload'],
    ['a topic', 'engagectl help exit-codes'],
    ['an error', 'engagectl help errors E-CREDENTIALS'],
  ]);

  async function showTopic(name: TopicName, errorId: string | undefined): Promise<void> {
    const topic = await loadTopic(name, { flags: environmentFlags(), errorId });
    const { topicText } = await import('../help/topic-text.js');
    stdout.write(topicText(topic, help.createHelp().helpWidth ?? 80));
  }
}

/** The command that the names lead to. Throws commander's error for one that it does not know. */
function commandOf(program: Command, names: readonly string[]): Command {
  let command = program;
  for (const name of names) {
    const child = command.commands.find((each) => each.name() === name);
    // Only a command that has subcommands says which of them it does not know.
    if (!child && command.commands.length > 0) refuseName(name, command);
    command = child ?? command;
  }
  return command;
}

/** commander finds the nearest of the commands and, of the program, the topics. */
function refuseName(name: string, command: Command): void {
  const known = new Command().exitOverride().helpCommand(false);
  known.configureOutput({ outputError: () => undefined });
  for (const child of command.commands) known.command(child.name());
  if (command.parent === null) for (const topic of Object.keys(topics)) known.command(topic);
  known.parse([name], { from: 'user' });
}
