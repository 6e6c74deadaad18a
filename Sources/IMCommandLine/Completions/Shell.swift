/// A shell that can complete words.
package enum Shell: String, CaseIterable, OptionValue {
  case bash, zsh, fish

  /// A script for the shell that completes the words of every command of `tree`.
  package func completions(of tree: CommandTree) -> String {
    switch self {
    case .bash: bashCompletions(tree)
    case .zsh: zshCompletions(tree)
    case .fish: fishCompletions(tree)
    }
  }
}

extension CommandTree {
  /// The words behind the program's name, each behind `separator`.
  func place(_ separator: String) -> String { path.dropFirst().map { separator + $0 }.joined() }

  /// The names that may follow and what they are; `help` is one of the root's.
  var nextWords: [(name: String, text: String)] {
    visibleMembers.map { ($0.about.name, $0.about.abstract) }
      + (isRoot ? [("help", "Show the help of a command.")] : [])
  }

  /// The rows of options, and those of operands.
  var optionRows: [Row] { visibleRows.filter { !$0.spelling.isOperand } }
  var operandRows: [Row] { visibleRows.filter(\.spelling.isOperand) }

  /// Letters that stand for options without a value, as they may stand before another.
  var flagLetters: String {
    optionRows.filter { $0.spelling.value == nil }.flatMap(\.spelling.names).filter { $0.utf8.count == 2 }
      .map { String($0.dropFirst()) }.joined()
  }
}

extension String {
  /// The text in single quotes; `quote` stands for one inside.
  func singleQuoted(_ quote: String = "'\\''") -> String {
    "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: quote) + "'"
  }
}
