import IMEngine
import IMMetrics
import IMWire

/// What is kept of one connection between its events, for its own documents and those of its messages.
final class ConnectionRecord {
  /// What the connection's last report said, so that the next one tells the difference.
  struct Totals {
    var units: UInt64 = 0, acked: UInt64 = 0, unanswered: UInt64 = 0, missed: UInt64 = 0, bytes: UInt64 = 0
  }

  /// What reports said that summaries have counted already.
  struct Counted {
    var retransmits: UInt32 = 0, outOfOrder: UInt32 = 0
    var pings = PingCounts()
  }

  /// The session on it, as outputs print it.
  enum SessionLabel {
    case none
    case number(UInt64)
    case name(String)
  }

  /// Who talks, as the last event said.
  var info: ConnectionInfo {
    didSet {
      guard info.client != oldValue.client || info.carriers != oldValue.carriers else { return }
      texts = [nil, nil]
      hasCommunityID = false
      network = nil
    }
  }
  /// The index of its server's figures; `nil` while nothing decodes it.
  @exclusivity(unchecked) var endpoint: UInt32?
  /// Whether it counts as reconnected, as closed; whether its last report is out.
  var isCountedReconnect = false, isCountedClosed = false
  var isFinal = false
  @exclusivity(unchecked) var session = SessionLabel.none
  /// The name that the client gave itself.
  @exclusivity(unchecked) var userName: String?
  /// Whether that is a hash of it.
  var nameIsHash = false
  /// The seconds of silence that the client promised not to exceed.
  var keepAlive: UInt64 = 0
  /// Messages by fate, and round trips of everything but heartbeats.
  @exclusivity(unchecked) var messages = MessageTally()
  @exclusivity(unchecked) var roundTrips = RTTHistogram()
  var reports: UInt32 = 0
  var last = Totals()
  var counted = Counted()
  var weird = WeirdLimiter()
  /// Answers without a message that wait for it.
  var orphans: [Issue] = []
  /// Issues from before the first frame, oldest first.
  var early: [Issue] = []
  /// The heartbeats' last time and interval, and their jitter, in microseconds.
  private var beatAt: Int64?
  private var beatInterval: Int64?
  private var beatJitter = 0.0
  /// What is the same in the documents of its messages, by direction.
  @exclusivity(unchecked) var texts: InlineArray<2, MessageTexts?> = [nil, nil]
  /// The index of the client's network in a table; `nil` before it was looked up.
  @exclusivity(unchecked) var network: Int32?
  @exclusivity(unchecked) private var hasCommunityID = false
  @exclusivity(unchecked) private var knownID: CommunityID.Text?

  init(_ info: ConnectionInfo) { self.info = info }

  /// The connection's Community ID, made once.
  var communityID: CommunityID.Text? {
    if !hasCommunityID {
      knownID = CommunityID.text(info.peer, info.server)
      hasCommunityID = true
    }
    return knownID
  }

  /// Takes note of a heartbeat, and counts its interval and jitter.
  func beat(at time: Timestamp, _ counts: inout HeartbeatCounts) {
    counts.sent += 1
    let now = time.microseconds
    guard let last = beatAt else {
      beatAt = now
      return
    }
    let interval = max(0, now - last)
    beatAt = now
    counts.intervals += 1
    counts.intervalSum &+= interval
    if let previous = beatInterval {
      beatJitter += (Double(abs(interval - previous)) - beatJitter) / 16
      counts.jitters += 1
      counts.jitterSum += beatJitter
    }
    beatInterval = interval
  }
}
