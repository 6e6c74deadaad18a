import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// What the table `connection` stores of a TCP connection apart from its messages, whether it was decoded or not. The values are those
/// of `imdump streams`.
struct ConnectionFacts: Sendable {
  /// Who talks.
  let info: ConnectionInfo
  /// How far it has come.
  let state: ConnectionState
  /// What it carries where nothing decodes it, as lists say it; `nil` where that is not known, or a profile's name says it.
  let label: String?
  /// The side that reset it.
  private let resetBy: Direction?
  private let isDecoded: Bool
  /// When its first packet came and when it ended, in microseconds.
  private let start: Int64, end: Int64
  /// Client to server first.
  private let packets: InlineArray<2, UInt32>, bytes: InlineArray<2, UInt64>
  /// Round trips in microseconds; below 0 where they are not known.
  private let handshake: Int64, acknowledgment: InlineArray<2, Int64>
  private let retransmissions: UInt32, gaps: UInt32, missing: UInt64

  /// The columns that `bind` fills, in its order.
  static let columns = [
    "profile", "protocol", "state", "rst_by", "start_us", "end_us", "packets_c2s", "packets_s2c", "bytes_c2s",
    "bytes_s2c", "handshake_us", "ack_c2s_us", "ack_s2c_us", "retransmissions", "gaps", "missing_bytes",
  ]

  /// The columns as a table declares them.
  static let declaration = """
    profile TEXT, protocol TEXT, state TEXT, rst_by TEXT, start_us INTEGER, end_us INTEGER, \
    packets_c2s INTEGER, packets_s2c INTEGER, bytes_c2s INTEGER, bytes_s2c INTEGER, \
    handshake_us INTEGER, ack_c2s_us INTEGER, ack_s2c_us INTEGER, \
    retransmissions INTEGER, gaps INTEGER, missing_bytes INTEGER
    """

  /// What `report` says; `hello` is the first message of its TLS handshake.
  init(_ report: ConnectionReport, hello: TLSHello?) {
    let row = ListedConnection(report, hello: hello)
    func microseconds(_ time: Nanoseconds?) -> Int64 { time.map { max(0, $0.microseconds) } ?? -1 }
    info = row.info
    state = ConnectionState(report)
    label = row.label([])
    resetBy = row.resetBy
    isDecoded = row.isDecoded
    (start, end) = (row.firstSeen.microseconds, row.end.microseconds)
    (packets, bytes) = (row.packets, row.wireBytes)
    handshake = microseconds(row.handshake)
    acknowledgment = [microseconds(row.segments[0].roundTrips.mean), microseconds(row.segments[1].roundTrips.mean)]
    retransmissions = report.retransmissions
    (gaps, missing) = (row.gapCount, row.gapBytes)
  }

  /// Binds the columns to the parameters from `place` on. `profile` is the name of the plan.
  func bind(to statement: inout Statement, from place: Int32, profile: String) {
    let profile = isDecoded && !profile.isEmpty ? profile : nil
    statement.bind(place, profile)
    statement.bind(place + 1, label ?? profile)
    statement.bind(place + 2, state.rawValue)
    statement.bind(place + 3, resetBy.map { $0 == .clientToServer ? "c2s" : "s2c" })
    func known(_ value: Int64) -> Int64? { value < 0 ? nil : value }
    let numbers: [Int64?] = [
      start, end, Int64(packets[0]), Int64(packets[1]), Int64(clamping: bytes[0]), Int64(clamping: bytes[1]),
      known(handshake), known(acknowledgment[0]), known(acknowledgment[1]),
      Int64(retransmissions), Int64(gaps), Int64(clamping: missing),
    ]
    for (i, number) in numbers.enumerated() { statement.bind(place + 4 + Int32(i), number) }
  }
}
