import type { CompletionCommand, CompletionOption, CompletionValues } from './command-words.js';

/** Generates a completion script for fish 3.0 or newer. */
export function fishCompletion(commands: readonly CompletionCommand[]): string {
  const options = commands.flatMap(({ ownOptions }) => ownOptions);
  const valued = options.filter(({ values }) => values !== undefined);
  return `# Completion of engagectl for fish. Load it with: engagectl completion fish | source

# Whether the words so far lead to this command; with alone, and none of its operands is there.
function __engagectl_at
    set -l words (commandline -opc)
    set -l path
    set -l given
    set -l value 0
    for word in $words[2..-1]
        if test $value = 1
            set value 0
        else if string match -q -- '-*' $word
            contains -- $word ${[...new Set(valued.flatMap(({ names }) => names))].join(' ')}
            and set value 1
        else if contains -- (string join ' ' $path $word) ${commands.flatMap(({ path }) => (path === '' ? [] : quoted(path))).join(' ')}
            set path $path $word
        else
            set given $word
        end
    end
    test "$path" = "$argv[1]"
    and not test -n "$argv[2]" -a -n "$given"
end

complete -c engagectl -e
complete -c engagectl -f
${commands.flatMap(linesOf).join('\n')}
`;
}

/** Options of the program are valid everywhere. */
function linesOf({ path, commands, ownOptions, operands }: CompletionCommand): string[] {
  const at = when(quoted(path));
  const children = commands.map(
    ({ name, description }) => `${at} -a ${name} -d ${quoted(description)}`,
  );
  const options = ownOptions.map(
    (option) => `${path === '' ? '' : `${at} `}${optionWords(option)}`,
  );
  const place = operands === 'files' ? at : when(`${quoted(path)} alone`);
  const values =
    operands === undefined || operands === 'text' ? [] : [`${place} ${valuesOf(operands)}`];
  const lines =
    path === '' ? [...options, ...children, ...values] : [...children, ...options, ...values];
  return lines.map((line) => `complete -c engagectl ${line}`);
}

const when = (words: string): string => `-n ${quoted(`__engagectl_at ${words}`)}`;

function optionWords({ names, description, values }: CompletionOption): string {
  const flags = names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  );
  const value = values === undefined ? [] : ['-r', valuesOf(values)];
  return [...flags, ...value, '-d', quoted(description)].join(' ');
}

function valuesOf(values: CompletionValues): string {
  if (values === 'files') return '-F';
  if (values === 'text') return '-f';
  const words =
    typeof values === 'string'
      ? `(engagectl __complete ${completeArguments(values)} 2>/dev/null)`
      : values.join(' ');
  return `-f -a ${quoted(words)}`;
}

/** Columns are those of the file named on the line. */
const completeArguments = (values: string): string =>
  values === 'columns' || values === 'types'
    ? 'columns -- (commandline -o)[2..-1] (commandline -ct)'
    : values;

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
