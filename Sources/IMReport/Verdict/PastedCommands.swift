import IMTerminal

/// Commands as lines of a terminal from which they can be pasted: one that is wider goes on in the next line, behind a backslash.
struct PastedCommands {
  /// The most lines of all of them. A command that takes more by itself, because it has so many files, stays on one line.
  private static let maximumLines = 9
  private static let lead = "next: ", indent = "      ", deeper = "        "

  /// The lines; commands for which there is no room are left out, from the last one on.
  let lines: [String]

  /// Lines of `width` columns at most, but for words that are wider.
  init(_ commands: some Sequence<String>, width: Int) {
    var lines: [String] = []
    for command in commands {
      let lead = lines.isEmpty ? Self.lead : Self.indent
      var next = Self.folded(lead, Self.words(command), width)
      if next.count > Self.maximumLines { next = [lead + command] }
      if !lines.isEmpty, lines.count + next.count > Self.maximumLines { break }
      lines += next
    }
    self.lines = lines
  }

  /// The words behind `lead`, in lines that end with a backslash, but for the last one. An option stays with its value where both fit.
  private static func folded(_ lead: String, _ words: [Substring], _ width: Int) -> [String] {
    var lines: [String] = []
    var line = lead
    var isEmpty = true
    for (i, word) in words.enumerated() {
      let value = word.hasPrefix("-") && i + 1 < words.count && !words[i + 1].hasPrefix("-") ? words[i + 1] : nil
      let needed = word + (value.map { " " + $0 } ?? "")
      let isLast = i + (value == nil ? 1 : 2) == words.count
      // The backslash takes two columns.
      if !isEmpty, cells(line) + 1 + cells(String(needed)) > width - (isLast ? 0 : 2) {
        lines.append(line + " \\")
        (line, isEmpty) = (deeper, true)
      }
      line += (isEmpty ? "" : " ") + word
      isEmpty = false
    }
    return lines + [line]
  }

  /// The words of a command, quoted as they are.
  private static func words(_ command: String) -> [Substring] {
    var words: [Substring] = []
    var start = command.startIndex
    var isQuoted = false, isEscaped = false
    for at in command.indices {
      switch command[at] {
      case _ where isEscaped: isEscaped = false
      case "\\" where !isQuoted: isEscaped = true
      case "'": isQuoted.toggle()
      case " " where !isQuoted:
        words.append(command[start..<at])
        start = command.index(after: at)
      default: break
      }
    }
    return words + [command[start...]]
  }
}
