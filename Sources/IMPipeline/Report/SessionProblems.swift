import IMEngine
import IMMetrics
import IMOutput
import IMReport
import IMWire

/// What went wrong in sessions, by session.
struct SessionProblems {
  /// The lost messages of a session.
  private struct Loss {
    var count: UInt64 = 0
    /// When the first of them was sent, and on which connection.
    var first = Timestamp.distantFuture
    var serial: UInt32 = 0
  }

  /// How much a session has to show over time.
  private struct Rank {
    var reconnects: UInt64 = 0
    /// Of its connections, `problemScore`.
    var score: UInt64 = 0
  }

  /// At most so many sessions are counted, and so many are kept with their names or with what went wrong.
  private static let countLimit = 1 << 20, limit = 65_536

  private var losses: [UInt32: Loss] = [:]
  private var ranks: [UInt32: Rank] = [:]
  private var names: [UInt32: String] = [:]
  private var numbers: [UInt32: UInt64] = [:]
  private var known: Set<UInt32> = []
  /// Whether there were more sessions than are counted, and more with lost messages than are kept.
  private(set) var hasMore = false, hasMoreAffected = false

  /// Sessions on which something was sent.
  var count: UInt64 { UInt64(known.count) }

  /// Counts a session on which something was sent.
  mutating func met(_ session: UInt32) {
    if known.count < Self.countLimit {
      known.insert(session)
    } else if !known.contains(session) {
      hasMore = true
    }
  }

  /// Takes note of the name that a session's client gave, or a server to its client.
  mutating func name(_ session: UInt32, _ name: String) {
    if names[session] != nil || names.count < Self.limit { names[session] = name }
  }

  /// Takes note of a session's number on the wire.
  mutating func name(_ session: UInt32, _ number: UInt64) {
    if numbers[session] == nil, numbers.count < Self.countLimit { numbers[session] = number }
  }

  /// A session's name or number; `nil` where none is known.
  func name(of session: UInt32) -> String? { names[session] ?? numbers[session].map { String($0) } }

  /// Counts a lost message.
  mutating func lost(_ session: UInt32, _ at: Timestamp, _ serial: UInt32) {
    guard losses[session] != nil || losses.count < Self.limit else {
      hasMoreAffected = true
      return
    }
    var loss = losses[session] ?? Loss()
    loss.count += 1
    if at < loss.first { (loss.first, loss.serial) = (at, serial) }
    losses[session] = loss
  }

  /// Counts a connection that is over.
  mutating func ended(_ report: ConnectionReport) {
    guard let session = report.session, report.figures != nil else { return }
    if ranks[session] == nil, ranks.count >= Self.limit { forgetTheLeast() }
    ranks[session, default: Rank()].score += report.problemScore
    if report.rare.isReconnect { ranks[session, default: Rank()].reconnects += 1 }
  }

  /// Makes room for others.
  private mutating func forgetTheLeast() {
    let kept = ordered().prefix(Self.limit / 2)
    ranks = Dictionary(kept.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// Those with most reconnects and most trouble first.
  private func ordered() -> [(key: UInt32, value: Rank)] {
    ranks.sorted { ($1.value.reconnects, $1.value.score, $0.key) < ($0.value.reconnects, $0.value.score, $1.key) }
  }

  /// The sessions with lost messages, the worst first.
  var affected: [ReportModel.AffectedSession] {
    losses.sorted { ($1.value.count, $0.value.first, $0.key) < ($0.value.count, $1.value.first, $1.key) }.map {
      ReportModel.AffectedSession(
        name: name(of: $0.key) ?? "that of connection #\($0.value.serial)", lost: $0.value.count)
    }
  }

  /// The sessions that are worth a lane, those with most reconnects and most trouble first.
  func lanes(_ count: Int) -> [UInt32] { ordered().prefix(count).map(\.key) }
}
