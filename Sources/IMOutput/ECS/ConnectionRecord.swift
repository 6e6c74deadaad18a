import IMEngine
import IMMetrics
import IMWire

/// What is kept of one connection between its events, for its own documents and those of its messages.
final class ConnectionRecord {
  /// What the connection's last report said, so that the next one tells the difference.
  struct Totals {
    var units: UInt64 = 0, acked: UInt64 = 0, unanswered: UInt64 = 0, missed: UInt64 = 0, bytes: UInt64 = 0
    var retransmits: UInt32 = 0, outOfOrder: UInt32 = 0
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
      guard info.client != oldValue.client else { return }
      clientMembers = Self.members(info.client)
      serverMembers = Self.members(info.server)
      texts = [nil, nil]
    }
  }
  /// The index of its server's figures; `nil` while nothing decodes it.
  @exclusivity(unchecked) var endpoint: UInt32?
  /// Whether it counts as one that succeeded, as reconnected; whether its last report is out.
  var isCountedReconnect = false
  var isFinal = false
  @exclusivity(unchecked) var session = SessionLabel.none
  /// The name that the client gave itself.
  @exclusivity(unchecked) var userName: String?
  /// The seconds of silence that the client promised not to exceed.
  var keepAlive: UInt64 = 0
  /// Messages by fate, and round trips of everything but heartbeats.
  @exclusivity(unchecked) var messages = MessageTally()
  @exclusivity(unchecked) var roundTrips = RTTHistogram()
  var reports: UInt32 = 0
  var last = Totals()
  var weird = WeirdLimiter()
  /// Answers without a message that wait for it.
  var orphans: [Issue] = []
  /// The heartbeats' last time and interval, and their jitter, in microseconds.
  private var beatAt: Int64?
  private var beatInterval: Int64?
  private var beatJitter = 0.0
  /// Who talks, as members of an object: address and port of the client and of the server.
  private(set) var clientMembers: Piece
  private(set) var serverMembers: Piece
  /// What is the same in the documents of its messages, by direction.
  @exclusivity(unchecked) var texts: InlineArray<2, MessageTexts?> = [nil, nil]
  /// The members of `network` without those that change.
  private var networkMembers: Piece?
  private var networkProtocol: String?

  init(_ info: ConnectionInfo) {
    self.info = info
    clientMembers = Self.members(info.client)
    serverMembers = Self.members(info.server)
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

  /// The members of `network`: made once, because of the community id.
  func network(protocol name: String?) -> Piece {
    if let networkMembers, networkProtocol == name { return networkMembers }
    var text = "\"transport\":\"tcp\",\"type\":\"\(info.client.address.isIPv6 ? "ipv6" : "ipv4")\""
    if let name { text += ",\"protocol\":\"\(name)\"" }
    if let id = CommunityID.tcp(info.client, info.server) { text += ",\"community_id\":\"\(id)\"" }
    let members = Piece(text)
    networkMembers = members
    networkProtocol = name
    return members
  }

  private static func members(_ endpoint: Endpoint) -> Piece {
    Piece("\"ip\":\"\(endpoint.address)\",\"port\":\(endpoint.port)")
  }
}
