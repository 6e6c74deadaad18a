import IMEngine
import IMOutput
import IMReport
import IMWire

/// What went wrong in sessions, by session.
struct SessionTroubles {
  /// One session.
  struct Trouble {
    var lost: UInt64 = 0
    var reconnects: UInt64 = 0
    /// As `WorstConnections.Entry.score`.
    var score: UInt64 = 0
    var connections: UInt64 = 0
    /// When its first message was lost, and on which connection.
    var firstLoss = Timestamp.distantFuture
    var serial: UInt32 = 0
  }

  private let limit: Int
  private var troubles: [UInt32: Trouble] = [:]
  private var names: [UInt32: String] = [:]
  private var known: Set<UInt32> = []
  /// Whether there were more sessions than can be told apart.
  private(set) var hasMore = false

  init(limit: Int) { self.limit = limit }

  /// At most so many sessions are counted.
  private static let countLimit = 1 << 20

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
    if names[session] != nil || names.count < limit { names[session] = name }
  }

  /// Takes note of a session's number on the wire.
  mutating func name(_ session: UInt32, _ number: UInt64) {
    if names[session] == nil { name(session, String(number)) }
  }

  /// A session's name; `nil` where none is known.
  func name(of session: UInt32) -> String? { names[session] }

  private mutating func change(_ session: UInt32, _ body: (inout Trouble) -> Void) {
    guard troubles[session] != nil || troubles.count < limit else { return }
    body(&troubles[session, default: Trouble()])
  }

  /// Counts a lost message.
  mutating func lost(_ session: UInt32, _ at: Timestamp, _ serial: UInt32) {
    change(session) { trouble in
      trouble.lost += 1
      if at < trouble.firstLoss { (trouble.firstLoss, trouble.serial) = (at, serial) }
    }
  }

  /// Counts a connection that is over.
  mutating func ended(_ report: ConnectionReport) {
    guard let session = report.session, report.figures != nil else { return }
    let score = WorstConnections.score(report)
    change(session) { trouble in
      trouble.connections += 1
      trouble.score += score
      if report.rare.isReconnect { trouble.reconnects += 1 }
    }
  }

  /// The sessions with lost messages, the worst first.
  var affected: [ReportModel.AffectedSession] {
    troubles.filter { $1.lost > 0 }.sorted {
      ($1.value.lost, $0.value.firstLoss, $0.key) < ($0.value.lost, $1.value.firstLoss, $1.key)
    }.map {
      ReportModel.AffectedSession(name: names[$0.key] ?? "that of connection #\($0.value.serial)", lost: $0.value.lost)
    }
  }

  /// The sessions that are worth a lane, those with most reconnects and most trouble first; and how many there are.
  func lanes(_ count: Int) -> (sessions: [UInt32], of: Int) {
    let order = troubles.filter { $1.connections > 0 }.sorted {
      ($1.value.reconnects, $1.value.score, $0.key) < ($0.value.reconnects, $0.value.score, $1.key)
    }
    return (order.prefix(count).map(\.key), order.count)
  }
}
