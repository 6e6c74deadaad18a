/// A script for fish.
func fishCompletions(_ tree: CommandTree) -> String {
  let name = tree.about.name
  let places = tree.all.dropFirst().map { $0.place("/") }.joined(separator: " ")
  return """
    # Completions of \(name) for fish, as '\(name) completion fish' prints them.

    # The commands named by the words before the cursor, each after a slash, and the number of words after them.
    function __\(name)_place
        set -l place
        set -l words (commandline -opc)
        set -e words[1]
        # What may follow 'help' is what may follow without it.
        if test "$words[1]" = help
            set -e words[1]
        end
        while set -q words[1]; and contains -- "$place/$words[1]" \(places)
            set place "$place/$words[1]"
            set -e words[1]
        end
        echo "$place"
        count $words
    end

    # Whether this is the place of the command.
    function __\(name)_at
        set -l place (__\(name)_place)
        test "$place[1]" = "$argv[1]"
    end

    # Whether the command's name was the last word.
    function __\(name)_next
        set -l place (__\(name)_place)
        test "$place[1]" = "$argv[1]" -a "$place[2]" = 0
    end

    complete -c \(name) -f

    \(tree.all.map(fishPlace).joined(separator: "\n\n"))

    """
}

private func fishPlace(_ command: CommandTree) -> String {
  let (name, place) = (command.path[0], command.place("/"))
  func line(_ condition: String, _ rest: String) -> String {
    "complete -c \(name) -n \("__\(name)_\(condition) '\(place)'".singleQuoted("\\'")) \(rest)"
  }
  var lines = command.nextWords.map { line("next", "-a \($0.name) -d \(fishText($0.text))") }
  for row in command.optionRows {
    let names = row.spelling.names.map { $0.utf8.count == 2 ? "-s \($0.dropFirst())" : "-l \($0.dropFirst(2))" }
    let value = row.spelling.value == nil ? "" : fishValue(row.completion) + " "
    lines.append(line("at", "\(names.joined(separator: " ")) \(value)-d \(fishText(row.help))"))
  }
  for row in command.operandRows where row.completion != .none {
    lines.append(line("at", fishOperand(row.completion)))
  }
  return lines.joined(separator: "\n")
}

private func fishText(_ text: String) -> String {
  text.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\").singleQuoted("\\'")
}

/// The words of an option's value; files only where they are wanted.
private func fishValue(_ completion: WordCompletion) -> String {
  switch completion {
  case .none: "-x"
  case .files, .wordsAndFiles: "-r \(fishOperand(completion))"
  default: "-x \(fishOperand(completion))"
  }
}

private func fishOperand(_ completion: WordCompletion) -> String {
  switch completion {
  case .none: ""
  case .words(let words): "-a '\(words.joined(separator: " "))'"
  case .wordsAndFiles(let words): "-F -a '\(words.joined(separator: " "))'"
  case .files: "-F"
  case .folders: "-a '(__fish_complete_directories)'"
  case .interfaces: "-a 'any (__fish_print_interfaces)'"
  case .users: "-a '(__fish_complete_users)'"
  case .programs: "-a '(__fish_complete_command)'"
  }
}
