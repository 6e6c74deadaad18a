import IMWire
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// What peers send that mean harm: it costs them more than anybody else.
@Suite struct HostileTests {
  /// A zlib stream (RFC 1950, 1951) made by hand: one literal zero, and `repeats` times "258 bytes from one before", which
  /// takes 13 bits each.
  static func bomb(_ repeats: Int) -> [UInt8] {
    var bytes: [UInt8] = [0x78, 0x01]
    var (bits, count): (UInt64, UInt64) = (0, 0)
    // Huffman codes go out from their top bit, everything else from its lowest.
    func put(_ code: UInt64, _ length: Int, isCode: Bool = true) {
      for index in 0..<length {
        let bit = isCode ? code >> UInt64(length - 1 - index) & 1 : code >> UInt64(index) & 1
        bits |= bit << count
        count += 1
        if count == 8 {
          bytes.append(UInt8(bits))
          (bits, count) = (0, 0)
        }
      }
    }
    put(1, 1, isCode: false)
    put(1, 2, isCode: false)
    put(0b0011_0000, 8)
    for _ in 0..<repeats {
      put(0b1100_0101, 8)
      put(0, 5)
    }
    put(0, 7)
    if count > 0 { bytes.append(UInt8(bits)) }
    // Adler-32 of zeros: the first sum stays 1, the second counts them.
    let second = UInt32((1 + repeats * 258) % 65_521)
    return bytes + TLV.bigEndian(second << 16 | 1)
  }

  @Test func whatInflatesTooFarIsNotInflated() {
    let small = Self.bomb(200)
    let inflated = Deflate.inflated(small.span.bytes)
    #expect(inflated == [UInt8](repeating: 0, count: 1 + 200 * 258))
    // 16 KB that stand for 2.6 MB, and 65 KB for 10.3 MB.
    for repeats in [10_000, 40_000] {
      let body = Self.bomb(repeats)
      let inflated = Deflate.inflated(body.span.bytes)
      #expect(inflated == nil, "\(body.count)")
    }
    // Nothing is compressed that would not be inflated again.
    for count in [1_000, 60_000, 70_000, 1 << 20, 10 << 20] {
      let zeros = [UInt8](repeating: 0, count: count)
      guard let compressed = Deflate.compressed(zeros) else {
        #expect(count > Deflate.freeCount)
        continue
      }
      #expect(Deflate.inflated(compressed.span.bytes) == zeros)
    }
  }

  @Test func valuesAreLeftOutInOnePass() {
    func body(_ values: [(IMEndpoint.Tag, [UInt8])]) -> [UInt8] {
      var body: [UInt8] = []
      for (tag, value) in values { TLV.append(tag, value, to: &body) }
      return body
    }
    let mixed = body([(.sender, [1]), (.text, [2]), (.sender, []), (.recipient, [3]), (.sender, [4, 5])])
    var rest: [UInt8] = [9]
    TLV.append(mixed + [0xf0, 0x04, 7], without: [.sender], to: &rest)
    #expect(rest == [9] + body([(.text, [2]), (.recipient, [3])]) + [0xf0, 0x04, 7])
    // A million of them, as many as a frame holds.
    var many = body([(.recipient, Array("no one".utf8))])
    for _ in 0..<1_000_000 { TLV.append(.sender, [], to: &many) }
    rest = []
    TLV.append(many, without: [.sender], to: &rest)
    #expect(rest == body([(.recipient, Array("no one".utf8))]))
  }

  @Test func whoIsForgottenFirst() {
    func id(_ place: UInt32) -> SessionID { SessionID(place: place) }
    var queue = EvictionQueue()
    queue.append(id(1), since: .seconds(1), isUsed: true)
    queue.append(id(2), since: .seconds(2), isUsed: false)
    queue.append(id(3), since: .seconds(3), isUsed: false)
    queue.append(id(4), since: .seconds(4), isUsed: true)
    // The third is back.
    var order: [SessionID?] = []
    for _ in 0..<4 { order.append(queue.popFirst { session, _ in session != id(3) }) }
    #expect(order == [id(2), id(1), id(4), nil])
    for number in 0..<10_000 { queue.append(id(UInt32(number)), since: .seconds(5), isUsed: number % 2 == 0) }
    queue.compact(above: 1_000) { session, _ in session.place < 10 }
    #expect(queue.count == 10)
  }

  /// Who opens sessions by the thousand pushes out others that did the same, and none that has said something.
  @Test func sessionsThatWereUsedOutlastThoseThatWereNot() throws {
    var configuration = ServerConfiguration(seed: 1)
    configuration.maximumSessions = 100
    var server = ServerCore(configuration)
    func visit(_ number: UInt64, says: Bool) throws {
      let now = Instant.seconds(Double(number))
      let accepted = server.accepted(from: Simulation.address, at: now)
      let id = try #require(accepted)
      let request = HandshakeRequest(
        version: .current, features: .all, identity: ClientIdentity(high: 1, low: number), secret: .random())
      var bytes: [UInt8] = []
      FrameHeader(control: request.encoded, SequenceNumber(.control, 1), version: .current, time: 0, session: 1)
        .append(to: &bytes)
      bytes += request.encoded
      if says { FrameHeader(kind: .data, sequence: SequenceNumber(.normal, 1), time: 0, session: 1).append(to: &bytes) }
      _ = server.received(bytes.span.bytes, on: id, at: now)
      server.closed(id, because: .finished, at: now)
    }
    for number: UInt64 in 1...10 { try visit(number, says: true) }
    for number: UInt64 in 11...5_000 { try visit(number, says: false) }
    #expect(server.sessionCount == 100 && server.sessionsEvicted == 4_900)
    #expect(server.sessions.count { $0.isKnown && $0.isUsed } == 10)
  }

  @Test func whoHasSaidNothingMakesRoomFirst() throws {
    var server = ServerCore(ServerConfiguration(seed: 1))
    var named: [ConnectionID] = []
    for number in 0..<100 {
      let accepted = server.accepted(from: Simulation.address, at: .seconds(Double(number)))
      let id = try #require(accepted)
      guard number % 10 == 0 else { continue }
      named.append(id)
      var bytes: [UInt8] = []
      FrameHeader(kind: .data, sequence: SequenceNumber(.normal, 1), time: 0, session: 1).append(to: &bytes)
      _ = server.received(bytes.span.bytes, on: id, at: .seconds(Double(number)))
    }
    for _ in 0..<10 { server.descriptorsRanOut(at: .seconds(101)) }
    #expect(server.connectionCount == 10)
    var aborted = 0
    while let command = server.nextCommand() {
      guard case .abort(let id) = command else { continue }
      aborted += 1
      #expect(!named.contains(id))
    }
    #expect(aborted == 90)
  }

  /// The beginning of a frame of 10 MiB, from somebody who has not said who it is.
  @Test func aConnectionBeginsWithAShortFrame() throws {
    var server = ServerCore(ServerConfiguration(seed: 1))
    func begin(_ count: UInt32, after handshake: Bool) throws -> Bool {
      let accepted = server.accepted(from: Simulation.address, at: .seconds(1))
      let id = try #require(accepted)
      var bytes: [UInt8] = []
      if handshake {
        let body = HandshakeRequest(version: .current, features: .all).encoded
        FrameHeader(control: body, SequenceNumber(.control, 1), version: .current, time: 0, session: 1)
          .append(to: &bytes)
        bytes += body
        _ = server.received(bytes.span.bytes, on: id, at: .seconds(1))
        bytes = []
      }
      FrameHeader(kind: .data, sequence: SequenceNumber(.normal, 1), time: 0, session: 1, bodyCount: count)
        .append(to: &bytes)
      let before = server.connectionCount
      _ = server.received(bytes.span.bytes, on: id, at: .seconds(1))
      return server.connectionCount == before
    }
    let outcomes = try [begin(60_000, after: false), begin(10 << 20, after: false), begin(10 << 20, after: true)]
    #expect(outcomes == [true, false, true])
  }
}
