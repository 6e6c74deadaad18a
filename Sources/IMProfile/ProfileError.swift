/// What is wrong with a profile, and where.
package struct ProfileError: Error, Equatable, CustomStringConvertible {
  /// The file, or the built-in profile's name.
  package var source: String
  /// The place in it, from 1; `nil` where the whole file is meant.
  package var line: Int?
  package var column: Int?
  /// One sentence.
  package var message: String

  /// `FILE:LINE:COLUMN: MESSAGE`.
  package var description: String {
    let place = line.map { ":\($0)" + (column.map { ":\($0)" } ?? "") } ?? ""
    return "\(source)\(place): \(message)"
  }
}
