import IMEngine
import IMMetrics
import IMReport
import IMWire

/// What happened in a slice of the time that a live page covers. Messages count in the slice in which their first copy came, however
/// late their fate was decided.
struct PageSlice {
  /// A message that is lost, as far as is known.
  struct Loss {
    var id: UInt32
    var at: Timestamp
    var session: UInt32, serial: UInt32
    /// The message.
    var exchange: Exchange
  }

  /// At most so many lost messages are kept one by one.
  static let maximumLosses = 4_096

  /// What is counted of messages, round trips, heartbeats and connections.
  private(set) var figures = ReportMetrics()
  private(set) var problems = ProblemTable()
  private(set) var beats = HeartbeatMarks()
  private(set) var losses: [Loss] = []
  /// Lost messages that are not among `losses`.
  private(set) var furtherLosses: UInt64 = 0
  /// Round trips that more than one copy made ambiguous.
  private(set) var ambiguous: UInt64 = 0
  /// Connections that are no longer kept, for want of room.
  var forgotten: UInt64 = 0

  /// Counts a message whose fate was decided, or decided anew because its answer came late.
  mutating func resolved(_ exchange: Exchange, _ role: FrameRole) {
    figures.resolved(Resolution(exchange, endpoint: .max), role)
    problems.decided(exchange, role, exchange.connection)
    if role != .heartbeat, exchange.isAnswered, exchange.latency != nil, exchange.repeats > 0 { ambiguous += 1 }
    if exchange.isRevised {
      if role == .heartbeat { beats.answeredLate(exchange.firstAt) }
      guard role == .message, let place = losses.lastIndex(where: { $0.id == exchange.id }) else { return }
      losses.remove(at: place)
      return
    }
    guard exchange.fate == .unanswered || exchange.fate == .damaged else { return }
    if role == .heartbeat { beats.miss(exchange.firstAt) }
    guard role == .message else { return }
    if losses.count < Self.maximumLosses {
      losses.append(
        Loss(
          id: exchange.id, at: exchange.firstAt, session: exchange.session, serial: exchange.connection,
          exchange: exchange))
    } else {
      furtherLosses += 1
    }
  }

  /// Counts a heartbeat, and the time since the one before on its connection.
  mutating func heartbeat(_ at: Timestamp, after interval: Nanoseconds?, _ serial: UInt32) {
    figures.heartbeat(after: interval)
    if let interval { beats.add(at, interval, serial) }
  }

  /// Counts an issue.
  mutating func met(_ issue: Issue, _ serial: UInt32) { problems.met(issue, serial) }

  /// Counts a connection that is over.
  mutating func ended(_ report: ConnectionReport) {
    figures.ended(report)
    problems.ended(report)
    if let expected = report.heartbeats?.expected, expected > 0 { beats.promise(expected) }
  }

  /// Adds what another slice counted.
  mutating func add(_ other: PageSlice) {
    figures.add(other.figures)
    problems.add(other.problems)
    beats.add(other.beats)
    losses += other.losses
    furtherLosses += other.furtherLosses
    ambiguous += other.ambiguous
    forgotten += other.forgotten
  }
}

extension Exchange {
  /// Whether its fate had been decided, and its answer came late.
  var isRevised: Bool { flags.contains(.late) && outcome.before != .pending }
}
