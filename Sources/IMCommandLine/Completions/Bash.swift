/// A script for bash. Names of files are left to readline, which knows how blanks are written.
func bashCompletions(_ tree: CommandTree) -> String {
  let name = tree.about.name
  let places = tree.all.dropFirst().map { $0.place(" ").singleQuoted() }.joined(separator: " | ")
  return """
    # Completions of \(name) for bash, as '\(name) completion bash' prints them.

    _\(name)_words() {
      COMPREPLY=($(compgen -W "$1" -- "$cur"))
    }

    _\(name)_files() {
      compopt -o default
    }

    _\(name)_folders() {
      compopt -o dirnames
    }

    _\(name)() {
      local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} place= i
      COMPREPLY=()
      # The sign between an option and its value is a word of its own.
      if [[ $cur == '=' ]]; then
        cur=
      elif [[ $prev == '=' ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
      fi
      i=1
      # What may follow 'help' is what may follow without it.
      [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} == help ]] && i=2
      for (( ; i < COMP_CWORD; i++)); do
        case "$place ${COMP_WORDS[i]}" in
        \(places)) place+=" ${COMP_WORDS[i]}" ;;
        *) break ;;
        esac
      done
      case "$place" in
    \(tree.all.map(bashPlace).joined(separator: "\n"))
      esac
    }

    complete -F _\(name) \(name)

    """
}

/// What may stand in one place: the value of the option before, an option, a command's name, an operand.
private func bashPlace(_ command: CommandTree) -> String {
  let name = command.path[0]
  var lines = ["  \(command.place(" ").singleQuoted()))"]
  lines.append("    [[ $prev =~ ^-[\(command.flagLetters)]+(.)$ ]] && prev=-${BASH_REMATCH[1]}")
  lines.append("    case \"$prev\" in")
  for row in command.optionRows where row.spelling.value != nil {
    let names = row.spelling.names.joined(separator: " | ")
    lines.append("    \(names)) \(bashAction(row.completion, name).map { $0 + "; " } ?? "")return ;;")
  }
  lines.append("    esac")
  let options = command.optionRows.flatMap(\.spelling.names).joined(separator: " ")
  lines.append("    if [[ $cur == -* ]]; then")
  lines.append("      _\(name)_words '\(options)'")
  let next = command.nextWords.map(\.name)
  if !next.isEmpty {
    lines.append("    elif ((i == COMP_CWORD)); then")
    lines.append("      _\(name)_words '\(next.joined(separator: " "))'")
  }
  let actions = command.operandRows.compactMap { bashAction($0.completion, name) }
  if !actions.isEmpty {
    lines.append("    else")
    // The last that finds nothing leaves the word to the one before.
    lines += actions.map { "      \($0)" }
  }
  lines.append("    fi ;;")
  return lines.joined(separator: "\n")
}

private func bashAction(_ completion: WordCompletion, _ name: String) -> String? {
  switch completion {
  case .none: nil
  case .words(let words): "_\(name)_words '\(words.joined(separator: " "))'"
  case .wordsAndFiles(let words): "_\(name)_words '\(words.joined(separator: " "))'; _\(name)_files"
  case .files: "_\(name)_files"
  case .folders: "_\(name)_folders"
  case .interfaces: "_\(name)_words \"any $(ls /sys/class/net 2>/dev/null)\""
  case .users: "COMPREPLY=($(compgen -u -- \"$cur\"))"
  case .programs: "COMPREPLY=($(compgen -c -- \"$cur\"))"
  }
}
