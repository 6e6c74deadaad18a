/// What a command line asks for.
package enum Reading {
  /// This command, with its options set.
  case run(any Command)
  /// This help.
  case help(String)
  /// This version.
  case version(String)
  /// Nothing that can be done.
  case refusal(Refusal)
}

/// What is wrong with a command line, and where help is.
package struct Refusal: Equatable, Sendable {
  /// What is wrong, in one line; the words of the command line stand in it with control characters escaped.
  package var message: String
  /// The option's line of help, where the mistake is about one.
  package var option: String?
  /// Lines of usage.
  package var usage: [String]
  /// The command that prints the help.
  package var help: String

  /// All of it, as it is printed behind the program's name.
  package var text: String {
    var lines = [message]
    if let option { lines.append("Help:  \(option)") }
    for (i, line) in usage.enumerated() { lines.append((i == 0 ? "Usage: " : "       ") + line) }
    lines.append("  See '\(help)' for more information.")
    return lines.joined(separator: "\n")
  }
}

/// A mistake, before it is known which command it was made in.
struct Fault: Error {
  var message: String
  /// The option that it is about.
  var row: Row?
}

/// `word` as messages show it: in quotes, control characters and those that hide or turn text as `\xNN`, long ones cut.
func quoted(_ word: String, limit: Int = 256) -> String {
  var result = "'"
  for (i, scalar) in word.unicodeScalars.enumerated() {
    guard i < limit else {
      result += "…"
      break
    }
    let hides =
      switch scalar.value {
      case 0..<0x20, 0x7f..<0xa0, 0x061c, 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x2069, 0xfeff, 0xfff9...0xfffb,
        0xe0000...0xe0fff:
        true
      default: false
      }
    guard hides else {
      result.unicodeScalars.append(scalar)
      continue
    }
    for byte in String(scalar).utf8 { result += (byte < 16 ? "\\x0" : "\\x") + String(byte, radix: 16) }
  }
  return result + "'"
}
