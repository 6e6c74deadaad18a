import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct FrameTests {
  private func bytes(_ header: FrameHeader, _ body: [UInt8] = []) -> [UInt8] {
    var header = header
    header.bodyCount = UInt32(body.count)
    header.checksum = Checksum.of(body.span.bytes)
    var bytes: [UInt8] = []
    header.append(to: &bytes)
    return bytes + body
  }

  private let header = FrameHeader(
    kind: .data, sequence: SequenceNumber(.media, 0x01_0203), time: 0x6500_0001, session: 0xbeef)

  /// The layout, byte for byte, as the protocol's description has it; 0xCBF43926 is CRC-32's published check value.
  @Test func theHeaderOnTheWire() {
    let frame = bytes(header, Array("123456789".utf8))
    #expect(
      frame.prefix(28) == [
        0xde, 0xca, 0xfb, 0xad, 1, 0, 0, 0, 3, 1, 2, 3, 0x65, 0, 0, 1, 0, 0, 0xbe, 0xef, 0, 0, 0, 9, 0xcb, 0xf4, 0x39,
        0x26,
      ])
    #expect(bytes(header).suffix(4) == [0, 0, 0, 0])
  }

  @Test func everyPrefixNeedsMore() {
    let frame = bytes(header, [UInt8](repeating: 9, count: 40))
    for count in 0..<frame.count {
      let wanted = count < 28 ? 28 : frame.count
      #expect(FrameReader.read(Array(frame.prefix(count)).span.bytes, at: 0, accepting: 1) == .needs(wanted))
    }
    guard case .frame(let read, true) = FrameReader.read(frame.span.bytes, at: 0, accepting: 1) else {
      Issue.record("not a frame")
      return
    }
    #expect(read.sequence == header.sequence && read.session == 0xbeef && read.bodyCount == 40)
  }

  @Test func brokenStreamsAreSeenAtOnce() {
    func reading(_ change: (inout [UInt8]) -> Void, _ count: Int = 68) -> FrameReading {
      var frame = bytes(header, [UInt8](repeating: 9, count: 40))
      change(&frame)
      return FrameReader.read(Array(frame.prefix(count)).span.bytes, at: 0, accepting: 1)
    }
    #expect(reading { $0[0] = 0 } == .broken(.notAFrame))
    #expect(reading({ $0[2] = 0 }, 3) == .broken(.notAFrame))
    #expect(reading({ $0[4] = 2 }, 5) == .broken(.version(2)))
    #expect(reading { $0[20] = 1 } == .broken(.bodyTooLong(0x0100_0028)))
    if case .frame(_, let isIntact) = reading({ $0[40] ^= 1 }) { #expect(!isIntact) } else { Issue.record("not read") }
  }

  @Test func aChecksumInTheOtherOrderIsAccepted() {
    var frame = bytes(header, Array("123456789".utf8))
    frame.replaceSubrange(24..<28, with: [0x26, 0x39, 0xf4, 0xcb])
    if case .frame(_, let isIntact) = FrameReader.read(frame.span.bytes, at: 0, accepting: 1) { #expect(isIntact) }
  }

  @Test func numbersGoRoundBelowTheReservedEnd() {
    let last = SequenceNumber(.normal, 0xfe_ffff)
    #expect(last.next == SequenceNumber(.normal, 0))
    #expect(SequenceNumber(.media, 0xfe_ffff).next == SequenceNumber(.media, 0))
    #expect(last.next.next.distance(from: last) == 2)
    #expect(last.distance(from: last.next) == SequenceNumber.modulus - 1)
    var counters = SequenceCounters(start: 0xfe_fffe)
    #expect((0..<3).map { _ in counters.take(.normal).counter } == [0xfe_ffff, 0, 1])
    let control = counters.take(.control)
    #expect(control.category == .control)
  }

  /// Whatever bytes come, both ends read them without a trap and say what they want next.
  @Test func mutatedBytesNeverTrap() throws {
    var random = TestGenerator(42)
    let simulation = Simulation(seed: 3)
    var stream: [UInt8] = []
    stream += bytes(
      FrameHeader(kind: .control, sequence: SequenceNumber(.control, 7), time: 0, session: 5),
      HandshakeRequest(version: .current, features: .all, identity: ClientIdentity(high: 1, low: 2), user: "u").encoded)
    for kind: UInt16 in [0, 1, 2, 3, 4, 9] {
      stream += bytes(
        FrameHeader(kind: FrameKind(rawValue: kind), sequence: SequenceNumber(.normal, 8), time: 0, session: 5),
        Message(.text("some words"), to: "u").encoded)
    }
    let (client, _) = try simulation.addClient()
    simulation.run(until: 1_001)
    for round in 0..<3_000 {
      var bytes = stream
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      // Checksums that fit let the changes through to the bodies.
      if round % 2 == 0 { Self.repair(&bytes) }
      let moment = simulation.moment.advanced(byNanoseconds: Int64(round))
      guard let id = simulation.server.accepted(from: Simulation.address, at: moment) else { continue }
      let intake = simulation.server.received(bytes.span.bytes, on: id, at: moment)
      #expect(intake.consumed >= 0 && intake.consumed <= bytes.count && intake.wanted >= 28)
      simulation.server.closed(id, because: .reset, at: moment)
      while simulation.server.nextCommand() != nil {}
      if let place = (0..<8).first(where: { simulation.clients[client].openMask >> UInt8($0) & 1 == 1 }) {
        _ = simulation.clients[client].received(
          bytes.span.bytes, on: simulation.clients[client].connection(place), at: moment)
        simulation.settle(client: client)
      }
      simulation.run(until: simulation.now + 0.1)
    }
    #expect(simulation.server.connectionCount <= 8)
  }

  private static func repair(_ bytes: inout [UInt8]) {
    var offset = 0
    while case .frame(let header, _) = FrameReader.read(bytes.span.bytes, at: offset, accepting: 1) {
      let body = offset + 28..<offset + 28 + Int(header.bodyCount)
      bytes.replaceSubrange(offset + 24..<offset + 28, with: TLV.bigEndian(Checksum.of(Array(bytes[body]).span.bytes)))
      offset = body.upperBound
    }
  }

  /// Every way to cut a stream in two, and byte by byte, brings the same messages.
  @Test func everyCutOfAStream() {
    var stream: [UInt8] = []
    for number in 0..<6 {
      stream += bytes(
        FrameHeader(kind: .data, sequence: SequenceNumber(.normal, UInt32(100 + number)), time: 0, session: 1),
        Message(.text(String(repeating: "x", count: number * 5))).encoded)
    }
    func messages(_ pieces: [ArraySlice<UInt8>]) -> [[UInt8]] {
      var server = ServerCore(ServerConfiguration(seed: 1))
      guard let id = server.accepted(from: Simulation.address, at: .seconds(1)) else { return [] }
      var unread: [UInt8] = []
      for piece in pieces {
        unread += piece
        let intake = server.received(unread.span.bytes, on: id, at: .seconds(1))
        unread.removeFirst(intake.consumed)
      }
      var inbox = Inbox()
      server.take(&inbox)
      return inbox.events.compactMap { event in
        if case .message(let message) = event { Array(inbox.body(of: message)) } else { nil }
      }
    }
    let whole = messages([stream[...]])
    #expect(whole.count == 6)
    for cut in 0...stream.count { #expect(messages([stream[..<cut], stream[cut...]]) == whole) }
    #expect(messages(stream.indices.map { stream[$0...$0] }) == whole)
  }
}
