/// A script for zsh: to be sourced, or to lie in a folder of functions as `_NAME`.
func zshCompletions(_ tree: CommandTree) -> String {
  let name = tree.about.name
  let places = tree.all.dropFirst().map { $0.place(" ").singleQuoted() }.joined(separator: " | ")
  return """
    #compdef \(name)
    # Completions of \(name) for zsh, as '\(name) completion zsh' prints them.

    _\(name)_either() {
      _alternative "names:name:($*)" 'files:file:_files'
    }

    _\(name)_interfaces() {
      _alternative 'names:interface:(any)' 'interfaces:interface:_net_interfaces'
    }

    _\(name)() {
      local place=
      local -a next
      integer i=2
      # What may follow 'help' is what may follow without it.
      ((CURRENT > 2)) && [[ $words[2] == help ]] && i=3
      while ((i < CURRENT)); do
        case "$place $words[i]" in
          (\(places)) place+=" $words[i]" ;;
          (*) break ;;
        esac
        ((i++))
      done
      # From here on the command's own words count.
      local -i isNext=$((i == CURRENT))
      shift $((i - 2)) words
      ((CURRENT -= i - 2))
      case $place in
    \(tree.all.map(zshPlace).joined(separator: "\n"))
      esac
    }

    if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
      _\(name) "$@"
    elif (($+functions[compdef])); then
      compdef _\(name) \(name)
    fi

    """
}

private func zshPlace(_ command: CommandTree) -> String {
  let name = command.path[0]
  var lines = ["    (\(command.place(" ").singleQuoted()))"]
  let next = command.nextWords
  if !next.isEmpty {
    lines.append("      if ((isNext)) && [[ $PREFIX != -* ]]; then")
    lines.append("        next=(")
    for (name, text) in next { lines.append("          " + "\(name):\(text)".singleQuoted()) }
    lines.append("        )")
    lines.append("        _describe -t commands subcommand next")
    lines.append("        return")
    lines.append("      fi")
  }
  lines.append("      _arguments -s -S : \\")
  let specs = command.optionRows.map { zshOption($0, name) } + command.operandRows.map { zshOperand($0, name) }
  lines += specs.map { "        \($0) \\" }
  lines.append("      ;;")
  return lines.joined(separator: "\n")
}

/// `'*-r+[Read packets from this file.]:file:_files'`
private func zshOption(_ row: Row, _ command: String) -> String {
  var text = ""
  for character in row.help {
    if "[]\\".contains(character) { text += "\\" }
    text.append(character)
  }
  let value = row.spelling.value.map { ":\(zshMessage($0)):\(zshAction(row.completion, command))" } ?? ""
  let names = row.spelling.names.map { name in
    row.spelling.value == nil ? name : name.utf8.count == 2 ? name + "+" : name + "="
  }
  let others = row.accumulates ? "*" : names.count < 2 ? "" : "(\(row.spelling.names.joined(separator: " ")))"
  let rest = "[\(text)]\(value)"
  if names.count == 1 { return (others + names[0] + rest).singleQuoted() }
  return "\(others.singleQuoted()){\(names.joined(separator: ","))}\(rest.singleQuoted())"
}

private func zshOperand(_ row: Row, _ command: String) -> String {
  let value = row.spelling.value ?? ""
  // Words of which nothing is known: without an action there would be a message, which holds other matches up.
  let action = row.completion == .none ? " true" : zshAction(row.completion, command)
  return "\(row.spelling.repeats ? "*" : ""):\(zshMessage(value)):\(action)".singleQuoted()
}

/// A value's name; a colon would end it.
private func zshMessage(_ text: String) -> String {
  text.split(separator: ":", omittingEmptySubsequences: false).joined(separator: "\\:")
}

private func zshAction(_ completion: WordCompletion, _ command: String) -> String {
  switch completion {
  case .none: ""
  case .words(let words): "(\(words.joined(separator: " ")))"
  case .wordsAndFiles(let words): " _\(command)_either \(words.joined(separator: " "))"
  case .files: "_files"
  case .folders: "_files -/"
  case .interfaces: " _\(command)_interfaces"
  case .users: "_users"
  case .programs: "_command_names -e"
  }
}
