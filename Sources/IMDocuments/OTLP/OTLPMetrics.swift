import IMEngine
import IMMetrics
import IMOTLP
import IMOutput
import IMWire

/// What the points of a run need beside the counts of `PeriodMetrics`: the buckets of round trips, and the totals of each server
/// for cumulative points.
struct OTLPMetrics {
  /// The sums, in the order in which a request has them.
  enum Sum: Int, CaseIterable {
    case messages, late, io, connections, heartbeats, retransmissions, packets

    /// Its name and unit.
    var name: (text: String, unit: String) {
      switch self {
      case .messages: ("imdump.messages", "{message}")
      case .late: ("imdump.messages.late", "{message}")
      case .io: ("imdump.io", "By")
      case .connections: ("imdump.connections", "{connection}")
      case .heartbeats: ("imdump.heartbeats", "{heartbeat}")
      case .retransmissions: ("imdump.tcp.retransmissions", "{segment}")
      case .packets: ("imdump.capture.packets", "{packet}")
      }
    }
  }

  /// One series of a server: its sum, the attributes that tell it from the others of that sum, and its count of a period.
  struct Series: Sendable {
    let sum: Sum
    let attributes: Piece
    let read: @Sendable (borrowing PeriodMetrics) -> UInt64
  }

  /// Round trips of one server and one direction.
  struct Trips {
    /// Samples by bucket.
    var histogram = ExponentialHistogram()
    /// Of all periods, for cumulative points, in microseconds.
    var total: Int64 = 0, least = Int64.max, greatest = Int64.min
  }

  /// What is kept of a server.
  struct Server {
    /// By direction.
    var trips: InlineArray<2, Trips> = [Trips(), Trips()]
    /// Totals of cumulative points, by place in `series`.
    var totals: [UInt64] = []
  }

  let temporality: OTLPTemporality
  /// By index of `ServerRegistry`.
  private(set) var servers: [Server] = []
  /// Of the capture's packets, by outcome.
  var packets: [UInt64] = [0, 0, 0, 0]
  /// When cumulative points begin.
  var begunAt: Timestamp?

  init(_ temporality: OTLPTemporality) { self.temporality = temporality }

  /// Makes a place for a server.
  mutating func reserve(_ index: UInt32) {
    while servers.count <= Int(index) { servers.append(Server()) }
  }

  /// Counts a round trip in microseconds of a message that was sent in `direction` to or from a server.
  @inline(__always)
  mutating func record(_ microseconds: Int64, _ direction: Direction, server index: UInt32) {
    reserve(index)
    servers[Int(index)].trips[Int(direction.rawValue & 1)].histogram.record(microseconds: microseconds)
  }

  /// Changes what is kept of a server.
  mutating func change<Result>(_ index: UInt32, _ body: (inout Server) -> Result) -> Result {
    reserve(index)
    return body(&servers[Int(index)])
  }

  /// The series of a server.
  static let series: [Series] = {
    func attributes(_ pairs: [(String, String)]) -> Piece {
      Piece(pairs.map { ",{\"key\":\"\($0.0)\",\"value\":{\"stringValue\":\"\($0.1)\"}}" }.joined())
    }
    var all: [Series] = []
    let ways: [(Direction, String)] = [(.clientToServer, "receive"), (.serverToClient, "transmit")]
    func add(
      _ sum: Sum, _ pairs: [(String, String)], _ read: @escaping @Sendable (borrowing PeriodMetrics) -> UInt64
    ) { all.append(Series(sum: sum, attributes: attributes(pairs), read: read)) }
    for (way, io) in ways {
      func fate(
        _ fate: Fate, _ cause: Cause?, _ read: @escaping @Sendable (FateCounts) -> UInt32
      ) {
        add(
          .messages,
          [("network.io.direction", io), ("imdump.msg.fate", fate.name)]
            + (cause.map { [("imdump.msg.cause", $0.name)] } ?? [])
        ) { UInt64(read($0.messages[way])) }
      }
      fate(.acked, nil) { $0.acked }
      fate(.ackedAfterRetry, nil) { $0.ackedAfterRetry }
      fate(.rejected, nil) { $0.rejected }
      fate(.unanswered, .network) { $0.unansweredByNetwork }
      fate(.unanswered, .peer) { $0.unansweredByPeer }
      fate(.unanswered, nil) {
        $0.unanswered &- min($0.unanswered, $0.unansweredByNetwork &+ $0.unansweredByPeer)
      }
      fate(.damaged, .checksum) { $0.damaged }
      fate(.unknown, nil) { $0.unknown }
      fate(.pending, nil) { $0.pending }
      add(.messages, [("network.io.direction", io), ("imdump.msg.fate", Fate.unacknowledged.name)]) {
        UInt64($0.messages.unacknowledged(way))
      }
      add(.late, [("network.io.direction", io)]) { UInt64($0.messages[way].late) }
      add(.io, [("network.io.direction", io)]) { $0.frames.bytes[Int(way.rawValue)] }
      add(.retransmissions, [("network.io.direction", io)]) {
        $0.counts[.retransmissions, Int(way.rawValue)]
      }
    }
    func connection(_ name: String, _ read: @escaping @Sendable (ConnectionCounts) -> UInt64) {
      add(.connections, [("imdump.connection.outcome", name)]) { read($0.connections) }
    }
    connection("opened") { $0.opened }
    connection("closed") { $0.closed }
    connection("reset") { $0.reset }
    connection("refused") { $0.refused }
    connection("timed_out") { $0.timedOut }
    func heartbeat(_ name: String, _ read: @escaping @Sendable (HeartbeatCounts) -> UInt64) {
      add(.heartbeats, [("imdump.heartbeat.outcome", name)]) { read($0.heartbeats) }
    }
    heartbeat("answered") { $0.answered }
    heartbeat("missed") { $0.missed }
    heartbeat("unknown") { $0.unknown }
    heartbeat("unacknowledged") { $0.unacknowledged }
    return all
  }()
}
