/// The left column of a row as help prints it, taken apart: `-c <count>`, `-K, --no-checksum`, `<file> ...`.
package struct OptionSyntax: Equatable, Sendable {
  /// As it was written.
  package let text: String
  /// The names with their dashes; none is an operand's.
  package private(set) var names: [String] = []
  /// The name of the value, without its angle brackets; `nil` is a flag's.
  package private(set) var value: String?
  /// Whether an operand takes every word that is left.
  package private(set) var repeats = false

  /// Reads `text`. A word that begins with a dash is a name, one in angle brackets the value, `...` a repetition.
  package init(_ text: String) {
    self.text = text
    for word in text.utf8.split(separator: UInt8(ascii: " ")) {
      let word = word.last == UInt8(ascii: ",") ? word.dropLast() : word
      switch word.first {
      case UInt8(ascii: "-"): names.append(String(Substring(word)))
      case UInt8(ascii: "<"): value = String(Substring(word.dropFirst().dropLast()))
      default: repeats = true
      }
    }
  }

  /// Whether this is an operand, which has no name.
  package var isOperand: Bool { names.isEmpty }

  /// The names and the value as messages write them: the long name where there is one.
  var label: String {
    let name = names.last ?? ""
    guard let value else { return name }
    return name.isEmpty ? "<\(value)>" : "\(name) <\(value)>"
  }

  /// What the value's name says of the words that a shell may complete.
  var completion: WordCompletion {
    switch value {
    case "file": .files
    case "folder": .folders
    case "interface": .interfaces
    case "user": .users
    case "command": .programs
    default: .none
    }
  }
}

/// The words that a shell may complete where a value or an operand stands.
package enum WordCompletion: Equatable, Sendable {
  /// None that are known.
  case none
  /// These, and no others.
  case words([String])
  /// These, and names of files.
  case wordsAndFiles([String])
  /// Names of files.
  case files
  /// Names of folders.
  case folders
  /// Network interfaces.
  case interfaces
  /// Users of the system.
  case users
  /// Programs.
  case programs
}
