import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Protocols without a magic number whose requests are answered in any order: found, and found again, by what their frames
/// hold.
@Suite struct RequestProtocolTests {
  enum Language: String, CaseIterable, CustomTestStringConvertible {
    case smpp, diameter, goim

    var testDescription: String { rawValue }
    var port: UInt16 { self == .smpp ? 2_775 : self == .diameter ? 3_868 : 3_101 }
  }

  /// Opening, then rounds of messages with drawn bodies of `sizes` bytes in both directions, heartbeats between.
  private func talk(
    _ language: Language, _ sizes: [Int], segmentSize: Int, seed: UInt64, port: UInt16? = nil
  ) -> Talk {
    var random = SeededRandom(seed)
    var talk = Talk(port: port ?? language.port, segmentSize: segmentSize)
    switch language {
    case .smpp:
      typealias S = SMPPBuilder
      talk.say(.clientToServer, S.bind(1, "shop"))
      talk.say(.serverToClient, S.pdu(0x8000_0009, 1, S.string("centre")))
      for (i, size) in sizes.enumerated() {
        let n = UInt32(i * 3 + 2)
        talk.say(
          .clientToServer, S.message(4, n, "49155\(i)", random.bytes(size)),
          S.message(4, n + 1, "49155", random.bytes(size / 2)), S.pdu(0x15, n + 2))
        talk.say(
          .serverToClient, S.pdu(0x8000_0004, n + 1, S.string("m-\(n + 1)")), S.pdu(0x8000_0015, n + 2),
          S.pdu(0x8000_0004, n, S.string("m-\(n)")), S.message(5, n, "shop", random.bytes(size)))
        talk.say(.clientToServer, S.pdu(0x8000_0005, n, S.string("")))
      }
    case .diameter:
      typealias D = DiameterBuilder
      talk.say(.clientToServer, D.message(257, flags: 0x80, 1, D.origin("gw") + [D.avp(269, [UInt8]("x".utf8))]))
      talk.say(.serverToClient, D.message(257, flags: 0, 1, [D.avp(268, 2_001)] + D.origin("ocs")))
      for (i, size) in sizes.enumerated() {
        let n = UInt32(i * 3 + 2)
        let units = D.avp(456, D.avp(437, D.avp(421, random.bytes(8))) + D.avp(25, random.bytes(size)))
        talk.say(
          .clientToServer, D.message(272, flags: 0xc0, n, D.origin("gw") + [units]),
          D.message(272, flags: 0xc0, n + 1, D.origin("gw") + [D.avp(874, random.bytes(size / 3), vendor: 10_415)]),
          D.message(280, flags: 0x80, n + 2, D.origin("gw")))
        talk.say(
          .serverToClient, D.message(280, flags: 0, n + 2, [D.avp(268, 2_001)] + D.origin("ocs")),
          D.message(272, flags: 0x40, n + 1, [D.avp(268, 2_001)] + D.origin("ocs")),
          D.message(258, flags: 0xc0, n, D.origin("ocs") + [D.avp(25, random.bytes(size))]))
        talk.say(
          .clientToServer, D.message(258, flags: 0x40, n, [D.avp(268, 2_001)] + D.origin("gw")))
      }
    case .goim:
      typealias G = GoimBuilder
      talk.say(.clientToServer, G.pack(7, 1, [UInt8]("{}".utf8)))
      talk.say(.serverToClient, G.pack(8, 1))
      for (i, size) in sizes.enumerated() {
        let n = UInt32(i * 3 + 2)
        talk.say(.clientToServer, G.pack(4, n, random.bytes(size)), G.pack(2, n + 1))
        talk.say(
          .serverToClient, G.pack(3, n + 1), G.pack(1_000, 0, random.bytes(size)), G.pack(5, n),
          G.pack(1_001, 0, random.bytes(size / 2)))
      }
    }
    talk.close()
    return talk
  }

  static let shapes = [([30, 200, 90], 61), ([3_000, 50, 900], 700), ([400, 20, 4_000], 1_448)]

  /// Each segment in turn is missing, each pair of neighbours, and everything before each packet.
  @Test(arguments: Language.allCases, 1...LongRun.times(1, of: 2)) func missing(_ language: Language, _ seed: Int) {
    for (sizes, segmentSize) in Self.shapes {
      let talk = talk(language, sizes, segmentSize: segmentSize, seed: UInt64(seed))
      for (a, b) in zip(talk.pieces, talk.pieces.dropFirst()) {
        expect(talk, without: [a])
        expect(talk, without: [a, b])
      }
      for first in 1..<talk.packets.count {
        expect(talk, without: talk.pieces.filter { $0.packet < first }, from: first)
      }
    }
  }

  /// Neighbours overtake each other.
  @Test(arguments: Language.allCases) func swapped(_ language: Language) {
    for (sizes, segmentSize) in Self.shapes {
      let talk = talk(language, sizes, segmentSize: segmentSize, seed: 7)
      for first in 3..<talk.packets.count - 1 {
        var packets = talk.packets
        let time = packets[first].timestamp
        packets[first].timestamp = packets[first + 1].timestamp
        packets[first + 1].timestamp = time
        packets.swapAt(first, first + 1)
        let run = Run(packets, plans: Plans.usual)
        let problem = difference(run.said, talk.messages.said)
        #expect(problem == nil, "\(language) \(segmentSize): \(first)")
        run.expectLedgerAddsUp()
      }
    }
  }

  /// No port tells: the first bytes do, and a connection that is seen from its midst is known all the same.
  @Test(arguments: Language.allCases) func anyPort(_ language: Language) {
    for (sizes, segmentSize) in Self.shapes {
      let talk = talk(language, sizes, segmentSize: segmentSize, seed: 9, port: 24_999)
      expect(talk, without: [])
      // From the beginning of a message on.
      for piece in talk.pieces
      where talk.messages.contains(where: {
        $0.direction == piece.direction && $0.range.lowerBound == piece.range.lowerBound
      }) && piece.packet < talk.packets.count / 2 {
        // Which side is the client cannot be known then.
        let lost = talk.pieces.filter { $0.packet < piece.packet }
        let run = Run([TimedPacket](talk.packets[piece.packet...]), plans: Plans.usual)
        let left = talk.messages(without: lost.map { ($0.direction, $0.range) })
        #expect(
          run.frames.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
            == left.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }, "from \(piece.packet)")
      }
    }
  }

  /// What the client says is cut in two at every byte.
  @Test(arguments: Language.allCases) func everyCut(_ language: Language) {
    let whole = talk(language, [40, 10], segmentSize: 1_448, seed: 11)
    let stream = whole.messages.filter { $0.direction == .clientToServer }
    let bytes = stream.flatMap(\.bytes)
    for cut in 1..<bytes.count {
      var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(language.port))
      talk.open(at: Scene.ms(0))
      talk.send([UInt8](bytes[..<cut]), .clientToServer, at: Scene.ms(10))
      talk.send([UInt8](bytes[cut...]), .clientToServer, at: Scene.ms(20))
      talk.close(.fin(by: .clientToServer), at: Scene.ms(30))
      let run = Run(talk.packets, plans: Plans.usual)
      if run.frames.map(\.bytes) != stream.map(\.bytes) {
        Testing.Issue.record("\(language) cut at \(cut): other frames")
      }
      let early = stream.reduce((0, 0)) { ($0.0 + $1.bytes.count, $0.1 + ($0.0 + $1.bytes.count <= cut ? 1 : 0)) }.1
      if run.frames.count(where: { $0.timestamp < Scene.ms(20) }) != early {
        Testing.Issue.record("\(language) cut at \(cut): other times")
      }
      run.expectLedgerAddsUp()
    }
  }

  /// Numbers are of one direction: what both sides ask with the same number does not meet.
  @Test func sameNumberBothWays() {
    var talk = Talk(port: 2_775)
    talk.say(.clientToServer, SMPPBuilder.bind(1, "shop"))
    talk.say(.serverToClient, SMPPBuilder.pdu(0x8000_0009, 1, SMPPBuilder.string("centre")))
    talk.say(.clientToServer, SMPPBuilder.pdu(0x15, 5))
    talk.say(.serverToClient, SMPPBuilder.pdu(0x15, 5))
    talk.say(.serverToClient, SMPPBuilder.pdu(0x8000_0015, 5))
    talk.say(.clientToServer, SMPPBuilder.message(4, 6, "1", [1]), SMPPBuilder.message(4, 7, "1", [2]))
    talk.say(.serverToClient, SMPPBuilder.pdu(0x8000_0000, 6, status: 3), SMPPBuilder.pdu(0x8000_0004, 7, status: 11))
    talk.close()
    let run = Run(talk.packets, plans: Plans.usual)
    let finished = run.heard.finished.sorted { $0.id < $1.id }
    #expect(finished.map(\.sequence) == [1, 5, 5, 6, 7])
    #expect(finished.map(\.fate) == [.acked, .acked, .unanswered, .rejected, .rejected])
    #expect(run.heard.names.values.sorted() == ["shop"])
  }

  /// Two connections of one name keep their numbers apart.
  @Test func oneNameTwice() {
    var talks: [ConversationBuilder] = []
    for port in [40_001, 40_002] as [UInt16] {
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0xc000_0215), port: port), server: Talk.server(2_775))
      talk.open(at: Scene.ms(0))
      talk.send(SMPPBuilder.bind(1, "shop"), .clientToServer, at: Scene.ms(10))
      talk.send(SMPPBuilder.message(4, 2, "\(port)", [1]), .clientToServer, at: Scene.ms(20))
      if port == 40_001 {
        talk.send(SMPPBuilder.pdu(0x8000_0004, 2, SMPPBuilder.string("m")), .serverToClient, at: Scene.ms(30))
      }
      talks.append(talk)
    }
    let packets = talks.flatMap(\.packets).sorted { $0.timestamp < $1.timestamp }
    let run = Run(packets, plans: Plans.usual)
    let said = run.heard.finished.filter { $0.sequence == 2 }
    let first: UInt32 = run.heard.reports.map(\.info.serial).min() ?? 0
    #expect(said.filter { $0.fate == .acked }.map(\.connection) == [first])
    #expect(Set(said.map(\.session)).count == 2)
    #expect(run.heard.names.values.sorted() == ["shop", "shop"])
  }

  /// AVPs: padding, a vendor's number, lists in lists, a name, a status; one that reaches beyond its list is said.
  @Test func attributes() {
    typealias D = DiameterBuilder
    let inner = D.avp(445, D.avp(447, [0, 0, 0, 0, 0, 0, 0, 9]))
    let nested = D.avp(413, inner + D.avp(425, 978))
    var broken = D.avp(25, [1, 2, 3, 4])
    broken[7] = 60
    var talk = Talk(port: 3_868)
    talk.say(.clientToServer, D.message(257, flags: 0x80, 1, [D.avp(264, [UInt8]("gw.example".utf8))]))
    talk.say(
      .clientToServer,
      D.message(272, flags: 0xc0, 2, [D.avp(263, [65, 66, 67, 68, 69]), D.avp(22, [7], vendor: 10_415), nested]))
    talk.say(
      .serverToClient, D.message(272, flags: 0x40, 2, [D.avp(297, D.avp(266, 10_415) + D.avp(298, 5_003))]),
      D.message(272, flags: 0xe0, 3, [broken]))
    let run = Run(talk.packets, plans: Plans.usual)
    #expect(run.frames.map { $0.fields.map(\.tag) } == [[264], [263, 22, 413, 445, 447, 425], [297, 266, 298], []])
    #expect(run.frames[1].fields.map(\.depth) == [0, 0, 0, 1, 2, 1])
    #expect(run.frames[1].fields[0].value == [65, 66, 67, 68, 69])
    #expect(run.frames[1].fields[1].value == [7])
    #expect(run.frames[3].flags.contains(.incompleteValue))
    #expect(run.heard.names.values.sorted() == ["gw.example"])
    #expect(run.heard.finished.filter { $0.sequence == 2 }.map(\.fate) == [.rejected])
  }

  /// The relatives of tjp: another header, and other types.
  @Test func relatives() throws {
    func old(_ type: UInt16, _ sequence: UInt32, _ body: [UInt8] = [], turned: Bool = false) -> [UInt8] {
      var bytes: [UInt8] = [0xde, 0xca, 0xfb, 0xad, 0, 0]
      bytes.append(big: type)
      bytes.append(big: sequence)
      bytes.append(big: UInt32(body.count))
      let sum = body.isEmpty ? 0 : CRC32.checksum(body)
      bytes.append(big: turned ? sum.byteSwapped : sum)
      return bytes + body
    }
    var talk = Talk(port: 8_080)
    talk.say(.clientToServer, old(2, 1), old(1, 2, [1, 2, 3], turned: true))
    talk.say(.serverToClient, old(3, 1), old(3, 2), old(1, 7, [4, 5]))
    let run = Run(talk.packets, plans: [try BuiltInProfiles.plan("tjp-v2")])
    #expect(run.frames.map(\.type) == [2, 1, 3, 3, 1])
    #expect(run.frames.map(\.status) == [.none, .le, .none, .none, .be])
    #expect(run.heard.finished.sorted { $0.id < $1.id }.map(\.fate) == [.acked, .acked, .pending])

    var other = Talk(port: 8_080)
    other.say(
      .clientToServer, TJPFrameBuilder(type: 0x1001, sequence: 1, body: TLVBuilder().text("hi").bytes).bytes,
      TJPFrameBuilder(type: 0xf123, sequence: 2, body: TLVBuilder().text("own").bytes).bytes,
      TJPFrameBuilder(type: 0x3001, sequence: 3).bytes)
    other.say(
      .serverToClient, TJPFrameBuilder(type: 0x2001, sequence: 1).bytes,
      TJPFrameBuilder(type: 0x2001, sequence: 2).bytes,
      TJPFrameBuilder(type: 0x2001, sequence: 3).bytes)
    let article = Run(other.packets, plans: [try BuiltInProfiles.plan("tjp-article")])
    #expect(article.frames.map(\.type) == [0x1001, 0xf123, 0x3001, 0x2001, 0x2001, 0x2001])
    #expect(article.heard.finished.map(\.fate) == [.acked, .acked, .acked])
  }

  private func expect(
    _ talk: Talk, without missing: [Talk.Piece], from first: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let gone = Set(missing.map(\.packet))
    let packets = talk.packets.indices.filter { $0 >= first && !gone.contains($0) }.map { talk.packets[$0] }
    let run = Run(packets, plans: Plans.usual)
    let problem = difference(run.said, talk.messages(without: missing.map { ($0.direction, $0.range) }).said)
    #expect(problem == nil, "\(missing.count) from \(first)", sourceLocation: sourceLocation)
    run.expectLedgerAddsUp("\(missing.count) from \(first)", sourceLocation: sourceLocation)
  }
}
