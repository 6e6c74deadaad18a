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
    /// Reconnects, of the connections that were decoded.
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
    Name.allCases.map { name in
      var percent = String((shares[name] ?? 0) * 100)
      if percent.hasSuffix(".0") { percent.removeLast(2) }
      return "\(name.rawValue)=\(percent)%"
    }.joined(separator: ",")
  }

  /// Whether `count` of `all` is above the threshold `name`.
  func isExceeded(_ name: Name, _ count: UInt64, of all: UInt64) -> Bool {
    count > 0 && Double(count) > (shares[name] ?? 0) * Double(all)
  }
}
