import IMEngine
import IMMetrics
package import IMWire

/// A type of frames as a store has it, and what became of them: what `imdump messages --by type` counts.
package struct StoredTypeCount: Equatable, Sendable {
  /// Its number in the store.
  package var id: Int64
  /// The profile that names it.
  package var profile: String
  /// Its name.
  package var name: String
  /// What it is for.
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
}

/// What a store has by type, those that lost most first.
package struct StoredTypes: Equatable, Sendable {
  /// The types that occur.
  package var types: [StoredTypeCount] = []
  /// The median of the round trips of everything but heartbeats, by the direction of the message, in microseconds; `nil` without one.
  package var roundTrip50ToServer: Int64?, roundTrip50ToClient: Int64?

  /// Types with these medians.
  package init(types: [StoredTypeCount] = [], roundTrip50ToServer: Int64? = nil, roundTrip50ToClient: Int64? = nil) {
    self.types = types
    (self.roundTrip50ToServer, self.roundTrip50ToClient) = (roundTrip50ToServer, roundTrip50ToClient)
  }
}

extension StoreReader {
  /// Types that are counted, at most: what a store says may be anything.
  private static let typeLimit = 4_096

  /// A type while it is being counted.
  private struct Counting {
    var row: StoredTypeCount
    let role: FrameRole?
    var trips = RTTByDirection()
  }

  /// What the store has by type, of a time or of all: it reads every message.
  package func types(_ times: Range<Timestamp>? = nil) throws(StoreError) -> StoredTypes {
    var counting = try knownTypes()
    var trips = (toServer: RTTRecorder(), toClient: RTTRecorder())
    var statement = try database.prepare(
      "SELECT type, direction, fate, retries, rtt_us FROM message"
        + (times == nil ? "" : " WHERE time_us >= ?1 AND time_us < ?2"), "count types")
    if let times {
      statement.bind(1, times.lowerBound.microseconds)
      statement.bind(2, times.upperBound.microseconds)
    }
    while try statement.step() {
      let row = statement.row
      guard let place = counting.index(forKey: row.number(0) ?? 0) else { continue }
      let direction = row.number(1) == 0 ? Direction.clientToServer : .serverToClient
      let fate = Fate(rawValue: UInt8(clamping: row.number(2) ?? -1))
      let retries = row.counted(3) ?? 0
      Self.count(&counting.values[place], fate, retries)
      // By Karn's rule, as `CountedMessage` has it.
      guard let roundTrip = row.microseconds(4), roundTrip >= 0, retries == 0 || fate == .acked,
        counting.values[place].role != .heartbeat
      else { continue }
      counting.values[place].trips.record(microseconds: roundTrip, direction)
      if direction == .clientToServer {
        trips.toServer.record(microseconds: roundTrip)
      } else {
        trips.toClient.record(microseconds: roundTrip)
      }
    }
    return StoredTypes(
      types: counting.values.filter { $0.row.count > 0 }.map(Self.finished).sorted(by: Self.isWorse),
      roundTrip50ToServer: trips.toServer.percentile(50), roundTrip50ToClient: trips.toClient.percentile(50))
  }

  private func knownTypes() throws(StoreError) -> [Int64: Counting] {
    var statement = try database.prepare(
      "SELECT id, profile, name, role FROM type LIMIT \(Self.typeLimit)", "read names")
    var types: [Int64: Counting] = [:]
    while try statement.step() {
      let row = statement.row
      let role = row.text(3) ?? ""
      let type = StoredTypeCount(
        id: row.number(0) ?? 0, profile: row.text(1) ?? "", name: row.text(2) ?? "", role: role)
      types[type.id] = Counting(row: type, role: FrameRole.allCases.first { $0.name == role })
    }
    return types
  }

  private static func count(_ type: inout Counting, _ fate: Fate?, _ retries: Int64) {
    let isLost = fate == .unanswered || fate == .damaged
    type.row.count &+= 1
    switch type.role {
    case .message:
      if fate == .unacknowledged { type.row.oneWay &+= 1 } else { type.row.messages &+= 1 }
      type.row.retries &+= retries
      if isLost { type.row.lost &+= 1 }
      if fate == .rejected { type.row.rejected &+= 1 }
    case .heartbeat: if isLost { type.row.lostHeartbeats &+= 1 }
    case .acknowledgment, .control, .receipt, .other, nil: break
    }
  }

  private static func finished(_ type: Counting) -> StoredTypeCount {
    var row = type.row
    let (toServer, toClient) = (type.trips[.clientToServer], type.trips[.serverToClient])
    (row.roundTrip50ToServer, row.roundTrip95ToServer) = (toServer.percentile(50), toServer.percentile(95))
    (row.roundTrip50ToClient, row.roundTrip95ToClient) = (toClient.percentile(50), toClient.percentile(95))
    return row
  }

  private static func isWorse(_ one: StoredTypeCount, _ other: StoredTypeCount) -> Bool {
    let mine = (one.lost, one.rejected, one.retries, one.lostHeartbeats)
    let others = (other.lost, other.rejected, other.retries, other.lostHeartbeats)
    if mine != others { return mine > others }
    let (sent, sentByOther) = ((one.messages, one.oneWay), (other.messages, other.oneWay))
    return sent != sentByOther ? sent > sentByOther : (other.count, one.id) < (one.count, other.id)
  }
}
