extension CommandTree {
  /// The help: what the command is for, its usage, operands, options and subcommands, in 80 columns.
  package var help: String {
    let about = about
    var sections = ["OVERVIEW: \(about.abstract)".wrapped()]
    if !about.discussion.isEmpty { sections.append(about.discussion.wrapped()) }
    sections.append("USAGE: " + usage.joined(separator: "\n       "))
    let rows = visibleRows
    let operands = rows.filter(\.spelling.isOperand), options = rows.filter { !$0.spelling.isOperand }
    if !operands.isEmpty { sections.append("ARGUMENTS:\n" + operands.map(\.entry).joined(separator: "\n")) }
    sections.append("OPTIONS:\n" + options.map(\.entry).joined(separator: "\n"))
    let members = visibleMembers
    if !members.isEmpty {
      let entries = members.map { entry($0.about.name, $0.about.abstract) }
      sections.append("SUBCOMMANDS:\n" + entries.joined(separator: "\n"))
      let words = [path[0], "help"] + path.dropFirst() + ["<subcommand>"]
      sections.append("  See '\(words.joined(separator: " "))' for detailed help.")
    }
    return sections.joined(separator: "\n\n") + "\n"
  }
}

extension Row {
  /// The sentence, and behind it the words that are taken and the default.
  package var sentence: String {
    var notes: [String] = []
    if !words.isEmpty { notes.append("values: " + words.joined(separator: ", ")) }
    if let initial { notes.append("default: " + initial) }
    return notes.isEmpty ? help : "\(help) (\(notes.joined(separator: "; ")))"
  }

  /// The row in the help.
  fileprivate var entry: String { IMCommandLine.entry(spelling.text, sentence) }
}

/// The column in which sentences begin.
private let column = 26

/// A name and its sentence in two columns; a long name has a line for itself.
private func entry(_ name: String, _ sentence: String) -> String {
  let left = "  " + name
  let indent = String(repeating: " ", count: column)
  let right = sentence.wrapped(indent: indent)
  guard left.utf8.count < column else { return left + "\n" + right }
  return left + right.dropFirst(left.utf8.count)
}

extension String {
  /// The text with every line broken at blanks before it has more than 80 columns. `indent` begins every line.
  fileprivate func wrapped(indent: String = "", columns: Int = 80) -> String {
    var lines: [String] = []
    for line in split(separator: "\n", omittingEmptySubsequences: false) {
      guard indent.count + line.count > columns else {
        lines.append(line.isEmpty ? "" : indent + line)
        continue
      }
      var current = indent
      for word in line.split(separator: " ") {
        if current.count > indent.count {
          if current.count + 1 + word.count > columns {
            lines.append(current)
            current = indent
          } else {
            current += " "
          }
        }
        current += word
      }
      lines.append(current)
    }
    return lines.joined(separator: "\n")
  }
}
