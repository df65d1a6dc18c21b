import {
  withSubcommands,
  type CommandWords,
  type OptionWords,
  type Values,
} from './command-words.js';

/** A completion script for fish from 3.0 on. */
export function fishCompletion(program: CommandWords): string {
  const commands = withSubcommands(program);
  const options = commands.flatMap((command) => command.options);
  const valued = options.filter(({ values }) => values !== undefined);
  return `# Completion of engagectl for fish. Load it with: engagectl completion fish | source

# Whether the words so far lead to this command.
function __engagectl_at
    set -l words (commandline -opc)
    set -l path
    set -l value 0
    for word in $words[2..-1]
        if test $value = 1
            set value 0
        else if string match -q -- '-*' $word
            contains -- $word ${[...new Set(valued.flatMap(({ names }) => names))].join(' ')}
            and set value 1
        else if contains -- (string join ' ' $path $word) ${commands.flatMap(({ path }) => (path === '' ? [] : quoted(path))).join(' ')}
            set path $path $word
        end
    end
    test "$path" = "$argv[1]"
end

complete -c engagectl -e
complete -c engagectl -f
${program.options.map((option) => line([], option)).join('\n')}
${commands.flatMap((command) => linesOf(command, program)).join('\n')}
`;
}

function linesOf(command: CommandWords, program: CommandWords): string[] {
  const at = ['-n', quoted(`__engagectl_at ${quoted(command.path)}`)];
  const children = command.commands.map(
    ({ name, description }) =>
      `complete -c engagectl ${at.join(' ')} -a ${name} -d ${quoted(description)}`,
  );
  const operands =
    command.operands === undefined || command.operands === 'text'
      ? []
      : [`complete -c engagectl ${at.join(' ')} ${valuesOf(command.operands)}`];
  const own = command === program ? [] : command.options.map((option) => line(at, option));
  return [...children, ...own, ...operands];
}

function line(at: readonly string[], { names, description, values }: OptionWords): string {
  const flags = names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  );
  const value = values === undefined ? [] : ['-r', valuesOf(values)];
  return ['complete -c engagectl', ...at, ...flags, ...value, '-d', quoted(description)].join(' ');
}

function valuesOf(values: Values): string {
  if (values === 'files') return '-F';
  if (values === 'text') return '-f';
  const words =
    typeof values === 'string' ? `(engagectl __complete ${values} 2>/dev/null)` : values.join(' ');
  return `-f -a ${quoted(words)}`;
}

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
