import IMCommandLine
import IMWire

/// What a server does wrong on purpose: `--fault NAME[=NUMBER]`.
struct Fault: Equatable {
  /// Kinds of wrongs.
  enum Kind: String, CaseIterable {
    /// Reads, and answers nothing from the given second after the server's start on.
    case silent
    /// Keeps every answer back for so many milliseconds.
    case slow
    /// Gives every so-many-th frame with a body a wrong checksum.
    case crc
    /// Speaks another major version, in every frame.
    case version
    /// Sends every acknowledgment so many times.
    case duplicate
    /// Forgets connections on which nothing passed for so many seconds, as a NAT does: no byte passes any more, and nobody
    /// is told.
    case nat

    /// The number that is meant without one.
    var usual: Double {
      switch self {
      case .silent: 0
      case .slow: 1_000
      case .crc: 10
      case .version: 0
      case .duplicate: 2
      case .nat: 60
      }
    }
  }

  var kind: Kind
  var number: Double
}

extension Fault: OptionValue {
  init?(word: String) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, let kind = Kind(rawValue: String(name)) else { return nil }
    guard parts.count == 2 else {
      self.init(kind: kind, number: kind.usual)
      return
    }
    guard let number = Double(parts[1]), number >= 0, number <= 1e9 else { return nil }
    self.init(kind: kind, number: number)
  }

  var word: String? { nil }
  static var words: [String] { Kind.allCases.map(\.rawValue) }
  static var wanted: String { words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "") }
}
