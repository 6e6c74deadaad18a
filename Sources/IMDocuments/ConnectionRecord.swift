import IMEngine
import IMMetrics
import IMWire

/// What is kept of one connection between its events, for its own documents and those of its messages.
///
/// What its messages need stands in front.
struct ConnectionRecord: ~Copyable {
  /// The session on it, as outputs print it.
  enum SessionLabel: Equatable {
    case none
    case number(UInt64)
    case name(String)
  }

  /// Who talks, as the last event said.
  private(set) var info: ConnectionInfo
  /// The index of its server's figures; `nil` while nothing decodes it.
  var endpoint: UInt32?
  /// Whether its last report is out.
  var isFinal = false
  /// Whether something happened since its last document that a document is written for while it lives.
  var isActive = false
  /// Whether `userName` is a hash of the name.
  var nameIsHash = false
  /// The session's number, where frames carry one: that of the last frame.
  private(set) var sessionNumber: UInt64?
  /// What is the same in the documents of its messages.
  private(set) var texts: MessageTexts?
  /// Round trips of everything but heartbeats. There are many connections, and their documents have buckets in place of percentiles.
  var roundTrips = RTTByDirection(isCompact: true)
  /// Answers without a message that wait for it.
  var orphans: [Issue] = []
  private var sessionName: String?
  /// The name that the client gave itself.
  private(set) var userName: String?
  /// The seconds of silence that the client promised not to exceed.
  var keepAlive: UInt64 = 0
  var reports: UInt32 = 0
  /// What its last report said, so that the next one tells the difference.
  var last = ConnectionSnapshot.Totals()
  /// What reports said that summaries have counted already.
  var history = ReportHistory()
  var weird = WeirdLimiter()
  /// Issues from before the first frame, oldest first.
  var early: [Issue] = []
  /// The index of the client's network in a table; `nil` before it was looked up.
  var network: Int32?
  private var hasCommunityID = false
  private var knownID: CommunityID.Text?
  private var hasUID = false
  private var knownUID: ConnectionUID.Text?
  /// The position of the last message of each direction, the client's first.
  private var positions: InlineArray<2, StreamPosition?> = [nil, nil]

  init(_ info: ConnectionInfo) { self.info = info }

  deinit { texts?.memory.deallocate() }

  // MARK: Who talks

  /// Takes what the last event said of who talks.
  @inline(__always)
  mutating func inform(_ info: ConnectionInfo) {
    if info.client != self.info.client || info.carriers.rawValue != self.info.carriers.rawValue { forgetNames() }
    self.info = info
  }

  @inline(never)
  private mutating func forgetNames() {
    keep(nil)
    hasCommunityID = false
    network = nil
  }

  /// Keeps `texts`, instead of those that were kept.
  mutating func keep(_ texts: MessageTexts?) {
    self.texts?.memory.deallocate()
    self.texts = texts
  }

  /// The session on it.
  var session: SessionLabel {
    if let sessionNumber { return .number(sessionNumber) }
    return sessionName.map { .name($0) } ?? .none
  }

  /// Takes the session's number, as its frames carry it.
  @inline(__always)
  mutating func take(session: UInt64) {
    sessionNumber = session
  }

  /// Takes the name that the client gave itself, which is the session's too unless that has a number.
  mutating func take(name: String, isHash: Bool) {
    keep(nil)
    nameIsHash = isHash
    userName = name
    if sessionNumber == nil { sessionName = name }
  }

  /// The connection's name in every run, computed once; `nil` if no packet of it is known.
  mutating func uid() -> ConnectionUID.Text? {
    if !hasUID {
      knownUID = ConnectionUID.text(of: info)
      hasUID = true
    }
    return knownUID
  }

  /// The position of a message whose first transmission has its frame at `offset` in the stream of `direction`. Messages that came in one compressed
  /// WebSocket message may begin at the same byte.
  mutating func position(at offset: UInt64, _ direction: Direction) -> StreamPosition {
    let way = Int(direction.rawValue & 1)
    var position = StreamPosition(offset: offset)
    if let last = positions[way], last.offset == position.offset { position = last.next }
    positions[way] = position
    return position
  }

  /// The connection's Community ID, made once.
  mutating func communityID() -> CommunityID.Text? {
    if !hasCommunityID {
      knownID = CommunityID.text(info.peer, info.server)
      hasCommunityID = true
    }
    return knownID
  }
}
