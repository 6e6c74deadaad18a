import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Receipts find the messages that they name, and the numbers of a session's counter are accounted for.
@Suite struct ReceiptTests {
  private static let start: Int64 = 1_700_000_000_000

  private static func receipt(_ number: UInt32, of message: [UInt8], tag: UInt16 = 0x10) -> [UInt8] {
    TJPFrameBuilder(type: TJPType.receipt, sequence: number, body: TLVBuilder().field(tag, message).bytes).bytes
  }

  /// One sign a column of a second, a packet each.
  ///
  ///     d  the client's message (number 7)      e  the server's message with the same number
  ///     r  the server's receipt for 7           c  the same frame again
  ///     n  another receipt for 7, newly numbered     w  a receipt for 8, which nobody has sent
  ///     x  the receipt, damaged                 t  a receipt whose number stands under another tag
  ///     l  a receipt whose number is nine bytes long      o  the client's handshake, with the number 7
  @Test(
    arguments: [
      ("d.r", [2_000_000]), ("dr", [1_000_000]), ("d", []), ("r", []), ("dw", []), ("dx", []), ("dt", []), ("dl", []),
      // Only the first one counts, and a copy of it is none.
      ("drc.n", [1_000_000]), ("dxr", [2_000_000]),
      // A repeated message is read from its first copy on.
      ("d..dr", [4_000_000]),
      // The server's own message is not what its receipt names.
      ("er", []), ("edr", [1_000_000]),
      // A handshake with the message's number hides it from nobody; alone it is nothing to be read.
      ("dor", [2_000_000]), ("or", []),
    ] as [(String, [Int64])])
  func reads(_ drawing: String, _ expected: [Int64]) {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Timestamp(milliseconds: Self.start - 10))
    let message = TJPFrameBuilder(text: "read me", sequence: 7)
    let receipt = Self.receipt(40, of: [0, 0, 0, 7])
    for (column, sign) in drawing.enumerated() {
      let now = Timestamp(milliseconds: Self.start + Int64(column) * 1_000)
      switch sign {
      case "d":
        var copy = message
        copy.timestamp += UInt32(column)
        talk.send(copy.bytes, .clientToServer, at: now)
      case "e": talk.send(TJPFrameBuilder(text: "mine", sequence: 7).bytes, .serverToClient, at: now)
      case "r", "c": talk.send(receipt, .serverToClient, at: now)
      case "n": talk.send(Self.receipt(41, of: [0, 0, 0, 7]), .serverToClient, at: now)
      case "w": talk.send(Self.receipt(42, of: [0, 0, 0, 8]), .serverToClient, at: now)
      case "x":
        var damaged = receipt
        damaged[damaged.count - 1] ^= 1
        talk.send(damaged, .serverToClient, at: now)
      case "o":
        let asks = TJPFrameBuilder(type: TJPType.control, sequence: 7, body: TLVBuilder().text("hello").bytes)
        talk.send(asks.bytes, .clientToServer, at: now)
      case "t": talk.send(Self.receipt(43, of: [0, 0, 0, 7], tag: 0x11), .serverToClient, at: now)
      case "l": talk.send(Self.receipt(44, of: [0, 0, 0, 0, 0, 0, 0, 0, 7]), .serverToClient, at: now)
      default: talk.acknowledge(.clientToServer, at: now)
      }
    }
    let run = Run(talk.packets)
    #expect(run.heard.reads == expected, "\(drawing)")
    run.expectLedgerAddsUp("\(drawing)")
  }

  /// Receipts of both levels with many numbers each, drawn by lot, against a model of a dozen lines: a message is delivered, or read, by the
  /// first receipt with its number in a whole place of four bytes, and by that alone.
  @Test(arguments: 0..<12) func manyNumbers(_ seed: UInt64) {
    var random = SeededRandom(seed)
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Timestamp(milliseconds: Self.start - 10))
    // When each message was sent, by its number, and what was told of it.
    var sent: [UInt32: Int64] = [:]
    var expected: [UInt16: [Int64]] = [0xf021: [], 0x10: []]
    var told: [UInt16: Set<UInt32>] = [0xf021: [], 0x10: []]
    for step in 0..<200 {
      let now = Self.start + Int64(step) * 7
      guard step % 4 == 3 else {
        let number = UInt32(step)
        talk.send(
          TJPFrameBuilder(text: "number \(number)", sequence: number).bytes, .clientToServer,
          at: Timestamp(milliseconds: now))
        sent[number] = now
        continue
      }
      var body = TLVBuilder()
      // In the order in which a frame's numbers are looked up.
      for tag in [0xf021, 0x10] as [UInt16] where Bool.random(using: &random) {
        let numbers = (0..<Int.random(in: 0...40, using: &random)).map { _ in
          UInt32.random(in: 0...UInt32(step + 20), using: &random)
        }
        var value: [UInt8] = []
        for number in numbers { withUnsafeBytes(of: number.bigEndian) { value.append(contentsOf: $0) } }
        value += [UInt8](repeating: 0, count: Int.random(in: 0...3, using: &random))
        body = body.field(tag, value)
        for number in numbers where told[tag]?.contains(number) == false {
          guard let at = sent[number] else { continue }
          told[tag]?.insert(number)
          expected[tag]?.append((now - at) * 1_000)
        }
      }
      let frame = TJPFrameBuilder(type: TJPType.receipt, sequence: UInt32(1_000 + step), body: body.bytes)
      talk.send(frame.bytes, .serverToClient, at: Timestamp(milliseconds: now))
    }
    let run = Run(talk.packets)
    #expect(run.heard.deliveries == expected[0xf021])
    #expect(run.heard.reads == expected[0x10])
    run.expectLedgerAddsUp("seed \(seed)")
  }

  /// One receipt that names more messages than are looked up, each many times.
  @Test func aReceiptIsReadSoFar() {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Timestamp(milliseconds: Self.start - 10))
    for number in [7, 8] as [UInt32] {
      talk.send(
        TJPFrameBuilder(text: "message", sequence: number).bytes, .clientToServer,
        at: Timestamp(milliseconds: Self.start))
    }
    var numbers = [UInt8](repeating: 0, count: 3 + 4 * 16_383)
    numbers += [7, 0, 0, 0, 8]
    talk.send(
      Self.receipt(40, of: numbers, tag: 0xf021), .serverToClient, at: Timestamp(milliseconds: Self.start + 1_000))
    #expect(Run(talk.packets).heard.deliveries.count == 1)
  }

  /// The numbers that a client sends, the silence before the last of them in seconds, and what they were.
  @Test(
    arguments: [
      ([1, 2, 3], 0, nil),
      ([1, 2, 5, 6], 0, [2, 0, 0, 2, 0]),
      ([1, 2, 5, 6], 61, [2, 0, 2, 0, 0]),
      ([1, 2, 5, 3, 4, 6], 0, [2, 2, 0, 0, 0]),
      ([1, 2, 5, 4, 6], 61, [2, 1, 1, 0, 0]),
      ([10, 11, 9], 0, [0, 0, 0, 0, 1]),
      // Round the counter's end nothing is left out.
      ([0xfe_fffe, 0xfe_ffff, 0, 1], 0, nil),
      // More than 1,000 numbers behind it, a gap is given up.
      ([1, 3] + Array(4...1_004), 0, [1, 0, 1, 0, 0]),
      // Of one counter the last 64 gaps are remembered: what comes of an older one is late, and its number stays missing.
      (Array(stride(from: 1, through: 141, by: 2)) + [2, 140], 0, [70, 1, 6, 63, 1]),
    ] as [([UInt32], Int64, [UInt64]?)])
  func numbers(_ numbers: [UInt32], _ silence: Int64, _ expected: [UInt64]?) throws {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.open(at: Timestamp(milliseconds: Self.start))
    var now = Self.start + 10
    for (i, number) in numbers.enumerated() {
      now += i == numbers.count - 1 ? silence * 1_000 + 10 : 10
      let frame = TJPFrameBuilder(text: "number \(number)", sequence: number)
      talk.send(frame.bytes, .clientToServer, at: Timestamp(milliseconds: now))
    }
    let run = Run(talk.packets)
    var found: [[UInt64]] = []
    for totals in run.orders[0] {
      found.append([totals.leftOut, totals.reordered, totals.missing, totals.open, totals.late])
    }
    #expect(found == (expected.map { [$0] } ?? []))
    // A server of this protocol has one counter for all its clients.
    var other = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    other.open(at: Timestamp(milliseconds: 0))
    for number in numbers {
      other.send(
        TJPFrameBuilder(text: "number", sequence: number).bytes, .serverToClient,
        at: Timestamp(milliseconds: Int64(number % 7)))
    }
    #expect(Run(other.packets).orders[0] == [])
    if let totals = run.orders[0].first {
      #expect(totals.direction == .clientToServer)
      #expect(totals.category == 0)
    }
  }
}
