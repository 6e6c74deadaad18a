import IMEngine
import IMWire

/// The connections that a live page shows: at most so many. Where there are more, those without trouble on which nothing has happened
/// for longest are forgotten.
struct TrackedConnections {
  /// The most that are kept; an eighth of them goes at a time.
  static let maximumCount = 1_024

  private(set) var all: [UInt32: TrackedConnection] = [:]
  /// When connections were opened on which nothing was decoded yet; a few.
  private var openings: [UInt32: Timestamp] = [:]

  /// A SYN was seen.
  mutating func opened(_ serial: UInt32, at: Timestamp) {
    if openings.count >= 4 * Self.maximumCount { openings.removeAll(keepingCapacity: true) }
    openings[serial] = at
  }

  /// Changes a connection that is kept; nothing for one that is not.
  mutating func change(_ serial: UInt32, _ body: (inout TrackedConnection) -> Void) {
    guard let index = all.index(forKey: serial) else { return }
    body(&all.values[index])
  }

  /// Changes a connection on which a frame came, which is kept from now on. Gives how many others were forgotten for it.
  mutating func carry(
    _ info: ConnectionInfo, at: Timestamp, _ body: (inout TrackedConnection) -> Void
  ) -> UInt64 {
    if let index = all.index(forKey: info.serial) {
      body(&all.values[index])
      return 0
    }
    let forgotten = all.count >= Self.maximumCount ? makeRoom() : 0
    var connection = TrackedConnection(info, firstSeen: openings.removeValue(forKey: info.serial) ?? at)
    body(&connection)
    all[info.serial] = connection
    return forgotten
  }

  /// Forgets connections that were over before `begin`, and troubles from before.
  mutating func forget(before begin: Timestamp) {
    for (serial, connection) in all {
      if connection.end != nil, connection.lastSeen < begin {
        all[serial] = nil
      } else if connection.trail.troubleAt.map({ $0 < begin }) == true {
        all[serial]?.trail.forgetTrouble()
      }
    }
    openings = openings.filter { $0.value >= begin }
  }

  private mutating func makeRoom() -> UInt64 {
    let order = all.values.sorted {
      ($0.score, $0.end == nil ? 1 : 0, $0.lastSeen, $0.info.serial)
        < ($1.score, $1.end == nil ? 1 : 0, $1.lastSeen, $1.info.serial)
    }
    let gone = order.prefix(Self.maximumCount / 8)
    for connection in gone { all[connection.info.serial] = nil }
    return UInt64(gone.count)
  }
}
