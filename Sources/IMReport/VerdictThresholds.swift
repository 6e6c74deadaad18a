/// The shares above which what went wrong makes a verdict amber, each from 0 to 1.
package struct VerdictThresholds: Equatable, Sendable {
  /// What a threshold is about, by the name that `--thresholds` has for it.
  package enum Name: String, CaseIterable, Sendable {
    /// Messages answered after a retry, of those with a known outcome.
    case retries
    /// Rejected messages, of those with a known outcome.
    case rejections
    /// Unanswered heartbeats, of those with a known outcome.
    case heartbeats
    /// Reconnects without a clean close of the previous connection, of the connections that were decoded.
    case reconnects
    /// Connection attempts that were refused or not answered, of those with a known outcome.
    case connections
  }

  private var shares: [Name: Double] = [
    .retries: 0.01, .rejections: 0.01, .heartbeats: 0, .reconnects: 0, .connections: 0,
  ]

  /// 1 % for retries and rejections, 0 for the others.
  package init() {}

  /// Reads a list such as `retries=2%,heartbeats=0.5%`; what it does not name keeps its default. `nil` for text that is none, names
  /// something else, or names something twice.
  package init?(_ text: String) {
    var seen: Set<Name> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: "=", omittingEmptySubsequences: false)
      guard words.count == 2, let name = Name(rawValue: String(words[0])), seen.insert(name).inserted else {
        return nil
      }
      let isPercent = words[1].last == "%"
      guard let value = Double(isPercent ? words[1].dropLast() : words[1]) else { return nil }
      let share = isPercent ? value / 100 : value
      guard (0...1).contains(share) else { return nil }
      shares[name] = share
    }
  }

  /// The list as it is written, every threshold in it.
  package var text: String {
    Name.allCases.map { "\($0.rawValue)=\(Self.percent(shares[$0] ?? 0))%" }.joined(separator: ",")
  }

  /// A share in percent, without the error of its last binary digit: `7` and not `7.000000000000001`.
  private static func percent(_ share: Double) -> String {
    let exact = share * 100, rounded = (exact * 1e9).rounded() / 1e9
    let text = String(rounded / 100 == share ? rounded : exact)
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  /// Whether `count` of `all` is above the threshold `name`.
  func isExceeded(_ name: Name, _ count: UInt64, of all: UInt64) -> Bool {
    count > 0 && Double(count) > (shares[name] ?? 0) * Double(all)
  }
}
