import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Optional parts of headers with a length of variable size, whose conditions and positions follow that length.
@Suite struct HeaderPartTests {
  /// Lengths of 1, 2 and more bytes, in each encoding.
  private static let encodings: [(name: String, widths: [Int], bytes: @Sendable (Int, Int) -> [UInt8])] = [
    (
      "varint", [1, 2, 4],
      { value, width in
        (0..<width).map { UInt8(value >> (7 * $0) & 0x7f) | ($0 < width - 1 ? 0x80 : 0) }
      }
    ),
    (
      "ber", [1, 2, 5],
      { value, width in
        width == 1
          ? [UInt8(value)]
          : [0x80 | UInt8(width - 1)] + (1..<width).map { UInt8(truncatingIfNeeded: value >> (8 * (width - 1 - $0))) }
      }
    ),
    (
      "decimal", [1, 2, 5],
      { value, width in
        let digits = String(value)
        return Array((String(repeating: "0", count: width - digits.count) + digits + ":").utf8)
      }
    ),
  ]

  private static func number(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xff)] }

  private static func `protocol`(
    _ name: String, _ layout: String, _ frame: @escaping @Sendable (UInt8, Int) -> [UInt8]
  ) -> NumberedProtocol {
    NumberedProtocol(
      name: name,
      profile: """
        profile: parts
        version: 1
        ports: [7000]
        \(layout)
        types:
          "0x1201 7": { name: request, role: message, answered: true, from: client }
          "0x1301 7": { name: answer, role: acknowledgment, answers: [request], from: server }
        sequence: { kind: identifier }
        """, request: { frame(0x12, $0) }, answer: { frame(0x13, $0) })
  }

  /// Type, length, flags, a part if a flag is set, a kind, a part if there is one, a tag; and the body, which begins with the number.
  static let inTheMiddle = encodings.map { encoding in
    `protocol`(
      "\(encoding.name) in the middle",
      """
      header:
        length: 6
        parts: [{ when: { offset: 3, mask: 0x01 }, at: 4, length: 2 }, { when: { offset: 4, is: [2, 3] }, at: 5, length: 3 }]
      length: { offset: 2, encoding: \(encoding.name) }
      fields: { type: [{ offset: 0, size: 2 }, { offset: 5 }], sequence: { offset: 6, size: 2 } }
      """
    ) { type, number in
      let body = Self.number(number) + [UInt8](repeating: 0x37, count: number % 5)
      var bytes = [type, 1] + encoding.bytes(body.count, encoding.widths[number % 3])
      bytes.append(number & 1 == 0 ? 0x10 : 0x11)
      if number & 1 == 1 { bytes += [9, 9] }
      bytes.append(UInt8(number >> 1 & 3))
      if number >> 1 & 3 >= 2 { bytes += [8, 8, 8] }
      return bytes + [7] + body
    }
  }

  /// A part in front of the length, and one after it.
  private static let onBothSides = encodings.map { encoding in
    `protocol`(
      "parts on both sides of \(encoding.name)",
      """
      header:
        length: 6
        parts: [{ when: { offset: 2, mask: 0x01 }, at: 3, length: 2 }, { when: { offset: 2, mask: 0x02 }, at: 4, length: 1 }]
      length: { offset: 3, encoding: \(encoding.name) }
      fields: { type: [{ offset: 0, size: 2 }, { offset: 4 }], sequence: { offset: 6, size: 2 } }
      """
    ) { type, number in
      let body = Self.number(number) + [UInt8](repeating: 0x37, count: number % 5)
      var bytes = [type, 1, UInt8(number & 3)]
      if number & 1 == 1 { bytes += [9, 9] }
      bytes += encoding.bytes(body.count, encoding.widths[number % 3])
      if number & 2 == 2 { bytes.append(8) }
      return bytes + [7, 0] + body
    }
  }

  /// The length comes first, and a part that follows the others is in front of what counts `after: parts`.
  private static let first = encodings.map { encoding in
    `protocol`(
      "\(encoding.name) at the beginning",
      """
      header: { length: 5, parts: [{ when: { offset: 1 }, at: 2, length: 2 }] }
      length: { offset: 0, encoding: \(encoding.name) }
      fields: { type: [{ offset: 1, size: 2 }, { after: parts, offset: 2 }], sequence: { offset: 4, size: 2 } }
      """
    ) { type, number in
      let body = Self.number(number) + [UInt8](repeating: 0x37, count: number % 5)
      let flag = UInt8(number & 1)
      return encoding.bytes(body.count, encoding.widths[number % 3]) + [flag] + (flag == 1 ? [9, 9] : [])
        + [type, 1, 7] + body
    }
  }

  /// The length itself decides: 200 and 328 have the same first byte as varints.
  private static let byLength = `protocol`(
    "a part by the length",
    """
    header: { length: 4, parts: [{ when: { offset: 0, is: [5, 200, 300] }, at: 1, length: 3 }] }
    length: { offset: 0, encoding: varint }
    fields: { type: [{ offset: 0, size: 2 }, { offset: 2 }], sequence: { offset: 3, size: 2 } }
    """
  ) { type, number in
    let count = [5, 200, 300, 6, 328, 700][number % 6]
    let body = Self.number(number) + [UInt8](repeating: 0x37, count: count - 2)
    return encodings[0].bytes(count, count < 128 ? 1 : 2) + (number % 6 < 3 ? [9, 9, 9] : []) + [type, 1, 7] + body
  }

  @Test(arguments: inTheMiddle + onBothSides + first + [byLength], [1, 2, 3, 4, 5, 6, 7, 11, 1_400])
  func everyRequestIsAnswered(_ layout: NumberedProtocol, _ size: Int) throws {
    let run = Run(layout.talk(size: size).packets, plans: [try layout.plan])
    run.expectAnswered(20)
    let sent = (0..<20).flatMap { i in
      [Said(direction: 0, bytes: layout.request(300 + i)), Said(direction: 1, bytes: layout.answer(300 + i))]
    }
    #expect(difference(run.said, sent.sorted()) == nil)
    #expect(run.issues.isEmpty)
  }

  /// A varint of five bytes is no length: its bytes are no frame, and the frames of the next segment are found again.
  @Test(arguments: [1, 3, 1_400]) func aVarintOfFiveBytes(_ size: Int) throws {
    let layout = Self.inTheMiddle[0]
    var talk = NumberedProtocol.connection(size: size)
    for i in 0..<12 {
      let at = Int64(i + 1) * 100
      let wrong: [UInt8] = [0x12, 1, 0x82, 0x80, 0x80, 0x80, 0x00, 0x10, 0, 7, 1, 1]
      talk.send(i == 5 ? wrong : layout.request(300 + i), .clientToServer, at: Scene.ms(at))
      talk.send(layout.answer(300 + i), .serverToClient, at: Scene.ms(at + 40))
    }
    let run = Run(talk.packets, plans: [try layout.plan])
    run.expectLedgerAddsUp()
    #expect(run.ledger.strayBytes >= 12)
    #expect(run.frames.count { $0.direction == .serverToClient } == 12)
    #expect(run.heard.finished.count { $0.fate == .acked } >= 5)
  }
}
