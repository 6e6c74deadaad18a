import Testing

@testable import IMContent

/// MessagePack, BER and pairs: bytes that are laid out here by hand, by their specifications.
@Suite struct BinaryScannerTests {
  private func scan(_ bytes: [UInt8], _ kind: ContentKind, _ paths: [String]) throws -> (ContentResult, [ContentValue])
  {
    var builder = ContentPlanBuilder()
    for path in paths {
      let slot = builder.slot(try #require(ContentPath.steps(path, kind)))
      #expect(slot != nil)
    }
    let plan = builder.plan(ContentForm(kind))
    var values = [ContentValue](repeating: ContentValue(), count: ContentPlan.maximumSlots)
    // The copy is exactly as long as the content: an address sanitizer finds what is read behind it.
    let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, bytes.count))
    defer { copy.deallocate() }
    for (i, byte) in bytes.enumerated() { (copy + i).initialize(to: byte) }
    let result = values.withUnsafeMutableBufferPointer { target in
      target.baseAddress.map { plan.scan(copy, bytes.count, $0) } ?? .cut
    }
    return (result, Array(values.prefix(paths.count)))
  }

  /// What a value is, in words: a number with its sign, a text in quotes, its first letter for anything else.
  private func word(_ value: ContentValue, _ bytes: [UInt8]) -> String {
    switch value.kind {
    case .absent: "-"
    case .null: "null"
    case .flag: value.number == 1 ? "true" : "false"
    case .group: "group"
    case .number: (value.isInexact ? "~" : "") + (value.isNegative ? "-" : "") + String(value.number)
    case .text: "'" + String(decoding: bytes[value.offset..<value.offset + value.count], as: UTF8.self)
    }
  }

  static let packed: [([UInt8], String, String)] = [
    // A map: a text, an array, an empty map by a number, true.
    (
      [0x84, 0xa1, 0x61, 0xa2, 0x68, 0x69, 0xa1, 0x62, 0x92, 0x07, 0xff, 0x05, 0x80, 0xa1, 0x63, 0xc3],
      "a b.0 b.1 5 c d", "'hi 7 -1 group true -"
    ),
    // Whole numbers of all widths, in an array of 16 bits.
    (
      [
        0xdc, 0x00, 0x09, 0xcc, 0xff, 0xcd, 0x01, 0x00, 0xce, 0, 1, 0, 0, 0xcf, 0, 0, 0, 1, 0, 0, 0, 0, 0xd0, 0x80,
        0xd1, 0x80, 0, 0xd2, 0x80, 0, 0, 0,
      ]
        + [0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x7f],
      "0 1 2 3 4 5 6 7 8 9", "255 256 65536 4294967296 -128 -32768 -2147483648 -9223372036854775808 127 -"
    ),
    // Floats, bytes, a text of 8 bits, extensions, null.
    (
      [
        0x97, 0xca, 0xc0, 0x20, 0, 0, 0xcb, 0x40, 0x59, 0, 0, 0, 0, 0, 0, 0xc4, 1, 0x41, 0xd9, 2, 0x42, 0x43, 0xd4, 9,
        0x44, 0xc7, 1, 9, 0x45, 0xc0,
      ],
      "0 1 2 3 4 5 6", "~-2 ~100 'A 'BC '\tD '\tE null"
    ),
    // Maps of 16 and 32 bits inside each other; any member.
    ([0xde, 0, 1, 0xa1, 0x61, 0xdf, 0, 0, 0, 1, 0xa2, 0x69, 0x64, 0x2a], "a.id *.id a", "42 42 group"),
  ]

  @Test(arguments: packed) func messagePack(_ bytes: [UInt8], _ paths: String, _ wanted: String) throws {
    let names = paths.split(separator: " ").map(String.init)
    let (result, values) = try scan(bytes, .messagepack, names)
    #expect(result == .whole(bytes.count))
    #expect(values.map { word($0, bytes) }.joined(separator: " ") == wanted)
    for count in bytes.indices { #expect(try scan(Array(bytes[..<count]), .messagepack, names).0 == .cut) }
  }

  @Test func messagePackBounds() throws {
    #expect(try scan([0xc1], .messagepack, ["0"]).0 == .malformed(0))
    // A million arrays inside each other, and a count of elements that nothing holds.
    let deep = [UInt8](repeating: 0x91, count: 1 << 20) + [0xc0]
    #expect(try scan(deep, .messagepack, ["a"]).0 == .whole(deep.count))
    #expect(try scan(deep, .messagepack, ["0.0.0.0"]).0 == .whole(deep.count))
    #expect(try scan([0xdd, 0xff, 0xff, 0xff, 0xff, 0], .messagepack, ["0", "a"]).0 == .cut)
    #expect(try scan([0xdf, 0xff, 0xff, 0xff, 0xff, 0], .messagepack, ["x"]).0 == .cut)
    #expect(try scan([0xdb, 0xff, 0xff, 0xff, 0xff, 0], .messagepack, ["x"]).0 == .cut)
  }

  /// An LDAP bind request and its answer, as RFC 4511 has them.
  @Test func ber() throws {
    let request: [UInt8] = [0x30, 0x0c, 0x02, 0x01, 0x07, 0x60, 0x07, 0x02, 0x01, 0x03, 0x04, 0x00, 0x80, 0x00]
    var (result, values) = try scan(request, .ber, ["0.0", "0.1.@tag", "0.1.0", "0.1.1", "0.@tag", "0.2"])
    #expect(result == .whole(14))
    #expect(values.map { word($0, request) } == ["7", "96", "3", "'", "48", "-"])
    let answer: [UInt8] = [
      0x30, 0x84, 0, 0, 0, 0x0d, 0x02, 0x02, 0xff, 0x7f, 0x61, 0x07, 0x0a, 0x01, 0x31, 0x04, 0x00, 0x04, 0x00,
    ]
    (result, values) = try scan(answer, .ber, ["0.0", "0.1.@tag", "0.1.0", "0.1"])
    #expect(result == .whole(19))
    #expect(values.map { word($0, answer) } == ["-129", "97", "49", "group"])
    // Indefinite lengths, lengths of five bytes, and what reaches beyond its parent.
    #expect(try scan([0x30, 0x80, 0, 0], .ber, ["0"]).0 == .malformed(0))
    #expect(try scan([0x30, 0x85, 0, 0, 0, 0, 0], .ber, ["0"]).0 == .malformed(0))
    #expect(try scan([0x30, 0x03, 0x02, 0x05, 0x01], .ber, ["0.0"]).0 == .malformed(2))
    #expect(try scan([0x30, 0x03, 0x02, 0x01], .ber, ["0"]).0 == .cut)
  }

  @Test func pairs() throws {
    let bytes = Array("8=FIX.4.4|9=21|35=D|34=12|34=13|58=a=b|10=123|".utf8).map { $0 == 0x7c ? 1 : $0 }
    let (result, values) = try scan(bytes, .pairs, ["35", "34", "58", "10", "99"])
    #expect(result == .whole(bytes.count))
    #expect(values.map { word($0, bytes) } == ["'D", "'12", "'a=b", "'123", "-"])
    #expect(values[1].number == 12)
    #expect(try scan(Array("x=1".utf8), .pairs, ["1"]).0 == .malformed(0))
    #expect(try scan(Array("1234567890=1".utf8), .pairs, ["1"]).0 == .malformed(0))
    #expect(try scan(Array("35".utf8), .pairs, ["1"]).0 == .cut)
  }
}
