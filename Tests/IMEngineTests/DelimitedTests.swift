import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Frames that end at a delimiter, whole and in streams that are damaged everywhere.
@Suite struct DelimitedTests {
  private typealias J = JT808Builder

  /// A made-up protocol of lines: a verb, a number, words.
  static let lines = """
    profile: lines
    version: 1
    ports: [7100]
    framing: { kind: line, maximum: 2000 }
    fields: { type: { word: 1 }, sequence: { word: 2 }, status: { word: 3 } }
    sequence: { kind: counter, bits: 16 }
    types:
      HELLO: { name: hello, role: control, answered: true, body: raw }
      SAY: { name: say, role: message, answered: true, numbered: true, body: raw }
      OK: { name: ok, role: acknowledgment, answers: all, refuses: true, body: raw }
      PING: { name: ping, role: heartbeat, answered: true, body: raw }
    """

  /// Escapes as HDLC and PPP have them, a sum of X.25, little endian, in the trailer.
  static let hdlc = """
    profile: hdlc
    version: 1
    ports: [7200]
    framing: { kind: delimited, delimiter: 7E, escape: { byte: 7D, mask: 20 } }
    header: { length: 6, magic: { offset: 0, bytes: FF03 } }
    trailer: { length: 2 }
    fields: { type: { offset: 2, size: 2 }, sequence: { offset: 4, size: 2 } }
    checksum: { algorithm: crc16-x25, covers: frame, in: trailer, order: little }
    sequence: { kind: counter, bits: 16 }
    types:
      0x8021: { name: say, role: message, answered: true, numbered: true, body: raw }
      0xC021: { name: ok, role: acknowledgment, answers: [say], body: raw }
    """

  enum Language: String, CaseIterable, CustomTestStringConvertible {
    case jt808, jt808Newer, lines, hdlc

    var testDescription: String { rawValue }
    var port: UInt16 { self == .lines ? 7_100 : self == .hdlc ? 7_200 : 7_611 }
  }

  private static func plans(_ language: Language) throws -> [ProtocolPlan] {
    switch language {
    case .jt808, .jt808Newer: Plans.usual
    case .lines: [try ProfileCompiler.compile(lines, source: "lines.yaml")]
    case .hdlc: [try ProfileCompiler.compile(hdlc, source: "hdlc.yaml")]
    }
  }

  private static func hdlc(_ type: UInt16, _ number: UInt16, _ body: [UInt8]) -> [UInt8] {
    var content: [UInt8] = [0xff, 3]
    content.append(big: type)
    content.append(big: number)
    content += body
    let sum = ReferenceChecksum.value("crc16-x25", content) ?? 0
    content.append(little: UInt16(sum))
    return [0x7e] + content.flatMap { $0 == 0x7e || $0 == 0x7d || $0 < 0x20 ? [0x7d, $0 ^ 0x20] : [$0] } + [0x7e]
  }

  private static func line(_ text: String) -> [UInt8] { [UInt8]("\(text)\r\n".utf8) }

  /// Rounds of messages with drawn bodies, answers, heartbeats. Bodies are rich in flags and escapes.
  private func talk(_ language: Language, _ sizes: [Int], segmentSize: Int, seed: UInt64) -> Talk {
    var random = SeededRandom(seed)
    var talk = Talk(port: language.port, segmentSize: segmentSize)
    func body(_ count: Int) -> [UInt8] {
      random.bytes(count).map { $0 % 5 == 0 ? 0x7e : $0 % 5 == 1 ? 0x7d : $0 }
    }
    func words(_ count: Int) -> String { String(decoding: random.bytes(count).map { 0x61 + $0 % 26 }, as: UTF8.self) }
    for (i, size) in sizes.enumerated() {
      let n = UInt16(i * 3 + 1)
      switch language {
      case .jt808, .jt808Newer:
        let newer = language == .jt808Newer
        let place = [UInt8](repeating: 0, count: 28)
        talk.say(
          .clientToServer,
          J.frame(0x0200, n, place + [0xe1, UInt8(min(250, size))] + body(min(250, size)), isNewer: newer),
          J.frame(0x0801, n + 1, body(size), isNewer: newer, piece: (2, 1)), J.frame(0x0002, n + 2, isNewer: newer))
        talk.say(
          .serverToClient, J.answer(0x8001, n, of: n, 0x0200, isNewer: newer),
          J.answer(0x8001, n + 1, of: n + 1, 0x0801, isNewer: newer),
          J.answer(0x8001, n + 2, of: n + 2, 2, isNewer: newer))
      case .lines:
        talk.say(
          .clientToServer, Self.line("SAY \(n) \(words(size))"), Self.line("SAY \(n + 1) x"),
          Self.line("PING \(n + 2)"))
        talk.say(
          .serverToClient, Self.line("OK \(n) 0"), Self.line("OK \(n + 1) 5 no"), Self.line("OK \(n + 2)"))
      case .hdlc:
        talk.say(.clientToServer, Self.hdlc(0x8021, n, body(size)), Self.hdlc(0x8021, n + 1, body(size / 3)))
        talk.say(.serverToClient, Self.hdlc(0xc021, n, []), Self.hdlc(0xc021, n + 1, body(9)))
      }
    }
    talk.close()
    return talk
  }

  static let shapes = [([30, 200, 90], 61), ([900, 50, 700], 333), ([400, 20, 900], 1_448)]

  /// What makes a frame the one that was written: direction, length on the wire, type, and all of its content but flags.
  private func written(_ language: Language, _ messages: [Talk.Message]) -> [Said] {
    messages.map { message in
      var content = message.bytes
      if language != .lines {
        content = []
        var i = 1
        while i < message.bytes.count - 1 {
          let byte = message.bytes[i]
          if byte == 0x7d {
            let next = message.bytes[i + 1]
            content.append(language == .hdlc ? next ^ 0x20 : next == 2 ? 0x7e : 0x7d)
            i += 2
          } else {
            content.append(byte)
            i += 1
          }
        }
        content.removeLast(language == .hdlc ? 2 : 1)
      } else {
        content.removeLast(2)
      }
      let body =
        switch language {
        case .jt808: content[2] & 0x20 == 0 ? 12 : 16
        case .jt808Newer: content[2] & 0x20 == 0 ? 17 : 21
        case .hdlc: 6
        case .lines: (content.firstIndex(of: 0x20) ?? content.count - 1) + 1
        }
      return Said(
        direction: message.direction.rawValue, bytes: [UInt8(message.bytes.count & 255)] + content[body...])
    }.sorted()
  }

  private func found(_ run: Run) -> [Said] {
    run.frames.map { Said(direction: $0.direction.rawValue, bytes: [UInt8($0.bytes.count & 255)] + $0.body) }.sorted()
  }

  private func expect(
    _ language: Language, _ talk: Talk, without missing: [Talk.Piece], from first: Int = 0,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let gone = Set(missing.map(\.packet))
    let packets = talk.packets.indices.filter { $0 >= first && !gone.contains($0) }.map { talk.packets[$0] }
    let run = Run(packets, plans: try Self.plans(language))
    let left = talk.messages(without: missing.map { ($0.direction, $0.range) })
    let problem = difference(found(run), written(language, left))
    #expect(problem == nil, "\(language) \(missing.map(\.packet)) from \(first)", sourceLocation: sourceLocation)
    #expect(run.frames.allSatisfy { $0.status != .bad }, sourceLocation: sourceLocation)
    run.expectLedgerAddsUp("\(missing.count) from \(first)", sourceLocation: sourceLocation)
  }

  /// Each segment in turn is missing, each pair of neighbours, and everything before each packet: every message of which all
  /// bytes are there is found, and nothing else.
  @Test(arguments: Language.allCases, 1...LongRun.times(1, of: 2)) func missing(_ language: Language, _ seed: Int)
    throws
  {
    for (sizes, segmentSize) in Self.shapes {
      let talk = talk(language, sizes, segmentSize: segmentSize, seed: UInt64(seed))
      try expect(language, talk, without: [])
      for (a, b) in LongRun.some(Array(zip(talk.pieces, talk.pieces.dropFirst()))) {
        try expect(language, talk, without: [a])
        try expect(language, talk, without: [a, b])
      }
      for first in LongRun.some(1..<talk.packets.count) where language != .lines {
        try expect(language, talk, without: talk.pieces.filter { $0.packet < first }, from: first)
      }
    }
  }

  /// Neighbours overtake each other.
  @Test(arguments: Language.allCases) func swapped(_ language: Language) throws {
    for (sizes, segmentSize) in Self.shapes {
      let talk = talk(language, sizes, segmentSize: segmentSize, seed: 7)
      for first in LongRun.some(3..<talk.packets.count - 1) {
        var packets = talk.packets
        let time = packets[first].timestamp
        packets[first].timestamp = packets[first + 1].timestamp
        packets[first + 1].timestamp = time
        packets.swapAt(first, first + 1)
        let run = Run(packets, plans: try Self.plans(language))
        #expect(difference(found(run), written(language, talk.messages)) == nil, "\(segmentSize): \(first)")
        run.expectLedgerAddsUp()
      }
    }
  }

  /// What the client says is cut in two at every byte: the same frames, each when its last byte came, at its place.
  @Test(arguments: Language.allCases) func everyCut(_ language: Language) throws {
    let plans = try Self.plans(language)
    let whole = talk(language, [40, 10], segmentSize: 1_448, seed: 11)
    let stream = whole.messages.filter { $0.direction == .clientToServer }
    let bytes = stream.flatMap(\.bytes)
    for cut in 1..<bytes.count {
      var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(language.port))
      talk.open(at: Scene.ms(0))
      talk.send([UInt8](bytes[..<cut]), .clientToServer, at: Scene.ms(10))
      talk.send([UInt8](bytes[cut...]), .clientToServer, at: Scene.ms(20))
      talk.close(.fin(by: .clientToServer), at: Scene.ms(30))
      let run = Run(talk.packets, plans: plans)
      let places = run.frames.map { Int($0.streamOffset)..<Int($0.streamOffset) + $0.bytes.count }
      if places != stream.map(\.range) { Testing.Issue.record("\(language) cut at \(cut): other places") }
      let early = stream.count { $0.range.upperBound <= cut }
      if run.frames.count(where: { $0.timestamp < Scene.ms(20) }) != early {
        Testing.Issue.record("\(language) cut at \(cut): other times")
      }
      run.expectLedgerAddsUp()
    }
  }

  /// One byte is changed, each in turn: at most the frames that it touches are lost or damaged, and nothing is made up.
  @Test(arguments: Language.allCases.filter { $0 != .lines }) func changed(_ language: Language) throws {
    let plans = try Self.plans(language)
    let whole = talk(language, [12, 5, 9], segmentSize: 1_448, seed: 3)
    let stream = whole.messages.filter { $0.direction == .clientToServer }
    let bytes = stream.flatMap(\.bytes)
    let first = stream[0].range.upperBound
    for place in first..<bytes.count {
      let changes: [UInt8] = [0x7e ^ bytes[place]] + (LongRun.isWanted ? [0x01, 0x80] : [[0x01, 0x80][place % 2]])
      for change in changes where change != 0 {
        var other = bytes
        other[place] ^= change
        var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(language.port))
        talk.open(at: Scene.ms(0))
        talk.send(other, .clientToServer, at: Scene.ms(10))
        talk.close(.fin(by: .clientToServer), at: Scene.ms(30))
        let run = Run(talk.packets, plans: plans)
        // A flag that is gone joins two frames.
        let touched = stream.filter { $0.range.lowerBound <= place + 1 && $0.range.upperBound >= place }
        let sound = stream.filter { message in !touched.contains { $0.range == message.range } }
        let good = run.frames.filter { $0.status == .be && !$0.flags.contains(.malformed) }.map {
          Int($0.streamOffset) + $0.bytes.count
        }
        let missing = sound.filter { !good.contains($0.range.upperBound) }
        #expect(missing.isEmpty, "\(language): byte \(place) changed by \(change): \(missing.map(\.range))")
        #expect(good.allSatisfy { end in stream.contains { $0.range.upperBound == end } })
        run.expectLedgerAddsUp()
      }
    }
  }

  /// Frames that share a flag, flags that fill the time between them, and an empty line.
  @Test func sharedFlags() throws {
    let a = J.frame(0x0002, 1)
    let b = J.frame(0x0002, 2)
    var talk = Talk(port: 7_611)
    talk.say(.clientToServer, a + b.dropFirst(), [0x7e, 0x7e, 0x7e] + J.frame(0x0002, 3))
    let run = Run(talk.packets, plans: Plans.usual)
    #expect(run.frames.map(\.sequence) == [1, 2, 3])
    run.expectLedgerAddsUp()

    var lines = Talk(port: 7_100)
    lines.say(.clientToServer, Self.line("HELLO 1"), Self.line(""), [UInt8]("SAY  2\tx\n".utf8), Self.line("NEVER 7 x"))
    let read = Run(lines.packets, plans: try Self.plans(.lines))
    #expect(read.frames.map(\.sequence) == [1, 2, 7])
    #expect(read.frames.map { String(decoding: $0.body, as: UTF8.self) } == ["1", " 2\tx", "7 x"])
    #expect(read.totals[0][64].frames[0] + read.totals[0][63].frames[0] >= 1)
    read.expectLedgerAddsUp()
  }

  /// Answers name serials, statuses refuse, the number of the terminal is one session over two connections, and pieces
  /// have no fields.
  @Test func meaning() {
    var talk = Talk(port: 7_611)
    talk.say(.clientToServer, J.frame(0x0100, 10, [1, 2, 3]))
    talk.say(.serverToClient, J.frame(0x8100, 500, [0, 10, 0] + [UInt8]("key".utf8)))
    talk.say(.clientToServer, J.frame(0x0102, 11, [UInt8]("key".utf8)))
    talk.say(.serverToClient, J.answer(0x8001, 501, of: 11, 0x0102))
    let place = [UInt8](repeating: 0, count: 28)
    talk.say(.clientToServer, J.frame(0x0200, 12, place + [1, 4, 0, 0, 0, 9, 0x31, 1, 7]))
    talk.say(.serverToClient, J.answer(0x8001, 502, of: 12, 0x0200, result: 2))
    talk.say(.clientToServer, J.frame(0x0200, 13, place))
    talk.say(.serverToClient, J.answer(0x8001, 503, of: 13, 0x0200, result: 4))
    talk.say(.serverToClient, J.frame(0x8300, 504, [1, 0x41]))
    talk.say(.clientToServer, J.answer(0x0001, 14, of: 504, 0x8300))
    talk.say(.clientToServer, J.frame(0x0104, 15, [UInt8](repeating: 0, count: 40), piece: (2, 2)))
    talk.say(.clientToServer, J.frame(0x0200, 16, [1, 2, 3]))
    let run = Run(talk.packets, plans: Plans.usual)
    let finished = run.heard.finished.sorted { $0.id < $1.id }
    #expect(finished.map(\.sequence) == [10, 11, 12, 13, 504, 16])
    #expect(finished.map(\.fate) == [.acked, .acked, .rejected, .acked, .acked, .pending])
    #expect(run.frames[4].fields.map(\.tag) == [1, 0x31])
    #expect(run.frames[4].fields.map(\.value) == [[0, 0, 0, 9], [7]])
    // What is shorter than its type's fields is damage, and no reason to lose the place.
    #expect(run.frames.map { $0.flags.contains(.malformed) }.filter { $0 }.count == 1)
    #expect(Set(run.frames.map(\.session)).count == 1)
    // No counter has a gap.
    #expect(run.orders.joined().isEmpty)
  }

  /// A number in decimal digits is one client's, whatever its counters do; another number is another client.
  @Test func numbers() {
    #expect(decimal(0x0138_0013_8000) == 13_800_138_000)
    #expect(decimal(0x9999_9999_9999_9999) == 9_999_999_999_999_999)
    #expect(decimal(0x1a) == 10)
    var talks: [TimedPacket] = []
    for (i, number) in ["013800138000", "013800138001", "013800138000"].enumerated() {
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0xc000_0215), port: UInt16(40_001 + i)), server: Talk.server(7_611))
      let at = Int64(i) * 1_000
      talk.open(at: Scene.ms(at))
      talk.send(J.frame(0x0002, UInt16(i * 20_000), number: number), .clientToServer, at: Scene.ms(at + 10))
      talk.send(
        J.frame(0x0002, UInt16(i * 20_000 + 1), number: number, isNewer: true), .clientToServer, at: Scene.ms(at + 20))
      talk.close(.fin(by: .clientToServer), at: Scene.ms(at + 30))
      talks += talk.packets
    }
    let run = Run(talks, plans: Plans.usual)
    let sessions = run.frames.map(\.session)
    #expect(sessions.count == 6)
    #expect(sessions[0] == sessions[1] && sessions[0] == sessions[4] && sessions[0] == sessions[5])
    #expect(sessions[2] == sessions[3] && sessions[2] != sessions[0])
    #expect(run.reconnects == 1)
  }

  /// Flags by the thousand, escapes without end, and a line that never ends: dropped, counted, and not held for long.
  @Test func hostile() throws {
    for (language, bytes) in [
      (.jt808, [UInt8](repeating: 0x7e, count: 100_000)), (.jt808, [UInt8](repeating: 0x7d, count: 100_000)),
      (.hdlc, [UInt8](repeating: 0x7d, count: 300_000)), (.lines, [UInt8](repeating: 0x41, count: 100_000)),
      (.jt808, [UInt8]((0..<50_000).flatMap { _ in [0x7e, 0x7d] as [UInt8] })),
    ] as [(Language, [UInt8])] {
      var talk = Talk(port: language.port)
      switch language {
      case .lines: talk.say(.clientToServer, Self.line("SAY 1 abcdefghijklmn"), Self.line("SAY 2 abcdefghijklmn"))
      case .hdlc: talk.say(.clientToServer, Self.hdlc(0x8021, 1, [1]))
      default: talk.say(.clientToServer, J.frame(0x0002, 1))
      }
      talk.say(.clientToServer, bytes)
      let last =
        switch language {
        case .lines: Self.line("") + Self.line("SAY 9 x")
        case .hdlc: Self.hdlc(0x8021, 9, [1])
        default: J.frame(0x0002, 9)
        }
      talk.say(.clientToServer, last)
      let run = Run(talk.packets, plans: try Self.plans(language)) { $0.memory = 4 << 20 }
      #expect(run.frames.first?.sequence == 1)
      #expect(run.frames.last?.sequence == 9)
      run.expectLedgerAddsUp()
    }
  }

  /// A capture that begins in the midst, between ports that tell nothing: the types tell who is the platform, whichever side
  /// is heard first, and behind a frame that is damaged.
  @Test(arguments: [Direction.clientToServer, .serverToClient], [false, true])
  func rolesByType(_ first: Direction, _ isDamaged: Bool) throws {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(50_001))
    let place = [UInt8](repeating: 0, count: 28)
    let reports = (1...6).map { J.frame(0x0200, UInt16($0), place) }
    let answers = (1...6).map { J.answer(0x8001, UInt16($0), of: UInt16($0), 0x0200) }
    for (i, direction) in [first, first.reversed].enumerated() {
      let frames = direction == .clientToServer ? reports : answers
      var damaged = frames[0]
      damaged[5] ^= 1
      talk.send((isDamaged ? damaged : []) + frames.flatMap { $0 }, direction, at: Scene.ms(Int64(i) * 50))
    }
    let run = Run(talk.packets, plans: Plans.usual)
    let whole = run.frames.filter { $0.status != .bad }
    for (direction, type) in [(Direction.clientToServer, 0x0200 as UInt64), (.serverToClient, 0x8001)] {
      let said = whole.filter { $0.direction == direction }
      #expect(said.map(\.sequence) == [1, 2, 3, 4, 5, 6])
      #expect(said.allSatisfy { $0.type == type })
    }
    #expect(run.heard.reports.last?.info.server == Talk.server(50_001))
  }

  /// Only the platform is heard, and its types tell so.
  @Test func onlyThePlatform() {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(50_001))
    talk.acknowledges = false
    for n in (1 as UInt16)...6 {
      talk.send(J.answer(0x8001, n, of: n, 0x0200), .serverToClient, at: Scene.ms(Int64(n) * 10_000))
    }
    let run = Run(talk.packets, plans: Plans.usual)
    #expect(run.frames.map(\.sequence) == [1, 2, 3, 4, 5, 6])
    #expect(run.frames.allSatisfy { $0.direction == .serverToClient })
  }

}
