import IMEngine
import IMMetrics
package import IMWire

/// A type of frames or a topic as a store has it, and what became of its messages: what `imdump messages --by type` and `--by topic` count.
package struct StoredTypeCount: Equatable, Sendable {
  /// What it is.
  package enum Key: Hashable, Sendable {
    /// A type, by its number in the store.
    case type(Int64)
    /// A topic.
    case topic(String)
    /// Topics beyond the limit, together.
    case furtherTopics
  }

  /// What it is.
  package var key: Key
  /// The profile that names it; empty for a topic.
  package var profile = ""
  /// Its name.
  package var name: String
  /// What a type is for; `topic` for a topic.
  package var role: String
  /// Rows of the store that have it: messages, heartbeats, and other frames that ask for an answer.
  package var count: Int64 = 0
  /// Messages that ask for an answer, and those that ask for none.
  package var messages: Int64 = 0, oneWay: Int64 = 0
  /// Messages without an answer, or damaged.
  package var lost: Int64 = 0
  /// Messages that were rejected.
  package var rejected: Int64 = 0
  /// Copies of messages after the first ones.
  package var retries: Int64 = 0
  /// Heartbeats without an answer.
  package var lostHeartbeats: Int64 = 0
  /// Percentiles of round trips of the clients' messages, in microseconds; `nil` where it has none.
  package var roundTrip50ToServer: Int64?, roundTrip95ToServer: Int64?
  /// The same of the server's messages.
  package var roundTrip50ToClient: Int64?, roundTrip95ToClient: Int64?

  /// Whether it is a topic, or several together, and no type.
  package var isTopic: Bool { if case .type = key { false } else { true } }

  /// A type or a topic without messages.
  package init(_ key: Key, name: String, role: String, profile: String = "") {
    (self.key, self.name, self.role, self.profile) = (key, name, role, profile)
  }
}

/// What a store has by type and by topic, those that lost most first.
package struct StoredTypes: Equatable, Sendable {
  /// The types that occur.
  package var types: [StoredTypeCount] = []
  /// The topics that occur, as far as the store has them.
  package var topics: [StoredTypeCount] = []
  /// The median of the round trips of everything but heartbeats, by the direction of the message, in microseconds; `nil` without one.
  package var roundTrip50ToServer: Int64?, roundTrip50ToClient: Int64?

  /// Types and topics with these medians.
  package init(
    types: [StoredTypeCount] = [], topics: [StoredTypeCount] = [], roundTrip50ToServer: Int64? = nil,
    roundTrip50ToClient: Int64? = nil
  ) {
    (self.types, self.topics) = (types, topics)
    (self.roundTrip50ToServer, self.roundTrip50ToClient) = (roundTrip50ToServer, roundTrip50ToClient)
  }
}

extension StoreReader {
  /// Types that are counted, at most: what a store says may be anything.
  private static let typeLimit = 4_096

  /// Topics that are counted one by one, at most: the others are counted together.
  private static let topicLimit = 1_000

  /// A type or a topic while it is being counted.
  private struct Counting {
    private(set) var row: StoredTypeCount
    private var trips = RTTByDirection()

    init(_ row: StoredTypeCount) { self.row = row }

    /// Counts a message of a type with this role.
    mutating func count(_ message: CountedRow, role: FrameRole?, _ room: inout FineBucketRoom) {
      let isLost = message.fate == .unanswered || message.fate == .damaged
      row.count &+= 1
      switch role {
      case .message:
        if message.fate == .unacknowledged { row.oneWay &+= 1 } else { row.messages &+= 1 }
        row.retries &+= message.retries
        if isLost { row.lost &+= 1 }
        if message.fate == .rejected { row.rejected &+= 1 }
      case .heartbeat: if isLost { row.lostHeartbeats &+= 1 }
      case .acknowledgment, .control, .receipt, .other, nil: break
      }
      if role != .heartbeat, let time = message.roundTrip {
        room.record(into: &trips) { $0.record(microseconds: time, message.direction) }
      }
    }

    /// What was counted.
    var finished: StoredTypeCount {
      var row = row
      let (toServer, toClient) = (trips[.clientToServer], trips[.serverToClient])
      (row.roundTrip50ToServer, row.roundTrip95ToServer) = (toServer.percentile(50), toServer.percentile(95))
      (row.roundTrip50ToClient, row.roundTrip95ToClient) = (toClient.percentile(50), toClient.percentile(95))
      return row
    }
  }

  /// What is counted of a message.
  private struct CountedRow {
    let direction: Direction
    let fate: Fate?
    let retries: Int64
    /// By Karn's rule, as `CountedMessage` has it.
    let roundTrip: Int64?

    /// The columns in the order in which `init` reads them.
    static let columns = "direction, fate, retries, rtt_us"

    /// The message of a row that has `columns` from `column` on.
    init(_ row: Row, from column: Int32) {
      direction = row.number(column) == 0 ? .clientToServer : .serverToClient
      fate = row.number(column + 1).flatMap { UInt8(exactly: $0) }.flatMap(Fate.init)
      retries = row.counted(column + 2) ?? 0
      let time = row.microseconds(column + 3)
      roundTrip = time.flatMap { [retries, fate] in $0 >= 0 && (retries == 0 || fate == .acked) ? $0 : nil }
    }
  }

  /// Whether the store has what users write.
  package func keepsPayload() throws(StoreError) -> Bool { try database.keepsPayload() }

  /// Whether the store has topics: its first texts say so.
  package func hasTopics() throws(StoreError) -> Bool {
    try database.number(
      "SELECT EXISTS (SELECT 1 FROM (SELECT topic FROM message_text LIMIT 1000) WHERE topic IS NOT NULL)",
      "look for topics") == 1
  }

  /// What the store has by type and by topic, of a time or of all: it reads every message.
  package func types(_ times: Range<Timestamp>? = nil) throws(StoreError) -> StoredTypes {
    var types = try knownTypes()
    var topics: [StoredTypeCount.Key: Counting] = [:]
    var room = FineBucketRoom(bytes: 64 << 20)
    var trips = (toServer: RTTRecorder(), toClient: RTTRecorder())
    let topic = try hasTopics() ? "(SELECT topic FROM message_text WHERE message_text.id = message.id)" : "NULL"
    var statement = try database.prepare(
      "SELECT type, \(topic), \(CountedRow.columns) FROM message"
        + (times == nil ? "" : " WHERE time_us >= ?1 AND time_us < ?2"), "count types")
    if let times {
      statement.bind(1, times.lowerBound.microseconds)
      statement.bind(2, times.upperBound.microseconds)
    }
    while try statement.step() {
      let row = statement.row
      guard let place = types.index(forKey: row.number(0) ?? 0) else { continue }
      let (message, role) = (CountedRow(row, from: 2), types.values[place].role)
      types.values[place].counted.count(message, role: role, &room)
      if let name = row.text(1) { Self.count(message, role, topic: name, in: &topics, &room) }
      guard role != .heartbeat, let time = message.roundTrip else { continue }
      if message.direction == .clientToServer {
        trips.toServer.record(microseconds: time)
      } else {
        trips.toClient.record(microseconds: time)
      }
    }
    return StoredTypes(
      types: types.values.map(\.counted).filter { $0.row.count > 0 }.map(\.finished).sorted(by: Self.isWorse),
      topics: topics.values.map(\.finished).sorted(by: Self.isWorse),
      roundTrip50ToServer: trips.toServer.percentile(50), roundTrip50ToClient: trips.toClient.percentile(50))
  }

  private static func count(
    _ message: CountedRow, _ role: FrameRole?, topic name: String, in topics: inout [StoredTypeCount.Key: Counting],
    _ room: inout FineBucketRoom
  ) {
    var key = StoredTypeCount.Key.topic(name), shown = name
    if topics[key] == nil, topics.count >= topicLimit { (key, shown) = (.furtherTopics, "further topics") }
    topics[key, default: Counting(StoredTypeCount(key, name: shown, role: "topic"))].count(
      message, role: role, &room)
  }

  private func knownTypes() throws(StoreError) -> [Int64: (counted: Counting, role: FrameRole?)] {
    var statement = try database.prepare(
      "SELECT id, profile, name, role FROM type LIMIT \(Self.typeLimit)", "read names")
    var types: [Int64: (counted: Counting, role: FrameRole?)] = [:]
    while try statement.step() {
      let row = statement.row
      let id = row.number(0) ?? 0, role = row.text(3) ?? ""
      let type = StoredTypeCount(.type(id), name: row.text(2) ?? "", role: role, profile: row.text(1) ?? "")
      types[id] = (Counting(type), FrameRole.allCases.first { $0.name == role })
    }
    return types
  }

  private static func isWorse(_ one: StoredTypeCount, _ other: StoredTypeCount) -> Bool {
    let mine = (one.lost, one.rejected, one.retries, one.lostHeartbeats)
    let others = (other.lost, other.rejected, other.retries, other.lostHeartbeats)
    if mine != others { return mine > others }
    let (sent, sentByOther) = ((one.messages, one.oneWay), (other.messages, other.oneWay))
    if sent != sentByOther { return sent > sentByOther }
    return one.count != other.count ? one.count > other.count : one.key.isBefore(other.key)
  }
}

extension StoredTypeCount.Key {
  /// Types in the order of their numbers, then topics by name.
  fileprivate func isBefore(_ other: Self) -> Bool {
    switch (self, other) {
    case (.type(let one), .type(let other)): one < other
    case (.type, _): true
    case (.topic(let one), .topic(let other)): one < other
    case (.topic, .furtherTopics): true
    default: false
    }
  }
}
