import IMCommandLine
import IMEndpoint

/// What a server does wrong on purpose: `--fault NAME[=NUMBER]`.
struct Fault: Equatable {
  /// Kinds of wrongs.
  enum Kind: String, CaseIterable {
    /// From so many frames on, a connection is read and never answered.
    case silent
    /// Acknowledgments come so many milliseconds later.
    case slow
    /// Every so-many-th frame has a wrong checksum.
    case crc
    /// Another major version is spoken.
    case version
    /// Each acknowledgment goes out so many times.
    case duplicate
    /// After so many frames a connection is closed.
    case close
    /// Connections on which nothing passed for so many seconds are forgotten, as a NAT does: no end is told.
    case nat

    /// The number that is meant without one.
    var usual: Double {
      switch self {
      case .silent, .version: 0
      case .slow: 1_000
      case .crc: 10
      case .duplicate: 2
      case .close: 100
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
    guard let number = Double(parts[1]), number >= 0, number <= 1e6 else { return nil }
    self.init(kind: kind, number: number)
  }

  var word: String? { nil }
  static var words: [String] { [] }
  static var expected: String {
    let names = Kind.allCases.map(\.rawValue)
    return "NAME[=NUMBER], with a name of \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "")"
  }
}

extension [Fault] {
  /// The number of the last fault of `kind`; nil without one.
  func number(_ kind: Fault.Kind) -> Double? { last { $0.kind == kind }?.number }

  /// Sets a server up to do these wrongs. What a NAT does is not the server's: see `memory`.
  func apply(to configuration: inout ServerConfiguration) {
    configuration.faults.silentAfter = number(.silent).map { Int($0) }
    configuration.faults.acknowledgmentDelay = number(.slow).map { .nanoseconds(Int64($0 * 1e6)) }
    configuration.faults.damagesEvery = number(.crc).map { Swift.max(1, Int($0)) }
    configuration.faults.repeatsAcknowledgments = number(.duplicate).map { Swift.max(0, Int($0) - 1) } ?? 0
    configuration.faults.closesAfter = number(.close).map { Int($0) }
    if let major = number(.version) {
      configuration.speech.version = ProtocolVersion(UInt8(clamping: Int(major)), 0)
    }
  }

  /// How long the path remembers a silent connection.
  var memory: Duration? { number(.nat).map { .nanoseconds(Int64($0 * 1e9)) } }
}
