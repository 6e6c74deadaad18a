/// One row of a table: what help prints on the left, what it says of it, and what the option sets.
///
/// Key paths are taken as closures: made for every row, they would be a fifth of what a start costs.
package struct Option<Root> {
  /// What is done with the word; a flag gets an empty one.
  typealias Setter = (inout Root, String) throws(ValueError) -> Void

  /// The left column.
  let text: String
  /// The sentence in the right column.
  let help: String
  /// Whether help, completions and suggestions leave it out.
  var isHidden = false
  /// Sets the option.
  let set: Setter
  /// The words that can be listed; completions that the value's name does not tell.
  var words: () -> [String] = { [] }
  var completion: () -> WordCompletion? = { nil }
  /// Whether giving it again adds something.
  var accumulates = false
  /// The default, as help shows it.
  var initial: (Root) -> String? = { _ in nil }
  /// The rows of a group, in its place.
  var group: (() -> [Option<Root>])?

  init(_ text: String, _ help: String, set: @escaping Setter) {
    self.text = text
    self.help = help
    self.set = set
  }

  /// The row, with the left column taken apart.
  func row(_ root: Root?) -> Row {
    let spelling = OptionSyntax(text)
    let words = words()
    return Row(
      spelling: spelling, help: help, isHidden: isHidden, accumulates: accumulates, words: words,
      completion: completion() ?? (words.isEmpty ? spelling.completion : .words(words)),
      // An operand has to be given.
      initial: spelling.isOperand ? nil : root.flatMap { initial($0) })
  }
}

/// A row without what it sets, as help, completions and the manual's test see it.
package struct Row: Equatable, Sendable {
  /// The left column.
  package var spelling: OptionSyntax
  /// The sentence in the right column.
  package var help: String
  /// Whether help, completions and suggestions leave it out.
  package var isHidden = false
  /// Whether giving it again adds something.
  package var accumulates = false
  /// The words that are taken, where they can be listed.
  package var words: [String] = []
  /// What a shell may complete in the value's place.
  package var completion = WordCompletion.none
  /// The default.
  package var initial: String?

  /// The row as a line of usage has it: `[-r <file>]`, `<file> ...`.
  var usage: String {
    let words = [spelling.names.last, spelling.value.map { "<\($0)>" }, spelling.repeats ? "..." : nil]
    let text = words.compactMap(\.self).joined(separator: " ")
    return spelling.isOperand ? text : "[\(text)]"
  }
}

/// The rows of a table, groups taken apart.
func flatten<Root>(_ table: [Option<Root>]) -> [Option<Root>] {
  table.flatMap { $0.group.map { flatten($0()) } ?? [$0] }
}
