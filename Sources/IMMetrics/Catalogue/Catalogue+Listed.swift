import IMEngine
import IMWire

extension Dimension {
  /// The direction, by the names that JSON and filters have.
  package static let dir = Dimension("dir", [("c2s", "to the server"), ("s2c", "from the server")])
}

extension Catalogue {
  private typealias Row = Metric<ListedConnection>

  /// The metrics of a connection in a list, as `imdump streams` prints them: of both directions together, then of each.
  package static let listed: [Metric<ListedConnection>] =
    [
      time("duration", "duration_us", "from the first packet to the last", "seconds") { $0.duration.count },
      time(
        "handshake", "handshake_us", "round trip of TCP's handshake, from the SYN to the client's ACK", "handshake ms"
      ) {
        $0.handshake?.count
      },
      time("handshake.server", "handshake_rtt_server_us", "from the SYN to the SYN+ACK") { $0.serverHandshake?.count },
      time("handshake.client", "handshake_rtt_client_us", "from the SYN+ACK to the client's ACK") {
        $0.clientHandshake?.count
      },
      both("packets", "packets", "packets") { UInt64($0.packets[$1]) },
      both("bytes", "bytes", "bytes of packets on the wire", .bytes) { $0.wireBytes[$1] },
      both("retransmissions", "retransmissions", "TCP retransmissions", title: "retrans") {
        UInt64($0.segments[$1].retransmissions)
      },
      one("gaps", "gaps", "gaps: ranges of bytes missing from a stream", title: "gaps") { UInt64($0.gapCount) },
      one("gap_bytes", "gap_bytes", "bytes missing in the gaps", .bytes, title: "missing") { $0.gapBytes },
      one("syns", "syns", "SYNs of the client, including retransmissions") { UInt64($0.synCount) },
      messages("messages", "messages", title: "messages") { UInt64($0.fates[$1].units) },
      messages("lost", "lost messages: unanswered or damaged", title: "lost") {
        $0.fates[$1].lost
      },
      Row(
        "listed.retries", .count, .report, "retries: copies of messages after the first, up to the answer",
        json: ["retries"], text: [.column(.listed, "retries")]
      ) { row, _, _ in row.isDecoded ? .count(UInt64(row.retries)) : nil },
      messages("rejected", "messages that were rejected", title: "rejected") {
        UInt64($0.fates[$1].rejected)
      },
      messages("pending", "messages that are pending when the capture ends") { UInt64($0.fates[$1].pending) },
      messages("unknown", "messages whose fate the capture does not show") { UInt64($0.fates[$1].unknown) },
    ]
    + [
      each("packets", "packets", titles: ["packets c2s", "packets s2c"]) { .count(UInt64($0.packets[$1])) },
      each("bytes", "bytes of packets on the wire", .bytes, titles: ["bytes c2s", "bytes s2c"]) {
        .count($0.wireBytes[$1])
      },
      each("stream_bytes", "bytes of the stream, delivered or missing", .bytes) { .count($0.streamBytes[$1]) },
      each("messages", "messages") { $0.isDecoded ? .count(UInt64($0.fates[$1].units)) : nil },
      each("lost", "lost messages") { $0.isDecoded ? .count($0.fates[$1].lost) : nil },
      segments("retransmissions", "TCP retransmissions") { $0.retransmissions },
      segments("timeout_retransmissions", "TCP retransmissions after a timeout") { $0.timeouts },
      segments("spurious_retransmissions", "TCP retransmissions of bytes that the receiver had acknowledged") {
        $0.spurious
      },
      segments("out_of_order", "segments that arrived out of order") { $0.outOfOrder },
      segments("lost_segments", "segments that the network lost") { $0.lost },
      segments("duplicate_acks", "acknowledgments that repeat the previous one") { $0.duplicateAcks },
      segments("keep_alives", "keep-alives") { $0.keepAlives },
      segments("zero_windows", "segments that advertise a zero window") { $0.zeroWindows },
      segments("captured_twice", "packets that the capture contains twice") { $0.copies },
      each("ack_rtt_us.count", "segments whose acknowledgment was timed") {
        $0.segments[$1].roundTrips.count == 0 ? nil : .count(UInt64($0.segments[$1].roundTrips.count))
      },
      acknowledged("min", "the shortest time from a segment to its acknowledgment") { $0.minimum?.count },
      acknowledged("mean", "the mean time from a segment to its acknowledgment", titles: ["ACK ms c2s", "ACK ms s2c"]) {
        $0.mean?.count
      },
      acknowledged("max", "the longest time from a segment to its acknowledgment") { $0.maximum?.count },
    ]

  private static func column(_ title: String?) -> [MetricPresentation] { title.map { [.column(.listed, $0)] } ?? [] }

  private static func columns(_ titles: [String]) -> [MetricPresentation] {
    titles.isEmpty ? [] : [.columns(.listed, zip(["c2s", "s2c"], titles).map { ($0, $1) })]
  }

  private static func time(
    _ name: String, _ place: String, _ help: String, _ title: String? = nil,
    _ read: @escaping @Sendable (ListedConnection) -> Int64?
  ) -> Metric<ListedConnection> {
    Row("listed.\(name)", .time, .report, help, json: [place], text: column(title), kind: .gauge) { row, _, _ in
      read(row).map { .nanoseconds($0) }
    }
  }

  private static func one(
    _ name: String, _ place: String, _ help: String, _ unit: MetricUnit = .count, title: String? = nil,
    _ read: @escaping @Sendable (ListedConnection) -> UInt64
  ) -> Metric<ListedConnection> {
    Row("listed.\(name)", unit, .report, help, json: [place], text: column(title)) { row, _, _ in .count(read(row)) }
  }

  /// A count of both directions together.
  private static func both(
    _ name: String, _ place: String, _ help: String, _ unit: MetricUnit = .count, title: String? = nil,
    _ read: @escaping @Sendable (ListedConnection, Int) -> UInt64
  ) -> Metric<ListedConnection> {
    one(name, place, help, unit, title: title) { read($0, 0) &+ read($0, 1) }
  }

  /// A count of messages of both directions together; absent where nothing was decoded.
  private static func messages(
    _ name: String, _ help: String, title: String? = nil,
    _ read: @escaping @Sendable (ListedConnection, Int) -> UInt64
  ) -> Metric<ListedConnection> {
    Row("listed.\(name)", .count, .report, help, json: [name], text: column(title)) { row, _, _ in
      row.isDecoded ? .count(read(row, 0) &+ read(row, 1)) : nil
    }
  }

  /// A metric of each direction.
  private static func each(
    _ place: String, _ help: String, _ unit: MetricUnit = .count, titles: [String] = [],
    _ read: @escaping @Sendable (ListedConnection, Int) -> MetricValue?
  ) -> Metric<ListedConnection> {
    Row(
      "listed.dir.\(place)", unit, .report, help + " {dir}", by: [.dir], json: ["{dir}.\(place)"],
      text: columns(titles), kind: unit == .time ? .gauge : .counter
    ) { row, direction, _ in read(row, direction) }
  }

  private static func segments(
    _ place: String, _ help: String, _ read: @escaping @Sendable (SegmentMetrics) -> UInt32
  ) -> Metric<ListedConnection> {
    each(place, help) { .count(UInt64(read($0.segments[$1]))) }
  }

  private static func acknowledged(
    _ name: String, _ help: String, titles: [String] = [],
    _ read: @escaping @Sendable (AckRoundTrips) -> Int64?
  ) -> Metric<ListedConnection> {
    each("ack_rtt_us.\(name)", help, .time, titles: titles) { row, direction in
      read(row.segments[direction].roundTrips).map { .nanoseconds($0) }
    }
  }
}
