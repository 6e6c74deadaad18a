import IMCommandLine
import IMEndpoint

/// What messages a load consists of: kinds with their shares, `text=90,image=5,typing=5`.
struct Mix: Equatable {
  /// Kinds of messages.
  enum Kind: String, CaseIterable {
    case text
    case image
    case audio
    case video
    case file
    case location
    case custom
    case typing
    case status
  }

  var shares: [(kind: Kind, share: Int)] = [(.text, 100)]

  static func == (a: Mix, b: Mix) -> Bool { a.word == b.word }

  /// The kind of message `number`: the same for the same number, and spread in proportion to the shares.
  func kind(of number: UInt64) -> Kind {
    let total = shares.reduce(0) { $0 + $1.share }
    // A multiplier that shares no divisor with any total spreads the kinds evenly.
    var place = Int((number &* 7_919) % UInt64(max(1, total)))
    for entry in shares {
      if place < entry.share { return entry.kind }
      place -= entry.share
    }
    return .text
  }
}

extension Mix: OptionValue {
  init?(word: String) {
    var shares: [(kind: Kind, share: Int)] = []
    for part in word.split(separator: ",") {
      let pair = part.split(separator: "=")
      guard let name = pair.first, let kind = Kind(rawValue: String(name)), pair.count <= 2,
        let share = pair.count == 2 ? Int(pair[1]) : 1, (1...1_000_000).contains(share)
      else { return nil }
      shares.append((kind, share))
    }
    guard !shares.isEmpty else { return nil }
    self.shares = shares
  }

  var word: String? { shares.map { "\($0.kind.rawValue)=\($0.share)" }.joined(separator: ",") }
  static var expected: String {
    "expected KIND=SHARE[,...], of " + Kind.allCases.map(\.rawValue).joined(separator: ", ")
  }
}
