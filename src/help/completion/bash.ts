import { typeNames, type CompletionCommand, type CompletionValues } from './command-words.js';

/**
 * Generates a completion script for bash 3.2 or newer. Without candidates, bash offers file names, which
 * are disabled if no file is expected.
 */
export function bashCompletion(commands: readonly CompletionCommand[]): string {
  return `# Completion of engagectl for bash. Load it with: source <(engagectl completion bash)

# Sets kind to what the value of an option is: words, names, files, text; or to nothing.
_engagectl_value() {
  kind=
  case "$1 $2" in
${commands.flatMap(valueCases).join('\n')}
  esac
}

# Sets flags and kind to the options and operands of a command.
_engagectl_command() {
  case "$1" in
${commands.map(commandCase).join('\n')}
  esac
}

${afterColon}
_engagectl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path= kind= flags= given= i word
  COMPREPLY=()
  # bash takes --flag=value and column:type for three words.
  if [[ $cur == = ]]; then cur=
  elif [[ $cur == : ]]; then cur= prev=:
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
        *) given=1 ;;
      esac
    fi
  done

  kind=
  if [[ $prev == : ]]; then _engagectl_after_colon "$cur"
  elif [[ $prev == -* ]]; then _engagectl_value "$path" "$prev"; fi
  if [[ -z $kind ]]; then
    _engagectl_command "$path"
    if [[ -n $given && $kind != files ]]; then kind=; fi
    if [[ $cur == -* ]]; then kind="words $flags"; fi
  fi

  [[ $kind != files ]] && compopt +o default +o bashdefault 2>/dev/null
  case "$kind" in
    words*) COMPREPLY=($(compgen -W "\${kind#words}" -- "$cur")) ;;
    profiles | regions | runs)
      COMPREPLY=($(compgen -W "$(engagectl __complete "$kind" 2>/dev/null)" -- "$cur")) ;;
    columns | types)
      local IFS=$'\\n' name
      for name in $(engagectl __complete columns -- "\${COMP_WORDS[@]:1}" "$cur" 2>/dev/null); do
        name=\${name// /\\\\ } name=\${name//\\$/\\\\\\$}
        [[ $name == "$cur"* ]] && COMPREPLY+=("$name")
      done ;;
  esac
}

complete -o bashdefault -o default -F _engagectl engagectl
`;
}

/** Sets kind for a word after a colon, by the flag before it: `--types City:date,Age:`. */
const afterColon = `_engagectl_after_colon() {
  for ((i = COMP_CWORD - 1; i > 1; i--)); do
    [[ \${COMP_WORDS[i]} == -* ]] && break
  done
  _engagectl_value "$path" "\${COMP_WORDS[i]}"
  [[ $kind == types && $1 != *,* ]] && kind='words ${typeNames.join(' ')}'
}
`;

/** Options of the program are valid with every command. */
const valueCases = ({ path, ownOptions }: CompletionCommand): string[] =>
  ownOptions.flatMap(({ names, values }) => {
    if (values === undefined) return [];
    const patterns = names.map((name) => (path === '' ? `*' ${name}'` : `'${path} ${name}'`));
    return [`    ${patterns.join(' | ')}) kind=${kind(values)} ;;`];
  });

function commandCase({ path, commands, options, operands }: CompletionCommand): string {
  const flags = options.flatMap(({ names }) => names).filter((name) => name !== '-V');
  const words = commands.length > 0 ? commands.map(({ name }) => name) : operands;
  return `    '${path}') flags='${flags.join(' ')}' kind=${kind(words)} ;;`;
}

const kind = (values: CompletionValues = 'text'): string =>
  typeof values === 'string' ? values : `'words ${values.join(' ')}'`;
