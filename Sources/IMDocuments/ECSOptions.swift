import IMEngine
package import IMOTLP
package import IMOwners
package import IMWire

/// Which messages get a document of their own: those that one of its choices takes.
package struct MessageLog: Equatable, Sendable, CustomStringConvertible {
  /// Whether it takes those that were not simply answered: retried, refused, not answered, damaged, open at the end.
  private var takesErrors = false
  /// It takes those of one session in so many, all of them; the session's name decides, so every sensor takes the same ones. 0: of none.
  private var sample: UInt32 = 0
  /// It takes those whose answer took so long.
  private var slow: Nanoseconds?

  /// None.
  package static let off = MessageLog()
  /// Those that were not simply answered.
  package static let errors = MessageLog(takesErrors: true)
  /// All.
  package static let all = MessageLog(sample: 1)
  /// Those of one session in `n`.
  package static func sample(_ n: UInt32) -> MessageLog { MessageLog(sample: n) }

  private init(takesErrors: Bool = false, sample: UInt32 = 0, slow: Nanoseconds? = nil) {
    (self.takesErrors, self.sample, self.slow) = (takesErrors, sample, slow)
  }

  /// Reads `off`, `all`, or one or more of `errors`, `slow=500ms` and `sample=1/N` with `+` between them; `nil` for anything else.
  package init?(_ text: String) {
    if text == "off" { return }
    for word in text.split(separator: "+", omittingEmptySubsequences: false).map(String.init) {
      if let slow = Self.duration(word), self.slow == nil {
        self.slow = slow
        continue
      }
      // The other words are those that choose spans.
      switch OTLPSpans(word) {
      case .errors? where !takesErrors: takesErrors = true
      case .sample(let n)? where sample == 0: sample = n
      case .all? where text == word: sample = 1
      default: return nil
      }
    }
  }

  /// The time in `slow=500ms` or `slow=2s`; `nil` for other words.
  private static func duration(_ word: String) -> Nanoseconds? {
    let prefix = "slow="
    guard word.hasPrefix(prefix) else { return nil }
    for (unit, scale) in [("ms", Int64(1_000_000)), ("s", 1_000_000_000)] where word.hasSuffix(unit) {
      let digits = word.dropFirst(prefix.count).dropLast(unit.count)
      guard let number = Int64(digits), (1...86_400_000).contains(number), digits.first?.isNumber == true else {
        return nil
      }
      return Nanoseconds(number * scale)
    }
    return nil
  }

  /// Its choices, as in documents' contexts.
  package var description: String {
    if self == .off { return "off" }
    if self == .all { return "all" }
    var words = takesErrors ? ["errors"] : []
    if let slow { words.append("slow(\(slow.count))") }
    if sample > 0 { words.append("sample(\(sample))") }
    return words.joined(separator: "+")
  }

  /// The part of the sessions whose messages it takes whatever becomes of them; `nil` where it takes none or all so.
  var sampledPart: Double? { sample > 1 ? 1 / Double(sample) : nil }

  /// Whether it takes messages of a session with this hash whatever becomes of them.
  func takesSession(_ hash: @autoclosure () -> UInt64) -> Bool {
    sample == 1 || sample > 1 && hash() % UInt64(sample) == 0
  }

  /// Whether it may take messages of any session, by what becomes of them.
  var takesByOutcome: Bool { takesErrors || slow != nil }

  /// Whether it takes a message because of what became of it.
  func takes(_ exchange: Exchange) -> Bool {
    if takesErrors, exchange.fate != .acked && exchange.fate != .unacknowledged || exchange.flags.contains(.late) {
      return true
    }
    guard let slow, let roundTrip = exchange.roundTrip else { return false }
    return roundTrip >= slow
  }
}

/// Which connections have a document for each 60 s that they live, besides the one at their end.
package enum ConnectionIntervals: String, CaseIterable, Sendable {
  /// Those on which a message, a loss, a retry, a rejection, a missed heartbeat or a retransmission happened meanwhile.
  case active
  /// All of them, and none.
  case all, off
}

/// What the documents are to hold.
package struct ECSOptions {
  /// Which messages get a document.
  package var messageLog = MessageLog.off
  /// Which connections have documents while they live.
  package var connectionIntervals = ConnectionIntervals.active
  /// Whether messages' documents leave out what repeats other fields.
  package var isLean = false
  /// Named fields of profiles that messages' documents have beside those that the profiles log, with the profile's name
  /// in front or without.
  package var loggedFields: [String] = []
  /// Who has the ends of connections on this host; `nil` but live.
  package var owners: ConnectionOwners?
  /// The networks that clients come from, where there is a table of them.
  package var networks: Networks?
  /// What stands for names that are not to be shown.
  package var identities = IdentityHash(key: [])
  /// The datasets whose documents are written.
  package var datasets = Set(ECSDataset.allCases)
  /// Whether each dataset has a buffer of its own, for files of its own; else all documents stand in one stream in the
  /// order in which they were made.
  package var separatesDatasets = false
  /// Documents of one name on one connection in a minute; the rest is counted in `suppressed`.
  package var weirdLimit: UInt32 = 5
  /// Servers with figures of their own; documents tell of no others.
  package var maximumEndpoints = 65_536
  /// OpenTelemetry's logs, metrics and traces are written instead of documents; `nil` for documents.
  package var otlp: OTLPOptions?
  /// Buffered bytes at which documents are handed on.
  package var flushSize = 256 << 10

  /// No messages, one stream.
  package init() {}
}
