import IMEngine
import IMTestSupport
import IMWire
import Testing

/// Random segments of one connection, both directions, held against `StreamReference` byte for byte.
@Suite struct StreamScriptTests {
  /// SplitMix64: the same numbers for the same seed everywhere.
  struct Random: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var z = state
      z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
      z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
      return z ^ (z >> 31)
    }
  }

  /// Headers of an Ethernet packet with IPv4 and TCP, without options.
  static let headers = 54

  static let ends = [
    Endpoint(address: IPAddress(v4: 0xc000_0201), port: 40_000),
    Endpoint(address: IPAddress(v4: 0xc000_0202), port: 5_222),
  ]

  /// One direction's segments: chunks of one content, some with other bytes, some again, some far away, all shuffled.
  static func script(_ random: inout Random, side: Int, start: UInt32, hasSYN: Bool) -> [TCPSegment] {
    let content = (0..<3_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    var segments: [TCPSegment] = []
    func add(_ sequence: UInt32, _ flags: TCPFlags, _ payload: [UInt8]) {
      segments.append(
        TCPSegment(
          sourcePort: ends[side].port, destinationPort: ends[1 - side].port, sequence: sequence, acknowledgment: 1,
          flags: flags, payload: payload))
    }
    for _ in 0..<Int.random(in: 1...40, using: &random) {
      let from = Int.random(in: 0..<content.count, using: &random)
      let to = min(content.count, from + Int.random(in: 0...200, using: &random))
      var payload = Array(content[from..<to])
      if Int.random(in: 0..<6, using: &random) == 0, !payload.isEmpty {
        payload[Int.random(in: 0..<payload.count, using: &random)] ^= 0x5a
      }
      add(start &+ 1 &+ UInt32(from), .ack, payload)
      if Int.random(in: 0..<8, using: &random) == 0, let last = segments.last { segments.append(last) }
      if Int.random(in: 0..<12, using: &random) == 0 { add(start &+ 1 &+ UInt32(from), [.rst, .ack], payload) }
      if Int.random(in: 0..<30, using: &random) == 0 { add(start &+ 0x4000_2000, .ack, payload) }
    }
    if Bool.random(using: &random) { add(start &+ 1 &+ UInt32(content.count), [.fin, .ack], []) }
    segments.shuffle(using: &random)
    if hasSYN {
      // Somewhere near the front: what comes before it counts from it all the same.
      let flags: TCPFlags = side == 0 ? .syn : [.syn, .ack]
      let place = Int.random(in: 0...min(1, segments.count), using: &random)
      segments.insert(
        TCPSegment(
          sourcePort: ends[side].port, destinationPort: ends[1 - side].port, sequence: start, acknowledgment: 1,
          flags: flags), at: side == 0 ? 0 : place)
    }
    return segments
  }

  @Test(arguments: 0..<300) func equalsReference(seed: Int) throws {
    var random = Random(state: UInt64(seed))
    let snap = seed % 5 == 0 ? Self.headers + 60 : 65_535
    let starts = [UInt32.random(in: 0...UInt32.max, using: &random), seed % 3 == 0 ? UInt32.max - 700 : 77]
    let hasSYN = seed % 2 == 0
    var lanes = (0..<2).map { Self.script(&random, side: $0, start: starts[$0], hasSYN: hasSYN) }
    var references = [StreamReference(), StreamReference()]
    var builder = PacketBuilder()
    var capture = CaptureBuilder()
    capture.snapLength = snap
    var order: [Int] = []
    while let side = [0, 1].filter({ !lanes[$0].isEmpty }).randomElement(using: &random) {
      // The client speaks first, so that it is the client.
      let turn = capture.packets.isEmpty && !lanes[0].isEmpty ? 0 : side
      let segment = lanes[turn].removeFirst()
      order.append(turn)
      references[turn].add(segment, captured: snap - Self.headers)
      capture.packets.append(
        TimedPacket(
          timestamp: Timestamp(milliseconds: Int64(order.count) * 5),
          bytes: builder.packet(segment, from: Self.ends[turn].address, to: Self.ends[1 - turn].address)))
    }
    let streams = collect(capture)
    try #require(streams.count == 1)
    let first = try #require(order.first)
    for side in 0..<2 {
      let direction = streams[0].directions[first == 0 ? side : 1 - side]
      let expected = references[side].result
      #expect(direction.ranges.map { [$0.offset, $0.count] } == expected.ranges)
      #expect(direction.gaps.map { [$0.offset, $0.count] } == expected.gaps)
      #expect(direction.content.flatMap { $0 } == expected.bytes)
      #expect(direction.conflictBytes == references[side].conflicts)
      #expect(direction.packets == UInt64(order.filter { $0 == side }.count))
    }
  }
}

/// The streams of a capture, in batches of `batch` packets.
func collect(
  _ capture: CaptureBuilder, options: StreamOptions = StreamOptions(), batch size: Int = .max
) -> [CollectedStream] {
  var collector = StreamCollector(options: options)
  feed(&collector, capture, batch: size)
  return collector.finish()
}

/// Hands a capture to a collector, in batches of `batch` packets.
func feed(_ collector: inout StreamCollector, _ capture: CaptureBuilder, batch size: Int = .max) {
  let batch = capture.batch()
  var start = 0
  while start < batch.records.count {
    let end = min(batch.records.count, size == .max ? .max : start + size)
    let records = Array(batch.records[start..<end])
    collector.process(batch.bytes.span.bytes, records.span)
    start = end
  }
}
