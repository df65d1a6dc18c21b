import { Command } from 'commander';
import { isTopic, loadTopic, topics } from '../help/topics.js';
import { environmentFlags } from './shared/global-options.js';
import { jsonAnswer } from '../ui/sanitize.js';
import { version } from '../version.js';
import type { CommandSpec } from './shared/command-spec.js';

/** `help [topic|command…]`. commander's own would print the program's help for an unknown name. */
export const command: CommandSpec = {
  needs: 'nothing',
  summary: 'show help on a command or topic',
  operands: [['[name...]', 'a command or a topic']],
  examples: `
    # a command
    engagectl help upload
    # a topic
    engagectl help exit-codes
    # an error
    engagectl help errors E-CREDENTIALS
  `,
  run: async ({ operands, command, runtime: { stdout, program } }) => {
    const [name, errorId] = operands;
    if (isTopic(name)) {
      const topic = await loadTopic(name, { flags: environmentFlags(), errorId });
      const { renderTopic } = await import('../help/topic-pages.js');
      stdout.write(renderTopic(topic, command.createHelp().helpWidth ?? 80, program));
    } else commandOf(command.parent ?? command, operands).help();
  },
};

/** Finds the command that the names lead to. Throws commander's error for an unknown name. */
function commandOf(program: Command, names: readonly string[]): Command {
  let command = program;
  for (const name of names) {
    const child = command.commands.find((each) => each.name() === name);
    // Only a command with subcommands reports an unknown one.
    if (!child && command.commands.length > 0) refuseName(name, command);
    command = child ?? command;
  }
  return command;
}

/** Throws commander's error, which suggests the nearest command or, at the top level, topic. */
function refuseName(name: string, command: Command): void {
  const known = new Command().exitOverride().helpCommand(false);
  known.configureOutput({ outputError: () => undefined });
  for (const child of command.commands) known.command(child.name());
  if (command.parent === null) for (const topic of Object.keys(topics)) known.command(topic);
  known.parse([name], { from: 'user' });
}

/** `version`. `main` answers a bare `--version` itself, which is faster. */
export const versionCommand: CommandSpec = {
  needs: 'nothing',
  summary: 'print the version',
  description:
    'Prints the version; with --json also those of Node, the platform, and the libraries that requests and files depend on.',
  examples: `
    # print the version only
    engagectl version
    # for a bug report
    engagectl version --json
  `,
  run: async ({ runtime, settings }) => {
    const { stdout, nodeVersion: node, platform } = runtime;
    if (!settings().json) {
      stdout.write(`${version}\n`);
      return;
    }
    const { libraryVersions } = await import('../jobs/doctor/network-checks.js');
    stdout.write(jsonAnswer({ version, node, platform, ...(await libraryVersions()) }));
  },
};
