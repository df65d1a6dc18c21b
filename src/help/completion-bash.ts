import { optionsAt, withSubcommands, type CommandWords, type Values } from './command-words.js';

/**
 * A completion script for bash from 3.2 on. Where it offers nothing, bash offers file names; where
 * no file is meant, they are switched off.
 */
export function bashCompletion(program: CommandWords): string {
  const commands = withSubcommands(program);
  return `# Completion of engagectl for bash. Load it with: source <(engagectl completion bash)

# Sets kind to what the value of an option is: words, names, files, text; or to nothing.
_engagectl_value() {
  kind=
  case "$1 $2" in
${commands.flatMap((command) => command.options.flatMap((option) => valueCases(command, option))).join('\n')}
  esac
}

# Sets flags and kind to the options and operands of a command.
_engagectl_command() {
  case "$1" in
${commands.map((command) => commandCase(command, program)).join('\n')}
  esac
}

_engagectl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path= kind= flags= i word
  COMPREPLY=()
  # bash takes --flag=value for three words.
  if [[ $cur == = ]]; then cur=
  elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi

  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == -* ]]; then
      _engagectl_value "$path" "$word"
      [[ \${COMP_WORDS[i+1]} == = ]] && ((i++))
      [[ -n $kind ]] && ((i++))
    else
      case "\${path:+$path }$word" in
        ${commands.flatMap(({ path }) => (path === '' ? [] : `'${path}'`)).join(' | ')}) path="\${path:+$path }$word" ;;
      esac
    fi
  done

  kind=
  if [[ $prev == -* ]]; then _engagectl_value "$path" "$prev"; fi
  if [[ -z $kind ]]; then
    _engagectl_command "$path"
    if [[ $cur == -* ]]; then kind="words $flags"; fi
  fi

  [[ $kind != files ]] && compopt +o default +o bashdefault 2>/dev/null
  case "$kind" in
    words*) COMPREPLY=($(compgen -W "\${kind#words}" -- "$cur")) ;;
    profiles | regions | runs)
      COMPREPLY=($(compgen -W "$(engagectl __complete "$kind" 2>/dev/null)" -- "$cur")) ;;
  esac
}

complete -o bashdefault -o default -F _engagectl engagectl
`;
}

/** Options of the program may stand with every command. */
function valueCases({ path }: CommandWords, { names, values }: CommandWords['options'][number]) {
  if (values === undefined) return [];
  const patterns = names.map((name) => (path === '' ? `*' ${name}'` : `'${path} ${name}'`));
  return [`    ${patterns.join(' | ')}) kind=${kind(values)} ;;`];
}

function commandCase(command: CommandWords, program: CommandWords): string {
  const names = optionsAt(command, program).flatMap((option) => option.names);
  const flags = names.filter((name) => name !== '-V').join(' ');
  const words = command.commands.map(({ name }) => name);
  const operands = words.length > 0 ? words : command.operands;
  return `    '${command.path}') flags='${flags}' kind=${kind(operands)} ;;`;
}

const kind = (values: Values = 'text'): string =>
  typeof values === 'string' ? values : `'words ${values.join(' ')}'`;
