import IMEngine
import IMFields
import IMTestSupport
import IMWire
import Testing

@testable import IMRedaction

/// What carriers put around frames: HTTP, PROXY headers, JSON; and bytes by their places in a stream.
@Suite struct CarrierRedactionTests {
  private let names = Pseudonyms(IdentityHash(key: [UInt8](1...32)))

  @Test func httpKeepsWhatWebSocketIsToldBy() {
    let request = """
      GET /im?token=s3cret HTTP/1.1\r
      Host: im.example.net\r
      Cookie: sid=42\r
      Upgrade: websocket\r
      Sec-WebSocket-Protocol: mqtt\r
      \r

      """
    #expect(
      String(decoding: HTTPRedaction.rewritten([UInt8](request.utf8)), as: UTF8.self) == """
        GET /xx?xxxxx=x1xxxx HTTP/1.1\r
        Host: xx.xxxxxxx.xxx\r
        Cookie: xxx=11\r
        Upgrade: websocket\r
        Sec-WebSocket-Protocol: mqtt\r
        \r

        """)
    let answer = [UInt8]("HTTP/1.1 101 Switching Protocols\r\nServer: mine\r\n\r\n".utf8)
    #expect(HTTPRedaction.rewritten(answer) == [UInt8]("HTTP/1.1 101 Switching Protocols\r\nServer: xxxx\r\n\r\n".utf8))
    // What a server says instead may name it.
    let named = [UInt8]("HTTP/1.1 101 node7 of Alice\r\nServer: mine\r\n\r\n".utf8)
    #expect(HTTPRedaction.rewritten(named) == [UInt8]("HTTP/1.1 101 xxxx1 xx Xxxxx\r\nServer: xxxx\r\n\r\n".utf8))
  }

  /// Options of IPv6 (RFC 8200, 4.2): a home address (0xc9) and a router alert get padding as long; padding stays, and so does the
  /// length of a jumbogram.
  @Test func optionsOfIPv6SayNothing() throws {
    let home: [UInt8] = [0xc9, 16] + [UInt8](0xa0...0xaf), alert: [UInt8] = [5, 2, 0, 7],
      jumbo: [UInt8] = [0xc2, 4, 0, 1, 0, 0]
    var builder = PacketBuilder(link: .raw)
    builder.extensionHeaders = [
      IPv6ExtensionHeader(kind: 0, content: alert + jumbo + [0, 1, 1, 9]),
      IPv6ExtensionHeader(kind: 60, content: home + [1, 2, 8, 8]),
    ]
    var segment = TCPSegment(sourcePort: 40_000, destinationPort: 443, sequence: 1, flags: .ack)
    segment.payload = [1, 2, 3]
    let packet = builder.packet(
      segment, from: try #require(IPAddress("2001:db8::1")), to: try #require(IPAddress("2001:db8::2")))
    let batch = CaptureBuilder([
      TimedPacket(timestamp: Timestamp(seconds: 1, fraction: 0), bytes: packet, linkType: 101)
    ]).batch()
    var finder = EndpointFinder()
    let layers = try #require(finder.layers(batch.bytes.span.bytes, batch.records[0]).layers)
    var redactor = PacketRedactor(names)
    let made = redactor.rewrite(batch.bytes.span.bytes, batch.records[0], layers, payload: [9, 9, 9])
    #expect(made.count == packet.count)
    let padded: [UInt8] = [60, 1] + [1, 2, 0, 0] + jumbo + [0, 1, 1, 0]
    #expect(Array(made[40..<56]) == padded)
    #expect(Array(made[56..<80]) == [6, 2, 1, 16] + [UInt8](repeating: 0, count: 16) + [1, 2, 0, 0])
    // The checksum says of the new bytes what it said of the old ones: that they are right.
    let again = CaptureBuilder([TimedPacket(timestamp: Timestamp(seconds: 1, fraction: 0), bytes: made, linkType: 101)])
      .batch()
    let found = try #require(finder.layers(again.bytes.span.bytes, again.records[0]).layers)
    #expect(found.payload.count == 3 && !found.isOffloaded)
  }

  /// A number that is nobody's business becomes the least one with as many digits, also where it is nearly that.
  @Test func amountsAreAlwaysTheSame() {
    let redactor = FrameRedactor(names)
    for (old, new) in [(0, 1), (1, 1), (9, 1), (10, 10), (11, 10), (99, 10), (100, 100), (111, 100), (65_535, 10_000)] {
      let bytes = [UInt8(old >> 8), UInt8(old & 255)]
      #expect(redactor.replacement(bytes, .amount(littleEndian: false)) == [UInt8(new >> 8), UInt8(new & 255)])
    }
    #expect(redactor.replacement([0xff], .amount(littleEndian: true)) == [100])
  }

  @Test func aProxyLineNamesThePseudonym() throws {
    var addresses = AddressPseudonyms(names)
    for client in ["203.0.113.7", "10.0.0.1", "198.51.100.200", "2001:db8::17"] {
      let family = client.contains(":") ? "TCP6" : "TCP4"
      let server = client.contains(":") ? "2001:db8:0:1::9" : "192.0.2.50"
      let line = "PROXY \(family) \(client) \(server) 40000 443\r\n"
      let made = String(decoding: ProxyRedaction.rewritten([UInt8](line.utf8), version: 1, &addresses), as: UTF8.self)
      #expect(made.utf8.count == line.utf8.count)
      let words = made.split(separator: " ")
      if words[1] != "UNKNOWN" {
        #expect(IPAddress(String(words[2])) == addresses.pseudonym(try #require(IPAddress(client))))
        #expect(IPAddress(String(words[3])) != nil && words[4] == "40000" && words[5] == "443\r\n")
      } else {
        #expect(made.hasPrefix("PROXY UNKNOWN ") && made.hasSuffix("\r\n"))
      }
      #expect(!made.contains(client))
    }
  }

  @Test func jsonStaysJSON() {
    let text =
      #"{"mid": 12345, "key":"abc", "room_id":"live://1000", "accepts":[1000,1001], "other":"a\"b", "n": 9.5, "t": true}"#
    let made = String(
      decoding: JSONRedaction.rewritten(
        [UInt8](text.utf8), names: ["mid", "key"], others: ["room_id", "accepts"], names), as: UTF8.self)
    #expect(made.utf8.count == text.utf8.count)
    #expect(made.contains(#""accepts":[1000,1001]"#) && made.contains(#""t": true}"#.replacing("t\"", with: "x\"")))
    for gone in ["12345", "abc", "live", #"a\"b"#, "9.5"] { #expect(!made.contains(gone), "\(made)") }
  }

  /// Drawn pieces, with overlaps, held against a model that goes by single bytes.
  @Test func placesOfAStream() {
    var random = SeededRandom(30)
    for _ in 0..<2_000 {
      var model = [UInt8?](repeating: nil, count: 120)
      var patches = StreamPatches()
      var pieces: [(Int, [UInt8])] = []
      for _ in 0..<Int.random(in: 0..<8, using: &random) {
        let from = Int.random(in: 0..<100, using: &random)
        let new = (0..<Int.random(in: 1...20, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        // A piece that goes on where the one before ends is one piece with it.
        if let last = pieces.last, last.0 + last.1.count == from {
          pieces[pieces.count - 1].1 += new
        } else {
          pieces.append((from, new))
        }
        patches.put(new, at: UInt64(from))
      }
      // Where two overlap, the one that begins first counts, then the one that was told first.
      for (from, new) in pieces.enumerated().sorted(by: { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }).map(
        \.element)
      {
        for (i, byte) in new.enumerated() where model[from + i] == nil { model[from + i] = byte }
      }
      patches.finish()
      let from = Int.random(in: -5..<110, using: &random)
      let old = [UInt8](repeating: 1, count: Int.random(in: 0..<40, using: &random))
      let expected = old.indices.map { i in
        model.indices.contains(from + i) ? model[from + i] ?? CharacterShape.byte : CharacterShape.byte
      }
      #expect(patches.apply(to: old, at: Int64(from)) == expected)
    }
  }

  @Test func headersOfCutFramesStay() {
    var patches = StreamPatches()
    patches.kept = [0x7e]
    patches.keepHead(at: 10, count: 3)
    #expect(patches.apply(to: [1, 0x7e, 3, 4, 5, 6], at: 8) == [0xf7, 0x7e, 3, 4, 5, 0xf7])
  }

  /// What is kept is bounded, whatever keeps it: new bytes, pieces of WebSocket's frames, compressed ones. Others stay.
  @Test func aConnectionWithoutRoomIsLeftOut() {
    let sink = RedactionSink(names, plans: [], memory: 1_000, isWanted: { _ in true })
    let end = Endpoint(address: IPAddress(v4: 0x0a00_0001), port: 9_001)
    func tell(_ serial: UInt32, _ kind: UndecodedChunk.Kind, _ count: Int, at offset: Int) {
      let bytes = [UInt8](repeating: 65, count: count)
      let info = ConnectionInfo(told: serial, client: end, server: end)
      sink.undecoded(UndecodedChunk(kind, at: UInt64(offset)), info, .clientToServer, bytes: bytes.span.bytes)
    }
    tell(1, .upgrade, 100, at: 0)
    for i in 0..<40 { tell(2, .webSocketHeader, 60, at: i * 100) }
    for i in 0..<40 { tell(3, .payload(inner: UInt64(i * 9), key: 7, phase: 0), 9, at: i * 9) }
    for i in 0..<40 { tell(4, .packed(key: nil, phase: 0), 9, at: i * 9) }
    #expect(sink.leftOut == [2, 3, 4])
    sink.resolve()
    for serial in UInt32(1)...4 {
      let old = [UInt8](repeating: 65, count: 100)
      var new = old
      sink.apply(old, to: &new, 0..<100, at: 0, RedactionSink.Way(serial: serial, isBack: false))
      let hasNothing = new == [UInt8](repeating: CharacterShape.byte, count: 100)
      #expect(hasNothing == (serial > 1))
    }
  }
}
