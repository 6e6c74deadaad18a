package import IMEngine
import IMWire

extension Catalogue {
  /// The figures of a TCP stream, as `imdump streams` prints them.
  package static let streams: [Metric<CollectedStream>] = [
    stream("packets", "packets", text: .column(.streams, "packets")) { stream in
      .count(stream.directions.reduce(0) { $0 + $1.packets })
    },
    Metric(
      "stream.bytes", .bytes, .packet, "bytes that were captured {direction}, without copies", by: [.direction],
      text: [
        .columns(.streams, [("client_to_server", "bytes c>s"), ("server_to_client", "bytes s>c")])
      ]
    ) { stream, way, _ in .count(way < stream.directions.count ? sum(stream.directions[way].ranges) : 0) },
    stream("gaps", "places where bytes are missing", text: .column(.streams, "gaps")) { stream in
      .count(stream.directions.reduce(0) { $0 + UInt64($1.gaps.count) })
    },
    stream("missing", "bytes missing there", .bytes, text: .column(.streams, "missing")) { stream in
      .count(stream.directions.reduce(0) { $0 &+ sum($1.gaps) })
    },
    stream(
      "handshake.server", "from the SYN to the SYN+ACK", .time, json: "handshake_rtt_server_us"
    ) { $0.serverHandshake.map { .nanoseconds($0.count) } },
    stream(
      "handshake.client", "from the SYN+ACK to its acknowledgment", .time, json: "handshake_rtt_client_us"
    ) { $0.clientHandshake.map { .nanoseconds($0.count) } },
    Metric(
      "stream.analysis", .count, .packet, "segments by the rules of Wireshark's TCP analysis: {event}", by: [.event],
      json: ["analysis.{event}"], text: [.columns(.streams, columns)]
    ) { stream, event, _ in
      .count(stream.directions.reduce(0) { $0 + $1.analysis[StreamEvent.allCases[event]] })
    },
    stream(
      "rtt",
      "the round trip of TCP's handshake, or where it was not captured the longer of the shortest ones of both sides",
      .time, text: .column(.streams, "rtt ms")
    ) { stream in
      let acknowledgments = stream.directions.map(\.acknowledgments).filter { $0.count > 0 }.map(\.least).max()
      guard let time = stream.handshake ?? acknowledgments, time >= .zero else { return nil }
      return .nanoseconds(time.count)
    },
  ]

  /// The events that have a column.
  private static let columns: [(value: String, title: String)] = [
    (StreamEvent.retransmission, "retrans"), (.outOfOrder, "out of order"), (.captureDuplicate, "captured twice"),
    (.lostSegment, "lost"), (.duplicateAck, "dup acks"), (.keepAlive, "keep-alives"), (.zeroWindow, "zero windows"),
  ].map { ($0.name, $1) }

  private static func stream(
    _ name: String, _ help: String, _ unit: MetricUnit = .count, json: String? = nil, text: MetricPresentation? = nil,
    _ read: @escaping @Sendable (CollectedStream) -> MetricValue?
  ) -> Metric<CollectedStream> {
    Metric(
      "stream.\(name)", unit, .packet, help, json: json.map { [$0] } ?? [], text: text.map { [$0] } ?? [],
      kind: unit == .time ? .gauge : .counter
    ) { stream, _, _ in read(stream) }
  }

  private static func sum(_ ranges: [StreamRange]) -> UInt64 { ranges.reduce(0) { $0 &+ UInt64($1.count) } }

  /// The figures of a direction of a stream; those of what was left out only where something was.
  package static let streamSides: [Metric<CollectedDirection>] =
    [
      side("packets", "packets") { .count($0.packets) },
      side("wire_bytes", "bytes of these packets on the wire", .bytes) { .count($0.wireBytes) },
      side("payload_captured", "payload in the capture, copies included", .bytes) { .count($0.payloadCaptured) },
      side("overlap_bytes", "bytes that came again", .bytes) { .count(UInt64($0.overlapBytes)) },
      side("overlap_conflict_bytes", "of them, those that differ from the first copy", .bytes) {
        .count(UInt64($0.conflictBytes))
      },
      leftOut("rst_payload_bytes_left_out", "payload of resets") { $0.resetBytes },
      leftOut("far_bytes_left_out", "payload too far from the rest to belong to the stream") { $0.farBytes },
      leftOut("checksum_bytes_left_out", "payload with a wrong checksum, which its receiver ignored") {
        $0.damagedBytes
      },
      leftOut("limit_bytes_not_kept", "bytes whose content exceeded --mem") { $0.bytesNotKept },
      leftOut("limit_bytes_left_out", "payload whose position exceeded --mem") { $0.payloadLeftOut },
      Metric(
        "side.analysis", .count, .packet, "segments by the rules of Wireshark's TCP analysis: {event}", by: [.event],
        json: ["analysis.{event}"], omitsZero: true
      ) { side, event, _ in .count(side.analysis[StreamEvent.allCases[event]]) },
    ]
    + [
      acknowledged("n", "segments whose acknowledgment was timed, retransmitted ones left out", .count) {
        .count($0.count)
      },
      acknowledged("min", "the shortest time from a segment to its acknowledgment") { .nanoseconds($0.least.count) },
      acknowledged("mean", "the mean time from a segment to its acknowledgment") { .nanoseconds($0.mean.count) },
      acknowledged("max", "the longest time from a segment to its acknowledgment") { .nanoseconds($0.most.count) },
    ]

  private static func side(
    _ name: String, _ help: String, _ unit: MetricUnit = .count,
    _ read: @escaping @Sendable (CollectedDirection) -> MetricValue?
  ) -> Metric<CollectedDirection> {
    Metric("side.\(name)", unit, .packet, help, json: [name]) { side, _, _ in read(side) }
  }

  private static func leftOut(
    _ name: String, _ help: String, _ read: @escaping @Sendable (CollectedDirection) -> Int
  ) -> Metric<CollectedDirection> {
    Metric("side.\(name)", .bytes, .packet, help, json: [name], omitsZero: true) { side, _, _ in
      .count(UInt64(read(side)))
    }
  }

  private static func acknowledged(
    _ name: String, _ help: String, _ unit: MetricUnit = .time,
    _ read: @escaping @Sendable (RoundTrips) -> MetricValue
  ) -> Metric<CollectedDirection> {
    Metric(
      "side.ack_rtt.\(name)", unit, .packet, help, json: ["ack_rtt_karn_us.\(name)"],
      kind: unit == .time ? .gauge : .counter
    ) { side, _, _ in side.acknowledgments.count == 0 ? nil : read(side.acknowledgments) }
  }
}
