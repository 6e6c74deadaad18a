/// What is wrong with a file that a person wrote, and where.
package struct SourceError: Error, Equatable, CustomStringConvertible {
  /// The file, or the name of what is built in.
  package var source: String
  /// The line, from 1; `nil` where the whole file is meant.
  package var line: Int?
  /// The column, from 1; `nil` where the whole line or file is meant.
  package var column: Int?
  /// One sentence.
  package var message: String

  /// An error of its parts.
  package init(source: String, line: Int? = nil, column: Int? = nil, message: String) {
    self.source = source
    self.line = line
    self.column = column
    self.message = Self.printable(message)
  }

  /// `text` in one line that commands no terminal: it quotes what stands in the file. Control characters, and those that
  /// turn or hide text, become `\u{NN}`; what is longer than anybody reads is cut.
  private static func printable(_ text: String) -> String {
    var line = ""
    for (count, scalar) in text.unicodeScalars.enumerated() {
      guard count < 1_000 else { return line + "..." }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
        line += "\\u{\(String(scalar.value, radix: 16))}"
      default: line.unicodeScalars.append(scalar)
      }
    }
    return line
  }

  /// `FILE:LINE:COLUMN: MESSAGE`.
  package var description: String {
    let place = line.map { ":\($0)" + (column.map { ":\($0)" } ?? "") } ?? ""
    return "\(source)\(place): \(message)"
  }
}
