import type { CompletionCommand, CompletionOption, CompletionValues } from './command-words.js';

/** Generates a completion script for zsh, to be sourced or saved in a directory of fpath as _engagectl. */
export function zshCompletion(commands: readonly CompletionCommand[]): string {
  const paths = new Set(commands.map(({ path }) => path));
  return `#compdef engagectl
# Completion of engagectl for zsh. Load it with: source <(engagectl completion zsh)

_engagectl_names() {
  local -a names
  names=(\${(f)"$(engagectl __complete $1 2>/dev/null)"})
  compadd -a names
}

_engagectl_columns() {
  local -a names
  names=(\${(f)"$(engagectl __complete columns -- $words "$PREFIX" 2>/dev/null)"})
  compadd -a names
}

${commands.map((command) => functionOf(command, paths)).join('\n\n')}

if [[ $funcstack[1] == _engagectl ]]; then
  _engagectl "$@"
elif (( $+functions[compdef] )); then
  compdef _engagectl engagectl
fi
`;
}

/** Generates a function; a command with subcommands calls the function of the one that is typed. */
function functionOf(
  { path, commands, options, operands }: CompletionCommand,
  paths: ReadonlySet<string>,
): string {
  const specs = options.flatMap(optionSpecs);
  if (commands.length === 0) {
    const operand =
      operands === undefined
        ? []
        : [quoted(`${operands === 'files' ? '*' : '1'}:operand:${action(operands)}`)];
    return `${nameOf(path)}() {
  _arguments -s -S${[...specs, ...operand].map(continued).join('')}
}`;
  }
  const described = commands.map(({ name, description }) =>
    quoted(`${name}:${description.replaceAll(':', String.raw`\:`)}`),
  );
  const cases = commands
    .filter(({ name }) => paths.has(`${path} ${name}`.trim()))
    .map(({ name }) => `    ${name}) ${nameOf(`${path} ${name}`)} ;;`);
  return `${nameOf(path)}() {
  local curcontext=$curcontext state line
  local -A opt_args
  local -a commands
  commands=(${described.map((each) => `\n    ${each}`).join('')}
  )
  _arguments -C -s -S${[...specs, quoted('1: :->command'), quoted('*:: :->rest')].map(continued).join('')}
  case $state in
    command) _describe command commands ;;
    rest)
      case $line[1] in
    ${cases.join('\n    ')}
      esac ;;
  esac
}`;
}

const nameOf = (path: string): string =>
  ['_engagectl', ...path.split(' ')].filter(Boolean).join('_');

const continued = (spec: string): string => ` \\\n    ${spec}`;

/** Formats `'--format[text]:value:(a b)'`, and the same for the short name. */
function optionSpecs({ names, description, values }: CompletionOption): string[] {
  const text = description.replaceAll(/[[\]:\\]/g, String.raw`\$&`);
  return names.map((name) => {
    if (values === undefined) return quoted(`${name}[${text}]`);
    const separator = name.startsWith('--') ? '=' : '+';
    return quoted(`*${name}${separator}[${text}]:value:${action(values)}`);
  });
}

/** A space before a call keeps zsh from adding arguments of its own. */
function action(values: CompletionValues): string {
  if (values === 'files') return '_files';
  if (values === 'text') return ' ';
  if (values === 'columns' || values === 'types') return ' _engagectl_columns';
  return typeof values === 'string' ? ` _engagectl_names ${values}` : `(${values.join(' ')})`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
