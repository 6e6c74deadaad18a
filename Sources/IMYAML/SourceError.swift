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
    self.message = message
  }

  /// `FILE:LINE:COLUMN: MESSAGE`.
  package var description: String {
    let place = line.map { ":\($0)" + (column.map { ":\($0)" } ?? "") } ?? ""
    return "\(source)\(place): \(message)"
  }
}
